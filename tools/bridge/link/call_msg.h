/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service's request, sent to the machine that offers it, or its answer: the body of a blob. Format, numbers
 * little-endian: to, number (8 bytes each), timeout (8), result, length of text, length of body (4 each), 0 (4), text,
 * zeros to a multiple of 8, body. Thread: any; no state.
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
	uint64_t to;            /* host ID; not 0 */
	uint64_t number;        /* number of the call at the calling host; not 0 */
	int64_t timeout_dur_ns; /* in a request; 0: the service's own timeout */
	int32_t result;         /* in an answer; 0 or -ERR */
	const char *
		/*
		 * in a request: name of the service; in an answer that failed: the reason. Without a NUL after
		 * call_msg_read()
		 */
		text;
	uint32_t text_len;
	const void *body; /* at a multiple of 8 in the message */
	uint32_t body_len;
};

/* Returns the bytes written to ret, which has CALL_MSG_MAX; 0: too long. */
size_t call_msg_write(const struct call_msg *m, uint8_t *ret);
/* Borrows from data, which is untrusted. 0 or -EBADMSG. */
int call_msg_read(const uint8_t *data, size_t size, struct call_msg *ret);

#endif
