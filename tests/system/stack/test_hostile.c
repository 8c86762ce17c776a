/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Malicious peers on the real sockets of a real simd: it keeps running, its memory stays bounded, and it serves the
 * others.
 */
#include "peer.h"
#include "stack.h"
#include "usage.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "fd.h"
#include "printable.h"
#include "varlink_call.h"
#include "wire/lane.h"
#include "wire/pages.h"

#define CONF \
	"\"TimeSource\":\"simulation\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"bridges\":[" \
	"{\"name\":\"b\",\"plugin\":\"null\",\"channels\":[\"/t/*\"]}," \
	"{\"name\":\"evil\",\"plugin\":\"null\",\"start\":\"external\",\"channels\":[\"/e/*\"]}]}]"
#define I "io.simd.Control."

static pid_t simd;

static int setup(void **state)
{
	(void)state;
	simd = stack_start(CONF);
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	return 0;
}

static int dial(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = STACK_SOCKET };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* Until simd closes it, whatever it sends before. */
static void await_close(int fd)
{
	char buf[65536];

	while (recv(fd, buf, sizeof(buf), 0) > 0)
		;
}

static void still_serves(void)
{
	assert_int_equal(stack_int("GetInfo", "pid"), simd);
}

/* ---- bytes ---- */

static void a_message_without_an_end(char *big, size_t size)
{
	int fd = dial();

	memset(big, ' ', size);
	for (size_t sent = 0; sent < 4 * size;) { /* more than simd accepts, however fast it reads */
		ssize_t n = send(fd, big, size, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0)
			sent += (size_t)n;
		else if (errno != EAGAIN || fd_wait(fd, 4 /* POLLOUT */, -1) != 1)
			break;
	}
	await_close(fd);
	close(fd);
}

static void a_nested_one(char *big, size_t size)
{
	int fd = dial();

	memset(big, '[', size);
	assert_true(send(fd, big, 60000, MSG_NOSIGNAL) > 0);
	assert_true(send(fd, "", 1, MSG_NOSIGNAL) > 0);
	await_close(fd);
	close(fd);
}

TEST_WITH(malformed_input_ends_the_connection, setup, stack_sweep)
{
	static char big[512 * 1024];
	static const char *const texts[] = { "GET / HTTP/1.1\r\n\r\n",
					     "{\"method\":",
					     "[]",
					     "{}",
					     "{\"method\":5}",
					     "null",
					     "{\"method\":\"a.b\",\"parameters\":[]}",
					     "\xff\xfe\xfd",
					     "" };
	uint64_t seed = test_seed(1);

	print_message("SEED=%llu\n", (unsigned long long)seed);
	srand((unsigned)seed);
	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		int fd = dial();

		assert_true(send(fd, texts[i], strlen(texts[i]) + 1, MSG_NOSIGNAL) > 0);
		if (i != 6) /* a call of nothing that is known gets an answer */
			await_close(fd);
		close(fd);
	}
	for (int i = 0; i < 100; i++) {
		int fd = dial();

		for (size_t k = 0; k < sizeof(big); k++)
			big[k] = (char)rand();
		(void)!send(fd, big, (size_t)rand() % sizeof(big), MSG_NOSIGNAL | MSG_DONTWAIT);
		close(fd);
	}
	a_message_without_an_end(big, sizeof(big));
	a_nested_one(big, sizeof(big));
	still_serves();
	stack_stop(simd);
}

TEST_WITH(incomplete_messages_do_no_harm, setup, stack_sweep)
{
	static const char text[] = "{\"method\":\"io.simd.Control.GetIn";
	int fd[50];

	for (int i = 0; i < 50; i++) {
		fd[i] = dial();
		assert_true(send(fd[i], text, (size_t)i % sizeof(text), MSG_NOSIGNAL) >= 0);
	}
	still_serves();
	for (int i = 0; i < 50; i++)
		close(fd[i]);
	still_serves();
	stack_stop(simd);
}

/* ---- calls ---- */

