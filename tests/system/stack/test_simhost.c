/* SPDX-License-Identifier: Apache-2.0 */
/* simhost as a user has it: DAG files, processes of a rig, wrong configurations and failures. */
#include "stack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include <sim/msg/Float32.h>
#include <sim/msg/Int32.h>
#include <sim/sim.h>

#define DAG "/tmp/graph.dag.json"
#define LIB "/tmp/libcomponents.so"

TEST_PROCESSES();

static struct sim_client *client;

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* A new file in its place, as an installation does it. */
static void install(const char *from)
{
	char path[PATH_MAX];
	struct stat st;
	off_t at = 0;
	int in, out;

	snprintf(path, sizeof(path), "%s/%s", SHELF, from);
	in = open(path, O_RDONLY);
	assert_true(in >= 0 && fstat(in, &st) == 0);
	out = open(LIB ".new", O_CREAT | O_TRUNC | O_WRONLY, 0755);
	assert_true(out >= 0);
	while (at < st.st_size)
		assert_true(sendfile(out, in, &at, (size_t)(st.st_size - at)) > 0);
	close(in);
	close(out);
	assert_int_equal(rename(LIB ".new", LIB), 0);
}

static void write_dag(const char *components)
{
	char text[4096];

	snprintf(text, sizeof(text), "{\"modules\":[{\"library\":\"" LIB "\",\"components\":[\n%s\n]}]}\n", components);
	write_file(DAG, text);
}

#define COUNT_SLOWLY "{\"class\":\"Count\",\"name\":\"count\",\"interval_ms\":50}"
#define COUNT        "{\"class\":\"Count\",\"name\":\"count\",\"interval_ms\":5}"
#define TIMES        "{\"class\":\"Times\",\"name\":\"times\",\"readers\":[{\"channel\":\"/count\",\"pending\":64}]}"
/* A component that publishes waits for simd, however slow the machine is: a message that is refused after a second is a number lost. */
#define HOST(more) \
	"\"TimeSource\":\"system\"," STACK_POOLS \
	",\"dispatch\":{\"wait_ms\":60000},\"process\":{\"restart_ms\":1,\"restart_max_ms\":1}," \
	"\"rigs\":[{\"name\":\"car\",\"processes\":[{\"name\":\"host\",\"command\":[\"simhost\",\"-d\",\"" DAG \
	"\"" more "]," \
	"\"restart_limit\":2}]}]"

static pid_t start(const char *conf)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "test", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};
	pid_t simd = stack_start(conf);

	if (sim_connect(&o, &client) < 0)
		fail_msg("%s", sim_why());
	return simd;
}

static void end(pid_t simd)
{
	sim_disconnect(client);
	client = NULL;
	stack_stop(simd);
}

static struct sim_subscriber *subscribe(const char *channel)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 64 };
	struct sim_subscriber *s;

	if (sim_subscribe(client, channel, &sim_Int32_type, &o, &s) < 0)
		fail_msg("%s", sim_why());
	return s;
}

/* What a component has published, and which of its messages it was. */
struct number {
	int32_t v;
	uint64_t sequence;
	uint32_t publisher_id;
};

static struct number next(struct sim_subscriber *s)
{
	const struct sim_message *m;
	struct number n;

	AWAIT(sim_wait(s, NS_PER_S) == 1);
	assert_int_equal(sim_take(s, &m), 0);
	n = (struct number){ sim_Int32_from(m->body, m->body_size)->data, m->header.sequence, m->header.publisher_id };
	sim_release(s, m);
	return n;
}

/* Of another publisher than `old`, of which something may still be on its way. */
static struct number next_after(struct sim_subscriber *s, struct number old)
{
	struct number n;

	do
		n = next(s);
	while (n.publisher_id == old.publisher_id);
	return n;
}

/*
 * Of a component that has never stopped: its publisher is that of `first`, and it has lost no number between that one and this. This
 * test may lose some: when it is slow they are more than are kept for it.
 */
static void goes_on(struct sim_subscriber *s, struct number first, int32_t factor)
{
	struct number n = next(s);

	assert_int_equal(n.publisher_id, first.publisher_id);
	assert_int_equal(n.v, first.v + factor * (int32_t)(n.sequence - first.sequence));
}

