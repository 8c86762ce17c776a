/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crashes, enumerated: one scene is played again and again, and each time a peer vanishes one callback later than the
 * time before. The others must get each of their completions exactly once, and nothing may leak. All of it again with a
 * free-running engine, where bridges are lossless and are waited for; and again with messages that are lost on their
 * way.
 */
#include "scenario/dispatch/world.h"

#include <errno.h>

#include "log.h"

#define MESSAGES 6

enum victim { NOBODY, CLIENT, CLIENT_CLAIMING, BRIDGE, BRIDGE_HALF, BRIDGE_NONSENSE, ROUDI, SIMD_SHUTS, VICTIMS };

static struct world w;

struct scene {
	struct test_client *c[2];
	struct test_pub *p[2];
	uint32_t ids[2];
	struct test_bridge *b[2];
	unsigned published[2];
	unsigned steps;
	bool roudi_died, shut, loses;
};

static void open_scene(struct scene *s, uint64_t seed, bool lossless)
{
	memset(s, 0, sizeof(*s));
	world_create(&w, seed, 0);
	world_channel(&w, 0, 4, false);
	world_channel(&w, 1, 4, true);
	for (uint32_t i = 0; i < 2; i++) {
		world_bridge_lossless(&w, i, 64, DISPATCH_LOSSLESS_AUTO, true);
		world_route(&w, 0, i);
	}
	assert_int_equal(dispatch_freewheel(w.d, lossless), 0);
	world_route(&w, 1, 1);
	for (unsigned i = 0; i < 2; i++) {
		s->b[i] = bridge_attach(&w, i);
		s->c[i] = client_new(&w);
		s->p[i] = client_advertise(s->c[i], i);
		s->ids[i] = s->p[i]->id;
	}
}

static void called(void *arg)
{
	(void)arg;
}

/* Shuts simd down, as the only one that is not killed. */
static void shut(struct scene *s)
{
	s->shut = true;
	assert_int_equal(dispatch_shutdown(w.d, true, called, NULL), 0);
}

static void vanish(struct scene *s, enum victim v)
{
	switch (v) {
	case CLIENT_CLAIMING:
		if (client_claim_token(s->c[0], s->p[0], 20) > 0)
			client_claim_credit(s->c[0], s->p[0]);
		client_dies(s->c[0]);
		break;
	case CLIENT:
		client_dies(s->c[0]);
		break;
	case BRIDGE:
		bridge_dies(s->b[1]);
		break;
	case BRIDGE_HALF: /* its sockets close long before its process ends */
		bridge_closes(s->b[1]);
		break;
	case BRIDGE_NONSENSE:
		bridge_send_raw(s->b[1], 0, "\x02", 1);
		break;
	case ROUDI:
		s->roudi_died = true;
		ipc_mem_roudi_kill(w.bus);
		assert_int_equal(dispatch_restart_begin(w.d), 0);
		break;
	case SIMD_SHUTS:
		shut(s);
		break;
	default:
		break;
	}
}

/* Publishes the next message; in a scene with losses, every third one is lost, and the last one. */
static int try(const struct scene *s, unsigned i)
{
	unsigned n = s->published[i];
	uint32_t token = n % 2 ? NO_TOKEN : 10 + i;

	return s->loses && n % 3 == 2 ? client_try_lost(s->c[i], s->p[i], token) : client_try(s->c[i], s->p[i], token);
}

/* Everybody does a little: publish if there is something left, read, answer one. */
static void play(struct scene *s)
{
	for (unsigned i = 0; i < 2; i++) {
		if (s->c[i]->id && !s->roudi_died && s->published[i] < MESSAGES && try(s, i) == 0)
			s->published[i]++;
		if (s->c[i]->id)
			client_read(s->c[i]);
		if (!s->b[i]->alive)
			continue;
		bridge_read(s->b[i]);
		if (s->b[i]->n_held && s->b[i]->lanes[0] >= 0)
			bridge_answer(s->b[i], 0, s->steps % 5 == 4 ? -EIO : 0);
	}
}

static void check(struct scene *s, enum victim v)
{
	unsigned lost = 0;

	for (unsigned i = 0; i < 2; i++) {
		if (!s->c[i]->id)
			continue;
		client_read(s->c[i]);
		for (uint64_t n = 1; n <= s->published[i]; n++) {
			unsigned count = client_count(s->c[i], s->p[i], n);

			assert_in_range(count, v == ROUDI ? 0 : 1, 1);
			lost += !count;
		}
	}
	/* RouDi's death takes what simd had not yet taken; the clients' libraries answer that. */
	assert_true(lost <= (v == ROUDI ? 8u : 0u));
}

static unsigned play_scene(uint64_t seed, enum victim v, unsigned when, bool lossless, bool loses)
{
	struct scene s;

	open_scene(&s, seed, lossless);
	s.loses = loses;
	for (s.steps = 0; s.steps < 200; s.steps++) {
		int ran;

		if (s.steps == when)
			vanish(&s, v);
		play(&s);
		ran = exec_sim_one(w.x);
		assert_true(ran >= 0);
		if (!ran && (s.published[0] == MESSAGES || !s.c[0]->id || s.roudi_died) && s.steps > when &&
		    !s.b[0]->n_held && (!s.b[1]->n_held || !s.b[1]->alive || s.b[1]->lanes[0] < 0))
			break;
	}
	world_settle(&w);
	if (s.b[1]->alive && (v == BRIDGE_HALF || v == BRIDGE_NONSENSE))
		bridge_dies(s.b[1]);
	for (int i = 0; i < 20; i++) {
		play(&s);
		world_run(&w, lossless || loses ? 100 * MS : 0); /* a dead one is waited for, but not for ever */
	}
	check(&s, v);
	if (s.roudi_died)
		world_roudi_back(&w, 2);
	world_destroy(&w);
	return s.steps;
}

static void enumerate(enum victim v)
{
	for (unsigned how = 0; how < 3; how++) {
		bool lossless = how == 1, loses = how == 2;
		unsigned steps = play_scene(1, NOBODY, 0, lossless, loses);

		assert_in_range(steps, 10, 150);
		for (uint64_t seed = 1; seed <= 4; seed++)
			for (unsigned when = 0; when < steps; when++)
				play_scene(seed, v, when, lossless, loses);
	}
}

#define CRASH(name, who) \
	TEST(name) \
	{ \
		enumerate(who); \
	}
CRASH(nobody_vanishes, NOBODY)
CRASH(a_client_vanishes, CLIENT)
CRASH(a_client_vanishes_between_claim_and_publish, CLIENT_CLAIMING)
CRASH(a_bridge_vanishes, BRIDGE)
CRASH(a_bridge_closes_and_lives_on, BRIDGE_HALF)
CRASH(a_bridge_talks_nonsense, BRIDGE_NONSENSE)
CRASH(roudi_vanishes, ROUDI)
CRASH(simd_shuts_down, SIMD_SHUTS)

static int prepare(void **state)
{
	(void)state;
	log_set_spec("none");
	return 0;
}

TEST_GROUP(prepare, NULL)