/* Every method with parameters of every wrong kind: an answer each, never a crash. */
TEST_WITH(odd_parameters_are_refused, setup, stack_sweep)
{
	static const char *const methods[] = { "Hello",          "Attached",      "Advertise",
					       "Enlarge",        "Unadvertise",   "Subscribe",
					       "Unsubscribe",    "OpenToken",     "CloseToken",
					       "Events",         "AcquireDriver", "AttachBridge",
					       "GetInfo",        "ListChannels",  "GetChannel",
					       "ListClients",    "ListBridges",   "SetBridgeConnection",
					       "RestartBridge",  "GetClock",      "RestartProcess",
					       "PauseClock",     "ResumeClock",   "StepClock",
					       "SetScale",       "SetSource",     "GetConfig",
					       "GetDispatch",    "Nonsense",      "",
					       "GetInfo.GetInfo" };
	static const char *const params[] = {
		"{}",
		"{\"name\":5}",
		"{\"name\":null}",
		"{\"name\":\"\"}",
		"{\"name\":\"\\u0000\"}",
		"{\"scale\":-1}",
		"{\"scale\":1e308}",
		"{\"dur_ns\":-5}",
		"{\"dur_ns\":9223372036854775807}",
		"{\"dur_ns\":1.5}",
		"{\"source\":\"../../x\"}",
		"{\"publisher_id\":4294967296}",
		"{\"cell\":-1}",
		"{\"cell\":4096}",
		"{\"channel\":\"a,b\",\"type\":{},\"max_body\":-1,\"flags\":255}",
		"{\"channel\":\"/x\",\"type\":{\"name\":\"a/b\",\"fields\":[{\"name\":\"x\"}]},\"max_body\":1,\"flags\":0}",
		"{\"name\":\"x\",\"role\":\"client\",\"abi\":1,\"version\":\"0\"}",
		"{\"name\":\"x\",\"role\":\"tool\",\"abi\":99,\"version\":\"0\"}",
		"{\"unknown\":{\"deep\":[[[[[]]]]]}}"
	};

	for (unsigned m = 0; m < sizeof(methods) / sizeof(*methods); m++) {
		for (unsigned i = 0; i < sizeof(params) / sizeof(*params); i++) {
			char text[512], reply[65536];
			int fd = dial(), n;

			n = snprintf(text, sizeof(text), "{\"method\":\"" I "%s\",\"parameters\":%s%s}", methods[m],
				     params[i], strcmp(methods[m], "Events") ? "" : ",\"more\":true");
			assert_int_equal(send(fd, text, (size_t)n + 1, MSG_NOSIGNAL), n + 1);
			if (recv(fd, reply, sizeof(reply), 0) < 0)
				fail_msg("no answer to %s", text);
			close(fd);
		}
	}
	still_serves();
	assert_int_equal(stack_ctl("clock", "resume", NULL)->code, 0);
	stack_stop(simd);
}