TEST_WITH(a_graph_of_components_runs, NULL, stack_sweep)
{
	struct sim_subscriber *times;
	struct number first;
	pid_t simd;

	install("components.so");
	write_dag(COUNT ",\n" TIMES);
	simd = start(HOST(""));
	times = subscribe("/times");
	first = next(times);
	assert_int_equal(first.v % 2, 0);
	for (int i = 1; i < 50; i++)
		goes_on(times, first, 2);
	AWAIT(stack_said("2 components run in reality"));
	assert_string_equal(stack_ctl("node", "list", "--names", NULL)->out, "/count\n/times\n");
	sim_subscriber_destroy(times);
	end(simd);
}

/*
 * One component is reloaded; the other's sequence numbers continue without a gap. After a failed reload the old
 * component keeps running.
 */
TEST_WITH(a_component_is_reloaded, NULL, stack_sweep)
{
	struct sim_subscriber *times, *count;
	struct number counted, old, fresh;
	pid_t simd;

	install("components.so");
	write_dag(COUNT ",\n" TIMES);
	simd = start(HOST(""));
	times = subscribe("/times");
	count = subscribe("/count");
	counted = next(count);
	assert_int_equal(counted.v, counted.sequence); /* it counts what it publishes */
	old = next(times);
	assert_int_equal(old.v % 2, 0);

	install("components_3.so");
	assert_int_equal(stack_ctl("service", "call", "/times/reload", NULL)->code, 0);
	sim_subscriber_destroy(times);
	times = subscribe("/times");
	fresh = next_after(times, old);
	assert_int_equal(fresh.v % 3, 0);
	for (int i = 0; i < 8; i++)
		goes_on(times, fresh, 3);
	install("components_0.so");
	(void)stack_ctl("service", "call", "/times/reload", NULL);
	AWAIT(stack_said("nothing times nothing"));
	AWAIT(stack_said("the old one runs again"));
	sim_subscriber_destroy(times);
	times = subscribe("/times");
	assert_int_equal(next_after(times, fresh).v % 3, 0);

	/* the timer's component never stopped; 200 messages a second are more than are kept for who is slow to read them */
	for (int i = 1; i < 60; i++)
		goes_on(count, counted, 1);
	sim_subscriber_destroy(times);
	sim_subscriber_destroy(count);
	end(simd);
}

/* The table of its type was in the library as it was first, which is gone when both have been loaded again. */
TEST_WITH(a_channel_outlives_the_library_that_created_it, NULL, stack_sweep)
{
	static const char *const reloads[] = { "/times/reload", "/count/reload", "/times/reload", "/count/reload" };
	struct sim_subscriber *times;
	struct number old;
	pid_t simd;

	install("components.so");
	write_dag(COUNT ",\n" TIMES);
	simd = start(HOST(""));
	times = subscribe("/times");
	old = next(times);
	for (size_t i = 0; i < sizeof(reloads) / sizeof(reloads[0]); i++)
		assert_int_equal(stack_ctl("service", "call", reloads[i], NULL)->code, 0);
	assert_int_equal(next_after(times, old).v % 2, 0);
	assert_false(stack_said("restarting it"));
	sim_subscriber_destroy(times);
	end(simd);
}

/* Reloading a library that no longer has the class, or a file that is no library, does not even stop the component. */
TEST_WITH(a_library_without_its_class_leaves_the_component_running, NULL, stack_sweep)
{
	struct sim_subscriber *times;
	struct number first;
	pid_t simd;

	install("components.so");
	write_dag(COUNT ",\n" TIMES);
	simd = start(HOST(""));
	times = subscribe("/times");
	first = next(times);
	install("bad_component.so");
	(void)stack_ctl("service", "call", "/times/reload", NULL);
	AWAIT(stack_said(DAG ":3: component times: library " LIB " has no class \"Times\""));
	write_file(LIB ".new", "no library at all");
	assert_int_equal(rename(LIB ".new", LIB), 0);
	(void)stack_ctl("service", "call", "/times/reload", NULL);
	AWAIT(stack_said(DAG ":1: component times: library " LIB ": "));
	for (int i = 1; i <= 300; i++)
		goes_on(times, first, 2);
	sim_subscriber_destroy(times);
	end(simd);
}

/* A crash is named, the process restarted, and abandoned at the limit. */
TEST_WITH(a_crash_is_reported_with_its_component, NULL, stack_sweep)
{
	pid_t simd;

	install("components.so");
	write_dag(COUNT ",\n{\"class\":\"Crash\",\"name\":\"glass\",\"readers\":[{\"channel\":\"/count\"}]}");
	simd = start(HOST(""));
	stack_expects_crash();
	AWAIT(stack_said("component glass crashed: SIGABRT"));
	AWAIT(stack_said("is not started again after 2 restarts (its restart_limit)"));
	assert_int_equal(stack_count("host: simhost: component glass crashed", "SIGABRT"), 3);
	assert_string_equal(stack_ctl("node", "list", "--names", NULL)->out, ""); /* they went with it */
	end(simd);
}

