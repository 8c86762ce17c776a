/* SPDX-License-Identifier: Apache-2.0 */
/* See steps.h. */
#include "steps.h"

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

struct machine host[HOSTS + 1];
struct net_switch *net;
struct part *part;

void steps_parts(bool hears)
{
	part = mmap(NULL, RUNS * HOSTS * sizeof(*part), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(part, MAP_FAILED);
	for (unsigned i = 0; i < RUNS * HOSTS; i++) {
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

/* Adds up the messages of one other participant, and notes of which turn they are. */
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
		atomic_store(&p->lag[k][of], n == A_TURN && same ? k - turn : n ? LAG_MIXED + n : 0);
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

/* A log of all, and where that is asked for one of each channel. */
static const char *logs_conf(char text[1000], bool each)
{
	text[0] = '\0';
	for (unsigned i = 0; i < (each ? 1 + HOSTS : 1); i++) {
		char channels[16] = "/m*";

		if (i)
			snprintf(channels, sizeof(channels), "/m%u/*", i - 1);
		snprintf(
			text + strlen(text), 1000 - strlen(text),
			",{\"name\":\"log%u\",\"plugin\":\"logging\",\"connection\":\"/tmp/log%u\",\"channels\":[\"%s\"]}",
			i, i, channels);
	}
	return text;
}

void steps_begin(unsigned i, const char *options, bool each)
{
	char conf[5000], extra[400], logs[1000];

	snprintf(extra, sizeof(extra), ",%s%s", i ? "\"time\":\"follow\"" : "\"time\":\"give\",\"lockstep\":true",
		 options);
	snprintf(conf, sizeof(conf), "\"TimeSource\":\"%s\",\"TimeScale\":%d,%s", i ? "link" : "simulation", i ? 1 : 0,
		 machine_conf(&host[i], HOSTS, extra, logs_conf(logs, each)));
	machine_simd_start(&host[i], conf);
}

static void begin_one(bool each)
{
	char conf[2000], logs[1000];

	snprintf(conf, sizeof(conf),
		 MACHINE_PATIENT "\"TimeSource\":\"simulation\",\"TimeScale\":0,"
				 "\"pools\":[{\"size\":\"4KiB\",\"count\":1500},{\"size\":\"64KiB\",\"count\":400}],"
				 "\"rigs\":[{\"name\":\"rig\",\"bridges\":[%s]}]",
		 logs_conf(logs, each) + 1);
	machine_simd_start(&host[ONE], conf);
}

void steps_begin_all(const char *host_options, const char *options)
{
	char text[400];

	net = machines_start(host, HOSTS + 1, test_seed(1));
	snprintf(text, sizeof(text), "%s%s", host_options, options);
	for (unsigned i = 0; i < HOSTS; i++)
		steps_begin(i, i ? options : text, false);
}

void steps_slow_down(void)
{
	static const struct switch_rules slow = { .delay_dur_ns = 3 * NS_PER_MS, .jitter_dur_ns = 2 * NS_PER_MS };

	for (unsigned i = 0; i < HOSTS; i++)
		assert_ok(switch_set(net, i, SWITCH_OUT, &slow));
}

int steps_end(void **state)
{
	(void)state;
	machines_end(host, HOSTS + 1, net);
	return 0;
}

static bool connected(const struct machine *of, unsigned bridges)
{
	const char *text = machine_ctl(of, "bridge list --json");

	for (unsigned i = 0; i < bridges && text; i++)
		text = (text = strstr(text, "\"connected\"")) ? text + 1 : NULL;
	return text != NULL;
}

void steps_all_take_part(unsigned logs)
{
	char text[80];

	for (unsigned i = 0; i < HOSTS; i++)
		AWAIT(connected(&host[i], 1 + logs));
	AWAIT(machine_logged(&host[0], "machine b takes part") && machine_logged(&host[0], "machine c takes part"));
	for (unsigned i = 0; i < HOSTS; i++) {
		snprintf(text, sizeof(text), "/m%u/at is part of the steps of other machines: %u listen",
			 part[i].number, HOSTS - 1);
		AWAIT(machine_logged(&host[i], text));
	}
}

void steps_start_part(unsigned i, const struct machine *on, pid_t *ret)
{
	*ret = machine_fork(on, take_part, &part[i]);
	AWAIT(atomic_load(&part[i].joined));
}

void steps_start_parts(unsigned first, const struct machine *one, pid_t pid[HOSTS])
{
	for (unsigned i = 0; i < HOSTS; i++)
		steps_start_part(first + i, one ? one : &host[i], &pid[i]);
}

bool steps_all_had(unsigned first, unsigned least, unsigned most)
{
	for (unsigned i = 0; i < HOSTS; i++) {
		unsigned turns = atomic_load(&part[first + i].turns);

		if (turns < least || turns > most)
			return false;
	}
	return true;
}

void steps_run(unsigned first, const struct machine *by, unsigned n, unsigned lookahead)
{
	unsigned k = atomic_load(&part[first].turns);

	for (unsigned i = 1; i <= n; i++) {
		const char *said = machine_ctl(by, "clock step 10ms");

		if (!steps_all_had(first, k + i > lookahead ? k + i - lookahead : 0, k + i))
			fail_msg("step %u: not all have had it: %s", k + i, said);
	}
	AWAIT(steps_all_had(first, k + n, k + n));
}

int steps_once(void *arg)
{
	char path[PATH_MAX];
	const char *build = getenv("B");

	(void)arg;
	snprintf(path, sizeof(path), "%s/bin/simctl", build ? build : "build");
	return execl(path, "simctl", "clock", "step", "10ms", (char *)NULL);
}

void steps_begin_parts(pid_t pid[HOSTS], const char *host_options, const char *options)
{
	steps_parts(true);
	steps_begin_all(host_options, options);
	steps_slow_down();
	steps_start_parts(0, NULL, pid);
	steps_all_take_part(1);
}

void steps_end_part(unsigned i, pid_t pid)
{
	struct part *p = &part[i];

	AWAIT(atomic_load(&p->answered) + atomic_load(&p->failed) >= atomic_load(&p->accepted));
	atomic_store(&p->stop, true);
	assert_int_equal(machine_wait(pid), 0);
	assert_int_equal(atomic_load(&p->answered) + atomic_load(&p->failed), atomic_load(&p->accepted));
	assert_int_equal(atomic_load(&p->accepted), A_TURN * atomic_load(&p->turns));
}

void steps_end_parts(unsigned first, const pid_t pid[HOSTS])
{
	for (unsigned i = 0; i < HOSTS; i++)
		steps_end_part(first + i, pid[i]);
}

/* ---- logs ---- */

/* name: of its file, as log0 */
static char *log_text(const struct machine *of, const char *name, size_t *ret_len)
{
	char path[200], *text;

	snprintf(path, sizeof(path), "/proc/%d/root/tmp/%s.txt.gz", (int)of->holder, name);
	if (fd_read_file(path, 1 << 20, &text, ret_len) < 0)
		fail_msg("%s: no log", path);
	return text;
}

void steps_end_simds(void)
{
	for (unsigned i = 0; i <= ONE; i++)
		if (host[i].simd)
			machine_simd_stop(&host[i]);
}

bool steps_same_log(const struct machine *a, const char *name_a, const struct machine *b, const char *name_b)
{
	size_t len_a, len_b;
	char *text_a = log_text(a, name_a, &len_a), *text_b = log_text(b, name_b, &len_b);
	bool same = len_a == len_b && memcmp(text_a, text_b, len_a) == 0;

	assert_true(len_a > 200);
	mem_free(text_a);
	mem_free(text_b);
	return same;
}

/* For debugging: another run may not show the difference again. */
static void show_difference(const struct machine *a, const struct machine *b, const char *name)
{
	char line[400];

	snprintf(line, sizeof(line), "zdiff /proc/%d/root/tmp/%s.txt.gz /proc/%d/root/tmp/%s.txt.gz | head -n 30 >&2",
		 (int)a->holder, name, (int)b->holder, name);
	(void)!system(line);
}

void steps_log_is_that_of_one(const char *name)
{
	for (unsigned i = 0; i < HOSTS; i++)
		if (!steps_same_log(&host[i], name, &host[ONE], name)) {
			show_difference(&host[i], &host[ONE], name);
			fail_msg("%s of machine %c is another one", name, (char)('a' + i));
		}
}

/* How often it has said so. */
static unsigned gave_up(unsigned i)
{
	return machine_logged_times(&host[i], "not all messages of another machine");
}

void steps_none_was_missed(void)
{
	for (unsigned i = 0; i < HOSTS; i++)
		assert_int_equal(gave_up(i), 0);
}

void steps_all_lag(unsigned first, unsigned n, unsigned turns)
{
	for (unsigned i = 0; i < HOSTS; i++)
		for (unsigned k = 1; k <= n; k++)
			for (unsigned of = 0; of < HOSTS; of++) {
				unsigned want = of == part[first + i].number || k <= turns ? 0 : turns;
				unsigned is = atomic_load(&part[first + i].lag[k][of]);

				if (is != want)
					fail_msg(
						"participant %u, turn %u: %u has what it published %u turns ago, not %u (0: nothing, above %u: so "
						"many messages more, not of one turn); of a, b, c these have given something up: %u %u %u",
						part[first + i].number, k, of, is, want, LAG_MIXED, gave_up(0),
						gave_up(1), gave_up(2));
			}
}

void steps_run_on_one(unsigned first, bool each, unsigned n)
{
	pid_t pid[HOSTS];

	begin_one(each);
	AWAIT(connected(&host[ONE], each ? 1 + HOSTS : 1));
	steps_start_parts(first, &host[ONE], pid);
	steps_run(first, &host[ONE], n, 0);
	steps_end_parts(first, pid);
	steps_all_lag(first, n, 1);
}

void steps_were_those_of_one(const pid_t pid[HOSTS], unsigned n)
{
	steps_end_parts(0, pid);
	steps_all_lag(0, n, 1);
	steps_run_on_one(HOSTS, false, n);
	steps_end_simds();
	steps_none_was_missed();
	steps_log_is_that_of_one("log0");
}