/* Asks without end and never reads: cut off, within its bound of memory. */
TEST_WITH(a_client_that_floods_and_never_reads_is_cut_off, setup, stack_sweep)
{
	static const char ask[] = "{\"method\":\"" I "GetConfig\"}";
	long before = usage(simd).anon_kib;
	int fd[8];

	for (int i = 0; i < 8; i++) {
		fd[i] = dial();
		while (send(fd[i], ask, sizeof(ask), MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
			continue;
	}
	still_serves();
	assert_true(usage(simd).anon_kib < before + 8 * 4096);
	for (int i = 0; i < 8; i++) {
		int64_t end = mono_now_ns() + 10 * NS_PER_S;

		while (send(fd[i], ask, sizeof(ask), MSG_NOSIGNAL | MSG_DONTWAIT) > 0 || errno == EAGAIN) {
			if (mono_now_ns() > end)
				break; /* simd reads no further until its replies are read: as good */
			if (errno == EAGAIN)
				pace_us(1000);
			if (mono_now_ns() > end - 9 * NS_PER_S)
				break;
		}
		close(fd[i]);
	}
	still_serves();
	stack_stop(simd);
}

/* One process holds its share, and everybody else is served. */
TEST_FULL_WITH(a_thousand_connections_are_bounded, setup, stack_sweep)
{
	struct rlimit files = { 4096, 4096 };
	int *fd = calloc(1000, sizeof(*fd));

	setrlimit(RLIMIT_NOFILE, &files);
	for (int i = 0; i < 1000; i++)
		fd[i] = dial();
	assert_int_equal(stack_ctl("list", NULL)->code, 0);
	assert_true(stack_count("limits.connections_per_process", "") > 0);
	assert_true(stack_count("limits.connections_per_process", "") < 100);
	for (int i = 0; i < 1000; i++)
		close(fd[i]);
	AWAIT(stack_int("GetInfo", "pid") == simd);
	free(fd);
	stack_stop(simd);
}

/* Connections that each carry their own other end, so that simd would hold them open for ever. */
static int storm(struct peer *p)
{
	do {
		for (int i = 0; i < 640; i++) {
			struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = STACK_SOCKET };
			int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

			if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
				(void)!fd_send(fd, "{", 1, &fd, 1, 0);
			close(fd);
		}
		atomic_fetch_add(&p->offered, 640);
		pace_us(1000); /* unread messages of a round wait in the socket's queue */
	} while (!p->stop);
	return 0;
}

TEST_FULL_WITH(a_flood_of_connections_keeps_no_one_else_out, setup, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid = peer_fork(p, storm);

	AWAIT(p->offered >= 1280);
	for (int i = 0; i < 20; i++)
		still_serves();
	assert_int_equal(stack_ctl("list", NULL)->code, 0);
	assert_int_equal(stack_ctl("shutdown", NULL)->code, 0);
	assert_int_equal(stack_wait(simd), 0);
	peer_join(p, pid);
	peer_free(p);
}

static unsigned pidfds_of_simd(void)
{
	char path[64], to[64];
	unsigned n = 0;

	for (int i = 0; i < 2048; i++) {
		ssize_t k;

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)simd, i);
		k = readlink(path, to, sizeof(to) - 1);
		n += k > 0 && !strncmp(to, "anon_inode:[pidfd]", 18);
	}
	return n;
}

static void hello_and_leave(const char *role);

/* A process that comes back without end is watched once, and no more. */
TEST_FULL_WITH(endless_sessions_of_one_process_use_no_descriptors, setup, stack_sweep)
{
	int64_t clients = stack_int("GetInfo", "clients");
	unsigned before = pidfds_of_simd();

	for (int i = 0; i < 1100; i++)
		hello_and_leave("client");
	AWAIT(stack_int("GetInfo", "clients") == clients);
	assert_true(pidfds_of_simd() <= before + 1);
	stack_stop(simd);
}

/* simd raises its own limit as far as it may; its children have the limit that it was started with. */
TEST_WITH(simd_raises_its_descriptor_limit_but_not_its_childrens, setup, stack_sweep)
{
	struct rlimit ours, its, child;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &ours), 0);
	assert_int_equal(prlimit(simd, RLIMIT_NOFILE, NULL, &its), 0);
	assert_int_equal(prlimit((pid_t)stack_bridge("b", "pid"), RLIMIT_NOFILE, NULL, &child), 0);
	assert_true(its.rlim_cur >= 1024 + 600 + 250 * 4 || its.rlim_cur == its.rlim_max);
	assert_true(child.rlim_cur == ours.rlim_cur && child.rlim_max == ours.rlim_max);
	stack_stop(simd);
}

/*
 * With few descriptors simd keeps those that it needs itself, does not spin, and serves clients again when some are
 * free.
 */
