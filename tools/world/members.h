/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has been here: a client's identity, and the connection number that goes with it. Who comes again has its number again, and, within the server's
 * grace, its objects. Thread: that of the ticks.
 */
#ifndef WORLD_MEMBERS_H
#define WORLD_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#define IDENTITY_SIZE 16u

struct session;
struct store;

struct member {
	uint8_t identity[IDENTITY_SIZE];
	uint32_t connection;
	struct session *session; /* NULL: it is away */
	int64_t until_mono_ns;   /* away: its objects stay until then; INT64_MAX: it has none any more */
	uint32_t last_note;      /* number of its last message to others */
};

struct members {
	struct member **at; /* ascending by connection; each stays where it is until it is forgotten */
	uint32_t n, size, max;
	uint32_t last; /* connection number that was given */
	const struct store *store;
};

/* store: whose objects they have; kept. */
void members_init(struct members *ms, uint32_t max, const struct store *store);
void members_finish(struct members *ms);
/*
 * That of the identity, or a new one; ret_forgotten: the connection that was forgotten for it, 0: none. Who is away makes room, of them who has the fewest
 * objects, and of those who has been away longest: so whoever comes with ever new identities displaces its own, and neither those who are here nor who will
 * be back with its objects. -ENOSPC as many as may be are here, or the numbers are used up; -ENOMEM.
 */
int members_get(struct members *ms, const uint8_t identity[IDENTITY_SIZE], struct member **ret, uint32_t *ret_forgotten)
	__attribute__((warn_unused_result));
struct member *members_find(const struct members *ms, uint32_t connection); /* NULL */

#endif
