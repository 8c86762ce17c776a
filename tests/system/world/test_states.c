/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a client is doing when it stops, dies, is cut off or sends a byte at a time: two honest hosts continue, the
 * log says why it is gone, and nothing of it is left. Each state with each fault. sim-world, the pair and the faulty
 * clients are in namespaces with a switch between. Thread: the test's and the switch's; all others are children.
 */
#include "support/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <sim/world.h>

#include "err.h"
#include "far.h"
#include "server.h"
#include "switch.h"

#define ROUNDS     20u             /* that the pair goes on for */
#define LARGE      2000u           /* objects: more than what the server's and the client's kernel keep */
#define LEFT_BYTES ((long)8 << 20) /* that the server may have kept for the next ones */

enum fault { STOPPED, KILLED, CUT_OFF, SLOW, FAULTS };

static struct server server;
static struct net_switch *net;
static char keys[TEST_PATH_MAX], control[TEST_PATH_MAX];

/* What children tell the test, and it them. */
static struct shared {
	_Atomic uint64_t ticks;  /* that the pair has done */
	_Atomic uint64_t wanted; /* an object that one of the pair has to ask for */
	_Atomic uint32_t port;   /* of the client that comes to harm */
	_Atomic bool there;      /* it is in its state */
	_Atomic bool slow;       /* and goes on, a byte at a time */
	_Atomic bool over;       /* the pair may go */
	char why[256];           /* the error of a failed child */
} * shared;

/* ---- how a client gets into its state ---- */

static int silent(struct far *f)
{
	(void)f;
	return 0;
}

static int come(struct far *f, const char *name)
{
	int r = far_shake(f);

	if (r == 0)
		r = far_hello(f, name);
	return r < 0 ? r : far_await(f, FRAME_WELCOME);
}

/* Promises what time waits for, so many times. */
static int take_part(struct far *f, const char *name, unsigned ticks)
{
	int r = come(f, name);

	for (unsigned i = 0; r == 0 && i < ticks; i++) {
		r = far_await(f, FRAME_HEARTBEAT);
		if (r == 0)
			r = far_done(f);
	}
	return r < 0 ? r : far_await(f, FRAME_HEARTBEAT);
}

static int half_hello(struct far *f)
{
	static const uint8_t half[] = { 0xa0, 0x0f, 0, 0, FRAME_HELLO, 0x08, 1, 0x12 };
	int r = far_shake(f);

	return r < 0 ? r : far_bytes(f, half, sizeof(half));
}

static int welcome(struct far *f)
{
	return come(f, "welcome");
}

static int half_object(struct far *f)
{
	static const uint8_t half[] = { 0x60, 0xea, 0, 0, FRAME_VEHICLE, 0x08 };
	int r = take_part(f, "half-object", 2);

	return r < 0 ? r : far_bytes(f, half, sizeof(half));
}

static int owes_done(struct far *f)
{
	return take_part(f, "owes-done", 3);
}

/* All it reads of a large world is its begin. */
static int not_reading(struct far *f)
{
	return come(f, "not-reading");
}

static int asked(struct far *f)
{
	int r = take_part(f, "asked", 1);

	if (r == 0)
		r = far_object(f, 0);
	if (r == 0)
		r = far_done(f);
	if (r == 0)
		r = far_await(f, FRAME_HEARTBEAT);
	shared->wanted = (uint64_t)f->connection << 40;
	if (r == 0)
		r = far_done(f);
	return r < 0 ? r : far_await(f, FRAME_WANT);
}

static int demoted(struct far *f)
{
	int r = take_part(f, "demoted", 1);

	while (r == 0 && f->role != SIM__WORLD__ROLE__OBSERVER)
		r = far_await(f, FRAME_HEARTBEAT);
	return r;
}

static int bye(struct far *f)
{
	Sim__World__Bye m = SIM__WORLD__BYE__INIT;
	int r = take_part(f, "bye", 1);

	if (r == 0)
		r = far_say(f, FRAME_BYE, &m.base);
	return r < 0 ? r : far_await(f, FRAME_BYE);
}

/* ---- the table ---- */

#define HANDSHAKE "its handshake was not done in 5 s"
#define NO_HELLO  "refused: no Hello came in 5.0 s"
#define LATE      "time has waited for it for"
#define SILENT \
	"it has promised nothing for" /* where time did not wait: a newcomer, or one that comes while newcomers have cost enough */
