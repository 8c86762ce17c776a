/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The envelope of scenario_simulator_v2 in bytes: one decoder for releases 0.8.0 to 25.x, which skips fields that it
 * does not know, and the encoder of the answer, which carries the number of its request.
 *
 * Thread: any; nothing is shared.
 */
#ifndef SOURCES_SS2_CODEC_H
#define SOURCES_SS2_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "ss2/ss2.pb-c.h"

#define CODEC_REQUEST_MAX ((size_t)2 << 20)  /* bytes of a request: all entities, each turning on a slope */
#define CODEC_MEMORY_MAX  ((size_t)16 << 20) /* bytes of memory that decoding a request may use */

struct request {
	uint32_t number; /* number of the member in the envelope, from 1 on; 0: not recognised */
	Ss2__Request *msg;
	size_t memory_used;
};

/*
 * Decode a request. ret->number is always written, as far as it can be read from the bytes; ret->msg only on success.
 * Borrows data until it returns. Errors: -EMSGSIZE; -EBADMSG: no valid request, or it needs too much memory.
 */
int request_decode(struct request *ret, const void *data, size_t len);
void request_finish(struct request *q); /* call it after a failure, too */

/* ret: the encoded bytes; the caller releases them with mem_free(). Number 0 is answered as 1. -ENOMEM. */
int answer_encode(uint32_t number, const Ss2__UpdateEntityStatusResponse *answer, uint8_t **ret, size_t *ret_len);

#endif
