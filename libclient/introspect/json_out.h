/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text into a sink, through a small buffer. The first failure of the sink sticks; later calls do
 * nothing. One thread's; lives on the stack.
 */
#ifndef JSON_OUT_H
#define JSON_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "json_num.h"

struct json_out {
	int (*write)(void *user, const char *data, size_t len);
	void *user;
	int err; /* 0, or what write returned */
	size_t n;
	char buf[4096];
};

void json_out_init(struct json_out *o, int (*write)(void *user, const char *data, size_t len), void *user);
int json_out_flush(struct json_out *o); /* 0, or the sticking error */
void json_out_raw(struct json_out *o, const char *s, size_t len);
void json_out_text(struct json_out *o, const char *s);                     /* as it is */
void json_out_string(struct json_out *o, const char *s, size_t len);       /* quoted; bad UTF-8 as U+FFFD */
void json_out_base64(struct json_out *o, const uint8_t *data, size_t len); /* quoted */

/* Room for len <= sizeof(buf) bytes; NULL when the sink has failed. Then json_out_added() takes how many were used. */
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

/* A sink that keeps everything, NUL-terminated: zero it, pass it as `user`, free() data. */
struct json_text {
	char *data;
	size_t len, room;
};

int json_text_write(void *json_text, const char *data, size_t len); /* 0 or -ENOMEM */

#endif
