/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishers in tight loops die at random instants: dispatched and local ones, of several channels and sizes, beside
 * bridges, a subscriber that is always behind, and an honest publisher and reader. No process hangs or spins, each
 * message of the honest publisher is answered exactly once, RouDi is never replaced, and everything that the dead
 * processes held is freed. The same where half of them leave a child that keeps their sockets, where a quarter of them,
 * and now and then a reader and a bridge, are stopped for a while first, and where a quarter writes past its slots,
 * which destroys messages of others too. FAULT_KILLS=n: a fifth of it kills (100), and a tenth for each other test;
 * SEED=n.
 */
#include "peer.h"
#include "session.h"
#include "stack.h"
#include "usage.h"

#include <sys/prctl.h>

#define BRIDGE(name, plugin, channels, rest) \
	"{\"name\":\"" name "\",\"plugin\":\"" plugin "\",\"channels\":[" channels "]" rest "}"
#define CONF \
	"\"TimeSource\":\"system\",\"log\":\"*:warn\"," \
	"\"pools\":[{\"size\":\"1KiB\",\"count\":4000},{\"size\":\"64KiB\",\"count\":400},{\"size\":\"512KiB\"," \
	"\"count\":150}],\"rigs\":[{\"name\":\"car\",\"bridges\":[" BRIDGE("none", "null", "\"/t/a\",\"/t/big\"", "") "," BRIDGE( \
		"log", "logging", "\"/t/log\"", \
		",\"connection\":\"/tmp/out\"") "," BRIDGE("slow", FAULTY, "\"/t/slow\"", \
							   ",\"options\":{\"mode\":\"slow\",\"delay_us\":500}") "]}]"
#define PREY 4

enum how { KILLED, FORKED, STOPPED, OVERRUN };

struct victim {
	struct peer *p;
	pid_t pid;
	enum how how;
};

static const struct {
	const char *channel;
	size_t body;
	unsigned flags;
} kinds[] = {
	{ "/t/a", 64, 0 },
	{ "/t/log", 64, 0 },
	{ "/t/slow", 64, SIM_PUB_NO_WAIT },
	{ "/t/big", 50 << 10, SIM_PUB_LATCH },
	{ "/p/a", 64, SIM_PUB_LOCAL | SIM_PUB_LATCH },
	{ "/p/a", 64, SIM_PUB_LOCAL },
	{ "/p/big", 400 << 10, SIM_PUB_LOCAL },
	{ "/t/a", 64, SIM_PUB_LATCH },
};
#define KINDS ((int)(sizeof(kinds) / sizeof(*kinds)))

static const char *const bridges[] = { "none", "log", "slow" };
#define BRIDGES ((int)(sizeof(bridges) / sizeof(*bridges)))

/* ---- the processes ---- */

static void publish_local(struct peer *p, struct sim_publisher *pub, size_t body)
{
	struct sim_slot *loan;

	if (sim_loan(pub, body, &loan) == 0)
		PEER(p, sim_publish_local(pub, loan) != -EINVAL);
}

/* A child that has all its descriptors, and outlives it; `result` is its pid. */
static void leave_child(struct peer *p)
{
	pid_t pid = fork();

	PEER(p, pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, 0);
		for (;;)
			pause();
	}
	atomic_store(&p->result, pid);
}

/* Writes over the end of the slot, and over the head of the one behind it. */
static void overrun(struct peer *p, struct sim_publisher *pub, size_t body)
{
	size_t end = (body < 512 ? (size_t)1 << 10 : body < (60 << 10) ? (size_t)64 << 10 : (size_t)512 << 10) - 128;
	struct sim_slot *loan;

	if (sim_loan(pub, body, &loan) < 0)
		return;
	memset((char *)sim_slot_body_mut(loan) + end - 200, 0x5a, 400);
	PEER(p, sim_unloan(pub, loan) == 0);
}

/* As one of kinds[], `command` of it, until it is killed, or for a moment if it is told to stop. */
static int hot(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "hot");
	int kind = atomic_load(&p->command) % KINDS;
	enum how how = (enum how)(atomic_load(&p->command) / KINDS);
	struct sim_publisher *pub = peer_advertise(p, c, kinds[kind].channel, kinds[kind].body, kinds[kind].flags);

	signal(SIGSEGV, SIG_DFL); /* not cmocka's: behind the last slot there may be nothing */
	if (how == FORKED)
		leave_child(p);
	for (unsigned n = 0; n < 100 || !atomic_load(&p->stop); n++) {
		if (how == OVERRUN && n % 50 == 0)
			overrun(p, pub, kinds[kind].body);
		if (kinds[kind].flags & SIM_PUB_LOCAL)
			publish_local(p, pub, kinds[kind].body);
		else if (atomic_load(&p->offered) < PEER_MESSAGES)
			(void)!peer_queue(p, pub, kinds[kind].body, NULL);
		atomic_store(&p->ready, 1);
	}
	return peer_leave(p, c, pub);
}

