/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header with which both sides of a TCPROS connection begin: "key=value" fields, each behind its length, all behind theirs.
 * Pure functions of their arguments: any thread.
 */
#ifndef TCPROS_H
#define TCPROS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TCPROS_HEADER_MAX (1u << 20) /* with the definition of a message in it */
#define TCPROS_PEER_MAX   65532u     /* of who comes to us: theirs has no definition in it, or a short one */
#define TCPROS_FIELDS_MAX 64u

/* A length, as all are. */
static inline uint32_t tcpros_u32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

struct tcpros_field {
	const char *key, *value; /* neither ends with a NUL */
	size_t key_len, value_len;
};

struct tcpros_header {
	struct tcpros_field field[TCPROS_FIELDS_MAX];
	unsigned n;
	size_t total; /* bytes with its length in front */
};

/*
 * 1: *ret is whole and borrows from data; 0: more must come. Errors, with a sentence in why: -EBADMSG malformed, -EMSGSIZE over a
 * bound, -EPROTO it is HTTP. of `max` bytes at most: TCPROS_HEADER_MAX, or less from who has not said who it is.
 */
int tcpros_parse(const void *data, size_t len, size_t max, struct tcpros_header *ret, char *why, size_t why_size);

/* A field's value, cut to what fits; "" where there is none. False: there is none. */
bool tcpros_get(const struct tcpros_header *h, const char *key, char *out, size_t size);
bool tcpros_is(const struct tcpros_header *h, const char *key, const char *value);

/* A header that is being written: all zero, fields, then end() gives its bytes; tcpros_writer_finish() frees it. */
struct tcpros_writer {
	uint8_t *data;
	size_t len, cap;
	int err;
};

void tcpros_put(struct tcpros_writer *w, const char *key, const char *value);
int tcpros_end(struct tcpros_writer *w); /* 0 or -ENOMEM, -EMSGSIZE */
void tcpros_writer_finish(struct tcpros_writer *w);

#endif
