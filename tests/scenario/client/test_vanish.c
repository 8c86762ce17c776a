/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any peer may vanish at any step: random walks over publishing, answering, killing and restarting, in virtual time. In
 * every walk each message is called back exactly once, and when all is quiet again no credit and no token is lost. A
 * failing walk prints its seed; SEED=n repeats it.
 */
#include "scenario/client/imu.h"

#include <errno.h>

#include "rnd.h"

#define STEPS 150
#define WALKS 40

static struct world w;

struct walk {
	struct rnd rnd;
	uint64_t seed;
	struct sim_client *c;
	struct sim_publisher *p, *two;
	struct sim_token *t;
	struct sim_subscriber *s;
	struct bridge_peer b;
	bool bridge, simd, roudi;
	struct outcome out[4 * STEPS];
	unsigned n, accepted;
};

static void note(const struct walk *k, const char *what)
{
	if (getenv("VERBOSE"))
		print_message("seed %llu, at %lld ms: %s\n", (unsigned long long)k->seed,
			      (long long)(exec_now(w.x) / MS), what);
}

static void publish(struct walk *k, struct sim_publisher *p, struct sim_token *t)
{
	struct sim_slot *slot;
	int r = sim_loan(p, sizeof(struct sim_Imu), &slot);

	if (r < 0) {
		if (r != -ESTALE)
			fail_msg("seed %llu: loan: %s", (unsigned long long)k->seed, sim_why());
		return;
	}
	r = sim_try_queue(p, slot, t, on_done, &k->out[k->n++]);
	k->accepted += r == 0;
	if (r < 0 && r != -EBUSY && r != -EAGAIN && r != -ETIMEDOUT && r != -ENOTCONN && r != -ESTALE)
		fail_msg("seed %llu: queue: %s", (unsigned long long)k->seed, sim_why());
}

static void bridge_up(struct walk *k)
{
	if (k->bridge || !k->simd || !k->roudi)
		return;
	note(k, "bridge starts");
	bridge_start(&w, &k->b);
	bridge_connected(&w, &k->b);
	k->bridge = true;
}

static void bridge_down(struct walk *k)
{
	if (!k->bridge)
		return;
	note(k, "bridge dies");
	bridge_end(&k->b);
	world_bury(&w);
	k->bridge = false;
}

static void answer(struct walk *k)
{
	if (!k->bridge || !bridge_next(&k->b, 0))
		return;
	bridge_answer(&k->b, rnd_below(&k->rnd, 4) ? 0 : -EIO);
}

static void toggle_simd(struct walk *k)
{
	if (k->simd) {
		note(k, "simd dies");
		world_kill_simd(&w);
		if (rnd_below(&k->rnd, 2))
			bridge_down(k);
	} else {
		note(k, "simd starts");
		if (!k->roudi) {
			assert_int_equal(ipc_mem_roudi_start(w.bus), 0);
			w.life++;
			k->roudi = true;
		}
		bridge_down(k); /* a bridge of the old simd: it would have to attach again */
		world_start_simd(&w);
	}
	k->simd = !k->simd;
}

static void toggle_roudi(struct walk *k)
{
	if (!k->simd)
		return;
	note(k, k->roudi ? "RouDi dies" : "RouDi starts");
	if (k->roudi)
		world_kill_roudi(&w);
	else
		world_start_roudi(&w);
	k->roudi = !k->roudi;
}

static void step(struct walk *k)
{
	/* a missing part is restarted soon, so that there is something to lose */
	uint32_t dice = rnd_below(&k->rnd, (k->simd && k->roudi) ? 48 : 6);

	switch (dice) {
	case 0:
		toggle_simd(k);
		return;
	case 1:
		toggle_roudi(k);
		return;
	default:
		break;
	}
	switch (rnd_below(&k->rnd, 16)) {
	case 1:
	case 2:
		bridge_up(k);
		break;
	case 3:
		if (rnd_below(&k->rnd, 4) == 0)
			bridge_down(k);
		break;
	case 4:
	case 5:
	case 6:
		answer(k);
		break;
	case 7:
	case 8:
		world_run(&w, (int64_t)rnd_below(&k->rnd, 30) * MS);
		break;
	case 9:
	case 10:
		sim_process(k->c);
		break;
	case 11:
		if (k->bridge)
			sim_process(k->b.c);
		break;
	case 12:
	case 13:
		publish(k, k->two, NULL);
		break;
	default:
		publish(k, k->p, rnd_below(&k->rnd, 2) ? k->t : NULL);
		break;
	}
}

/* Bring everything back, and let it come to rest. */
static void settle(struct walk *k)
{
	if (!k->simd)
		toggle_simd(k);
	if (!k->roudi)
		toggle_roudi(k);
	for (int i = 0; i < 400; i++) {
		world_run(&w, 5 * MS);
		sim_process(k->c);
		if (k->bridge) {
			sim_process(k->b.c);
			answer(k);
		}
	}
	world_until(&w, k->c, SIM_CLIENT_CONNECTED);
	bridge_down(k);
	for (int i = 0; i < 20; i++) {
		world_run(&w, 5 * MS);
		sim_process(k->c);
	}
}

/*
 * Publishes a whole window, with the token, on a channel without a connected bridge: possible only if nothing was lost.
 */
static void check(struct walk *k)
{
	struct outcome done = { 0 };
	struct sim_slot *slots[2];

	for (unsigned i = 0; i < k->n; i++) {
		if (k->out[i].calls != 1)
			fail_msg("seed %llu: message %u of %u was called back %u times", (unsigned long long)k->seed, i,
				 k->n, k->out[i].calls);
	}
	slots[0] = imu_loan(k->two);
	slots[1] = imu_loan(k->two);
	if (sim_try_queue(k->two, slots[0], k->t, on_done, &done) < 0 ||
	    sim_try_queue(k->two, slots[1], NULL, on_done, &done) < 0)
		fail_msg("seed %llu: a credit or the token is lost: %s", (unsigned long long)k->seed, sim_why());
	world_process(&w, k->c);
	assert_int_equal(done.calls, 2);
}

static unsigned walk(uint64_t seed)
{
	static struct walk k;
	unsigned accepted;

	memset(&k, 0, sizeof(k));
	k.seed = seed;
	rnd_seed(&k.rnd, seed);
	world_create(&w, seed, ", \"dispatch\": {\"wait_ms\": 20}");
	k.simd = k.roudi = true;
	k.c = world_client(&w, "sensor", 0);
	k.p = imu_advertise(k.c, "imu", 0);
	k.two = imu_advertise(k.c, "two", SIM_PUB_NO_WAIT);
	k.s = imu_subscribe(k.c, "imu", 0);
	assert_int_equal(sim_token_open(k.c, "t", &k.t), 0);
	for (int i = 0; i < STEPS; i++)
		step(&k);
	settle(&k);
	check(&k);
	accepted = k.accepted;
	sim_token_close(k.t);
	sim_subscriber_destroy(k.s);
	sim_publisher_destroy(k.two);
	sim_publisher_destroy(k.p);
	sim_disconnect(k.c);
	world_destroy(&w);
	return accepted;
}

TEST(peers_that_vanish_at_random_leave_nothing)
{
	unsigned accepted = 0;

	if (getenv("SEED")) {
		walk(test_seed(1));
		return;
	}
	for (uint64_t seed = 1; seed <= WALKS; seed++)
		accepted += walk(seed);
	assert_true(accepted > WALKS * STEPS / 20); /* otherwise the walks tested nothing */
}