/* Publishes beside the victims, on their channels and on one of its own; `received` counts its rounds. */
static int honest(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "honest");
	struct sim_publisher *a = peer_advertise(p, c, "/t/a", 64, 0), *slow = peer_advertise(p, c, "/t/slow", 64, 0);
	struct sim_publisher *near = peer_advertise(p, c, "/p/a", 64, SIM_PUB_LOCAL);
	struct sim_publisher *own = peer_advertise(p, c, "/p/own", 64, SIM_PUB_LOCAL);

	while (!atomic_load(&p->stop)) {
		(void)!peer_queue(p, a, 64, NULL);
		(void)!peer_queue(p, slow, 64, NULL);
		publish_local(p, near, 64);
		publish_local(p, own, 64);
		atomic_fetch_add(&p->received, 1);
		atomic_store(&p->ready, 1);
		pace_us(2000);
	}
	peer_settle(p);
	sim_publisher_destroy(own);
	sim_publisher_destroy(near);
	sim_publisher_destroy(slow);
	return peer_leave(p, c, a);
}

/* Receives what the honest one publishes for it alone: each message once at most, in order. */
static int reader(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "reader");
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 128 };
	struct sim_subscriber *sub;
	const struct sim_message *got;
	uint64_t last = 0;

	PEER(p, sim_subscribe(c, "/p/own", NULL, &so, &sub) == 0);
	atomic_store(&p->ready, 1);
	while (!atomic_load(&p->stop)) {
		if (sim_wait(sub, 100 * NS_PER_MS) != 1)
			continue;
		while (sim_take(sub, &got) == 0) {
			PEER(p, got->header.sequence > last);
			last = got->header.sequence;
			atomic_fetch_add(&p->received, 1);
			sim_release(sub, got);
		}
	}
	sim_subscriber_destroy(sub);
	sim_disconnect(c);
	return 0;
}

/* Always behind, with queues that are full. */
static int lazy(struct peer *p)
{
	static const char *const names[] = { "/p/a", "/p/big", "/t/a" };
	struct sim_client *c = peer_connect(p, "lazy");
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 4 };
	struct sim_subscriber *sub[3];
	const struct sim_message *got;

	for (int i = 0; i < 3; i++)
		PEER(p, sim_subscribe(c, names[i], NULL, &so, &sub[i]) == 0);
	atomic_store(&p->ready, 1);
	while (!atomic_load(&p->stop)) {
		for (int i = 0; i < 3; i++)
			if (sim_take(sub[i], &got) == 0)
				sim_release(sub[i], got);
		pace_us(50000);
	}
	for (int i = 0; i < 3; i++)
		sim_subscriber_destroy(sub[i]);
	sim_disconnect(c);
	return 0;
}

/* ---- resources held ---- */

struct gauges {
	uint32_t slots;
	int64_t clients;
	unsigned cells; /* credits and tokens */
	struct usage of[2 + BRIDGES];
};

static pid_t simd, roudi;
static unsigned n_killed; /* so far; iceoryx's RouDi keeps 0.9 KiB of each client that it has had */

static unsigned cells(void)
{
	struct session s;
	unsigned n;

	assert_int_equal(session_open("gauge", &s), 0);
	n = session_cells(&s);
	session_close(&s);
	return n;
}

static void use(struct usage of[2 + BRIDGES])
{
	of[0] = usage(simd);
	of[1] = usage(roudi);
	for (int i = 0; i < BRIDGES; i++)
		of[2 + i] = usage((pid_t)stack_bridge(bridges[i], "pid"));
}

static void print(const char *when, const struct gauges *g)
{
	static const char *const names[2 + BRIDGES] = { "simd", "iox-roudi", "none", "log", "slow" };

	print_message("%s: %u slots, %lld clients, %u cells", when, g->slots, (long long)g->clients, g->cells);
	for (int i = 0; i < 2 + BRIDGES; i++)
		print_message("; %s %ld KiB, %ld descriptors, %ld threads", names[i], g->of[i].anon_kib,
			      g->of[i].descriptors, g->of[i].threads);
	print_message("\n");
}

