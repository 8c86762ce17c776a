/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call of the public headers that has a time-out waits for exactly that time, and RouDi is replaced when it is
 * killed, whatever the wall clock does. Run plainly, the clock is left alone; wall.sh has a wait for a moment of it
 * crash; faketime.sh has it set by an hour forward and back, again and again, under all processes here
 * (FAKETIME_TIMESTAMP_FILE, which is written here). A call with a time-out that is not in the table below is a failure.
 */
#include "peer.h"
#include "stack.h"

#include <glob.h>
#include <pthread.h>
#include <regex.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <sim/node.h>
#include <sim/srv/SetBool.h>

#include "fd.h"

#define CONF \
	"\"TimeSource\":\"unity\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"bridges\":[" \
	"{\"name\":\"b\",\"plugin\":\"" FAULTY "\",\"options\":{\"mode\":\"slow\",\"delay_us\":3000000}}]}]," \
	"\"dispatch\":{\"deadline_ms\":600000}"
#define SILENT   "/tmp/out-silent" /* a socket without an answering server */
#define WAIT_MS  1000
#define WAIT_DUR (WAIT_MS * NS_PER_MS)
#define STEP_DUR (10 * NS_PER_MS)

static pid_t simd;

TEST_PROCESSES()

/* ---- the wall clock ---- */

static struct {
	pthread_t thread;
	_Atomic bool stop;
	const char *file; /* NULL: it is left alone */
} wall;

/* A reader that looks twice within a wait has seen the clock go both ways. */
static void *set_again_and_again(void *arg)
{
	static const char *const offsets[] = { "+3600", "-3600" };
	char next[200];

	(void)arg;
	snprintf(next, sizeof(next), "%s.next", wall.file);
	for (unsigned i = 0; !atomic_load(&wall.stop); i++) {
		const char *offset = offsets[i % 2];

		if (fd_write_file(next, offset, strlen(offset), 0600) < 0 || rename(next, wall.file) < 0)
			abort();
		pace_us(10000);
	}
	return NULL;
}

static int begin(void **state)
{
	(void)state;
	wall.file = getenv("FAKETIME_TIMESTAMP_FILE");
	atomic_store(&wall.stop, false);
	if (wall.file)
		assert_int_equal(pthread_create(&wall.thread, NULL, set_again_and_again, NULL), 0);
	simd = stack_start(CONF);
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	return 0;
}

static int end(void **state)
{
	assert_int_equal(kill(simd, SIGTERM), 0);
	assert_int_equal(stack_wait(simd), 0);
	atomic_store(&wall.stop, true);
	if (wall.file)
		pthread_join(wall.thread, NULL);
	return stack_sweep(state);
}

/* ---- the calls ---- */

static struct sim_client *connected(const char *name)
{
	struct sim_client_options o = { .size = sizeof(o), .name = name, .timeout_ms = PATIENT_MS };
	struct sim_client *c;

	if (sim_connect(&o, &c) < 0)
		fail_msg("%s", sim_why());
	return c;
}

static struct sim_publisher *advertised(struct sim_client *c)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = 64 };
	struct sim_publisher *pub;

	assert_int_equal(sim_advertise(c, "/t/slow", &sim_Ultrasonic_type, &o, &pub), 0);
	return pub;
}

static _Atomic bool unsettled; /* a call that returns at once is over when this is false again */

/* Checks how long the call begun at since_mono_ns took, against its time-out. */
static int not_early(const char *call, int64_t since_mono_ns, int r)
{
	int64_t took = mono_now_ns() - since_mono_ns;

	print_message("%s: %d after %lld ms\n", call, r, (long long)(took / NS_PER_MS));
	if (took < WAIT_DUR)
		fail_msg("%s has waited for %lld ns only", call, (long long)took);
	return r;
}

/* Its result, unless it comes too early. One that comes far too late meets the runner's limit. */
#define WAITS(call, ...) \
	({ \
		int64_t since_mono_ns_ = mono_now_ns(); \
		int r_ = call(__VA_ARGS__); \
\
		AWAIT(!atomic_load(&unsettled)); \
		not_early(#call, since_mono_ns_, r_); \
	})

static void listens(int *ret_fd)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = SILENT };

	*ret_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(*ret_fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(*ret_fd, 8), 0);
}