TEST_WITH(a_component_that_never_returns_is_named, NULL, stack_sweep)
{
	pid_t simd;

	install("components.so");
	write_dag(COUNT ",\n{\"class\":\"Hang\",\"name\":\"well\",\"readers\":[{\"channel\":\"/count\"}]}");
	simd = start(HOST(",\"--stuck\",\"1500ms\""));
	AWAIT(stack_said("component well has been in proc for"));
	AWAIT(stack_said("(--stuck): ending the process"));
	AWAIT(stack_said("restarting it"));
	end(simd);
}

TEST_WITH(failures_and_dropped_messages_are_named, NULL, stack_sweep)
{
	struct sim_publisher_options o = { .size = sizeof(o) };
	struct sim_publisher *other;
	struct sim_Int32 m = { .data = 1 };
	pid_t simd;

	install("components.so");
	write_dag(
		COUNT
		",\n{\"class\":\"Fail\",\"name\":\"sad\",\"readers\":[{\"channel\":\"/count\"},{\"channel\":\"/other\"}]}");
	simd = start(HOST(""));
	AWAIT(stack_said("/other"));
	AWAIT(stack_said("messages of /count were dropped because no message of /other matched"));
	assert_int_equal(sim_advertise(client, "/other", &sim_Int32_type, &o, &other), 0);
	do
		assert_int_equal(sim_publish_local_copy(other, &m, sizeof(m), 0), 0);
	while (!HOLDS_WITHIN(100, stack_said("component sad: proc failed")));
	assert_true(stack_said("is no good"));
	sim_publisher_destroy(other);
	end(simd);
}

/* ---- what cannot work ---- */

static void refused_with(int code, const char *components, const char *why)
{
	const char *argv[] = { "simhost", "-s", STACK_SOCKET, "-d", DAG, NULL };
	const struct ctl_result *r;

	write_dag(components);
	r = stack_run(argv);
	if (r->code != code || !strstr(r->err, why))
		fail_msg("exit code %d; \"%s\" says nothing of \"%s\"", r->code, r->err, why);
	assert_non_null(strstr(r->err, DAG ":"));
}

static void refused(const char *components, const char *why)
{
	refused_with(78, components, why);
}

TEST_WITH(invalid_components_are_reported_with_file_and_line, NULL, stack_sweep)
{
	struct sim_publisher_options o = { .size = sizeof(o) };
	struct sim_publisher *p;
	pid_t simd = start("\"TimeSource\":\"system\"," STACK_POOLS);

	install("components.so");
	refused("{\"class\":\"Cuont\",\"name\":\"c\",\"interval_ms\":5}",
		DAG ":2: component c: library " LIB " has no class \"Cuont\"");
	refused(COUNT ",\n" COUNT, DAG ":3:");
	refused(COUNT ",\n{\"class\":\"Times\",\"name\":\"t\",\"readers\":[]}",
		"has 1 inputs, and readers for 0 are configured");
	assert_int_equal(sim_advertise(client, "/count", &sim_Float32_type, &o, &p), 0);
	refused(COUNT, "/count");
	sim_publisher_destroy(p);
	install("components_0.so");
	refused_with(1, TIMES, DAG ":2: component times: nothing times nothing");
	assert_int_equal(unlink(LIB), 0);
	refused(COUNT, LIB);
	end(simd);
}

/*
 * A writer that starts a moment later than the host causes no warning; one that never starts is named, once time has
 * run for a while.
 */
