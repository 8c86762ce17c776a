/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a format of named_reader.h must know. `at` is a value of the message, r->end its end; NULL: malformed, r->dec.err says
 * how.
 */
#ifndef NAMED_PRIVATE_H
#define NAMED_PRIVATE_H

#include <errno.h>
#include <string.h>

#include "named_reader.h"

enum named_what { NAMED_NULL, NAMED_MAP, NAMED_LIST, NAMED_OTHER };

struct named_iter { /* through a map or list */
	const uint8_t *at;
	uint64_t left;    /* where the format says how many there are */
	bool first, open; /* where it says that it ends */
	const char *key;
	size_t key_len;
};

struct named_format {
	enum named_what (*what)(const struct named_reader *r, const uint8_t *at);
	/* Behind a value; depth: levels that it may have yet. */
	const uint8_t *(*skip)(struct named_reader *r, const uint8_t *at, unsigned depth);
	/* Into a map or list; then to each of its pairs or elements: its value, NULL at the end (or malformed). */
	void (*enter)(struct named_reader *r, struct named_iter *i, const uint8_t *at);
	const uint8_t *(*next)(struct named_reader *r, struct named_iter *i, bool map);
	void (*number)(struct named_reader *r, const uint8_t *at, enum sim_kind kind, void *ret);
	const char *(*string)(struct named_reader *r, const uint8_t *at, size_t *ret_len);
	/* The numbers of an array in one piece, as they lie in memory; NULL where there are none. */
	const void *(*array)(struct named_reader *r, const uint8_t *at, enum sim_kind kind, uint32_t *ret_n);
};

void named_begin(struct named_reader *r, const struct named_format *format, const void *data, size_t len);

/* Memory until the next message; NULL: none, err is set. */
void *named_alloc(struct named_reader *r, size_t n);

static inline const void *named_fail(struct named_reader *r, int err)
{
	sim_dec_fail(&r->dec, err);
	return NULL;
}

/* Bytes of a number of that kind. */
size_t named_size(enum sim_kind kind);

/* A whole number, negative where v is to be read as int64_t, into kind. False: it does not fit. */
bool named_store_integer(enum sim_kind kind, bool negative, uint64_t v, void *ret);
void named_store_real(enum sim_kind kind, double v, void *ret);

#endif