#define LOST "its connection is lost"
/* A participating client: a silent one is late, and one that dies is lost. */
#define MEMBER \
	{ \
		LATE, LOST, LATE, LATE \
	}

static const struct state {
	const char *name; /* that it has said in Hello, if it has one */
	int (*reach)(struct far *f);
	enum { RAW, UNKNOWN, IN } is; /* its handshake is not done; it has said no Hello; it takes part */
	/* in the log; NULL: nothing, as a client that leaves before its Hello is not logged */
	const char *why[FAULTS];
	/* Bytes that it sends next, and then zeros; not: it reads a byte at a time. */
	const char *bytes;
	size_t len;
	int room;
} states[] = {
	{ "connected", silent, RAW, { HANDSHAKE, NULL, HANDSHAKE, HANDSHAKE }, "\x16\x03\x01\x40\0\x01\0\x3f", 9, 0 },
	{ "half-greeting", far_half_greeting, RAW, { HANDSHAKE, NULL, HANDSHAKE, HANDSHAKE }, "", 1, 0 },
	{ "no-hello", far_shake, UNKNOWN, { NO_HELLO, NULL, NO_HELLO, NO_HELLO }, "\xa0\x0f\0\0\x20", 5, 0 },
	{ "half-hello", half_hello, UNKNOWN, { NO_HELLO, NULL, NO_HELLO, NO_HELLO }, "", 1, 0 },
	/* first of those that keep time waiting: newcomers after them have to keep pace before they own anything that is asked for */
	{ "asked", asked, IN, MEMBER, "\x60\xea\0\0\x27", 5, 0 },
	{ "welcome", welcome, IN, MEMBER, "\x60\xea\0\0\x02", 5, 0 },
	{ "half-object", half_object, IN, MEMBER, "", 1, 0 },
	{ "owes-done", owes_done, IN, MEMBER, "\x60\xea\0\0\x02", 5, 0 },
	{ "not-reading", not_reading, IN, MEMBER, NULL, 0, 4096 },
	{ "demoted", demoted, IN, MEMBER, "\x60\xea\0\0\x02", 5, 0 },
	{ "bye",
	  bye,
	  IN,
	  { "it has said Bye", "it has said Bye", "it has said Bye", "it has said Bye" },
	  "\x01\0\0\0\x01",
	  5,
	  0 },
};

#define STATES (sizeof(states) / sizeof(states[0]))

/* ---- the client that comes to harm: a process ---- */

/* What the server makes of it does not matter to it. So slow that half a greeting is never whole. */
static void trickle(struct far *f, const struct state *s)
{
	for (size_t i = 0;; i++) {
		const uint8_t byte = i < s->len ? (uint8_t)s->bytes[i] : 0;

		if (!s->bytes)
			(void)recv(f->fd, f->cipher, 1, MSG_DONTWAIT);
		else if (s->is == RAW)
			(void)send(f->fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		else
			(void)far_bytes(f, &byte, 1);
		pace_us(100000);
	}
}

static int harm(const struct state *s)
{
	struct far f;
	char certificate[24];
	int r = switch_enter(net, 2);

	snprintf(certificate, sizeof(certificate), "harm-%td", s - states);
	if (r == 0)
		r = far_dial(&f, keys, certificate, "10.0.0.1", server.port, s->room);
	if (r == 0) {
		shared->port = far_port(&f);
		r = s->reach(&f);
	}
	if (r < 0) {
		snprintf(shared->why, sizeof(shared->why), "%s: %s", s->name, strerror(-r));
		return 1;
	}
	shared->there = true;
	AWAIT(shared->slow);
	trickle(&f, s);
	return 0;
}

/* ---- the honest pair: a process ---- */

static int put(struct sim_world *w, uint64_t number, double x, const struct sim_world_tick *t)
{
	uint8_t body[122] = { 0x0a, 120 };
	const struct sim_world_object o = { .id = number,
					    .code = SIM_WORLD_VEHICLE,
					    .time_sim_ns = t->time_sim_ns + t->step_dur_ns,
					    .position = { x, 0, 0 },
					    .body = body,
					    .body_size = sizeof(body) };

	memset(body + 2, 'a' + (int)(number % 26), 120);
	return sim_world_put(w, &o);
}

/* Both promise a tick, and it comes. */
static int go_on(struct sim_world *w[2], struct sim_world_tick t[2])
{
	int r = put(w[0], 0, (double)t[0].tick, &t[0]);

	if (r == 0)
		r = sim_world_done(w[0]);
	if (r == 0)
		r = sim_world_step(w[1], -1, &t[1]);
	return r < 0 ? r : sim_world_wait(w[0], -1, &t[0]);
}

static int connect_pair(struct sim_world *w[2], struct sim_world_tick t[2])
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < 2; i++) {
		char name[TEST_PATH_MAX + 16];

		snprintf(name, sizeof(name), "%s:%s", keys, i ? "bob" : "alice");
		r = sim_world_connect(&(struct sim_world_options){ .size = sizeof(struct sim_world_options),
								   .address = server.address,
								   .name = i ? "bob" : "alice",
								   .keys = name,
								   .flags = SIM_WORLD_NO_THREAD },
				      &w[i]);
		if (r == 0)
			r = sim_world_wait(w[i], -1, &t[i]);
	}
	return r;
}

