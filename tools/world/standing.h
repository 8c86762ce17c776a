/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has kept a world waiting: what it lost stays with its certificate, or without one with its identity, over reconnections. So whoever comes again and
 * again and keeps time waiting costs the world one wait, and not one each time. It reads no clock.
 * Thread: that of the ticks.
 */
#ifndef WORLD_STANDING_H
#define WORLD_STANDING_H

#include <stdint.h>

#define STANDING_KEY  16u
#define STANDING_KEPT 1024u /* of more the one that is over first goes */

struct standing_entry {
	uint8_t key[STANDING_KEY];
	uint32_t times;        /* 0: empty */
	int64_t until_mono_ns; /* then it is forgotten */
};

struct standing {
	struct standing_entry at[STANDING_KEPT];
};

/* It has kept time waiting once more. It is kept in mind for 20 s, twice as long each time, 20 minutes at most. */
void standing_slow(struct standing *st, const uint8_t key[STANDING_KEY], int64_t now_mono_ns);
/* How often, as far as that is kept in mind. */
uint32_t standing_times(const struct standing *st, const uint8_t key[STANDING_KEY], int64_t now_mono_ns);
/* For how long it has to keep pace before it is waited for: from 1 s to 64 s; 0: of who never kept time waiting. */
int64_t standing_earn_dur_ns(uint32_t times);

#endif
