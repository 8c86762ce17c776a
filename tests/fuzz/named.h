/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by fuzz_json and fuzz_cbor: a frame of rosbridge, whose first byte chooses the type of its "msg": a message
 * with a mapping, or a type of ours in its own form. An accepted message is a valid body, and reads back after it is
 * encoded again in that format.
 */
#ifndef FUZZ_NAMED_H
#define FUZZ_NAMED_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <sim/introspect.h>

#include "tools/bridge/convert/generic.h"
#include "tools/bridge/convert/iov_buf.h"
#include "tools/bridge/convert/map_in.h"
#include "tools/bridge/convert/named_reader.h"

#define NAMED_BODY 16384

static _Alignas(64) uint8_t named_body[NAMED_BODY];

static inline unsigned named_types(void)
{
	unsigned n = 0;

	while (sim_type_builtins()[n])
		n++;
	return n;
}

/* Reads the frame's "msg" into named_body. Returns its type; NULL: it was not taken. */
static inline const struct sim_type *named_read(struct named_reader *r, unsigned choice, size_t *ret_size)
{
	const struct sim_type *t = sim_type_builtins()[choice / 2 % named_types()];
	struct message_in to = { .buf = named_body, .room = sizeof(named_body) };
	unsigned n = 0;
	size_t len;
	int e;

	while (map_in_table[n].ros)
		n++;
	sim_dec_string(&r->dec, "op", 64, &len);
	sim_dec_has(&r->dec, "id");
	sim_dec_begin(&r->dec, "msg");
	if (choice % 2) {
		t = sim_type_builtin(map_in_table[choice / 2 % n].sim);
		e = map_in_take(&map_in_table[choice / 2 % n], &r->dec, &to);
		*ret_size = to.size;
	} else {
		e = generic_read(t, &r->dec, named_body, sizeof(named_body), ret_size);
	}
	sim_dec_end(&r->dec);
	if (e != 0 || r->dec.err)
		return NULL;
	if (sim_msg_check(t, named_body, *ret_size) != 0)
		abort();
	return t;
}

/* The pieces of o as one, for the next round. returns memory: free() */
static inline uint8_t *named_flat(const struct iov_buf *o)
{
	uint8_t *all = malloc(o->total + 1);
	struct iovec iov[IOV_BUF_PIECES];
	size_t at = 0;

	for (unsigned i = 0, n = iov_buf_iov(o, iov); all && i < n; at += iov[i++].iov_len)
		memcpy(all + at, iov[i].iov_base, iov[i].iov_len);
	return all;
}

/* A format of rosbridge. */
struct named_format {
	void (*begin)(struct named_reader *r, const uint8_t *frame, size_t size);
	/* Encodes named_body as the "msg" of a frame. false: it has a time that ROS does not have, which is refused. */
	bool (*say)(const struct sim_type *t, size_t size, struct iov_buf *o);
};

/* All that is said reads back. */
static inline void named_again(const struct named_format *f, struct named_reader *r, const struct sim_type *t,
			       unsigned choice, size_t size)
{
	struct iov_buf o;
	uint8_t *all;
	size_t len;

	iov_buf_init(&o);
	if (f->say(t, size, &o)) {
		all = named_flat(&o);
		if (all) {
			f->begin(r, all, o.total);
			if (!(choice % 2) && !named_read(r, choice, &len) && r->dec.err != -ENOMEM)
				abort();
		}
		free(all);
	}
	iov_buf_finish(&o);
}

static inline int named_fuzz(const struct named_format *f, const uint8_t *data, size_t size)
{
	static struct named_reader reader;
	const struct sim_type *t;
	size_t len = 0;

	if (size < 2)
		return 0;
	named_reader_init(&reader);
	f->begin(&reader, data + 1, size - 1);
	t = named_read(&reader, data[0], &len);
	if (t)
		named_again(f, &reader, t, data[0], len);
	named_reader_finish(&reader);
	return 0;
}

#endif
