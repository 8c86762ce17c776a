/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.h: what becomes of who keeps time waiting, over reconnections (standing.h). One client that said Hello and never Done, and did so again whenever it
 * was put out, halved a world's rate. Thread: that of the ticks.
 */
#include <string.h>

#include <sodium.h>

#include "world_private.h"

#define LATE_STEPS 2 /* who goes while time has waited for it for longer has kept it waiting */

/* Its certificate, or without one its identity, which any client can make up: who is new each time pays from what newcomers may cost (barrier.h). */
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
	/* the first time it is in its role again when it has caught up */
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
