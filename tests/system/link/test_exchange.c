/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step over three machines, each of which publishes what the others take and log: the same as on one machine, whatever the network
 * does meanwhile. Thread: the test's.
 */
#include "traffic.h"

#include <sys/mman.h>

#include <sim/client.h>
#include <sim/msg/Vector3.h>
#include <sim/publisher.h>
#include <sim/step.h>
#include <sim/subscriber.h>

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "switch.h"
#include "timeutil.h"

#define HOSTS   3u
#define ONE     HOSTS /* the machine that has it all by itself */
#define TURNS   200u
#define A_TURN  3 /* messages that each publishes in a turn */
#define STEPS   12u
#define WAIT_MS 30000

static struct machine m[HOSTS + 1];
static struct net_switch *net;

/* A participant, in memory that all share. */
struct part {
	unsigned number; /* its name, and that of its channel */
	bool hears;      /* what it takes is in what it publishes */
	_Atomic unsigned turns, hold, held; /* hold: the turn in which it waits; held: the one in which it does */
	_Atomic bool joined, stop;
	_Atomic unsigned accepted, answered, failed;
	_Atomic unsigned lag[TURNS][HOSTS]; /* how many turns ago what it took had been published; 0: nothing, or not all of one turn */
};

static struct part *part;

static void new_parts(bool hears)
{
	part = mmap(NULL, 2 * HOSTS * sizeof(*part), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(part, MAP_FAILED);
	for (unsigned i = 0; i < 2 * HOSTS; i++) {
		part[i].number = (i + 1) % HOSTS; /* channels come in another order than machines */
		part[i].hears = hears;
	}
}

/* ---- participants ---- */

static void on_answered(void *arg, bool ok, enum sim_reason reason)
{
	struct part *p = arg;

	(void)reason;
	atomic_fetch_add(ok ? &p->answered : &p->failed, 1);
}

/* Stamps of all machines lie between each other; those of one do not grow. */
static int publish(struct part *p, struct sim_publisher *pub, const struct sim_step_turn *turn, unsigned k, double sum)
{
	for (unsigned i = 0; i < A_TURN; i++) {
		const struct sim_Vector3 v = { p->number, k, sum };
		int64_t back = (int64_t)((p->number * 7 + i * 3 + k) % 5) * NS_PER_MS;

		if (sim_try_queue_copy(pub, &v, sizeof(v), turn->now.sim_ns - back, NULL, on_answered, p) < 0)
			return -1;
		atomic_fetch_add(&p->accepted, 1);
	}
	return 0;
}

/* Of one other participant: adds up what it has published, and notes of which turn that is. */
static void take(struct part *p, struct sim_subscriber *sub, unsigned of, unsigned k, uint32_t *sum)
{
	const struct sim_message *got;
	unsigned n = 0, turn = 0;
	bool same = true;

	while (sim_take(sub, &got) == 0) {
		const struct sim_Vector3 *v = got->body;

		same = same && (!n || turn == (unsigned)v->y);
		turn = (unsigned)v->y;
		*sum = *sum * 31 + (uint32_t)v->x + turn * 7 + (uint32_t)v->z + (uint32_t)got->header.stamp_sim_ns;
		n++;
		(void)sim_release(sub, got);
	}
	if (k < TURNS)
		atomic_store(&p->lag[k][of], n == A_TURN && same ? k - turn : 0);
}

static int subscribe(struct sim_client *c, const struct part *p, struct sim_subscriber *sub[HOSTS])
{
	const struct sim_subscriber_options o = { .size = sizeof(o), .depth = 64 };
	char channel[16];

	for (unsigned i = 0; i < HOSTS; i++) {
		snprintf(channel, sizeof(channel), "/m%u/at", i);
		if (i != p->number && sim_subscribe(c, channel, &sim_Vector3_type, &o, &sub[i]) < 0)
			return -1;
	}
	return 0;
}

static int a_turn(struct part *p, struct sim_publisher *pub, struct sim_subscriber *sub[HOSTS],
		  const struct sim_step_turn *turn)
{
	unsigned k = atomic_load(&p->turns) + 1;
	uint32_t sum = 0;

	for (unsigned i = 0; i < HOSTS; i++)
		if (sub[i])
			take(p, sub[i], i, k, &sum);
	if (atomic_load(&p->hold) == k) {
		atomic_store(&p->held, k);
		AWAIT(atomic_load(&p->hold) != k);
	}
	return publish(p, pub, turn, k, p->hears ? sum : 0);
}

static int take_part(void *arg)
{
	struct part *p = arg;
	char name[16], channel[16];
	const struct sim_client_options o = { .size = sizeof(o), .name = name, .socket = "/tmp/rt/control" };
	struct sim_subscriber *sub[HOSTS] = { NULL };
	struct sim_client *c;
	struct sim_publisher *pub;
	struct sim_step *s;

	snprintf(name, sizeof(name), "part%u", p->number);
	snprintf(channel, sizeof(channel), "/m%u/at", p->number);
	if (sim_connect(&o, &c) < 0 || sim_advertise(c, channel, &sim_Vector3_type, NULL, &pub) < 0 ||
	    subscribe(c, p, sub) < 0 || sim_step_join(c, 5, &s) < 0)
		return 1;
	atomic_store(&p->joined, true);
	while (!atomic_load(&p->stop)) {
		struct sim_step_turn turn;

		if (sim_step_wait(s, 50 * NS_PER_MS, &turn) < 0)
			continue;
		if (a_turn(p, pub, sub, &turn) < 0 || sim_step_done(s) < 0)
			return 2;
		atomic_fetch_add(&p->turns, 1);
	}
	sim_step_leave(s);
	for (unsigned i = 0; i < HOSTS; i++)
		sim_subscriber_destroy(sub[i]);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

/* ---- machines ---- */

/* A log of each channel, or one of all. */
static const char *logs_conf(char text[1000], bool each)
{
	text[0] = '\0';
	for (unsigned i = 0; i < (each ? HOSTS : 1); i++) {
		char channels[16] = "/m*";

		if (each)
			snprintf(channels, sizeof(channels), "/m%u/*", i);
		snprintf(text + strlen(text), 1000 - strlen(text),
			 ",{\"name\":\"log%u\",\"plugin\":\"logging\",\"connection\":\"/tmp/log%u\",\"channels\":[\"%s\"]}",
			 i, i, channels);
	}
	return text;
}

static void begin(unsigned i, const char *options, bool each)
{
	char conf[5000], extra[400], logs[1000];

	snprintf(extra, sizeof(extra), ",%s%s", i ? "\"time\":\"follow\"" : "\"time\":\"give\",\"lockstep\":true",
		 options);
	snprintf(conf, sizeof(conf), "\"TimeSource\":\"%s\",\"TimeScale\":%d,%s", i ? "link" : "simulation", i ? 1 : 0,
		 machine_conf(&m[i], HOSTS, extra, logs_conf(logs, each)));
	machine_simd_start(&m[i], conf);
}

static void begin_one(bool each)
{
	char conf[2000], logs[1000];

	snprintf(conf, sizeof(conf),
		 "\"TimeSource\":\"simulation\",\"TimeScale\":0,"
		 "\"pools\":[{\"size\":\"4KiB\",\"count\":1500},{\"size\":\"64KiB\",\"count\":400}],"
		 "\"rigs\":[{\"name\":\"rig\",\"bridges\":[%s]}]",
		 logs_conf(logs, each) + 1);
	machine_simd_start(&m[ONE], conf);
}

/* options: of the time host's link, and of all. */
static void begin_all(const char *host_options, const char *options, bool each)
{
	char text[400];

	net = machines_start(m, HOSTS + 1, test_seed(1));
	snprintf(text, sizeof(text), "%s%s", host_options, options);
	for (unsigned i = 0; i < HOSTS; i++)
		begin(i, i ? options : text, each);
}

/* The network delays, and not evenly so. */
static void slow_down(void)
{
	static const struct switch_rules slow = { .delay_dur_ns = 3 * NS_PER_MS, .jitter_dur_ns = 2 * NS_PER_MS };

	for (unsigned i = 0; i < HOSTS; i++)
		assert_ok(switch_set(net, i, SWITCH_OUT, &slow));
}

static int end(void **state)
{
	(void)state;
	machines_end(m, HOSTS + 1, net);
	return 0;
}

TEST_PROCESSES()

static bool connected(const struct machine *of, unsigned bridges)
{
	const char *text = machine_ctl(of, "bridge list --json");

	for (unsigned i = 0; i < bridges && text; i++)
		text = (text = strstr(text, "\"connected\"")) ? text + 1 : NULL;
	return text != NULL;
}

/* Each is a part, and gets all that the others publish within the step. */
static void all_take_part(unsigned logs)
{
	char text[80];

	for (unsigned i = 0; i < HOSTS; i++)
		UNTIL(WAIT_MS, connected(&m[i], 1 + logs));
	UNTIL(WAIT_MS, machine_logged(&m[0], "machine b takes part") && machine_logged(&m[0], "machine c takes part"));
	for (unsigned i = 0; i < HOSTS; i++) {
		snprintf(text, sizeof(text), "/m%u/at is part of the steps of other machines: %u listen", part[i].number,
			 HOSTS - 1);
		UNTIL(WAIT_MS, machine_logged(&m[i], text));
	}
}

static void start_part(unsigned i, const struct machine *on, pid_t *ret)
{
	*ret = machine_fork(on, take_part, &part[i]);
	UNTIL(WAIT_MS, atomic_load(&part[i].joined));
}

static void start_parts(unsigned first, const struct machine *one, pid_t pid[HOSTS])
{
	for (unsigned i = 0; i < HOSTS; i++)
		start_part(first + i, one ? one : &m[i], &pid[i]);
}

static bool all_had(unsigned first, unsigned turns)
{
	for (unsigned i = 0; i < HOSTS; i++)
		if (atomic_load(&part[first + i].turns) != turns)
			return false;
	return true;
}

/* When the command returns, all have had it. */
static void steps(unsigned first, const struct machine *by, unsigned n)
{
	unsigned k = atomic_load(&part[first].turns);

	for (unsigned i = 1; i <= n; i++) {
		const char *said = machine_ctl(by, "clock step 10ms");

		if (!all_had(first, k + i))
			fail_msg("step %u: not all have had it: %s", k + i, said);
	}
}

/* What was accepted is answered, once. */
static void end_part(unsigned i, pid_t pid)
{
	struct part *p = &part[i];

	UNTIL(WAIT_MS, atomic_load(&p->answered) + atomic_load(&p->failed) >= atomic_load(&p->accepted));
	atomic_store(&p->stop, true);
	assert_int_equal(machine_wait(pid, 20000), 0);
	assert_int_equal(atomic_load(&p->answered) + atomic_load(&p->failed), atomic_load(&p->accepted));
	assert_int_equal(atomic_load(&p->accepted), A_TURN * atomic_load(&p->turns));
}

static void end_parts(unsigned first, const pid_t pid[HOSTS])
{
	for (unsigned i = 0; i < HOSTS; i++)
		end_part(first + i, pid[i]);
}

/* ---- logs ---- */

static char *log_text(const struct machine *of, unsigned number, size_t *ret_len)
{
	char path[200], *text;

	snprintf(path, sizeof(path), "/proc/%d/root/tmp/log%u.txt.gz", (int)of->holder, number);
	if (fd_read_file(path, 1 << 20, &text, ret_len) < 0)
		fail_msg("%s: no log", path);
	return text;
}

static void end_simds(void)
{
	for (unsigned i = 0; i <= ONE; i++)
		if (m[i].simd)
			machine_simd_stop(&m[i]);
}

/* All simds have ended. */
static void logs_are_those_of_one(unsigned logs)
{
	for (unsigned k = 0; k < logs; k++) {
		size_t len_one, len;
		char *one = log_text(&m[ONE], k, &len_one);

		assert_true(len_one > 200);
		for (unsigned i = 0; i < HOSTS; i++) {
			char *text = log_text(&m[i], k, &len);

			if (len != len_one || memcmp(text, one, len) != 0)
				fail_msg("log %u of machine %c is another one", k, (char)('a' + i));
			mem_free(text);
		}
		mem_free(one);
	}
}

static void none_was_missed(void)
{
	for (unsigned i = 0; i < HOSTS; i++)
		assert_false(machine_logged(&m[i], "not all of what another machine published"));
}

/* The same steps on one machine; `after` of them without participants. */
static void run_on_one(bool each, unsigned n, unsigned after)
{
	pid_t pid[HOSTS];

	begin_one(each);
	UNTIL(WAIT_MS, connected(&m[ONE], each ? HOSTS : 1));
	start_parts(HOSTS, &m[ONE], pid);
	steps(HOSTS, &m[ONE], n);
	end_parts(HOSTS, pid);
	for (unsigned i = 0; i < after; i++)
		machine_ctl(&m[ONE], "clock step 10ms");
}

/* ---- three machines are as one ---- */

TEST_WITH(three_machines_log_what_one_logs, NULL, end)
{
	pid_t pid[HOSTS];

	new_parts(true);
	begin_all("", "", false);
	slow_down();
	start_parts(0, NULL, pid);
	all_take_part(1);
	steps(0, &m[0], STEPS);
	end_parts(0, pid);
	run_on_one(false, STEPS, 0);
	for (unsigned i = 0; i < 2 * HOSTS; i++)
		for (unsigned k = 2; k <= STEPS; k++)
			for (unsigned of = 0; of < HOSTS; of++)
				if (of != part[i].number && atomic_load(&part[i].lag[k][of]) != 1)
					fail_msg("participant %u, turn %u: not the last turn of %u", i, k, of);
	end_simds();
	none_was_missed();
	logs_are_those_of_one(1);
}
