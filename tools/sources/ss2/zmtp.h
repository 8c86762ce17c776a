/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZMTP 3.0 and 3.1 (rfc.zeromq.org/spec/23 and 37) in bytes, as far as a REP socket without security speaks it: the greeting, the
 * commands READY and PING, and requests of REQ and DEALER sockets, whose envelope ends with an empty frame.
 *
 * Thread: any; nothing is shared. No allocations.
 */
#ifndef SOURCES_SS2_ZMTP_H
#define SOURCES_SS2_ZMTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZMTP_GREETING     64
#define ZMTP_REQUEST_MAX  ((size_t)2 << 20) /* bytes of a request with all its frames; of a command */
#define ZMTP_ENVELOPE_MAX 512
#define ZMTP_HEADER_MAX   9
#define ZMTP_READY_MAX    64
#define ZMTP_PONG_MAX     32

/* What a peer sends first. 1; 0: there is more to come; -EPROTO with a sentence, as soon as it can be told. */
int zmtp_greeting_check(const uint8_t *bytes, size_t len);
void zmtp_greeting(uint8_t ret[ZMTP_GREETING]);

/* What comes behind the greeting: a command, or a request with its envelope. Zero before its first byte is looked at. */
struct zmtp_unit {
	bool command, whole;
	size_t size; /* bytes looked at; all of it, once it is whole */
	size_t envelope; /* bytes of the frames up to the empty one, which goes before the answer as it is; 0: not seen yet */
	size_t at, len; /* of the request's first part, or the command */
	unsigned parts; /* of the request */
};

/*
 * Look at what has come of it; bytes is where it begins, in each call for the same unit. 1: it is whole; 0: there is more to come;
 * -EMSGSIZE or -EPROTO with a sentence, as soon as it can be told.
 */
int zmtp_scan(struct zmtp_unit *u, const uint8_t *bytes, size_t len);

/* The peer's READY: 0, or -EPROTO with a sentence. */
int zmtp_ready_check(const uint8_t *command, size_t len);
size_t zmtp_ready(uint8_t ret[ZMTP_READY_MAX]);
/* The answer to any other command: how many bytes, 0: none is due; -EPROTO with a sentence: the peer has given up, or may not say that. */
int zmtp_command(const uint8_t *command, size_t len, uint8_t ret[ZMTP_PONG_MAX]);

/* What goes before the bytes of an answer, behind the envelope of its request; how many. */
size_t zmtp_header(size_t len, uint8_t ret[ZMTP_HEADER_MAX]);

#endif
