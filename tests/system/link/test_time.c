/* SPDX-License-Identifier: Apache-2.0 */
/* Time of several machines: one gives it, the others follow; what is done there holds for all. Thread: the test's. */
#include "traffic.h"

#include <jansson.h>
#include <sys/mman.h>

#include <sim/client.h>
#include <sim/step.h>

#include "err.h"
#include "switch.h"
#include "timeutil.h"

static struct machine m[3];
static struct net_switch *net;
static unsigned n;

static void begin(unsigned i, const char *source, const char *options)
{
	char conf[4200], extra[400];

	snprintf(extra, sizeof(extra), ",%s", options);
	snprintf(conf, sizeof(conf), "\"TimeSource\":\"%s\",%s", source, machine_conf(&m[i], n, extra, ""));
	machine_simd_start(&m[i], conf);
}

static int start(unsigned of)
{
	n = of;
	net = machines_start(m, n, test_seed(1));
	return 0;
}

static int start_two(void **state)
{
	(void)state;
	start(2);
	begin(0, "simulation", "\"time\":\"give\",\"lease_ms\":1000");
	begin(1, "link", "\"time\":\"follow\",\"lease_ms\":1000");
	return 0;
}

static int end(void **state)
{
	(void)state;
	machines_end(m, n, net);
	return 0;
}

TEST_PROCESSES()

static json_t *clock_of(unsigned i)
{
	json_t *k = json_loads(machine_ctl(&m[i], "clock status --json"), 0, NULL);

	assert_non_null(k);
	return k;
}

static int64_t number(const json_t *k, const char *key)
{
	return (int64_t)json_number_value(json_object_get(k, key));
}

struct difference {
	int64_t off, bound; /* simulated; bound < 0: not known */
};

/* Both read one clock here: what it was at the one when it was that at the other. */
static struct difference difference(void)
{
	json_t *a = clock_of(0), *b = clock_of(1);
	bool stands = json_is_true(json_object_get(a, "paused"));
	double rate = stands ? 0 : json_number_value(json_object_get(a, "scale"));
	int64_t since = number(b, "mono_ns") - number(a, "mono_ns");
	struct difference d = { number(b, "sim_ns") - number(a, "sim_ns") - (int64_t)((double)since * rate),
				json_is_integer(json_object_get(b, "error_ns")) ? number(b, "error_ns") : -1 };

	json_decref(a);
	json_decref(b);
	return d;
}

static void is_within_the_bound(void)
{
	struct difference d = difference();

	print_message("%.1f us off, at most %.1f\n", (double)d.off / 1e3, (double)d.bound / 1e3);
	assert_true(d.bound >= 0);
	assert_true(d.off <= d.bound && d.off >= -d.bound);
}

#define FOLLOWS() UNTIL(20000, machine_says(&m[1], "clock status", "off the time host's"))

TEST_WITH(pause_step_and_scale_hold_for_the_other, start_two, end)
{
	FOLLOWS();
	assert_true(machine_says(&m[1], "clock status", "follows the time host"));
	is_within_the_bound();
	machine_ctl(&m[0], "clock pause");
	UNTIL(10000, machine_says(&m[1], "clock status", "paused"));
	/* further than it can have run on */
	machine_ctl(&m[0], "clock step 10s");
	UNTIL(10000, difference().off == 0);
	machine_ctl(&m[0], "clock scale 2");
	UNTIL(10000, machine_says(&m[1], "clock status", "scale:      2"));
	assert_true(machine_says(&m[1], "clock status", "paused"));
	machine_ctl(&m[0], "clock resume");
	UNTIL(10000, machine_says(&m[1], "clock status", "running"));
	is_within_the_bound();
	assert_true(machine_says(&m[1], "clock pause", "follows the time host"));
}

TEST_WITH(a_time_host_that_is_lost_holds_time, start_two, end)
{
	FOLLOWS();
	assert_ok(switch_partition(net, 1u << 1, 0, INT64_MAX));
	UNTIL(20000, machine_says(&m[1], "clock status", "whose time host is not heard"));
	assert_true(machine_logged(&m[1], "the time host a is not heard: time holds until it is back"));
	switch_heal(net);
	FOLLOWS();
	is_within_the_bound();
	/* it begins again: another time */
	machine_simd_kill(&m[0]);
	UNTIL(20000, machine_says(&m[1], "clock status", "whose time host is not heard"));
	begin(0, "simulation", "\"time\":\"give\",\"lease_ms\":1000");
	FOLLOWS();
	is_within_the_bound();
}

