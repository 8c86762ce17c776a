/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.h: what becomes of who keeps time waiting, over reconnections (standing.h). One client that said Hello and never Done, and did so again whenever it
 * was put out, halved a world's rate. Thread: that of the ticks.
 */
#include <string.h>

#include <sodium.h>

#include "world_private.h"

#define LATE_STEPS 2 /* who goes while time has waited for it for longer has kept it waiting */

/* By its certificate, or by what any client can make up: its identity, and its address. */
enum key_kind { OF_CERTIFICATE = 1, OF_IDENTITY, OF_ADDRESS };

static void key_of(enum key_kind kind, const void *data, size_t len, uint8_t ret[STANDING_KEY])
{
	uint8_t text[1 + 64] = { (uint8_t)kind };

	memcpy(text + 1, data, len < 64 ? len : 64);
	(void)crypto_generichash(ret, STANDING_KEY, text, sizeof(text), NULL, 0);
}

static unsigned keys_of(const struct session *s, uint8_t ret[2][STANDING_KEY])
{
	unsigned n = 0;

	if (*s->certificate) {
		key_of(OF_CERTIFICATE, s->certificate, strlen(s->certificate), ret[n++]);
		return n;
	}
	key_of(OF_IDENTITY, s->m->identity, IDENTITY_SIZE, ret[n++]);
	if (*s->address)
		key_of(OF_ADDRESS, s->address, strlen(s->address), ret[n++]);
	return n;
}

void session_was_slow(struct session *s)
{
	struct world *w = s->w;
	uint8_t key[2][STANDING_KEY];
	unsigned n = keys_of(s, key);

	/* the first time it is in its role again when it has caught up */
	barrier_earn(w->barrier, s->m->connection,
		     standing_earn_dur_ns(standing_times(&w->standing, key[0], w->now_mono_ns)));
	for (unsigned i = 0; i < n; i++)
		standing_slow(&w->standing, key[i], w->now_mono_ns);
}

void session_goes_late(struct session *s)
{
	struct world *w = s->w;

	if (barrier_late_dur_ns(w->barrier, s->m->connection, w->now_mono_ns) > LATE_STEPS * w->o.store.step_dur_ns)
		session_was_slow(s);
}

void session_begin_standing(struct session *s)
{
	uint8_t key[2][STANDING_KEY];
	uint32_t times = 0;

	for (unsigned i = 0, n = keys_of(s, key); i < n; i++) {
		uint32_t t = standing_times(&s->w->standing, key[i], s->w->now_mono_ns);

		times = t > times ? t : times;
	}
	barrier_earn(s->w->barrier, s->m->connection, standing_earn_dur_ns(times));
}