TEST_WITH(an_input_without_a_writer_is_named_after_a_grace_period, NULL, stack_sweep)
{
	struct sim_publisher *late;
	struct sim_driver *d;
	pid_t simd;

	install("components.so");
	write_dag("{\"class\":\"Fail\",\"name\":\"f\",\"readers\":[{\"channel\":\"/late\"},{\"channel\":\"/never\"}]}");
	simd = start("\"TimeSource\":\"unity\"," STACK_POOLS
		     ",\"rigs\":[{\"name\":\"car\",\"processes\":[{\"name\":\"host\","
		     "\"command\":[\"simhost\",\"-d\",\"" DAG "\"]}]}]");
	AWAIT(stack_said("1 components run in reality"));
	assert_int_equal(sim_advertise(client, "/late", &sim_Int32_type, NULL, &late), 0);
	assert_int_equal(sim_driver_acquire(client, 0, &d), 0);
	assert_int_equal(sim_driver_advance(d, NS_PER_MS, NULL), 0);
	AWAIT(stack_said("f: no process publishes /never;"));
	assert_false(stack_said("no process publishes /late"));
	sim_driver_release(d);
	sim_publisher_destroy(late);
	end(simd);
}

/* ---- a scheduler ---- */

#define FIFO "\"SCHED_FIFO\""

/* A host without the right to real-time scheduling, whichever user runs this test. */
static pid_t start_without_rights(void)
{
	static const char conf[] =
		"\"TimeSource\":\"system\"," STACK_POOLS
		",\"rigs\":[{\"name\":\"car\",\"processes\":[{\"name\":\"host\","
		"\"command\":[\"prlimit\",\"--rtprio=0:0\",\"setpriv\",\"--inh-caps=-sys_nice\",\"--bounding-set=-sys_nice\","
		"\"%s/simhost\",\"-d\",\"" DAG "\"]}]}]";
	char bin[PATH_MAX], text[sizeof(conf) + PATH_MAX];

	assert_non_null(realpath(SHELF "/../../bin", bin));
	snprintf(text, sizeof(text), conf, bin);
	return start(text);
}

/* With the file and the key, or the group; of many threads that cannot have their place once. */
TEST_WITH(unavailable_scheduler_settings_are_reported_once, NULL, stack_sweep)
{
	static const char *const notes[] = { "routine_num: there are no coroutines, ignored",
					     "group fast: real-time scheduling is not permitted",
					     "thread shm: real-time scheduling is not permitted" };
	pid_t simd;

	install("components.so");
	write_file("/tmp/far.json", "{\"routine_num\":7,\"threads\":[{\"name\":\"shm\",\"policy\":" FIFO
				    "}],\"classic_conf\":{\"groups\":["
				    "{\"name\":\"fast\",\"processor_num\":2,\"processor_policy\":" FIFO "}]}}");
	write_file(
		DAG,
		"{\"modules\":[{\"library\":\"" LIB "\",\"components\":[" COUNT "," TIMES
		",{\"class\":\"Fail\",\"name\":\"f\",\"readers\":[{\"channel\":\"/times\"},{\"channel\":\"/other\"}]}]}],"
		"\n\"scheduler\":\"far.json\"}\n");
	simd = start_without_rights();
	for (unsigned i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		AWAIT(stack_count(DAG ":2: scheduler far.json: ", notes[i]) == 1);
	AWAIT(stack_said("3 components run in reality"));
	end(simd);
	for (unsigned i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		assert_int_equal(stack_count("scheduler", notes[i]), 1);
}

/* ---- as many as there may be ---- */

/* One counts, slowly, as 255 read it; each can be reached. */
TEST_WITH(a_host_runs_the_maximum_number_of_components, NULL, stack_sweep)
{
	static char text[256 * 100];
	const struct ctl_result *r;
	size_t n = (size_t)snprintf(text, sizeof(text),
				    "{\"modules\":[{\"library\":\"" LIB "\",\"components\":[\n" COUNT_SLOWLY);
	unsigned lines = 0;
	pid_t simd;

	install("components.so");
	for (unsigned i = 1; i < 256; i++)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n,
			",\n{\"class\":\"Quiet\",\"name\":\"quiet_%u\",\"readers\":[{\"channel\":\"/count\"}]}", i);
	snprintf(text + n, sizeof(text) - n, "]}]}\n");
	write_file(DAG, text);
	simd = start(HOST(""));
	AWAIT(stack_said("256 components run in reality"));
	AWAIT((r = stack_ctl("node", "info", "quiet_255", NULL))->code == 0 && !strstr(r->out, ": Quiet; 0 proc"));
	assert_non_null(strstr(r->out, "component: Quiet; "));
	r = stack_ctl("node", "list", "--names", NULL);
	for (const char *at = r->out; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, 256);
	assert_int_equal(stack_ctl("service", "call", "/quiet_255/reload", NULL)->code, 0);
	AWAIT(stack_said("component quiet_255 was loaded again"));
	assert_false(stack_said("cannot be loaded again"));
	end(simd);
}
