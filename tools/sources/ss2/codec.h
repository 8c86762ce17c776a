/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The envelope of scenario_simulator_v2 in bytes: one decoder for 0.8.0 to 25.x, which keeps clear of what it
 * does not know, and the answer, which stands under the number of its request.
 *
 * Thread: any; nothing is shared.
 */
#ifndef SOURCES_SS2_CODEC_H
#define SOURCES_SS2_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "ss2/ss2.pb-c.h"

#define CODEC_REQUEST_MAX ((size_t)2 << 20)  /* bytes of a request: all entities, each turning on a slope */
#define CODEC_MEMORY_MAX  ((size_t)16 << 20) /* bytes that decoding one may take */

struct request {
	uint32_t number; /* of the member of the envelope, 1 ..; 0: not to be made out */
	Ss2__Request *msg;
	size_t memory_used;
};

/*
 * Decode. ret->number is written in every case, as far as the bytes tell it; ret->msg on success only.
 * Borrows data until return. Errors: -EMSGSIZE, -EBADMSG not such a request, or one that takes too much memory.
 */
int request_decode(struct request *ret, const void *data, size_t len);
void request_finish(struct request *q); /* also after a failure */

/* ret: returns, mem_free(). number 0 is answered as 1. -ENOMEM. */
int answer_encode(uint32_t number, const Ss2__UpdateEntityStatusResponse *answer, uint8_t **ret, size_t *ret_len);

#endif