static void look(struct gauges *g)
{
	use(g->of);
	g->clients = stack_int("GetInfo", "clients");
	g->cells = cells();
	g->slots = stack_slots();
}

static bool is_back(const struct gauges *was)
{
	struct gauges g;

	look(&g);
	for (int i = 0; i < 2 + BRIDGES; i++)
		if (g.of[i].descriptors > was->of[i].descriptors || g.of[i].threads > was->of[i].threads)
			return false;
	return g.slots <= was->slots && g.clients <= was->clients && g.cells <= was->cells;
}

/* ---- the hunt ---- */

static struct peer *good, *taker, *behind;
static pid_t good_pid, taker_pid, behind_pid;

static void start_honest(void)
{
	good = peer_new();
	taker = peer_new();
	behind = peer_new();
	behind_pid = peer_fork(behind, lazy);
	taker_pid = peer_fork(taker, reader);
	AWAIT(behind->ready && taker->ready);
	good_pid = peer_fork(good, honest);
	AWAIT(good->ready && taker->received > 10);
}

static bool lossy; /* some destroy messages of others */

static void end_honest(void)
{
	peer_join(good, good_pid);
	peer_join(taker, taker_pid);
	peer_join(behind, behind_pid);
	peer_check(good, false);
	assert_int_equal(good->called, good->offered);
	for (int i = 1; i < SIM_REASON_COUNT; i++)
		if (good->reasons[i])
			print_message("%llu of its messages failed: %s\n",
				      (unsigned long long)atomic_load(&good->reasons[i]),
				      sim_reason_text((enum sim_reason)i));
	if (!lossy)
		assert_int_equal(good->ok, good->accepted);
	peer_free(good);
	peer_free(taker);
	peer_free(behind);
}

/* Each kind once, in peace: channels, feeds and lanes are there from then on. */
static void visit(void)
{
	for (int k = 0; k < KINDS; k++) {
		struct peer *p = peer_new();

		peer_tell(p, k);
		p->stop = 1;
		peer_join(p, peer_fork(p, hot));
		peer_check(p, false);
		peer_free(p);
	}
}

static pid_t children[5];         /* of dead ones */
static struct victim standing[2]; /* stopped ones */
static unsigned n_children, n_standing;
static bool others_stop; /* now and then */

static void hunt(struct victim *v, enum how how)
{
	*v = (struct victim){ .p = peer_new(), .how = how };
	peer_tell(v->p, (int)how * KINDS + rand() % KINDS);
	v->pid = peer_fork(v->p, hot);
}

static void end(struct victim *v)
{
	kill(v->pid, SIGKILL);
	n_killed++;
	stack_wait(v->pid);
	peer_check(v->p, true);
	peer_free(v->p);
}

static void end_child(pid_t pid)
{
	if (!pid)
		return;
	kill(pid, SIGKILL);
	stack_wait(pid);
}

/* It is stopped while others start and exit; then it is killed, or continues for a moment first. */
static void stop(const struct victim *v)
{
	struct victim *place = &standing[n_standing++ % (sizeof(standing) / sizeof(*standing))];

	if (place->pid && rand() % 2) {
		kill(place->pid, SIGCONT);
		moment_us((unsigned)(rand() % 4000));
	}
	if (place->pid)
		end(place);
	kill(v->pid, SIGSTOP);
	*place = *v;
}

/* A bridge of others than the honest one, and the reader that is always behind: while one is killed. */
static void signal_others(unsigned n, int signal)
{
	if (!others_stop || n % 8)
		return;
	kill(behind_pid, signal);
	kill((pid_t)stack_bridge("log", "pid"), signal);
}

static void strike(struct victim *v)
{
	AWAIT(v->p->ready || v->p->failed);
	if (v->p->failed)
		fail_msg("a victim cannot start: %s", v->p->why);
	moment_us((unsigned)(rand() % 4000));
	if (v->how == FORKED) {
		pid_t *place = &children[n_children++ % (sizeof(children) / sizeof(*children))];

		end_child(*place);
		*place = v->p->result;
	}
	if (v->how == STOPPED)
		stop(v);
	else
		end(v);
}