TEST_WITH(simd_continues_without_free_descriptors, setup, stack_sweep)
{
	struct rlimit few = { 70, 70 };
	int fd[200];
	long cpu_ms;

	assert_int_equal(prlimit(simd, RLIMIT_NOFILE, &few, NULL), 0);
	for (int i = 0; i < 200; i++)
		fd[i] = dial();
	cpu_ms = usage(simd).cpu_ms;
	moment_us(500000); /* the span over which its CPU time is counted */
	assert_true(usage(simd).cpu_ms - cpu_ms < 200);
	for (int i = 0; i < 200; i++)
		close(fd[i]);
	AWAIT(stack_int("GetInfo", "pid") == simd);
	assert_true(stack_count("descriptors are left", "") > 0);
	assert_true(stack_count("cannot", "") == 0); /* nothing of its own work was short of one */
	stack_stop(simd);
}

/* An Events stream that is not read, during many events. */
TEST_WITH(a_slow_listener_is_cut_off, setup, stack_sweep)
{
	static const char hello[] =
		"{\"method\":\"" I "Hello\",\"parameters\":{\"name\":\"slow\",\"role\":\"tool\",\"abi\":1,"
		"\"version\":\"0.1.0\"}}";
	static const char events[] = "{\"method\":\"" I "Events\",\"more\":true}";
	struct sim_client_options o = { .size = sizeof(o),
					.name = "test",
					.socket = STACK_SOCKET,
					.flags = SIM_CLIENT_NO_DATA | SIM_CLIENT_NO_THREAD,
					.timeout_ms = PATIENT_MS };
	long before = usage(simd).anon_kib;
	struct sim_client *c;
	int fd = dial();

	assert_true(send(fd, hello, sizeof(hello), MSG_NOSIGNAL) > 0);
	assert_true(send(fd, events, sizeof(events), MSG_NOSIGNAL) > 0);
	assert_int_equal(sim_connect(&o, &c), 0);
	for (int i = 0; i < 6000; i++) { /* a jump each */
		char *reply = NULL;

		assert_int_equal(sim_call_within(c, "SetSource",
						 i % 2 ? "{\"source\":\"simulation\"}" : "{\"source\":\"unity\"}", -1,
						 &reply),
				 0);
		free(reply);
	}
	assert_true(usage(simd).anon_kib < before + 8192);
	sim_disconnect(c);
	close(fd);
	still_serves();
	stack_stop(simd);
}

/* ---- sessions ---- */

struct session {
	int sock, fds[VARLINK_FDS_MAX];
	unsigned n;
	struct varlink *v;
};

static void hello(struct session *s, const char *role, const char *name)
{
	struct varlink_msg m = { 0 };

	*s = (struct session){ .sock = dial() };
	assert_int_equal(varlink_create(NULL, &s->v), 0);
	assert_int_equal(varlink_call(s->v, s->sock, I "Hello",
				      json_pack("{s:s, s:s, s:i, s:s}", "name", name, "role", role, "abi", WIRE_ABI,
						"version", "0.1.0"),
				      -1, &m),
			 0);
	s->n = m.n_fds;
	for (unsigned i = 0; i < m.n_fds; i++)
		s->fds[i] = varlink_msg_take_fd(&m, i);
	varlink_msg_finish(&m);
}

/* Its doorbell is the last descriptor from then on. */
static void advertise(struct session *s)
{
	struct varlink_msg m = { 0 };

	assert_int_equal(varlink_call(s->v, s->sock, I "Advertise",
				      json_pack("{s:s, s:{s:s, s:s}, s:i}", "channel", "/bell", "type", "name", "t/T",
						"hash", "0123456789abcdef", "max_body", 8),
				      -1, &m),
			 0);
	assert_int_equal(m.n_fds, 1);
	s->fds[s->n++] = varlink_msg_take_fd(&m, 0);
	varlink_msg_finish(&m);
}

static void session_end(struct session *s)
{
	for (unsigned i = 0; i < s->n; i++)
		close(s->fds[i]);
	varlink_destroy(s->v);
	close(s->sock);
}

static void hello_and_leave(const char *role)
{
	struct session s;

	hello(&s, role, "again");
	session_end(&s);
}

