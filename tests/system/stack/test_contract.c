/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of sim_try_queue between real processes: tokens, credits, waits, sizes. */
#include "peer.h"
#include "stack.h"

#define SLOW(us) "\"mode\":\"slow\",\"delay_us\":" us
#define CONF(pools, more, options) \
	"\"TimeSource\":\"system\"," pools more ",\"rigs\":[{\"name\":\"car\",\"channels\":[" \
	"{\"name\":\"/t/narrow\",\"window\":4}],\"bridges\":[" \
	"{\"name\":\"b\",\"plugin\":\"" FAULTY "\",\"channels\":[\"/t/*\"],\"options\":{" options "}}]}]"

static pid_t simd;

static void start(const char *conf)
{
	simd = stack_start(conf);
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
}

/* ---- tokens ---- */

static int token_user(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "token");
	struct sim_publisher *pub = peer_advertise(p, c, "/t/token", 64, SIM_PUB_NO_WAIT);
	struct sim_token *t;

	PEER(p, sim_token_open(c, "both", &t) == 0);
	while (!atomic_load(&p->stop)) {
		int r = peer_queue(p, pub, 64, t);

		PEER(p, r == 0 || r == -EBUSY);
		pace_us(300);
	}
	peer_settle(p);
	sim_token_close(t);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(a_token_admits_one_at_a_time, NULL, stack_sweep)
{
	struct peer *a = peer_new(), *b = peer_new();
	pid_t pa, pb;

	start(CONF(STACK_POOLS, "", SLOW("2000")));
	pa = peer_fork(a, token_user);
	pb = peer_fork(b, token_user);
	AWAIT(a->ok > 20 && b->ok > 20);
	peer_join(a, pa);
	peer_join(b, pb);
	peer_check(a, false);
	peer_check(b, false);
	assert_int_equal(a->ok, a->accepted);
	assert_int_equal(b->ok, b->accepted);
	assert_int_equal(a->refused, a->refusals[SIM_REASON_TOKEN]);
	assert_true(a->refused > 0 && b->refused > 0);
	stack_stop(simd);
	peer_free(a);
	peer_free(b);
}

/* ---- credits ---- */

/* Fills the window; then one more message: its answer, and the shortest time that it took. */
static int filler(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "filler");
	unsigned flags = (unsigned)atomic_load(&p->command);
	struct sim_publisher *pub = peer_advertise(p, c, "/t/narrow", 64, flags);
	int64_t start;
	int r;

	for (int i = 0; i < 4; i++)
		PEER(p, peer_queue(p, pub, 64, NULL) == 0);
	start = mono_now_ns();
	r = peer_queue(p, pub, 64, NULL);
	atomic_store(&p->took_dur_ns, mono_now_ns() - start);
	atomic_store(&p->result, r);
	snprintf(p->why, sizeof(p->why), "%s", sim_why());
	atomic_store(&p->ready, 1);
	return peer_leave(p, c, pub);
}

/* The window stays full until it has its answer: the bridge stands meanwhile. */
static void fill_in_vain(struct peer *p)
{
	pid_t bridge = (pid_t)stack_bridge("b", "pid"), pid;

	assert_int_equal(kill(bridge, SIGSTOP), 0);
	AWAIT(test_stands(bridge));
	pid = peer_fork(p, filler);
	AWAIT(p->ready || p->failed);
	assert_int_equal(kill(bridge, SIGCONT), 0);
	peer_join(p, pid);
}

TEST_WITH(a_publish_without_a_free_credit_is_refused_or_times_out, NULL, stack_sweep)
{
	struct peer *now = peer_new(), *later = peer_new();

	start(CONF(STACK_POOLS, ",\"dispatch\":{\"wait_ms\":100}", ""));
	peer_tell(now, SIM_PUB_NO_WAIT);
	fill_in_vain(now);
	assert_int_equal(now->result, -EAGAIN);
	assert_int_equal(now->refusals[SIM_REASON_NO_CREDIT], 1);
	assert_int_equal(now->ok, 4);
	fill_in_vain(later);
	assert_int_equal(later->result, -ETIMEDOUT);
	assert_true(later->took_dur_ns >= 100 * NS_PER_MS);
	assert_int_equal(later->refusals[SIM_REASON_TIMEOUT], 1);
	assert_non_null(strstr(later->why, "100 ms"));
	peer_check(now, false);
	peer_check(later, false);
	stack_stop(simd);
	peer_free(now);
	peer_free(later);
}