static void end_all(struct victim *v)
{
	for (int i = 0; i < PREY; i++)
		strike(&v[i]);
	for (unsigned i = 0; i < sizeof(children) / sizeof(*children); i++)
		end_child(children[i]);
	for (unsigned i = 0; i < sizeof(standing) / sizeof(*standing); i++)
		if (standing[i].pid)
			end(&standing[i]);
	memset(standing, 0, sizeof(standing));
	memset(children, 0, sizeof(children));
}

/* A process hangs, or spins. */
static void look_at_honest(void)
{
	uint64_t rounds = good->received, received = taker->received;

	AWAIT(good->received > rounds + 2 && taker->received > received + 2);
	assert_int_equal(good->failed + taker->failed + behind->failed, 0);
}

static void run(unsigned wanted, enum how (*how)(void))
{
	struct victim v[PREY];
	int64_t begin = mono_now_ns(), cpu = usage_cpu_ms(good_pid), took;

	for (int i = 0; i < PREY; i++)
		hunt(&v[i], how());
	for (unsigned n = 0; n < wanted; n++) {
		signal_others(n, SIGSTOP);
		strike(&v[n % PREY]);
		hunt(&v[n % PREY], how());
		look_at_honest();
		signal_others(n, SIGCONT);
	}
	cpu = usage_cpu_ms(good_pid) - cpu;
	took = (mono_now_ns() - begin) / NS_PER_MS;
	end_all(v);
	print_message("%u kills in %lld ms; the honest one: %llu accepted, %lld ms of CPU\n", wanted, (long long)took,
		      (unsigned long long)atomic_load(&good->accepted), (long long)cpu);
	assert_true(cpu < took / 2);
}

/* As begun, with the last victim dead since now. */
static void all_is_back(const struct gauges *before)
{
	struct gauges after = { 0 };

	for (unsigned looks = 0; !is_back(before); looks++) {
		if (looks == WAIT_SAYS) {
			look(&after);
			print("not back yet", &after);
		}
		wait_look_again();
	}
	look(&after);
	print("after", &after);
	for (int i = 0; i < 2 + BRIDGES; i++)
		assert_in_range(after.of[i].anon_kib, 0, before->of[i].anon_kib + 1024 + (i == 1 ? n_killed : 0));
	assert_int_equal(stack_roudi(), roudi);
	for (int i = 0; i < BRIDGES; i++)
		assert_int_equal(stack_bridge(bridges[i], "restarts"), 0);
}

static void begin(uint64_t fallback_seed, struct gauges *ret)
{
	uint64_t seed = test_seed(fallback_seed);

	print_message("SEED=%llu\n", (unsigned long long)seed);
	srand((unsigned)seed);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	simd = stack_start(CONF);
	for (int i = 0; i < BRIDGES; i++)
		AWAIT(!strcmp(stack_bridge_text(bridges[i], "status"), "connected"));
	roudi = stack_roudi();
	start_honest();
	visit();
	end_honest();
	look(ret);
	print("before", ret);
	start_honest();
}

static unsigned kills(unsigned share)
{
	const char *all = getenv("FAULT_KILLS");

	return (all ? (unsigned)atoi(all) : 500) / share;
}

static enum how killed(void)
{
	return KILLED;
}

static enum how forked(void)
{
	return rand() % 2 ? FORKED : KILLED;
}

static void kill_and_look(uint64_t fallback_seed, unsigned wanted, enum how (*how)(void))
{
	struct gauges before;

	begin(fallback_seed, &before);
	run(wanted, how);
	end_honest();
	all_is_back(&before);
	stack_stop(simd);
}

TEST_WITH(publishers_killed_at_full_speed_leave_nothing, NULL, stack_sweep)
{
	kill_and_look(31, kills(5), killed);
}

TEST_WITH(killed_publishers_whose_children_keep_their_sockets_leave_nothing, NULL, stack_sweep)
{
	kill_and_look(32, kills(10), forked);
}

static enum how stopped(void)
{
	return rand() % 4 ? KILLED : STOPPED;
}

TEST_WITH(killed_publishers_that_were_stopped_first_leave_nothing, NULL, stack_sweep)
{
	others_stop = true;
	kill_and_look(33, kills(10), stopped);
}

static enum how overruns(void)
{
	return rand() % 4 ? KILLED : OVERRUN;
}

TEST_WITH(killed_publishers_that_wrote_past_their_slots_leave_nothing, NULL, stack_sweep)
{
	lossy = true;
	kill_and_look(34, kills(10), overruns);
}
