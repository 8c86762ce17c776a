/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access list: which clients may take part, in which role, and what they may own; and the operator's own object types.
 * Tables as in the configuration (config.h). Thread: any.
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
	const char *certificate; /* name in the certificate, `*` matches any characters; NULL: not required */
	const char *token;       /* NULL: not required */
	enum barrier_role role;  /* the highest role it may have */
	uint8_t codes[32];       /* codes of objects that it may own: bit c % 8 of byte c / 8 */
	uint32_t objects;        /* number of objects it may own; UINT32_MAX: the server's limit */
	bool notes;              /* may send Notes */
};

struct access_type {
	uint32_t code; /* 128 to 255 */
	const char *name, *proto;
};

struct access {
	const struct access_entry *entries; /* NULL: no list, every client may do everything */
	unsigned n_entries;
	const struct access_type *types;
	unsigned n_types; /* 0: all own codes are allowed */
};

/*
 * The first matching entry; NULL: none, the client is refused. certificate: name in its certificate, "": no
 * certificate.
 */
const struct access_entry *access_find(const struct access *a, const char *certificate, const void *token,
				       size_t token_len);
enum barrier_role access_role(const struct access_entry *e, enum barrier_role asked);
/* e NULL: no list. */
bool access_may_own(const struct access_entry *e, uint32_t code);
bool access_has_type(const struct access *a, uint32_t code);
/* Compares in constant time. */
bool access_token_is(const char *token, const void *said, size_t len);

#endif