/* The ends that a client gets: shut, written to, and its doorbell rung without end. */
TEST_WITH(clients_may_end_at_any_moment, setup, stack_sweep)
{
	struct peer *witness = peer_new();
	struct session s;
	uint64_t one = UINT64_C(0xfffffffffffffffe);
	char junk[4096];
	pid_t pid;

	peer_tell(witness, 1000);
	pid = peer_fork(witness, peer_publisher);
	AWAIT(witness->ok > 5);
	memset(junk, 0x5a, sizeof(junk));
	for (int i = 0; i < 20; i++) {
		hello(&s, "client", "hostile");
		assert_int_equal(s.n, 5);
		advertise(&s);
		for (int k = 0; k < 1000; k++) {
			(void)!write(s.fds[5], &one, sizeof(one));
			(void)!send(s.fds[4], junk, (size_t)k * 4, MSG_NOSIGNAL | MSG_DONTWAIT);
		}
		if (i % 2)
			shutdown(s.fds[4], SHUT_RDWR);
		still_serves();
		session_end(&s);
	}
	/* the clock page and the layout page are simd's alone */
	hello(&s, "client", "hostile");
	assert_true(mmap(NULL, sizeof(struct wire_layout_page), PROT_READ | PROT_WRITE, MAP_SHARED, s.fds[1], 0) ==
		    MAP_FAILED);
	assert_true(mmap(NULL, SIM_CLOCK_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, s.fds[0], 0) == MAP_FAILED);
	assert_true(ftruncate(s.fds[0], 0) < 0);
	assert_true(ftruncate(s.fds[1], 0) < 0);
	assert_true(ftruncate(s.fds[2], 0) < 0);
	session_end(&s);
	peer_join(witness, pid);
	peer_check(witness, false);
	assert_int_equal(witness->ok, witness->accepted);
	stack_stop(simd);
	peer_free(witness);
}

/*
 * A process that sees names in the data plane keeps those that the same processes would use next, as any member of the
 * group could. They return under others when RouDi has to be replaced.
 */
#define PLANES "/dev/shm/simd-*"
#define VICTIM "/tmp/out-victim"

