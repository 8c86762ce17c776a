/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header that both sides of a TCPROS connection send first: "key=value" fields, each preceded by its length, all
 * preceded by the total. Pure functions of their arguments: any thread.
 */
#ifndef TCPROS_H
#define TCPROS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TCPROS_HEADER_MAX (1u << 20) /* large enough for a message definition */
/* of peers that connect to us: their headers contain no definition, or a short one */
#define TCPROS_PEER_MAX   65532u
#define TCPROS_FIELDS_MAX 64u

/* Reads a length: little-endian. */
static inline uint32_t tcpros_u32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

struct tcpros_field {
	const char *key, *value; /* neither is NUL-terminated */
	size_t key_len, value_len;
};

struct tcpros_header {
	struct tcpros_field field[TCPROS_FIELDS_MAX];
	unsigned n;
	size_t total; /* bytes, including the length in front */
};

/*
 * Returns 1: *ret is complete and borrows from data; 0: more data is needed. Errors, with the reason in why: -EBADMSG
 * malformed, -EMSGSIZE over a limit, -EPROTO it is HTTP. max: maximum size, TCPROS_HEADER_MAX, or less for peers that
 * are not identified yet.
 */
int tcpros_parse(const void *data, size_t len, size_t max, struct tcpros_header *ret, char *why, size_t why_size);

/* Copies a field's value, cut to what fits; "" and false if the field is missing. */
bool tcpros_get(const struct tcpros_header *h, const char *key, char *out, size_t size);
bool tcpros_is(const struct tcpros_header *h, const char *key, const char *value);

/*
 * A header being written: start with zeros, put fields, then tcpros_end() gives its bytes; free with
 * tcpros_writer_finish().
 */
struct tcpros_writer {
	uint8_t *data;
	size_t len, cap;
	int err;
};

void tcpros_put(struct tcpros_writer *w, const char *key, const char *value);
int tcpros_end(struct tcpros_writer *w); /* 0 or -ENOMEM, -EMSGSIZE */
void tcpros_writer_finish(struct tcpros_writer *w);

#endif