/* ---- lock-step ---- */

#define STEPS 20

/* A participant: what it was granted. In memory that all share. */
struct turns {
	_Atomic unsigned n;
	_Atomic bool joined, stop;
	struct sim_step_turn turn[STEPS + 2];
};

static struct turns *turns; /* of each machine */

static int take_part(void *arg)
{
	const struct sim_client_options o = { .size = sizeof(o), .name = "part", .socket = "/tmp/rt/control" };
	struct turns *t = arg;
	struct sim_client *c;
	struct sim_step *s;

	if (sim_connect(&o, &c) < 0 || sim_step_join(c, 5, &s) < 0)
		return 1;
	atomic_store(&t->joined, true);
	while (!atomic_load(&t->stop) && atomic_load(&t->n) < STEPS + 2) {
		struct sim_step_turn turn;

		if (sim_step_wait(s, 100 * NS_PER_MS, &turn) < 0)
			continue;
		t->turn[atomic_load(&t->n)] = turn;
		if (sim_step_done(s) < 0)
			return 2;
		atomic_fetch_add(&t->n, 1);
	}
	sim_step_leave(s);
	sim_disconnect(c);
	return 0;
}

static int start_lockstep(void **state)
{
	(void)state;
	turns = mmap(NULL, 3 * sizeof(*turns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(turns, MAP_FAILED);
	start(3);
	begin(0, "simulation", "\"time\":\"give\",\"lockstep\":true,\"lease_ms\":1000");
	machine_ctl(&m[0], "clock pause");
	for (unsigned i = 1; i < 3; i++)
		begin(i, "link", "\"time\":\"follow\",\"lease_ms\":1000");
	return 0;
}

static void step(unsigned k)
{
	json_t *a, *b;

	machine_ctl(&m[0], "clock step 10ms");
	a = clock_of(0);
	for (unsigned i = 1; i < 3; i++) {
		b = clock_of(i);
		assert_int_equal(number(b, "sim_ns"), number(a, "sim_ns"));
		assert_int_equal(number(b, "error_ns"), 0);
		json_decref(b);
	}
	json_decref(a);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(atomic_load(&turns[i].n), k);
}

/* When the command returns, all have had it: once, by the same amount, at the same time. */
TEST_WITH(a_step_is_one_of_all_machines, start_lockstep, end)
{
	pid_t part[3];

	for (unsigned i = 0; i < 3; i++) {
		part[i] = machine_fork(&m[i], take_part, &turns[i]);
		UNTIL(20000, atomic_load(&turns[i].joined));
	}
	UNTIL(20000, machine_logged(&m[0], "machine b takes part") && machine_logged(&m[0], "machine c takes part"));
	for (unsigned k = 1; k <= STEPS; k++)
		step(k);
	for (unsigned i = 0; i < 3; i++) {
		atomic_store(&turns[i].stop, true);
		assert_int_equal(machine_wait(part[i], 20000), 0);
		for (unsigned k = 0; k < STEPS; k++) {
			assert_int_equal(turns[i].turn[k].dur_ns, 10 * NS_PER_MS);
			assert_int_equal(turns[i].turn[k].now.sim_ns, turns[0].turn[k].now.sim_ns);
		}
	}
	assert_true(machine_says(&m[1], "clock status", "by grants of the time host"));
}

TEST_WITH(a_second_time_host_is_refused_by_name, NULL, end)
{
	start(3);
	begin(0, "simulation", "\"time\":\"give\",\"lease_ms\":1000");
	begin(1, "link", "\"time\":\"follow\",\"lease_ms\":1000");
	FOLLOWS();
	begin(2, "simulation", "\"time\":\"give\",\"lease_ms\":1000");
	UNTIL(20000, machine_logged(&m[2], "machine a gives time already, so this one does not"));
	is_within_the_bound();
}
