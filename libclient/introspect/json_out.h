/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON text to a sink (a function), through a small buffer. After the first error of the sink, later calls do
 * nothing. Used by one thread; lives on the stack.
 */
#ifndef JSON_OUT_H
#define JSON_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "json_num.h"

struct json_out {
	int (*write)(void *user, const char *data, size_t len);
	void *user;
	int err; /* 0, or the first error that write returned */
	size_t n;
	char buf[4096];
};

void json_out_init(struct json_out *o, int (*write)(void *user, const char *data, size_t len), void *user);
int json_out_flush(struct json_out *o); /* 0, or the first error */
void json_out_raw(struct json_out *o, const char *s, size_t len);
void json_out_text(struct json_out *o, const char *s);                     /* unchanged */
void json_out_string(struct json_out *o, const char *s, size_t len);       /* quoted; invalid UTF-8 becomes U+FFFD */
void json_out_base64(struct json_out *o, const uint8_t *data, size_t len); /* quoted */

/*
 * Returns space for len <= sizeof(buf) bytes; NULL: the sink has failed. json_out_added() then takes the number of
 * bytes written.
 */
char *json_out_room(struct json_out *o, size_t len);
static inline void json_out_added(struct json_out *o, size_t len)
{
	o->n += len;
}

static inline void json_out_u64(struct json_out *o, uint64_t v)
{
	char *at = json_out_room(o, JSON_NUM_MAX);

	if (at)
		json_out_added(o, json_put_u64(at, v));
}

/* A sink that collects the text, with a NUL at its end: zero the struct, pass it as `user`, free() data. */
struct json_text {
	char *data;
	size_t len, room;
};

int json_text_write(void *json_text, const char *data, size_t len); /* 0 or -ENOMEM */

#endif
