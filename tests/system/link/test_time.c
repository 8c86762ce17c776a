/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of several machines: one is the time host, the others follow; pause, step and scale apply to all. Thread: the
 * test's.
 */
#include "traffic.h"

#include <jansson.h>
#include <sys/mman.h>

#include <sim/client.h>
#include <sim/msg/Clock.h>
#include <sim/msg/Vector3.h>
#include <sim/publisher.h>
#include <sim/step.h>
#include <sim/subscriber.h>

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "switch.h"
#include "timeutil.h"
#include "usage.h"

static struct machine m[4];
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
	begin(0, "simulation", "\"time\":\"give\"" MACHINE_NEVER_LATE);
	begin(1, "link", "\"time\":\"follow\"" MACHINE_NEVER_LATE);
	return 0;
}

/* A silent machine counts as lost soon. */
static int start_mortal(void **state)
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
	struct difference d;

	AWAIT((d = difference()).bound >=
	      0); /* where a lease is short, a machine that stands a while is lost for a moment */
	print_message("%.1f us off, at most %.1f\n", (double)d.off / 1e3, (double)d.bound / 1e3);
	assert_true(d.off <= d.bound && d.off >= -d.bound);
}

#define FOLLOWS() AWAIT(machine_says(&m[1], "clock status", "off the time host's"))

TEST_WITH(pause_step_and_scale_hold_for_the_follower, start_two, end)
{
	FOLLOWS();
	assert_true(machine_says(&m[1], "clock status", "follows the time host"));
	is_within_the_bound();
	machine_ctl(&m[0], "clock pause");
	AWAIT(machine_says(&m[1], "clock status", "paused"));
	/* further than it can have run on */
	machine_ctl(&m[0], "clock step 10s");
	AWAIT(difference().off == 0);
	machine_ctl(&m[0], "clock scale 2");
	AWAIT(machine_says(&m[1], "clock status", "scale:      2"));
	assert_true(machine_says(&m[1], "clock status", "paused"));
	machine_ctl(&m[0], "clock resume");
	AWAIT(machine_says(&m[1], "clock status", "running"));
	is_within_the_bound();
	assert_true(machine_says(&m[1], "clock pause", "follows the time host"));
}

/* Two seconds in which both had a fifth of a CPU at most. */
static bool both_slept(const pid_t link[2])
{
	int64_t start_ms = wait_now_ms(), took_ms;
	long before[2], used[2];

	for (unsigned i = 0; i < 2; i++)
		before[i] = usage_cpu_ms(link[i]);
	moment_us(2000000);
	took_ms = wait_now_ms() - start_ms;
	for (unsigned i = 0; i < 2; i++) {
		used[i] = usage_cpu_ms(link[i]) - before[i];
		print_message("link of machine %u: %ld ms of processor time in %lld\n", i, used[i], (long long)took_ms);
		assert_true(before[i] > 0);
	}
	return used[0] <= took_ms / 5 && used[1] <= took_ms / 5;
}

/*
 * Measuring and reporting takes some hundredths of a CPU, also on a slow machine. A machine that was stopped may have
 * charged that time to the links, so the test measures again; a link that spins always takes all the CPU time that it
 * gets.
 */
TEST_WITH(links_use_little_cpu_between_messages, start_two, end)
{
	pid_t link[2];

	FOLLOWS();
	for (unsigned i = 0; i < 2; i++)
		link[i] = (pid_t)machine_bridge(&m[i], "link", "pid");
	AWAIT(both_slept(link));
}

TEST_WITH(a_lost_time_host_stops_time, start_mortal, end)
{
	FOLLOWS();
	assert_ok(switch_partition(net, 1u << 1, 0, INT64_MAX));
	AWAIT(machine_says(&m[1], "clock status", "whose time host is not heard"));
	assert_true(machine_logged(&m[1], "the time host a is not heard: time holds until it is back"));
	switch_heal(net);
	FOLLOWS();
	is_within_the_bound();
	/* it begins again: another time */
	machine_simd_stop(&m[0]);
	AWAIT(machine_says(&m[1], "clock status", "whose time host is not heard"));
	begin(0, "simulation", "\"time\":\"give\",\"lease_ms\":1000");
	FOLLOWS();
	is_within_the_bound();
}

/* ---- how well ---- */

static struct sim_client *watcher(unsigned i)
{
	char path[100];
	const struct sim_client_options o = {
		.size = sizeof(o), .name = "watcher", .socket = path, .flags = SIM_CLIENT_NO_DATA
	};
	struct sim_client *c;

