/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZMTP 3.0 and 3.1 (rfc.zeromq.org/spec/23 and 37) in bytes, limited to what a REP socket without security needs: the
 * greeting, the commands READY and PING, and requests of REQ and DEALER sockets, whose envelope ends with an empty
 * frame.
 *
 * Thread: any; nothing is shared. No allocations.
 */
#ifndef SOURCES_SS2_ZMTP_H
#define SOURCES_SS2_ZMTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZMTP_GREETING     64
#define ZMTP_REQUEST_MAX  ((size_t)2 << 20) /* bytes of a request with all its frames, or of a command */
#define ZMTP_ENVELOPE_MAX 512
#define ZMTP_HEADER_MAX   9
#define ZMTP_READY_MAX    64
#define ZMTP_PONG_MAX     32

/* Check a peer's greeting. Returns 1; 0: more bytes are needed; -EPROTO with err_why(), as soon as it is known. */
int zmtp_greeting_check(const uint8_t *bytes, size_t len);
void zmtp_greeting(uint8_t ret[ZMTP_GREETING]);

/*
 * What follows the greeting: a command, or a request with its envelope. Zero it before the first call of zmtp_scan().
 */
struct zmtp_unit {
	bool command, whole;
	size_t size; /* bytes scanned; once it is whole, its size */
	/* bytes of the frames up to the empty one, which are copied unchanged before the answer; 0: not complete yet */
	size_t envelope;
	size_t at, len; /* position and length of the request's first part, or of the command */
	unsigned parts; /* parts of the request */
};

/*
 * Scan the bytes received so far. bytes is the start of the unit, the same in each call for it. Returns 1: it is whole;
 * 0: more bytes are needed; -EMSGSIZE or -EPROTO with err_why(), as soon as it is known.
 */
int zmtp_scan(struct zmtp_unit *u, const uint8_t *bytes, size_t len);

/* Check the peer's READY. Returns 0, or -EPROTO with err_why(). */
int zmtp_ready_check(const uint8_t *command, size_t len);
size_t zmtp_ready(uint8_t ret[ZMTP_READY_MAX]);
/*
 * Make the answer to any other command. Returns its number of bytes; 0: no answer; -EPROTO with err_why(): the peer has
 * given up, or the command is not allowed.
 */
int zmtp_command(const uint8_t *command, size_t len, uint8_t ret[ZMTP_PONG_MAX]);

/* Make the header of an answer of len bytes, which follows the envelope of the request. Returns its number of bytes. */
size_t zmtp_header(size_t len, uint8_t ret[ZMTP_HEADER_MAX]);

#endif
