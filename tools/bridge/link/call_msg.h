/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request of a service on its way to the machine that offers it, or its answer on the way back: the body of a blob. Numbers
 * little-endian: to, number (8 each), timeout (8), result, length of text, length of body (4 each), 0 (4), text, 0 up to a multiple of 8,
 * body. Thread: any; nothing is kept.
 */
#ifndef CALL_MSG_H
#define CALL_MSG_H

#include <stddef.h>
#include <stdint.h>

#define CALL_MSG_TEXT_MAX 512u
#define CALL_MSG_BODY_MAX (64u << 10)
#define CALL_MSG_HEAD     40u
#define CALL_MSG_MAX      (CALL_MSG_HEAD + CALL_MSG_TEXT_MAX + 8 + CALL_MSG_BODY_MAX)

struct call_msg {
	uint64_t to;            /* host; not 0 */
	uint64_t number;        /* of the call, of the host that asks; not 0 */
	int64_t timeout_dur_ns; /* of a request: 0: the service's own */
	int32_t result;         /* of an answer: 0 or negative errno */
	const char *
		text; /* of a request: the service; of an answer that failed: why. Not ended by a NUL when it was read */
	uint32_t text_len;
	const void *body; /* at a multiple of 8 of the blob's */
	uint32_t body_len;
};

/* Bytes written to ret, of CALL_MSG_MAX; 0: it is longer than it may be. */
size_t call_msg_write(const struct call_msg *m, uint8_t *ret);
/* Borrows from data. 0, -EBADMSG. */
int call_msg_read(const uint8_t *data, size_t size, struct call_msg *ret);

#endif