TEST_WITH(a_publisher_waits_for_a_credit, NULL, stack_sweep)
{
	struct peer *p = peer_new();

	start(CONF(STACK_POOLS, "", SLOW("50000")));
	peer_join(p, peer_fork(p, filler));
	assert_int_equal(p->result, 0);
	assert_int_equal(p->ok, 5);
	peer_check(p, false);
	/* reported once, however often it waits */
	for (int i = 0; i < 8; i++) {
		struct peer *again = peer_new();

		peer_join(again, peer_fork(again, filler));
		peer_free(again);
	}
	AWAIT(stack_count("/t/narrow", "wait for credits") == 1);
	stack_stop(simd);
	peer_free(p);
}

/* Two processes share one window, and neither starves. */
static int sharer(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "sharer");
	struct sim_publisher *pub = peer_advertise(p, c, "/t/narrow", 64, 0);

	while (!atomic_load(&p->stop)) {
		int r = peer_queue(p, pub, 64, NULL);

		PEER(p, r == 0 || r == -ETIMEDOUT);
	}
	return peer_leave(p, c, pub);
}

TEST_WITH(two_publishers_share_a_window, NULL, stack_sweep)
{
	struct peer *a = peer_new(), *b = peer_new();
	pid_t pa, pb;

	start(CONF(STACK_POOLS, "", SLOW("1000")));
	pa = peer_fork(a, sharer);
	pb = peer_fork(b, sharer);
	AWAIT(a->ok > 100 && b->ok > 100);
	assert_true(stack_in_flight("/t/narrow") <= 4);
	peer_join(a, pa);
	peer_join(b, pb);
	peer_check(a, false);
	peer_check(b, false);
	assert_int_equal(a->ok, a->accepted);
	assert_int_equal(b->ok, b->accepted);
	stack_stop(simd);
	peer_free(a);
	peer_free(b);
}

/* ---- sizes ---- */

#define BIG_POOLS \
	"\"pools\":[{\"size\":\"1KiB\",\"count\":800},{\"size\":\"70KiB\",\"count\":250}," \
	"{\"size\":\"6400KiB\",\"count\":40},{\"size\":\"24640KiB\",\"count\":22}]"

static int sizes(struct peer *p)
{
	static const size_t bodies[] = { 64u << 10, 6u << 20, 24u << 20 };
	struct sim_client *c = peer_connect(p, "camera");
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = 64u << 20 };
	struct sim_publisher *pub;

	PEER(p, sim_advertise(c, "/t/huge", &sim_Ultrasonic_type, &o, &pub) == -EMSGSIZE);
	for (int k = 0; k < 3; k++) {
		char name[32];

		snprintf(name, sizeof(name), "/t/size/%d", k);
		pub = peer_advertise(p, c, name, bodies[k], 0);
		for (int i = 0; i < 20; i++)
			PEER(p, peer_queue(p, pub, bodies[k], NULL) == 0);
		PEER(p, peer_queue(p, pub, 64u << 20, NULL) == -EMSGSIZE);
		peer_settle(p);
		sim_publisher_destroy(pub);
	}
	sim_disconnect(c);
	return 0;
}

TEST_WITH(messages_of_all_sizes_are_delivered, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	uint32_t slots;

	start(CONF(BIG_POOLS, "", SLOW("500")));
	slots = stack_slots();
	peer_join(p, peer_fork(p, sizes));
	assert_int_equal(p->ok, 60);
	assert_int_equal(p->accepted, 60);
	peer_check(p, false);
	AWAIT(stack_slots() <= slots);
	stack_stop(simd);
	peer_free(p);
}

/* ---- without simd ---- */