	snprintf(path, sizeof(path), "/proc/%d/root/tmp/rt/control", (int)m[i].holder);
	if (sim_connect(&o, &c) < 0)
		fail_msg("%s", sim_why());
	return c;
}

/* By how much simulated time differs, at one moment of the clock that both have here. */
static int64_t error_now(const struct sim_client *a, const struct sim_client *b)
{
	struct sim_clock_sample sa, sb;

	sim_now_sample(a, &sa);
	sim_now_sample(b, &sb);
	return sb.sim_ns - sa.sim_ns - (sb.mono_ns - sa.mono_ns) * sa.rate_e6 / SIM_RATE_ONE;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* 1 ms each way. The stated bound is read again and again, as it gets tighter meanwhile: the largest one holds. */
TEST_WITH(clocks_agree_within_the_stated_bound, start_two, end)
{
	static const struct switch_rules slow = { .delay_dur_ns = NS_PER_MS };
	static int64_t all[60000];
	unsigned samples = test_full() ? 60000 : 3000;
	struct sim_client *a, *b;
	int64_t bound, most = 0;

	for (unsigned i = 0; i < 2; i++)
		assert_ok(switch_set(net, i, SWITCH_OUT, &slow));
	FOLLOWS();
	a = watcher(0);
	b = watcher(1);
	AWAIT(difference().bound < 20 * NS_PER_MS); /* it has come there */
	for (unsigned i = 0; i < samples; i++) {
		int64_t e = error_now(a, b);

		all[i] = e < 0 ? -e : e;
		if (i % (samples / 10) == 0 || i == samples - 1)
			most = (bound = difference().bound) > most ? bound : most;
		pace_us(1000); /* between two samples */
	}
	qsort(all, samples, sizeof(*all), by_size);
	print_message("clocks: p50 %.1f us, p99 %.1f, max %.1f; stated %.1f at most\n", (double)all[samples / 2] / 1e3,
		      (double)all[samples * 99 / 100] / 1e3, (double)all[samples - 1] / 1e3, (double)most / 1e3);
	assert_true(all[samples / 2] <= most);
	sim_disconnect(a);
	sim_disconnect(b);
}

/* ---- lock-step ---- */

#define STEPS 20

/* A participant's grants. In memory that all share. */
struct turns {
	unsigned number; /* of the participant: its name, and its channel */
	_Atomic unsigned n;
	_Atomic bool joined, stop;
	struct sim_step_turn turn[STEPS + 2];
};

static struct turns *turns; /* of each machine */

static int publish(struct sim_publisher *pub, unsigned number, const struct sim_step_turn *turn)
{
	const struct sim_Vector3 v = { number, (double)turn->now.sim_ns, (double)turn->number };

	return sim_try_queue_copy(pub, &v, sizeof(v), 0, NULL, NULL, NULL);
}

static int take_part(void *arg)
{
	struct turns *t = arg;
	char name[16], channel[16];
	const struct sim_client_options o = { .size = sizeof(o), .name = name, .socket = "/tmp/rt/control" };
	struct sim_client *c;
	struct sim_publisher *pub;
	struct sim_step *s;

	snprintf(name, sizeof(name), "part%u", t->number);
	snprintf(channel, sizeof(channel), "/m%u/at", t->number);
	if (sim_connect(&o, &c) < 0 || sim_advertise(c, channel, &sim_Vector3_type, NULL, &pub) < 0 ||
	    sim_step_join(c, 5, &s) < 0)
		return 1;
	atomic_store(&t->joined, true);
	while (!atomic_load(&t->stop) && atomic_load(&t->n) < STEPS + 2) {
		struct sim_step_turn turn;

		if (sim_step_wait(s, 100 * NS_PER_MS, &turn) < 0)
			continue;
		t->turn[atomic_load(&t->n)] = turn;
		if (publish(pub, t->number, &turn) < 0 || sim_step_done(s) < 0)
			return 2;
		atomic_fetch_add(&t->n, 1);
	}
	sim_step_leave(s);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

static int start_lockstep(void **state)
{
	(void)state;
	turns = mmap(NULL, 3 * sizeof(*turns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(turns, MAP_FAILED);
	for (unsigned i = 0; i < 3; i++)
		turns[i].number = i;
	start(3);
	begin(0, "simulation", "\"time\":\"give\",\"lockstep\":true" MACHINE_NEVER_LATE);
	machine_ctl(&m[0], "clock pause");
	for (unsigned i = 1; i < 3; i++)
		begin(i, "link", "\"time\":\"follow\"" MACHINE_NEVER_LATE);
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
TEST_WITH(a_step_covers_all_machines, start_lockstep, end)
{
	pid_t part[3];

	for (unsigned i = 0; i < 3; i++) {
		part[i] = machine_fork(&m[i], take_part, &turns[i]);
		AWAIT(atomic_load(&turns[i].joined));
	}
	AWAIT(machine_logged(&m[0], "machine b takes part") && machine_logged(&m[0], "machine c takes part"));
	for (unsigned k = 1; k <= STEPS; k++)
		step(k);
	for (unsigned i = 0; i < 3; i++) {
		atomic_store(&turns[i].stop, true);
		assert_int_equal(machine_wait(part[i]), 0);
		for (unsigned k = 0; k < STEPS; k++) {
			assert_int_equal(turns[i].turn[k].dur_ns, 10 * NS_PER_MS);
			assert_int_equal(turns[i].turn[k].now.sim_ns, turns[0].turn[k].now.sim_ns);
		}
	}
	assert_true(machine_says(&m[1], "clock status", "by grants of the time host"));
}

/* ---- /clock ---- */

static bool all_connected(const struct machine *of, unsigned bridges)
{
	const char *text = machine_ctl(of, "bridge list --json");

	for (unsigned i = 0; i < bridges && text; i++)
		text = (text = strstr(text, "\"connected\"")) ? text + 1 : NULL;
	return text != NULL;
}

/* Its newest tick on a machine, in memory that all share. */
struct ticks {
	_Atomic int64_t sim_ns, n;
};

static struct ticks *ticks;

static int read_clock(void *arg)
{
	const struct sim_client_options o = { .size = sizeof(o), .name = "clock", .socket = "/tmp/rt/control" };
	const struct sim_subscriber_options so = { .size = sizeof(so), .depth = 1 };
	struct ticks *t = arg;
	struct sim_client *c;
	struct sim_subscriber *sub;
	const struct sim_message *got;

	if (sim_connect(&o, &c) < 0 || sim_subscribe(c, "/clock", &sim_Clock_type, &so, &sub) < 0)
		return 1;
	for (;;) {
		if (sim_wait(sub, NS_PER_S) != 1 || sim_take(sub, &got) < 0)
			continue;
		atomic_store(&t->sim_ns, ((const struct sim_Clock *)got->body)->clock);
		atomic_fetch_add(&t->n, 1);
		(void)sim_release(sub, got);
	}
}

/* The follower, with a bridge that has /clock. */
static void begin_with_clock(const char *options)
{
	char conf[4400];

	snprintf(
		conf, sizeof(conf), "\"TimeSource\":\"link\",%s",
		machine_conf(
			&m[1], n, ",\"time\":\"follow\"" MACHINE_NEVER_LATE,
			",{\"name\":\"log\",\"plugin\":\"logging\",\"connection\":\"/tmp/log0\",\"channels\":[\"/clock\"]}"));
	begin(0, "simulation", options);
	machine_simd_start(&m[1], conf);
	ticks = mmap(NULL, sizeof(*ticks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(ticks, MAP_FAILED);
	machine_fork(&m[1], read_clock, ticks);
	AWAIT(all_connected(&m[1], 2));
}

static int64_t host_sim_ns(void)
{
	json_t *k = clock_of(0);
	int64_t sim_ns = number(k, "sim_ns");

	json_decref(k);
	return sim_ns;
}

/* The log of the bridge ends with the time at which all stood. */
static void bridge_had(int64_t sim_ns)
{
	char command[200], text[64], line[4096] = "", last[4096] = "";
	FILE *f;

	machine_simd_stop(&m[1]);
	snprintf(command, sizeof(command), "zcat /proc/%d/root/tmp/log0.txt.gz", (int)m[1].holder);
	snprintf(text, sizeof(text), "/clock %lld.%09lld ", (long long)(sim_ns / NS_PER_S),
		 (long long)(sim_ns % NS_PER_S));
	f = popen(command, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, "/clock"))
			snprintf(last, sizeof(last), "%s", line);
	pclose(f);
	if (!strstr(last, text))
		fail_msg("the bridge had \"%s\" last, not %s", last, text);
}

TEST_WITH(a_follower_publishes_the_clock_of_the_time_host, NULL, end)
{
	int64_t from_ns, to_ns, at_ns, ticks_before;

	start(2);
	begin_with_clock("\"time\":\"give\"" MACHINE_NEVER_LATE);
	FOLLOWS();
	AWAIT(difference().bound >= 0 && atomic_load(&ticks->n) > 0);
	from_ns = host_sim_ns() - difference().bound;
	ticks_before = atomic_load(&ticks->n);
	AWAIT(atomic_load(&ticks->n) > ticks_before + 1); /* one that is of now */
	at_ns = atomic_load(&ticks->sim_ns);
	to_ns = host_sim_ns() + difference().bound;
	assert_true(at_ns >= from_ns && at_ns <= to_ns);
	machine_ctl(&m[0], "clock pause");
	AWAIT(machine_says(&m[1], "clock status", "paused"));
	machine_ctl(&m[0], "clock step 10s");
	AWAIT(atomic_load(&ticks->sim_ns) == host_sim_ns());
	bridge_had(host_sim_ns());
}

TEST_WITH(a_follower_publishes_the_clock_of_the_time_host_in_lockstep, NULL, end)
{
	start(2);
	begin_with_clock("\"time\":\"give\",\"lockstep\":true" MACHINE_NEVER_LATE);
	machine_ctl(&m[0], "clock pause");
	AWAIT(machine_logged(&m[0], "machine b takes part"));
	for (unsigned k = 0; k < 5; k++) {
		machine_ctl(&m[0], "clock step 10ms");
		AWAIT(atomic_load(&ticks->sim_ns) == host_sim_ns());
	}
	bridge_had(host_sim_ns());
}

/* ---- the same logs as on one machine ---- */

#define LOGS 3

/* A log of what the participant of each number publishes. */
static const char *log_conf(char text[400], unsigned number)
{
	snprintf(text, 400,
		 ",{\"name\":\"log%u\",\"plugin\":\"logging\",\"connection\":\"/tmp/log%u\",\"channels\":[\"/m%u/*\"]}",
		 number, number, number);
	return text;
}

static int start_logging(void **state)
{
	static const char *const give = "\"time\":\"give\",\"lockstep\":true" MACHINE_NEVER_LATE,
				 *const follow = "\"time\":\"follow\"" MACHINE_NEVER_LATE;

	(void)state;
	turns = mmap(NULL, 2 * LOGS * sizeof(*turns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(turns, MAP_FAILED);
	for (unsigned i = 0; i < 2 * LOGS; i++)
		turns[i].number = i % LOGS;
	start(LOGS + 1);
	for (unsigned i = 0; i < LOGS; i++) {
		char conf[4400], extra[400], more[400];

		snprintf(extra, sizeof(extra), ",%s", i ? follow : give);
		snprintf(conf, sizeof(conf), "\"TimeSource\":\"%s\",\"TimeScale\":%d,%s", i ? "link" : "simulation",
			 i ? 1 : 0, machine_conf(&m[i], LOGS, extra, log_conf(more, i)));
		machine_simd_start(&m[i], conf);
	}
	return 0;
}

/* All three on the last machine, which has no link. */
static void start_alone(void)
{
	char conf[2000] = "\"TimeSource\":\"simulation\",\"TimeScale\":0,"
			  "\"pools\":[{\"size\":\"4KiB\",\"count\":1500},{\"size\":\"64KiB\",\"count\":400}],"
			  "\"rigs\":[{\"name\":\"rig\",\"bridges\":[";
	char more[400];

	for (unsigned i = 0; i < LOGS; i++)
		strcat(conf, log_conf(more, i) + (i == 0));
	strcat(conf, "]}]");
	machine_simd_start(&m[LOGS], conf);
}

static void run_steps(unsigned first, const struct machine *const on[LOGS], const struct machine *by)
{
	pid_t part[LOGS];

	for (unsigned i = 0; i < LOGS; i++) {
		part[i] = machine_fork(on[i], take_part, &turns[first + i]);
		AWAIT(atomic_load(&turns[first + i].joined));
	}
	for (unsigned k = 1; k <= STEPS; k++)
		machine_ctl(by, "clock step 10ms");
	for (unsigned i = 0; i < LOGS; i++) {
		atomic_store(&turns[first + i].stop, true);
		assert_int_equal(machine_wait(part[i]), 0);
		assert_int_equal(atomic_load(&turns[first + i].n), STEPS);
	}
}

static char *log_text(const struct machine *of, unsigned number, size_t *ret_len)
{
	char path[200], *text;

	snprintf(path, sizeof(path), "/proc/%d/root/tmp/log%u.txt.gz", (int)of->holder, number);
	if (fd_read_file(path, 1 << 20, &text, ret_len) < 0)
		fail_msg("%s: no log", path);
	return text;
}

TEST_WITH(logs_of_three_machines_equal_those_of_one_byte_for_byte, start_logging, end)
{
	const struct machine *const each[LOGS] = { &m[0], &m[1], &m[2] }, *const one[LOGS] = { &m[LOGS], &m[LOGS],
											       &m[LOGS] };

	for (unsigned i = 0; i < LOGS; i++)
		AWAIT(all_connected(&m[i], 2));
	AWAIT(machine_logged(&m[0], "machine b takes part") && machine_logged(&m[0], "machine c takes part"));
	run_steps(0, each, &m[0]);
	for (unsigned i = 0; i < LOGS; i++)
		machine_simd_stop(&m[i]);
	start_alone();
	AWAIT(all_connected(&m[LOGS], LOGS));
	run_steps(LOGS, one, &m[LOGS]);
	machine_simd_stop(&m[LOGS]);
	for (unsigned i = 0; i < LOGS; i++) {
		size_t len_each, len_one;
		char *a = log_text(&m[i], i, &len_each), *b = log_text(&m[LOGS], i, &len_one);

		assert_true(len_each > 200);
		assert_int_equal(len_each, len_one);
		assert_memory_equal(a, b, len_one);
		mem_free(a);
		mem_free(b);
	}
}

#define LEASE \
	",\"lease_ms\":8000" /* for so long the second one listens: longer than the first is silent that stands for seconds */

TEST_WITH(a_second_time_host_is_refused_by_name, NULL, end)
{
	start(3);
	begin(0, "simulation", "\"time\":\"give\"" LEASE);
	begin(1, "link", "\"time\":\"follow\"" LEASE);
	FOLLOWS();
	begin(2, "simulation", "\"time\":\"give\"" LEASE);
	AWAIT(machine_logged(&m[2], "machine a gives time already, so this one does not"));
	is_within_the_bound();
}

/* ---- an engine that loads its scene again ---- */

#define RELOADS 3

/* In memory that all share. */
struct engine {
	_Atomic unsigned wanted, done; /* scenes */
	_Atomic bool runs, stop;
};

static int run_engine(void *arg)
{
	const struct sim_client_options o = { .size = sizeof(o), .name = "engine", .socket = "/tmp/rt/control" };
	struct engine *e = arg;
	struct sim_client *c;
	struct sim_driver *d;
	int r;

	r = sim_connect(&o, &c);
	if (r == 0)
		r = sim_driver_acquire(c, SIM_DRIVER_PACED, &d);
	while (r == 0 && !atomic_load(&e->stop)) {
		if (atomic_load(&e->wanted) > atomic_load(&e->done)) {
			r = sim_driver_jump(d, 0);
			atomic_fetch_add(&e->done, 1);
		}
		if (r == 0)
			r = sim_driver_advance(d, 10 * NS_PER_MS, NULL);
		atomic_store(&e->runs, true);
	}
	if (r < 0)
		fprintf(stderr, "the engine: %s\n", sim_why());
	sim_disconnect(c);
	return r < 0;
}

static int64_t clock_number(unsigned i, const char *key)
{
	json_t *k = clock_of(i);
	int64_t v = number(k, key);

	json_decref(k);
	return v;
}

static bool at_one_time(void)
{
	return difference().off == 0;
}

/* Each scene is one jump there as well, and both stand at one time in the pause behind it. */
static void reload(const char *options)
{
	struct engine *e = mmap(NULL, sizeof(*e), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	assert_ptr_not_equal(e, MAP_FAILED);
	start(2);
	begin(0, "unity", options);
	begin(1, "link", "\"time\":\"follow\"" MACHINE_NEVER_LATE);
	pid = machine_fork(&m[0], run_engine, e);
	AWAIT(atomic_load(&e->runs) && clock_number(1, "sim_ns") > 0);
	for (unsigned k = 1; k <= RELOADS; k++) {
		int64_t jumps = clock_number(1, "clock_generation");

		atomic_store(&e->wanted, k);
		AWAIT(atomic_load(&e->done) == k && clock_number(1, "clock_generation") > jumps);
		assert_int_equal(clock_number(1, "clock_generation"), jumps + 1);
		machine_ctl(&m[0], "clock pause");
		AWAIT(at_one_time());
		machine_ctl(&m[0], "clock resume");
	}
	atomic_store(&e->stop, true);
	assert_int_equal(machine_wait(pid), 0);
	munmap(e, sizeof(*e));
}

TEST_WITH(a_scene_reload_reaches_all_machines, NULL, end)
{
	reload("\"time\":\"give\"" MACHINE_NEVER_LATE);
}

TEST_WITH(a_scene_reload_reaches_all_machines_in_lockstep, NULL, end)
{
	reload("\"time\":\"give\",\"lockstep\":true" MACHINE_NEVER_LATE);
}