static int hold_next_names(struct peer *p)
{
	char path[300], next[300];
	glob_t g;

	PEER(p, glob(PLANES "/*-*-*.1.lock", 0, NULL, &g) == 0 && g.gl_pathc >= 2);
	PEER(p, glob(PLANES "/simd-*.1.lock", GLOB_APPEND, NULL, &g) == 0);
	for (size_t i = 0; i < g.gl_pathc; i++)
		for (int n = 2; n <= 15; n++) {
			int fd;

			snprintf(path, sizeof(path), "%s", g.gl_pathv[i]);
			path[strlen(path) - strlen("1.lock")] = '\0';
			snprintf(next, sizeof(next), "%.280s%d.lock", path, n);
			if (n == 2) { /* files created there are given to RouDi's group */
				PEER(p, symlink(VICTIM, next) == 0);
				continue;
			}
			fd = open(next, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
			PEER(p, fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
		}
	atomic_store(&p->ready, 1);
	PEER_IDLE(p);
	return 0;
}

TEST_WITH(names_taken_by_other_processes_block_nobody_else, setup, stack_sweep)
{
	struct peer *squatter = peer_new(), *witness = peer_new();
	pid_t pid, squat;
	uint64_t ok;
	uint32_t life;
	struct stat st;

	close(open(VICTIM, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
	peer_tell(witness, 1000);
	pid = peer_fork(witness, peer_publisher);
	AWAIT(witness->ok > 5);
	squat = peer_fork(squatter, hold_next_names);
	AWAIT(squatter->ready || squatter->failed);
	assert_int_equal(squatter->failed, 0);
	life = stack_life();
	assert_int_equal(kill(stack_roudi(), SIGKILL), 0);
	AWAIT(stack_life() > life);
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	ok = witness->ok;
	AWAIT(witness->ok > ok + 20);
	peer_join(witness, pid);
	peer_check(witness, false);
	peer_join(squatter, squat);
	assert_int_equal(stat(VICTIM, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	kill(simd, SIGTERM);
	assert_int_equal(stack_wait(simd), 0);
	peer_free(squatter);
	peer_free(witness);
}

/* Shared pages full of random data: other clients may lose their window, simd is not affected. */
TEST_FULL_WITH(overwritten_pages_harm_only_their_owner, setup, stack_sweep)
{
	uint64_t seed = test_seed(2);
	struct peer *p = peer_new();
	struct session s;
	unsigned char *page, *counters;
	pid_t pid;

	print_message("SEED=%llu\n", (unsigned long long)seed);
	srand((unsigned)seed);
	peer_tell(p, 1000);
	pid = peer_fork(p, peer_publisher);
	AWAIT(p->ok > 5);
	hello(&s, "client", "scribbler");
	page = mmap(NULL, sizeof(struct wire_dispatch_page), PROT_READ | PROT_WRITE, MAP_SHARED, s.fds[2], 0);
	counters = mmap(NULL, sizeof(struct wire_counter_page), PROT_READ | PROT_WRITE, MAP_SHARED, s.fds[3], 0);
	assert_true(page != MAP_FAILED && counters != MAP_FAILED);
	for (int i = 0; i < 300000; i++) {
		page[(size_t)rand() % sizeof(struct wire_dispatch_page)] = (unsigned char)rand();
		counters[(size_t)rand() % sizeof(struct wire_counter_page)] = (unsigned char)rand();
	}
	still_serves();
	assert_int_equal(stack_ctl("list", "--json", NULL)->code, 0);
	kill(pid, SIGKILL); /* it may wait for a window that is gone */
	stack_wait(pid);
	session_end(&s);
	still_serves();
	stack_stop(simd);
	peer_free(p);
}

/* ---- texts ---- */

#define NASTY "a\x1b[31m\xc2\x9b\xe2\x80\xae\r"

/* A type and a frame whose texts contain terminal control sequences. */
static int nasty_publisher(struct peer *p)
{
	static const char definition[] =
		"{\"sim_type\": 1, \"name\": \"t/Nasty\", \"hash\": \"ba62253debda7620\", \"types\": [{\"name\": \"t/Nasty\", "
		"\"comment\": \"\\u001b[2J\\u009b1m\", \"fields\": [{\"name\": \"x\", \"type\": \"int32\", "
		"\"unit\": \"\\u001b[5m\", \"comment\": \"\\u202e\\nint32 forged\"}]}]}";
	struct sim_publisher_options o = { .size = sizeof(o), .frame_id = NASTY "\"\\\xff" };
	struct sim_client *c = peer_connect(p, "sensor");
	const struct sim_type *t;
	struct sim_publisher *pub;
	struct sim_slot *slot;

	o.flags = SIM_PUB_LATCH;
	o.max_body = 64;
	PEER(p, sim_type_from_json(definition, strlen(definition), &t) == 0);
	PEER(p, sim_advertise(c, "/n/x", t, &o, &pub) == 0);
	PEER(p, sim_loan(pub, sizeof(int32_t), &slot) == 0);
	*(int32_t *)sim_slot_body_mut(slot) = 5;
	PEER(p, sim_publish_local(pub, slot) == 0);
	atomic_store(&p->ready, 1);
	PEER_IDLE(p);
	sim_publisher_destroy(pub);
	sim_type_unref(t);
	sim_disconnect(c);
	return 0;
}

/* One line after the other of what may be shown, and nothing else. */
static void is_fit(const struct ctl_result *r, const char *words)
{
	char why[64] = "";

	for (const char *s = r->out; *s && !*why; s += strcspn(s, "\n"), s += *s == '\n')
		if (!printable_is(s, strcspn(s, "\n")))
			snprintf(why, sizeof(why), "line at byte %d", (int)(s - r->out));
	if (r->code || *why || !strstr(r->out, words))
		fail_msg("%d, %s: no \"%s\" in: %s%s", r->code, why, words, r->out, r->err);
}

TEST_WITH(texts_of_other_programs_are_printed_with_escapes, setup, stack_sweep)
{
	struct peer *p = peer_new();
	const struct ctl_result *r;
	json_t *j;
	pid_t pid = peer_fork(p, nasty_publisher);

	AWAIT(p->ready || p->failed);
	assert_int_equal(p->failed, 0);
	is_fit(stack_ctl("echo", "/n/x", "--once", NULL), "in a\\x1b[31m\\u009b\\u202e\\r\"\\\\xff");
	r = stack_ctl("echo", "/n/x", "--once", "--json", NULL);
	is_fit(r, "\"frame_id\":\"a\\u001b[31m\\u009b\\u202e\\r\\\"\\\\\xef\xbf\xbd\"");
	j = json_loads(r->out, 0, NULL);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "message"), "x")), 5);
	json_decref(j);
	is_fit(stack_ctl("type", "show", "t/Nasty", NULL), "# \\x1b[2J\\u009b1m\n");
	is_fit(stack_ctl("type", "show", "t/Nasty", NULL), "int32 x  # \\u202e");
	is_fit(stack_ctl("info", "/n/x", NULL), "int32 x [\\x1b[5m]");
	is_fit(stack_ctl("info", "/n/x", "--json", NULL), "\\u202e\\nint32 forged");
	peer_join(p, pid);
	peer_free(p);
	stack_stop(simd);
}

/* A program whose path has control characters and invalid UTF-8: the lists stay valid. */
TEST_WITH(a_path_is_printed_with_escapes, setup, stack_sweep)
{
	static const char path[] = "/tmp/out-\x1b[31m\xff\n";
	const char *b = getenv("B");
	char command[512];
	pid_t pid;

	snprintf(command, sizeof(command), "cp '%s/examples/sensor_minimal' '%s'", b ? b : "build", path);
	assert_int_equal(system(command), 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		snprintf(command, sizeof(command), "%s/lib", b ? b : "build");
		setenv("LD_LIBRARY_PATH", command, 1);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	AWAIT(strstr(stack_ctl("clients", NULL)->out, "my_imu") || strstr(stack_ctl("clients", NULL)->out, "out-"));
	is_fit(stack_ctl("clients", NULL), "out-\\x1b[31m\\xff\\n");
	is_fit(stack_ctl("clients", "--json", NULL), "out-");
	kill(pid, SIGKILL);
	stack_wait(pid);
	stack_stop(simd);
}

/* ---- a bridge of simd's ---- */

/* Attaches as it in a loop, for as long as simd starts it again. */
static int thief(struct peer *p)
{
	struct session s;

	hello(&s, "bridge", "thief");
	while (!p->stop) {
		int r = varlink_call(s.v, s.sock, I "AttachBridge", json_pack("{s:s}", "bridge", "b"), -1, NULL);

		PEER(p, r == -EPERM && strstr(err_why(), "bridge b is started by simd"));
		atomic_fetch_add(&p->refused, 1);
	}
	session_end(&s);
	return 0;
}

TEST_WITH(another_process_cannot_take_over_a_bridge, setup, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid = peer_fork(p, thief);

	for (int i = 0; i < 5; i++) {
		int64_t was = stack_bridge("b", "pid");
		uint64_t refused = p->refused;

		assert_int_equal(stack_ctl("bridge", "restart", "b", NULL)->code, 0);
		AWAIT(stack_bridge("b", "pid") > 0 && stack_bridge("b", "pid") != was &&
		      !strcmp(stack_bridge_text("b", "status"), "connected") && p->refused > refused);
	}
	peer_join(p, pid);
	peer_free(p);
	stack_stop(simd);
}

/* ---- lanes ---- */

static int attach(struct session *s)
{
	struct varlink_msg m = { 0 };
	int fd;

	hello(s, "bridge", "evil");
	assert_int_equal(varlink_call(s->v, s->sock, I "AttachBridge", json_pack("{s:s}", "bridge", "evil"), -1, &m),
			 0);
	fd = varlink_msg_take_fd(&m, 0);
	varlink_msg_finish(&m);
	assert_true(fd >= 0);
	return fd;
}

struct done_packet {
	struct lane_head head;
	struct lane_done done[LANE_BATCH];
};

/* One child a try: simd watches a bridge's process, and this one must end for the next to attach. */
static int evil(struct peer *p)
{
	struct lane_head status = { .op = LANE_STATUS, .count = 1, .length = sizeof(struct lane_status) };
	struct {
		struct lane_head head;
		struct lane_status status;
	} connected = { status, { .status = SIM_BRIDGE_CONNECTED } };
	struct done_packet d = { .head = { .op = LANE_DONE, .count = LANE_BATCH, .length = sizeof(d.done) } };
	static char big[300 * 1024];
	struct session s;
	int fd = attach(&s), kind = atomic_load(&p->command);

	for (int i = 0; i < LANE_BATCH; i++)
		d.done[i].delivery = kind == 1 ? (uint64_t)i : UINT64_C(0x123456789) * (uint64_t)i;
	PEER(p, send(fd, &connected, sizeof(connected), MSG_NOSIGNAL) > 0);
	switch (kind) {
	case 0: /* answers to messages that it was never given, without end */
	case 1:
		for (int i = 0; i < 2000 && send(fd, &d, sizeof(d), MSG_NOSIGNAL) > 0; i++)
			continue;
		break;
	case 2: /* lengths that lie */
		d.head.length = 8;
		PEER(p, send(fd, &d, sizeof(d), MSG_NOSIGNAL) > 0);
		break;
	case 3:
		d.head.count = 0xffff;
		PEER(p, send(fd, &d, sizeof(d), MSG_NOSIGNAL) > 0);
		break;
	case 4:
		PEER(p, send(fd, "x", 1, MSG_NOSIGNAL) > 0);
		break;
	case 5:
		(void)!send(fd, big, sizeof(big), MSG_NOSIGNAL);
		break;
	case 6: /* packets that only simd sends */
		d.head.op = LANE_DELIVER;
		PEER(p, send(fd, &d, sizeof(d), MSG_NOSIGNAL) > 0);
		break;
	case 7: /* statuses that do not exist, a detail without end */
		connected.status.status = 77;
		PEER(p, send(fd, &connected, sizeof(connected), MSG_NOSIGNAL) > 0);
		break;
	default: /* takes deliveries and never answers, but dies */
		break;
	}
	atomic_store(&p->ready, 1);
	PEER_IDLE(p);
	session_end(&s);
	return 0;
}

static int to_evil(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "sensor");
	struct sim_publisher *pub = peer_advertise(p, c, "/e/x", 64, 0);

	for (int i = 0; i < 20; i++)
		PEER(p, peer_queue(p, pub, 64, NULL) == 0);
	atomic_store(&p->ready, 1);
	return peer_leave(p, c, pub);
}

TEST_FULL_WITH(malformed_bridge_lanes_are_survived, setup, stack_sweep)
{
	struct peer *witness = peer_new();
	pid_t pid;

	peer_tell(witness, 500);
	pid = peer_fork(witness, peer_publisher);
	AWAIT(witness->ok > 5);
	for (int kind = 0; kind <= 8; kind++) {
		struct peer *e = peer_new(), *p = peer_new();
		pid_t bridge, sensor;

		peer_tell(e, kind);
		bridge = peer_fork(e, evil);
		AWAIT(e->ready || e->failed);
		assert_int_equal(e->failed, 0);
		still_serves();
		sensor = peer_fork(p, to_evil);
		AWAIT(p->ready || p->failed);
		peer_join(e, bridge);
		peer_join(p, sensor);
		peer_check(p, false);
		assert_int_equal(p->ok, 0);
		AWAIT(stack_bridge("evil", "pid") == 0);
		peer_free(e);
		peer_free(p);
	}
	assert_true(stack_count("evil", "broke the protocol") > 0);
	assert_true(stack_count("evil", "") < 200); /* named, not shouted */
	peer_join(witness, pid);
	peer_check(witness, false);
	assert_int_equal(witness->ok, witness->accepted);
	assert_int_equal(stack_bridge("b", "restarts"), 0);
	stack_stop(simd);
	peer_free(witness);
}