TEST_WITH(connecting_waits_as_long_as_asked, begin, end)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "c", .socket = SILENT, .timeout_ms = WAIT_MS };
	struct sim_host_options h = { .size = sizeof(h), .name = "h", .socket = SILENT, .timeout_ms = WAIT_MS };
	struct sim_client *c;
	struct sim_host *host;
	int fd;

	listens(&fd);
	assert_int_equal(WAITS(sim_connect, &o, &c), -ETIMEDOUT);
	assert_int_equal(WAITS(sim_host_create, &h, &host), -ETIMEDOUT);
	close(fd);
}

TEST_WITH(receiving_waits_as_long_as_asked, begin, end)
{
	struct sim_client *c = connected("receiver");
	struct sim_subscriber *sub;
	struct sim_reader *reader;

	assert_int_equal(sim_subscribe(c, "/t/none", &sim_Ultrasonic_type, NULL, &sub), 0);
	assert_int_equal(sim_reader_create(c, "/t/none", &sim_Ultrasonic_type, 2, &reader), 0);
	assert_int_equal(WAITS(sim_wait, sub, WAIT_DUR), 0);
	assert_int_equal(WAITS(sim_reader_wait, reader, WAIT_DUR), 0);
	sim_reader_destroy(reader);
	sim_subscriber_destroy(sub);
	sim_disconnect(c);
}

/* The bridge takes three seconds for each, and longer for one while it is stopped. */
TEST_WITH(publishing_waits_as_long_as_asked, begin, end)
{
	static const struct sim_Ultrasonic m;
	struct sim_client *c = connected("publisher");
	struct sim_publisher *pub = advertised(c);
	pid_t bridge = (pid_t)stack_bridge("b", "pid");
	struct sim_bridges known;
	struct sim_slot *slot;

	assert_true(bridge > 1);
	AWAIT((known = sim_publisher_bridges(pub)).connected);
	assert_int_equal(WAITS(sim_publisher_bridges_wait, pub, &known, WAIT_DUR), 0);
	assert_int_equal(kill(bridge, SIGSTOP), 0);
	assert_int_equal(sim_try_queue_copy(pub, &m, sizeof(m), 0, NULL, NULL, NULL), 0);
	assert_int_equal(WAITS(sim_flush, c, WAIT_DUR), -ETIMEDOUT);
	assert_int_equal(kill(bridge, SIGCONT), 0);
	assert_int_equal(sim_flush(c, -1), 0);
	assert_int_equal(sim_loan(pub, sizeof(m), &slot), 0);
	assert_int_equal(WAITS(sim_publish_sync, pub, slot, NULL, NULL), 0);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
}

static struct sim_pending *unanswered;

static int never_answers(void *user, struct sim_request *req)
{
	(void)req;
	return sim_service_defer(*(struct sim_client **)user, &unanswered);
}

static void answered(void *user, int result, const char *why, const void *response, size_t size)
{
	(void)why;
	(void)response;
	(void)size;
	*(int *)user = result;
	atomic_store(&unsettled, false);
}

TEST_WITH(calling_a_service_waits_as_long_as_asked, begin, end)
{
	static const struct sim_SetBoolRequest request;
	static const struct sim_service_options o = { .size = sizeof(o), .deadline_dur_ns = 3600 * NS_PER_S };
	struct sim_client *provider = connected("provider"), *c = connected("caller");
	struct sim_service *service;
	int result = 1;
	char response[4096] __attribute__((aligned(64)));

	assert_int_equal(sim_service_offer(provider, "silent", &sim_SetBool_service, &o, never_answers, &provider,
					   &service),
			 0);
	assert_int_equal(WAITS(sim_service_call, c, "silent", &sim_SetBool_service, &request, sizeof(request), WAIT_DUR,
			       response, sizeof(response), NULL),
			 -ETIMEDOUT);
	atomic_store(&unsettled, true);
	assert_int_equal(WAITS(sim_service_call_async, c, "silent", &sim_SetBool_service, &request, sizeof(request),
			       WAIT_DUR, answered, &result),
			 0);
	assert_int_equal(result, -ETIMEDOUT);
	(void)sim_service_answer(unanswered, -ECANCELED, NULL, NULL, 0);
	sim_service_destroy(service);
	sim_disconnect(c);
	sim_disconnect(provider);
}

