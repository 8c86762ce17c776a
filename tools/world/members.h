/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members: identities of clients, and their connection numbers. A client that reconnects gets its number back, and
 * within the server's grace period its objects. Thread: that of the ticks.
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
	struct session *session; /* NULL: disconnected */
	/* if disconnected: its objects are kept until then; INT64_MAX: it has no objects any more */
	int64_t until_mono_ns;
	uint32_t last_note; /* number of its last Note */
};

struct members {
	struct member **at; /* ascending by connection; pointers stay valid until the member is forgotten */
	uint32_t n, size, max;
	uint32_t last; /* last connection number given */
	const struct store *store;
};

/* store: borrowed; tells how many objects members own. */
void members_init(struct members *ms, uint32_t max, const struct store *store);
void members_finish(struct members *ms);
/*
 * The member with that identity, or a new one; ret_forgotten: connection of the member that was forgotten to make room,
 * 0: none. A disconnected member with the fewest objects is forgotten, of several the one that left first: so a client
 * that keeps coming with new identities displaces its own, and neither connected members nor those that will return to
 * their objects. -ENOSPC: all members are connected, or the numbers are used up; -ENOMEM.
 */
int members_get(struct members *ms, const uint8_t identity[IDENTITY_SIZE], struct member **ret, uint32_t *ret_forgotten)
	__attribute__((warn_unused_result));
struct member *members_find(const struct members *ms, uint32_t connection); /* NULL: no such member. */

#endif
