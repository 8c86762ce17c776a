/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Malicious peers at every interface at once: random calls and connections of an unprivileged user, overwritten shared
 * pages, bodies and headers with false contents, also in other clients' slots, invalid packets for the ROS 2 bridge;
 * and kills. Meanwhile simd answers every client, and honest clients lose only messages that were overwritten, and are
 * never blocked. ATTACK_SECONDS=n: length of all of them together (36); ATTACK=word: only those whose name contains the
 * word, for the whole time; SEED=n.
 */
#include "attackers.h"
#include "stack.h"
#include "usage.h"

#define CONF \
	"\"TimeSource\":\"system\",\"log\":\"*:warn\",\"socket\":{\"mode\":\"0666\",\"admin\":\"owner\"}," \
	"\"dispatch\":{\"deadline_ms\":600000}," /* a bridge may have no CPU for a while */ \
	"\"pools\":[{\"size\":\"1KiB\",\"count\":2500}],\"rigs\":[{\"name\":\"car\",\"bridges\":[" \
	"{\"name\":\"none\",\"plugin\":\"null\",\"lossless\":true,\"channels\":[\"/t/*\"]}," \
	"{\"name\":\"log\",\"plugin\":\"logging\",\"connection\":\"/tmp/out\",\"channels\":[\"/e/*\"]}," \
	"{\"name\":\"ros\",\"plugin\":\"ros2\",\"lossless\":true,\"channels\":[\"/t/*\",\"/e/*\"],\"options\":{\"ros_distro\":\"jazzy\"}}]}]"
#define ATTACKS   9
#define ATTACKERS 3
#define SAMPLES   100000
#define CALLS     30000  /* random ones, however long it takes */
#define MESSAGES  150000 /* of the honest one, at most */

static pid_t simd;