/* Only the driver moves time, and it comes late, and then not at all. */
TEST_WITH(controlling_time_waits_as_long_as_asked, begin, end)
{
	struct sim_client *engine = connected("engine"), *leader = connected("leader"), *other = connected("other");
	struct sim_step_turn turn;
	struct sim_driver *d;
	struct sim_step *s;
	char *reply;

	assert_int_equal(WAITS(sim_sleep_until, leader, 3600 * NS_PER_S, WAIT_DUR), -ETIMEDOUT);
	assert_int_equal(sim_step_join(other, 0, &s), 0);
	assert_int_equal(WAITS(sim_step_wait, s, WAIT_DUR, &turn), -ETIMEDOUT);
	sim_step_leave(s);
	assert_int_equal(sim_driver_acquire(engine, 0, &d), 0);
	assert_int_equal(sim_driver_advance(d, STEP_DUR, NULL), 0);
	assert_int_equal(WAITS(sim_clock_pause, leader, WAIT_DUR), -ETIMEDOUT);
	assert_int_equal(sim_driver_begin(d, 0, true), 0);
	assert_int_equal(WAITS(sim_driver_end, d, WAIT_DUR), -ETIMEDOUT);
	assert_int_equal(sim_clock_resume(leader), 0);
	assert_int_equal(sim_driver_end(d, -1), 0);
	assert_int_equal(sim_driver_advance(d, STEP_DUR, NULL), 0);
	assert_int_equal(sim_clock_pause(leader, 0), 0);
	assert_int_equal(sim_driver_begin_advance(d, STEP_DUR), 0);
	assert_int_equal(WAITS(sim_driver_end_advance, d, WAIT_DUR, NULL), -ETIMEDOUT);
	assert_int_equal(WAITS(sim_clock_step, leader, STEP_DUR, WAIT_DUR, NULL), -ETIMEDOUT);
	assert_int_equal(sim_clock_resume(other), 0);
	assert_int_equal(sim_driver_end_advance(d, -1, NULL), 0);
	assert_int_equal(sim_clock_pause(other, 0), 0);
	assert_int_equal(sim_driver_begin_advance(d, STEP_DUR), 0);
	AWAIT(stack_int("GetClock", "clock/paused") == 1);
	assert_int_equal(WAITS(sim_call_within, leader, "StepClock", "{\"dur_ns\":10000000}", WAIT_DUR, &reply),
			 -ETIMEDOUT);
	assert_int_equal(sim_clock_resume(other), 0);
	sim_driver_release(d);
	sim_disconnect(other);
	sim_disconnect(leader);
	sim_disconnect(engine);
}

/* ---- the table ---- */

/* The program that runs each in wall.sh. */
#define HERE "system-stack-waits"
static const struct run_by {
	const char *call, *program;
} table[] = {
	{ "sim_connect", HERE },
	{ "sim_host_create", HERE },
	{ "sim_wait", HERE },
	{ "sim_reader_wait", HERE },
	{ "sim_publisher_bridges_wait", HERE },
	{ "sim_flush", HERE },
	{ "sim_publish_sync", HERE },
	{ "sim_service_call", HERE },
	{ "sim_service_call_async", HERE },
	{ "sim_sleep_until", HERE },
	{ "sim_step_wait", HERE },
	{ "sim_driver_end", HERE },
	{ "sim_driver_end_advance", HERE },
	{ "sim_clock_pause", HERE },
	{ "sim_clock_step", HERE },
	{ "sim_call_within", HERE },
	{ "call", "system-link-service" },          /* of bridge.h */
	{ "sim_lane_recv", "system-stack-client" }, /* in the host of a bridge */
	{ "sim_readback_drain", "readback-order" },
	{ "sim_world_connect", "system-world-host" },
	{ "sim_world_wait", "system-world-host" },
	{ "sim_world_step", "system-world-host" },
};