static int pair(void)
{
	struct sim_world *w[2];
	struct sim_world_tick t[2];
	int r = switch_enter(net, 1);

	if (r == 0)
		r = connect_pair(w, t);
	for (uint64_t i = 1; r == 0 && i < LARGE; i++)
		r = put(w[0], i, (double)i / 100, &t[0]);
	for (; r == 0 && !shared->over; shared->ticks++) {
		uint64_t id = atomic_exchange(&shared->wanted, 0);

		r = go_on(w, t);
		if (r == 0 && id)
			r = sim_world_ask(w[1], id);
	}
	if (r < 0)
		snprintf(shared->why, sizeof(shared->why), "the pair: %d %s", r, sim_world_why());
	return r < 0 ? 1 : 0;
}

static pid_t start(int (*fn)(const struct state *s), const struct state *s)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(s ? fn(s) : pair());
}

/* ---- before and after ---- */

static int make(void **state)
{
	char command[1000];
	int n;

	(void)state;
	test_path(keys, "keys");
	test_path(control, "control");
	n = snprintf(command, sizeof(command), SIM_WORLD " --make-keys %s --name 10.0.0.1 --client alice --client bob",
		     keys);
	/* a client that was late once has to earn its role again: so each is another one */
	for (size_t i = 0; i < STATES; i++)
		n += snprintf(command + n, sizeof(command) - (size_t)n, " --client harm-%zu", i);
	snprintf(command + n, sizeof(command) - (size_t)n, " >&2");
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED;
}
TEST_GROUP(make, NULL)

static struct server_status status(void)
{
	struct server_status s;

	server_status(control, &s);
	return s;
}

/* Until then, unless a child has failed meanwhile. */
#define AWAIT_ALIVE(cond) \
	do { \
		AWAIT((cond) || *shared->why); \
		if (*shared->why) \
			fail_with_log(); \
	} while (0)

static void fail_with_log(void)
{
	static char text[65536];
	ssize_t r;

	(void)fcntl(server.log, F_SETFL, O_NONBLOCK);
	r = read(server.log, text, sizeof(text) - 1);
	text[r > 0 ? r : 0] = '\0';
	fail_msg("%s\n%s", shared->why, text);
}

static void goes_on(void)
{
	uint64_t from = shared->ticks;

	AWAIT_ALIVE(shared->ticks >= from + ROUNDS);
}

/* Ports: the server, the pair, the faulty client. */
static pid_t begin(void)
{
	pid_t pid;

	if (switch_create(1, SWITCH_ANY, &net) < 0) {
		printf("no switch here: %s\n", err_why());
		skip();
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(switch_add_port(net), i);
	memset(shared, 0, sizeof(*shared));
	/* a rung is 500 ms: who keeps time waiting is out after 5 s, and the honest pair is sooner back also on a machine that stands a while */
	server_start_at(&server, switch_ns(net, 0), "10.0.0.1", 0,
			(const char *const[]){ "--pace", "0", "--step", "100ms", "--grace", "100ms", "--keys", keys,
					       "--control", control, NULL });
	pid = start(NULL, NULL);
	goes_on();
	assert_int_equal(status().objects, LARGE);
	goes_on(); /* and it has closed that connection of its control socket */
	return pid;
}

static unsigned descriptors(void)
{
	char path[64];
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)server.pid);
	d = opendir(path);
	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static long resident_bytes(void)
{
	char path[64];
	long pages = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)server.pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*d %ld", &pages), 1);
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