static bool may_be_nobody(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(attack_as_nobody() ? 0 : 1);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static const char *const bridges[] = { "none", "log", "ros" };

/* One at a time, for its share of the time. */
struct attack {
	const char *what;
	int (*run)(struct peer *);
	uint64_t least; /* of its doings */
	bool loses;     /* it overwrites honest clients' memory too: they are answered, but not always with success */
	long grows_kib; /* of simd, if not as little as else: the most that may wait, and a call as it is read */
	bool kills;     /* attackers, and the bridge "log" */
};

struct account { /* of an attack, for the end */
	const char *what;
	uint64_t did, died, accepted, arrived, failed, received;
	size_t asked;
	double ms[3]; /* GetInfo: median, 99 %, the longest */
};

static struct account accounts[ATTACKS];
static unsigned n_accounts;

static int seconds(void)
{
	const char *all = getenv("ATTACK_SECONDS");
	int n = (all ? atoi(all) : 36) / (getenv("ATTACK") ? 1 : ATTACKS);

	return n ? n : 1;
}

static void start(void)
{
	simd = stack_start(CONF);
	for (int i = 0; i < 3; i++)
		AWAIT(!strcmp(stack_bridge_text(bridges[i], "status"), "connected"));
}

/* One of the processes is killed; the bridge now and then. */
static void kill_one(const pid_t *pid)
{
	int64_t bridge = rand() % 40 ? -1 : stack_bridge("log", "pid");

	if (bridge > 1)
		kill((pid_t)bridge, SIGKILL);
	kill(pid[rand() % ATTACKERS], SIGKILL);
}

static uint64_t doings(struct peer *const *p)
{
	uint64_t n = 0;

	for (int i = 0; i < ATTACKERS; i++)
		n += p[i]->offered;
	return n;
}

static void note_times(struct account *k, int64_t *took, size_t n)
{
	qsort(took, n, sizeof(*took), by_size);
	k->asked = n;
	k->ms[0] = (double)took[n / 2] / 1e6;
	k->ms[1] = (double)took[n * 99 / 100] / 1e6;
	k->ms[2] = (double)took[n - 1] / 1e6;
}

/* Answers of GetInfo while they attack, by a connection each. */
static void hold_out(const struct attack *a, struct peer *const *p, pid_t *pid, struct account *k)
{
	int64_t end = mono_now_ns() + seconds() * NS_PER_S;
	static int64_t took[SAMPLES];
	size_t n = 0;

	while (mono_now_ns() < end || doings(p) < a->least) {
		int64_t asked = mono_now_ns();

		if (stack_int("GetInfo", "pid") != simd)
			fail_msg("GetInfo fails: %s", sim_why());
		if (n < SAMPLES)
			took[n++] = mono_now_ns() - asked;
		for (int i = 0; i < ATTACKERS; i++) {
			if (waitpid(pid[i], NULL, WNOHANG) != pid[i])
				continue;
			k->died++;
			pid[i] = peer_fork(p[i], a->run);
		}
		if (a->kills)
			kill_one(pid);
		pace_us(20000);
	}
	note_times(k, took, n);
}

static void end_attackers(struct peer **p, const pid_t *pid)
{
	for (int i = 0; i < ATTACKERS; i++) {
		kill(pid[i], SIGKILL);
		stack_wait(pid[i]);
		if (p[i]->failed)
			print_message("an attacker: %s\n", p[i]->why);
		peer_free(p[i]);
	}
}

static void check_honest(const struct attack *a, struct account *k, struct peer *good, const struct peer *ex)
{
	k->accepted = good->accepted;
	k->arrived = good->ok;
	k->failed = good->called - good->refused - good->ok;
	k->received = ex->received;
	peer_check(good, false);
	assert_int_equal(good->called, good->offered);
	for (int i = 1; i < SIM_REASON_COUNT; i++)
		if (good->reasons[i])
			print_message("%llu of its messages failed: %s\n", (unsigned long long)good->reasons[i],
				      sim_reason_text((enum sim_reason)i));
	if (!a->loses)
		assert_int_equal(good->ok, good->accepted);
}

static void check_simd(const struct attack *a, const struct usage *before, pid_t roudi)
{
	struct usage after;

	AWAIT(usage_of(simd, &after) == 0 && after.descriptors <= before->descriptors);
	print_message("simd %ld, then %ld KiB\n", before->anon_kib, after.anon_kib);
	assert_in_range(after.anon_kib, 0, before->anon_kib + (a->grows_kib ? a->grows_kib : 16384));
	for (int i = 0; i < 3; i++)
		if (!a->kills || strcmp(bridges[i], "log") != 0)
			assert_int_equal(stack_bridge(bridges[i], "restarts"), 0);
	assert_int_equal(stack_roudi(), roudi);
}

static void attack(const struct attack *a)
{
	struct peer *good = peer_new(), *ex = peer_new(), *p[ATTACKERS];
	struct account *k = &accounts[n_accounts++];
	pid_t good_pid, ex_pid, pid[ATTACKERS], roudi;
	const char *only = getenv("ATTACK");
	struct usage before;

	if (only && !strstr(a->what, only))
		skip();
	srand((unsigned)test_seed(51));
	print_message("SEED=%llu\n", (unsigned long long)test_seed(51));
	k->what = a->what;
	start();
	roudi = stack_roudi();
	peer_tell(good, seconds() > MESSAGES / 500 ? MESSAGES / seconds() : 500);
	good->number = 1;
	good_pid = peer_fork(good, peer_publisher);
	ex_pid = peer_fork(ex, peer_exchange);
	AWAIT(good->ok > 10 && ex->ready);
	assert_int_equal(usage_of(simd, &before), 0);
	for (int i = 0; i < ATTACKERS; i++) {
		p[i] = peer_new();
		pid[i] = peer_fork(p[i], a->run);
	}
	hold_out(a, p, pid, k);
	k->did = doings(p);
	end_attackers(p, pid);
	assert_true(k->did >= a->least);
	if (a->kills)
		AWAIT(!strcmp(stack_bridge_text("log", "status"), "connected"));
	peer_join(good, good_pid);
	peer_join(ex, ex_pid);
	check_honest(a, k, good, ex);
	check_simd(a, &before, roudi);
	stack_stop(simd);
	peer_free(good);
	peer_free(ex);
}

TEST_WITH(random_calls_do_no_harm, NULL, stack_sweep)
{
	if (!may_be_nobody())
		skip();
	attack_read_methods();
	attack(&(struct attack){ .what = "random calls", .run = attack_calls, .least = CALLS });
}

TEST_WITH(connections_opened_without_limit_do_no_harm, NULL, stack_sweep)
{
	if (!may_be_nobody())
		skip();
	attack(&(struct attack){ .what = "connections", .run = attack_connections, .least = 1000 });
}

TEST_WITH(expensive_calls_do_no_harm, NULL, stack_sweep)
{
	if (!may_be_nobody())
		skip();
	attack(&(struct attack){ .what = "heavy calls", .run = attack_heavy, .least = 1000, .grows_kib = 65536 });
}

TEST_WITH(ports_created_and_deleted_without_pause_do_no_harm, NULL, stack_sweep)
{
	attack(&(struct attack){ .what = "ports", .run = attack_ports, .least = 300 });
}

TEST_WITH(overwritten_shared_pages_do_no_harm, NULL, stack_sweep)
{
	attack(&(struct attack){
		.what = "pages scribbled over", .run = attack_scribbles, .least = 1000, .loses = true });
}

TEST_WITH(malformed_bodies_do_no_harm, NULL, stack_sweep)
{
	attack(&(struct attack){ .what = "bodies that lie", .run = attack_bodies, .least = 1000 });
}

TEST_WITH(published_slots_of_other_clients_do_no_harm, NULL, stack_sweep)
{
	attack(&(struct attack){ .what = "slots of others", .run = attack_recycled, .least = 1000, .loses = true });
}

TEST_WITH(malformed_packets_do_no_harm, NULL, stack_sweep)
{
	if (!may_be_nobody())
		skip();
	attack(&(struct attack){ .what = "packets of no sense", .run = attack_packets, .least = 1000 });
}

TEST_WITH(clients_killed_at_any_moment_do_no_harm, NULL, stack_sweep)
{
	attack(&(struct attack){ .what = "kills", .run = attack_victim, .least = 1000, .kills = true });
}

static int report(void **state)
{
	(void)state;
	for (unsigned i = 0; i < n_accounts; i++) {
		const struct account *k = &accounts[i];

		print_message(
			"%-20s %8llu by attackers, of whom %llu died; GetInfo %zu times: p50 %.1f, p99 %.1f, max %.1f ms; "
			"honest: %llu accepted, %llu arrived, %llu failed; %llu received\n",
			k->what, (unsigned long long)k->did, (unsigned long long)k->died, k->asked, k->ms[0], k->ms[1],
			k->ms[2], (unsigned long long)k->accepted, (unsigned long long)k->arrived,
			(unsigned long long)k->failed, (unsigned long long)k->received);
	}
	return 0;
}

TEST_GROUP(NULL, report)
