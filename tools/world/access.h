/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may take part, as what, and what it may own; and the object types that are the operator's own. Tables, as the configuration has them (config.h).
 * Thread: any.
 */
#ifndef WORLD_ACCESS_H
#define WORLD_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "barrier.h"

#define ACCESS_ENTRIES_MAX 1024u
#define ACCESS_TYPES_MAX   128u

struct access_entry {
	const char *certificate; /* name of one, `*` stands for any characters; NULL: that is not asked */
	const char *token;       /* NULL: that is not asked */
	enum barrier_role role;  /* the most that it may have */
	uint8_t codes[32];       /* of objects that it may own: bit c % 8 of byte c / 8 */
	uint32_t objects;        /* that it may own; UINT32_MAX: as many as anyone */
	bool notes;              /* it may send messages */
};

struct access_type {
	uint32_t code; /* 128 to 255 */
	const char *name, *proto;
};

struct access {
	const struct access_entry *entries; /* NULL: there is no list, and everybody may do everything */
	unsigned n_entries;
	const struct access_type *types;
	unsigned n_types; /* 0: all own codes are taken */
};

/* The first entry that fits; NULL: none, it is not let in. certificate: its name, "": it has none. */
const struct access_entry *access_find(const struct access *a, const char *certificate, const void *token,
				       size_t token_len);
enum barrier_role access_role(const struct access_entry *e, enum barrier_role asked);
/* e NULL: there is no list. */
bool access_may_own(const struct access_entry *e, uint32_t code);
bool access_has_type(const struct access *a, uint32_t code);
/* The whole of both is looked at, however early they differ. */
bool access_token_is(const char *token, const void *said, size_t len);

#endif
