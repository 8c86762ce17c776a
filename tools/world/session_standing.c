/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See world.h: consequences of keeping the world waiting, across reconnections (standing.h). Without them, one client
 * that sent Hello and never Done, again after each disconnection, halved a world's rate. Thread: that of the ticks.
 */
#include <string.h>

#include <sodium.h>

#include "world_private.h"

#define LATE_STEPS 2 /* a client that leaves after the world has waited for it for longer has kept it waiting */

/*
 * Its certificate, or without one its identity, which a client can make up: one that is new each time is limited by the
 * newcomers' budget (barrier.h).
 */
static void key_of(const struct session *s, uint8_t ret[STANDING_KEY])
{
	uint8_t text[1 + NAME_MAX_LEN + 1] = { *s->certificate != 0 };

	if (*s->certificate)
		memcpy(text + 1, s->certificate, strlen(s->certificate));
	else
		memcpy(text + 1, s->m->identity, IDENTITY_SIZE);
	(void)crypto_generichash(ret, STANDING_KEY, text, sizeof(text), NULL, 0);
}

void session_was_slow(struct session *s)
{
	struct world *w = s->w;
	uint8_t key[STANDING_KEY];

	key_of(s, key);
	/* after the first time it only has to catch up */
	barrier_earn(w->barrier, s->m->connection,
		     standing_earn_dur_ns(standing_times(&w->standing, key, w->now_mono_ns)));
	standing_slow(&w->standing, key, w->now_mono_ns);
}

void session_goes_late(struct session *s)
{
	struct world *w = s->w;

	if (barrier_late_dur_ns(w->barrier, s->m->connection, w->now_mono_ns) > LATE_STEPS * w->o.store.step_dur_ns)
		session_was_slow(s);
}

void session_begin_standing(struct session *s)
{
	uint8_t key[STANDING_KEY];

	key_of(s, key);
	barrier_earn(s->w->barrier, s->m->connection,
		     standing_earn_dur_ns(standing_times(&s->w->standing, key, s->w->now_mono_ns)));
}