static int lonely(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "lonely");
	struct sim_publisher *pub = peer_advertise(p, c, "/nobody/carries/it", 64, 0);
	struct sim_publisher *off = peer_advertise(p, c, "/t/off", 64, 0);

	PEER(p, sim_publisher_bridges(pub).total == 0);
	PEER(p, peer_queue(p, pub, 64, NULL) == 0);
	peer_settle(p);
	PEER(p, atomic_load(&p->reasons[SIM_REASON_NO_BRIDGE]) == 1);
	PEER(p, sim_publisher_bridges(off).total == 1 && sim_publisher_bridges(off).connected == 0);
	PEER(p, peer_queue(p, off, 64, NULL) == 0);
	peer_settle(p);
	PEER(p, atomic_load(&p->reasons[SIM_REASON_DISCONNECTED]) == 1);
	sim_publisher_destroy(off);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(without_a_connected_bridge_a_message_completes, NULL, stack_sweep)
{
	struct peer *p = peer_new();

	simd = stack_start("\"TimeSource\":\"system\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"bridges\":["
			   "{\"name\":\"b\",\"plugin\":\"" FAULTY
			   "\",\"channels\":[\"/t/*\"],\"connection\":\"away\"}]}]");
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connecting"));
	peer_join(p, peer_fork(p, lonely));
	peer_check(p, false);
	stack_stop(simd);
	peer_free(p);
}

/* ---- counts ---- */

/* Offers 200 messages, some under a token, to a narrow window; then 10 while time is paused. */
static int mixed(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "mixed");
	struct sim_publisher *pub = peer_advertise(p, c, "/t/narrow", 64, SIM_PUB_NO_WAIT);
	struct sim_token *t;

	PEER(p, sim_token_open(c, "mixed", &t) == 0);
	for (int i = 0; i < 200; i++) {
		int r = peer_queue(p, pub, 64, i % 3 ? NULL : t);

		PEER(p, r == 0 || r == -EBUSY || r == -EAGAIN);
		if (i % 5 == 0)
			pace_us(2000);
	}
	peer_settle(p);
	atomic_store(&p->ready, 1);
	PEER_AWAIT(p, atomic_load(&p->command));
	for (int i = 0; i < 10; i++)
		PEER(p, peer_queue(p, pub, 64, t) == -ECANCELED);
	atomic_store(&p->ready, 2);
	PEER_IDLE(p); /* its counters are read while it lives, and after */
	sim_token_close(t);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

static uint64_t number(const json_t *o, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

static bool counted(struct peer *p)
{
	json_t *j = stack_call("GetDispatch", NULL), *ch;
	json_t *list = json_object_get(json_object_get(j, "dispatch"), "channels");
	bool same = false;
	size_t i;

	json_array_foreach(list, i, ch) {
		if (strcmp(json_string_value(json_object_get(ch, "name")), "/t/narrow") != 0)
			continue;
		same = number(ch, "accepted") == p->accepted && number(ch, "completed") == p->ok;
		for (int r = 1; r < SIM_REASON_COUNT; r++) {
			const char *name = sim_reason_name((enum sim_reason)r);

			same &= number(json_object_get(ch, "refused"), name) == p->refusals[r];
			same &= number(json_object_get(ch, "failed"), name) == p->reasons[r];
		}
	}
	json_decref(j);
	return same;
}

TEST_WITH(each_reason_is_counted, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid;

	start(CONF(STACK_POOLS, "", "\"mode\":\"fail\",\"every\":4"));
	pid = peer_fork(p, mixed);
	AWAIT(p->ready == 1 || p->failed);
	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	peer_tell(p, 1);
	AWAIT(p->ready == 2 || p->failed);
	assert_int_equal(p->refusals[SIM_REASON_PAUSED], 10);
	assert_true(p->reasons[SIM_REASON_FAILED] > 0 && p->ok > 0);
	AWAIT(counted(p));
	AWAIT(stack_bridge("b", "attempted") == (int64_t)p->accepted);
	assert_int_equal(stack_bridge("b", "sent"), p->ok);
	assert_int_equal(stack_bridge("b", "failed"), p->reasons[SIM_REASON_FAILED]);
	assert_int_equal(stack_bridge("b", "dropped"), 0);
	peer_join(p, pid);
	AWAIT(counted(p)); /* nothing is forgotten with the process */
	stack_stop(simd);
	peer_free(p);
}
