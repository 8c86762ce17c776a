/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crashes, enumerated: one scene of two callers, two providers and a plain connection is played again and again, and
 * each time a peer vanishes one callback later than the time before. Every call of the remaining peers is answered
 * exactly once, and nothing may leak.
 */
#include "scenario/service/actor.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "registry/service.h"

#define CALLS  5
#define ACTORS 5

enum who { LAMP, HORN, ONE, TWO, PLAIN };
enum victim { NOBODY, A_PROVIDER, BOTH_PROVIDERS, A_CALLER, A_PLAIN_CALLER, EVERYBODY, SHUTDOWN, NONSENSE, VICTIMS };

static struct desk d;

struct scene {
	struct actor a[ACTORS];
	unsigned called[ACTORS];
	unsigned answered;
	bool shut;
};

static void open_scene(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	desk_open(&d, "");
	actor_open(&d, &s->a[LAMP], "lamp");
	actor_open(&d, &s->a[HORN], "horn");
	actor_open(&d, &s->a[ONE], "one");
	actor_open(&d, &s->a[TWO], "two");
	actor_open(&d, &s->a[PLAIN], NULL);
	assert_int_equal(actor_offer(&s->a[LAMP], "lamp", 3, 50), 0);
	assert_int_equal(actor_offer(&s->a[HORN], "horn", 3, 50), 0);
}

static void vanish(struct scene *s, enum victim v)
{
	switch (v) {
	case A_PROVIDER:
		actor_vanish(&s->a[LAMP]);
		break;
	case BOTH_PROVIDERS:
		actor_vanish(&s->a[LAMP]);
		actor_vanish(&s->a[HORN]);
		break;
	case A_CALLER:
		actor_vanish(&s->a[ONE]);
		break;
	case A_PLAIN_CALLER:
		actor_vanish(&s->a[PLAIN]);
		break;
	case EVERYBODY:
		for (int i = 0; i < ACTORS; i++)
			actor_vanish(&s->a[i]);
		break;
	case SHUTDOWN:
		s->shut = true;
		service_all_close(d.simd);
		break;
	case NONSENSE:
		if (s->a[LAMP].fd >= 0)
			(void)!write(s->a[LAMP].fd, "\x02garbage\0", 9);
		break;
	default:
		break;
	}
}

/* Everybody does a little: a call, a look, an answer. LAMP answers half of them with an error, HORN forgets some. */
static void play(struct scene *s, unsigned step)
{
	for (int i = 0; i < ACTORS; i++)
		actor_read(&s->a[i]);
	for (int i = ONE; i <= TWO; i++) {
		if (s->called[i] < CALLS && s->a[i].fd >= 0) {
			actor_call(&s->a[i], s->called[i] % 2 ? "horn" : "lamp", (int)s->called[i], (int)s->called[i]);
			s->called[i]++;
		}
	}
	if (s->called[PLAIN] == s->a[PLAIN].n_replies && s->called[PLAIN] < CALLS && s->a[PLAIN].fd >= 0)
		actor_call(&s->a[PLAIN], s->called[PLAIN]++ % 2 ? "lamp" : "horn", -1, 0);
	for (int i = LAMP; i <= HORN; i++) {
		if (s->a[i].fd < 0 || !s->a[i].n_held || step % 3)
			continue;
		/* answered later, perhaps after its deadline */
		if (i == HORN && s->answered++ % 4 == 3)
			continue;
		actor_answer_id(&s->a[i], s->a[i].held[0].id + (step % 7 == 6 ? 1000 : 0), 0, 0);
		actor_answer(&s->a[i], i == LAMP && step % 2 ? -EIO : 0);
	}
}

static void check(struct scene *s)
{
	for (int i = ONE; i <= TWO; i++) {
		if (s->a[i].fd < 0)
			continue;
		assert_false(s->a[i].cut_off);
		for (unsigned n = 0; n < s->called[i]; n++) {
			int r = s->a[i].answer[n];

			if (s->a[i].answers[n] != 1)
				fail_msg("call %u of caller %d was answered %u times", n, i, s->a[i].answers[n]);
			if (r != 0 && r != -EIO && r != -EPIPE && r != -ENOENT && r != -EBUSY && r != -ETIMEDOUT &&
			    !(s->shut && r == -ECANCELED))
				fail_msg("call %u of caller %d: %d", n, i, r);
		}
	}
	if (s->a[PLAIN].fd >= 0)
		assert_int_equal(s->a[PLAIN].n_replies, s->called[PLAIN]);
}

static unsigned play_scene(enum victim v, unsigned when)
{
	static struct scene s;
	unsigned step;

	open_scene(&s);
	for (step = 0; step < 400; step++) {
		int ran;

		if (step == when)
			vanish(&s, v);
		play(&s, step);
		ran = exec_sim_one(d.x);
		assert_true(ran >= 0);
		if (!ran && step > when && s.called[ONE] + s.called[TWO] == 2 * CALLS && step % 3 == 0)
			break;
	}
	for (int i = 0; i < 60; i++) {
		desk_run(&d, 10 * MS);
		play(&s, 3 * (unsigned)i);
	}
	for (int i = 0; i < 20; i++) { /* no new call is made: open ones end by their deadline */
		desk_run(&d, 10 * MS);
		for (int k = 0; k < ACTORS; k++)
			actor_read(&s.a[k]);
	}
	check(&s);
	for (int i = 0; i < ACTORS; i++)
		actor_finish(&s.a[i]);
	desk_close(&d);
	return step;
}

static void enumerate(enum victim v)
{
	unsigned steps = play_scene(NOBODY, 0);

	assert_in_range(steps, 20, 300);
	for (unsigned when = 0; when < steps; when++)
		play_scene(v, when);
}

#define CRASH(name, who) \
	TEST(name) \
	{ \
		enumerate(who); \
	}
CRASH(a_provider_vanishes, A_PROVIDER)
CRASH(both_providers_vanish, BOTH_PROVIDERS)
CRASH(a_caller_vanishes, A_CALLER)
CRASH(a_plain_caller_vanishes, A_PLAIN_CALLER)
CRASH(everybody_vanishes, EVERYBODY)
CRASH(simd_shuts_down, SHUTDOWN)
CRASH(a_provider_talks_nonsense, NONSENSE)