/* ---- a state and a fault ---- */

struct struck {
	pid_t pid;
	uint16_t port;
};

static void strike(pid_t pid, enum fault fault)
{
	if (fault == STOPPED) {
		assert_int_equal(kill(pid, SIGSTOP), 0);
		AWAIT(test_stands(pid));
	} else if (fault == KILLED) {
		assert_int_equal(kill(pid, SIGKILL), 0);
	} else if (fault == CUT_OFF) {
		assert_ok(switch_partition(net, 1u << 2, 0, INT64_MAX));
	} else {
		shared->slow = true;
	}
}

/* A client that delays time is late, and one that is not waited for is silent. */
static void is_why(const char *said, const char *why)
{
	bool silent_too = !strcmp(why, LATE) && !strncmp(said, SILENT, strlen(SILENT));

	if (strncmp(said, why, strlen(why)) != 0 && !silent_too)
		fail_msg("it says %.100s", said);
}

static void says_why(const struct state *s, const struct struck *c, enum fault fault)
{
	char line[200];

	if (!s->why[fault])
		return;
	if (s->is == RAW)
		snprintf(line, sizeof(line), "10.0.0.3:%u: %s", c->port, s->why[fault]);
	else if (s->is == UNKNOWN)
		snprintf(line, sizeof(line), "(certificate harm-%td): %s", s - states, s->why[fault]);
	else
		snprintf(line, sizeof(line), "%s (certificate harm-%td): disconnected: ", s->name, s - states);
	server_says(&server, line);
	if (s->is == IN)
		is_why(strstr(server.text, line) + strlen(line), s->why[fault]);
}

/* A participant has been removed when this returns; other clients take some seconds more. */
static void suffer(const struct state *s, enum fault fault, struct struck *ret)
{
	unsigned before = status().connections;

	fprintf(stderr, "%s\n", s->name); /* which one it is that hangs */
	switch_heal(net);
	shared->there = shared->slow = false;
	ret->pid = start(harm, s);
	AWAIT_ALIVE(shared->there);
	ret->port = (uint16_t)shared->port;
	if (s->is == UNKNOWN) /* the server has seen the end of its handshake too */
		AWAIT_ALIVE(status().connections != before);
	strike(ret->pid, fault);
	goes_on();
	if (fault == KILLED)
		AWAIT_ALIVE(status().connections == 2);
	if (s->is == IN) {
		AWAIT_ALIVE(status().clients == 2);
		says_why(s, ret, fault);
		goes_on();
	}
}

/* All of them are there until their server has got rid of them. */
static void end(const struct struck c[STATES], enum fault fault, pid_t honest)
{
	int child;

	for (unsigned i = 0; i < STATES; i++)
		if (states[i].is != IN)
			says_why(&states[i], &c[i], fault);
	AWAIT_ALIVE(status().connections == 2);
	goes_on();
	assert_int_equal(status().objects, LARGE);
	for (unsigned i = 0; i < STATES; i++) {
		assert_int_equal(kill(c[i].pid, SIGKILL), 0);
		assert_int_equal(waitpid(c[i].pid, NULL, 0), c[i].pid);
	}
	shared->over = true;
	assert_int_equal(waitpid(honest, &child, 0), honest);
	assert_int_equal(child, 0);
	assert_int_equal(server_stop(&server), 0);
	switch_destroy(net);
}

static void every_state(enum fault fault)
{
	pid_t honest = begin();
	unsigned fds = descriptors();
	long bytes = resident_bytes();
	struct struck c[STATES];

	for (unsigned i = 0; i < STATES; i++)
		suffer(&states[i], fault, &c[i]);
	AWAIT_ALIVE(descriptors() == fds);
	printf("%ld KiB more than before\n", (resident_bytes() - bytes) >> 10);
	assert_true(resident_bytes() - bytes < LEFT_BYTES);
	end(c, fault, honest);
}

TEST(a_client_stopped_in_any_state_blocks_no_other)
{
	every_state(STOPPED);
}

TEST_FULL(a_client_killed_in_any_state_blocks_no_other)
{
	every_state(KILLED);
}

TEST_FULL(a_client_cut_off_in_any_state_blocks_no_other)
{
	every_state(CUT_OFF);
}

TEST_FULL(a_client_sending_byte_by_byte_in_any_state_blocks_no_other)
{
	every_state(SLOW);
}
