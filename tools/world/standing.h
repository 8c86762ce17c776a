/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers which clients have kept the world waiting, by their certificate, or without one by their identity, across
 * reconnections. So a client that keeps reconnecting and delaying costs the world one wait, not one each time. Reads no
 * clock. Thread: that of the ticks.
 */
#ifndef WORLD_STANDING_H
#define WORLD_STANDING_H

#include <stdint.h>

#define STANDING_KEY  16u
#define STANDING_KEPT 1024u /* if full, the entry that expires first is replaced */

struct standing_entry {
	uint8_t key[STANDING_KEY];
	uint32_t times;        /* 0: empty */
	int64_t until_mono_ns; /* when it expires */
};

struct standing {
	struct standing_entry at[STANDING_KEPT];
};

/*
 * The client has kept the world waiting once more. That is remembered for 20 s, twice as long each time, 20 minutes at
 * most.
 */
void standing_slow(struct standing *st, const uint8_t key[STANDING_KEY], int64_t now_mono_ns);
/* How often, as far as it is remembered. */
uint32_t standing_times(const struct standing *st, const uint8_t key[STANDING_KEY], int64_t now_mono_ns);
/* How long a client must keep pace before the world waits for it: 1 s to 64 s; 0 for times 0. */
int64_t standing_earn_dur_ns(uint32_t times);

#endif