/* And waiting clients get its messages again. */
TEST_WITH(a_killed_roudi_is_replaced, begin, end)
{
	struct peer *p = peer_new();
	pid_t pid = peer_fork(p, peer_exchange);
	uint32_t life;

	AWAIT(p->received > 2 || p->failed);
	life = p->generation;
	assert_int_equal(kill(stack_roudi(), SIGKILL), 0);
	AWAIT((p->generation != life && p->received > 2) || p->failed);
	peer_join(p, pid);
	peer_free(p);
}

/* ---- whether the table is complete ---- */

static char *text_of(const char *path)
{
	char *text = NULL;

	if (fd_read_file(path, 1 << 20, &text, NULL) < 0)
		fail_msg("%s cannot be read", path);
	return text;
}

/* All public headers, one behind the other, comments blanked out. */
static char *headers(void)
{
	char *all = calloc(1, 2 << 20), *comment;
	glob_t g;

	assert_int_equal(glob("libclient/include/sim/*.h", 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		char *text = text_of(g.gl_pathv[i]);

		strcat(all, text);
		free(text);
	}
	globfree(&g);
	while ((comment = strstr(all, "/*")))
		memset(comment, ' ', (size_t)(strstr(comment, "*/") + 2 - comment));
	return all;
}

static const struct run_by *find(const char *call)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].call, call))
			return &table[i];
	return NULL;
}

/* Where the pattern matches, its first group is to be in the table; returns how often it does. */
static unsigned all_listed(const char *text, const char *pattern)
{
	regmatch_t m[2];
	unsigned n = 0;
	regex_t re;

	assert_int_equal(regcomp(&re, pattern, REG_EXTENDED), 0);
	for (; regexec(&re, text, 2, m, 0) == 0; text += m[0].rm_eo, n++) {
		char *call = strndup(text + m[1].rm_so, (size_t)(m[1].rm_eo - m[1].rm_so));

		if (!find(call))
			fail_msg("%s() can wait, and no test here or in wall.sh is said to run it", call);
		free(call);
	}
	regfree(&re);
	return n;
}

/* By wall.sh, and if it is here, really. */
static void runs(const struct run_by *by, const char *wall_sh, const char *own)
{
	char line[100];

	snprintf(line, sizeof(line), "\nrun %s\n", by->program);
	if (!strstr(wall_sh, line))
		fail_msg("wall.sh does not run %s, which is to run %s()", by->program, by->call);
	snprintf(line, sizeof(line), "WAITS(%s,", by->call);
	if (!strcmp(by->program, HERE) && !strstr(own, line))
		fail_msg("%s() is not run here", by->call);
}

#define DECLARED "([a-z0-9_]+)\\)?\\(" /* a function, or a pointer to one */

TEST(every_call_with_a_time_out_is_in_the_table)
{
	char *text = headers(), *wall_sh = text_of("tests/system/stack/wall.sh"), *own = text_of(__FILE__);
	char pattern[300];
	regmatch_t m[2];
	const char *at;
	regex_t re;

	assert_true(all_listed(text, DECLARED "[^;()]*timeout_dur_ns[^;]*;") +
			    all_listed(text, DECLARED "[^;()]*int timeout_ms[^;]*;") >
		    15);
	assert_int_equal(regcomp(&re, "struct (sim_[a-z_]+)[ \n\t]*\\{[^}]*int timeout_ms;", REG_EXTENDED), 0);
	for (at = text; regexec(&re, at, 2, m, 0) == 0; at += m[0].rm_eo) {
		snprintf(pattern, sizeof(pattern), DECLARED "[^;()]*const struct %.*s [^;]*;",
			 (int)(m[1].rm_eo - m[1].rm_so), at + m[1].rm_so);
		assert_true(all_listed(text, pattern) > 0);
	}
	regfree(&re);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		runs(&table[i], wall_sh, own);
	free(own);
	free(wall_sh);
	free(text);
}
