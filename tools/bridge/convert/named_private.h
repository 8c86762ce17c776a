/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a format provides for named_reader.h. `at` is a value in the message, r->end its end; NULL: malformed,
 * r->dec.err says why.
 */
#ifndef NAMED_PRIVATE_H
#define NAMED_PRIVATE_H

#include <errno.h>
#include <string.h>

#include "named_reader.h"

enum named_what { NAMED_NULL, NAMED_MAP, NAMED_LIST, NAMED_OTHER };

struct named_iter { /* iterates over a map or list */
	const uint8_t *at;
	uint64_t left;    /* remaining entries, if the format has a count */
	bool first, open; /* for formats with an end mark */
	const char *key;
	size_t key_len;
};

struct named_format {
	enum named_what (*what)(const struct named_reader *r, const uint8_t *at);
	/* Returns the end of a value; depth: levels that it may still nest. */
	const uint8_t *(*skip)(struct named_reader *r, const uint8_t *at, unsigned depth);
	/*
	 * Enters a map or list; next() returns the value of each pair or element, NULL after the last (or malformed).
	 */
	void (*enter)(struct named_reader *r, struct named_iter *i, const uint8_t *at);
	const uint8_t *(*next)(struct named_reader *r, struct named_iter *i, bool map);
	void (*number)(struct named_reader *r, const uint8_t *at, enum sim_kind kind, void *ret);
	const char *(*string)(struct named_reader *r, const uint8_t *at, size_t *ret_len);
	/* The numbers of an array in place, if they lie in memory as needed; else NULL. */
	const void *(*array)(struct named_reader *r, const uint8_t *at, enum sim_kind kind, uint32_t *ret_n);
};

void named_begin(struct named_reader *r, const struct named_format *format, const void *data, size_t len);

/* Memory until the next message; NULL: no memory, err is set. */
void *named_alloc(struct named_reader *r, size_t n);

static inline const void *named_fail(struct named_reader *r, int err)
{
	sim_dec_fail(&r->dec, err);
	return NULL;
}

/* Bytes of a number of that kind. */
size_t named_size(enum sim_kind kind);

/* Stores a whole number as kind; negative: v is an int64_t. False: it does not fit. */
bool named_store_integer(enum sim_kind kind, bool negative, uint64_t v, void *ret);
void named_store_real(enum sim_kind kind, double v, void *ret);

#endif
