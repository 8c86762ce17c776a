/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server of a world and hosts of it, each as it is, and the line between: it is slow, loses, is cut, and hosts are
 * lost at each step. In virtual time, so what costs minutes elsewhere costs none here. A host is libclient/world/side.h
 * on a stream. Thread: the test's.
 */
#include "support/test.h"

#include "err.h"
#include "loop/stream_tls.h"
#include "mem.h"
#include "support/vnet.h"
#include "timeutil.h"
#include "tools/world/keys.h"
#include "tools/world/net.h"
#include "world/side.h"

#define STEP  (100 * NS_PER_MS)
#define TICKS 4000u
#define HOSTS 3u
#define TIME  (120 * NS_PER_S) /* for anything to come to an end */

struct host {
	struct side *side;
	struct stream *s; /* NULL: not connected */
	unsigned n_welcomes, n_ended;
	uint64_t tick; /* the newest */
	uint64_t hash[TICKS];
};

static struct exec *x;
static struct world *w;
static struct net *n;
static struct tls_keys *server_keys, *host_keys;
static bool by_tls;
static char dir[TEST_PATH_MAX];
static struct vnet_rules rules;
static struct host hosts[HOSTS];

static int make(void **state)
{
	const char *const clients[] = { "alice" };

	(void)state;
	return keys_make(&(struct keys_options){ .dir = test_path(dir, "keys"), .clients = clients, .n_clients = 1 },
			 &(unsigned){ 0 });
}
TEST_GROUP(make, NULL)

static void start(uint32_t pace_permille)
{
	const struct world_options o = {
		.store = { .objects_max = 10, .objects_each_max = 5, .section_mm = 100000, .step_dur_ns = STEP },
		.barrier = { .pace_permille = pace_permille },
		.number = 1,
		.sessions_max = 8,
		.members_max = 8,
		.radius_mm = INT64_MAX,
		.ahead_dur_ns = NS_PER_S,
	};
	const struct net_options at = { .keys = by_tls ? server_keys : NULL, .tcp_only = true };

	memset(hosts, 0, sizeof(hosts));
	assert_ok(exec_sim_create(test_seed(1), NS_PER_S, &x));
	vnet_create(x, test_seed(1), &rules);
	assert_ok(world_create(&o, exec_now(x), &w));
	assert_ok(net_create(x, &at, w, &n));
}

static void leave(struct host *h)
{
	stream_destroy(h->s);
	h->s = NULL;
	side_destroy(h->side);
	h->side = NULL;
}

static void stop(void)
{
	if (!x)
		return;
	for (unsigned i = 0; i < HOSTS; i++)
		leave(&hosts[i]);
	net_destroy(n);
	world_destroy(w);
	vnet_destroy();
	exec_destroy(x);
	x = NULL;
}

static int plain(void **state)
{
	(void)state;
	by_tls = false;
	rules = (struct vnet_rules){ .delay_dur_ns = NS_PER_MS };
	return 0;
}

static int tls(void **state)
{
	(void)plain(state);
	by_tls = true;
	assert_ok(tls_keys_load(dir, "server", &server_keys));
	assert_ok(tls_keys_load(dir, "alice", &host_keys));
	return 0;
}

static int end(void **state)
{
	(void)state;
	stop();
	tls_keys_destroy(server_keys);
	tls_keys_destroy(host_keys);
	server_keys = host_keys = NULL;
	return 0;
}

/* ---- a host ---- */

static void flush(struct host *h)
{
	const void *data;
	size_t len;

	while (h->s && !stream_waits(h->s) && (len = side_output(h->side, &data))) {
		ssize_t r = stream_write(h->s, &(struct iovec){ (void *)(uintptr_t)data, len }, 1);

		if (r < 0)
			return;
		side_sent(h->side, (size_t)r);
	}
}

/* It says where its car is then, and promises. */
static void promise(struct host *h)
{
	const struct side_tick *t = side_tick(h->side);
	const struct side_object o = {
		.code = 2, .motion = { .position = { (double)t->tick, 5, 0 }, .time_sim_ns = t->time_sim_ns + STEP }
	};

	assert_int_equal(side_put(h->side, &o), 0);
	assert_int_equal(side_done(h->side, t->tick, exec_now(x)), 0);
}

/* Ticks come one after the other, none is left out. */
static void on_event(struct host *h, const struct side_event *e)
{
	if (e->kind == SIDE_WELCOME) {
		h->n_welcomes++;
	} else if (e->kind == SIDE_TICK) {
		if (h->tick && e->tick.tick != h->tick + 1)
			fail_msg("tick %d after %d", (int)e->tick.tick, (int)h->tick);
		h->tick = e->tick.tick;
		assert_true(h->tick < TICKS);
		h->hash[h->tick] = remotes_hash(side_remotes(h->side));
	} else {
		return;
	}
	promise(h);
}

static void opened(void *arg)
{
	struct host *h = arg;

	assert_int_equal(side_begin(h->side), 0);
	flush(h);
}

static ssize_t take(void *arg, const uint8_t *data, size_t len, char why[STREAM_WHY_MAX])
{
	struct host *h = arg;
	struct side_event e;
	uint8_t *room;
	size_t size;
	int r;

	(void)why;
	assert_int_equal(side_room(h->side, &room, &size), 0);
	size = size < len ? size : len;
	memcpy(room, data, size);
	side_add(h->side, size, exec_now(x));
	while ((r = side_next(h->side, &e)) == 1)
		on_event(h, &e);
	assert_int_equal(r, 0);
	flush(h);
	return (ssize_t)size;
}

static void room(void *arg)
{
	flush(arg);
}

static void ended(void *arg, int error, const char *why)
{
	struct host *h = arg;

	(void)error;
	(void)why;
	h->n_ended++;
	side_end(h->side);
	stream_destroy(h->s);
	h->s = NULL;
}

static struct host *come(unsigned i)
{
	static const struct stream_ops ops = { .opened = opened, .take = take, .room = room, .ended = ended };
	const struct side_options o = {
		.name = "host", .role = SIDE_REGULATING, .identity = { (uint8_t)(i + 1) }, .history = 2
	};
	struct address at = { .host = "127.0.0.1", .port = net_port(n) };
	struct host *h = &hosts[i];
	char why[STREAM_WHY_MAX];

	memset(h, 0, sizeof(*h));
	assert_int_equal(side_create(&o, &h->side), 0);
	assert_int_equal(stream_dial(x, &at, &(struct stream_options){ .ops = &ops, .arg = h, .buffer = 65536 }, &h->s,
				     why),
			 0);
	if (by_tls)
		assert_ok(
			stream_tls(h->s, TLS_CLIENT, &(struct tls_options){ .keys = host_keys, .host = "localhost" }));
	return h;
}

static void run(int64_t dur_ns)
{
	assert_true(exec_sim_run(x, exec_now(x) + dur_ns) >= 0);
}

static struct world_info info(void)
{
	struct world_info i;

	world_info(w, &i);
	return i;
}

/* Until the condition holds, a step at a time. */
#define UNTIL(cond) \
	do { \
		int64_t late_ = exec_now(x) + TIME; \
		while (!(cond) && exec_now(x) < late_) \
			run(10 * NS_PER_MS); \
		assert_true(cond); \
	} while (0)

/* All have seen the same at each tick that both have. */
static void are_same(const struct host *a, const struct host *b)
{
	unsigned both = 0;

	for (unsigned t = 0; t < TICKS; t++)
		if (a->hash[t] && b->hash[t]) {
			assert_int_equal(a->hash[t], b->hash[t]);
			both++;
		}
	assert_true(both > 5);
}

/* ---- a bad line ---- */

static void go_on_over_it(void)
{
	rules = (struct vnet_rules){
		.delay_dur_ns = 30 * NS_PER_MS, .jitter_dur_ns = 30 * NS_PER_MS, .lost_permille = 100, .piece = 60
	};
	start(0);
	for (unsigned i = 0; i < HOSTS; i++)
		(void)come(i);
	UNTIL(hosts[0].tick > 50 && hosts[1].tick > 50 && hosts[2].tick > 50);
	for (unsigned i = 0; i < HOSTS; i++) {
		are_same(&hosts[i], &hosts[(i + 1) % HOSTS]);
		assert_int_equal(hosts[i].n_welcomes, 1);
		assert_int_equal(remotes_count(side_remotes(hosts[i].side)), HOSTS);
	}
	assert_int_equal(vnet_connections(), HOSTS);
}

TEST_WITH(a_tenth_is_lost, plain, end)
{
	go_on_over_it();
}

TEST_WITH(a_tenth_is_lost_by_tls, tls, end)
{
	go_on_over_it();
}

/* Time stands meanwhile, for all wait for all; it goes on where it stood, and nobody has to come again. */
TEST_WITH(a_line_that_parts_and_heals, plain, end)
{
	uint64_t tick;

	start(0);
	(void)come(0);
	(void)come(1);
	UNTIL(hosts[0].tick > 10 && hosts[1].tick > 10);
	vnet_cut(true);
	run(10 * NS_PER_MS);
	tick = info().tick;
	run(100 * NS_PER_MS);
	assert_int_equal(info().tick, tick);
	vnet_cut(false);
	UNTIL(hosts[0].tick > tick + 10 && hosts[1].tick > tick + 10);
	are_same(&hosts[0], &hosts[1]);
	assert_int_equal(hosts[0].n_welcomes + hosts[1].n_welcomes, 2);
}

/* ---- one is lost ---- */

enum fault { DIES, VANISHES, IS_RESET };

/* So many callbacks, about. */
static void step(int callbacks)
{
	while (callbacks > 0) {
		int r = exec_sim_run(x, exec_now(x) + NS_PER_MS / 10);

		assert_true(r >= 0);
		callbacks -= r;
	}
}

static bool had_come; /* the third host was a member already, and had seen some ticks */

/* The third host is lost that soon after it has dialled; the others go on, nothing is left of it, and it can come again. */
static void lose_at(int callbacks, enum fault fault)
{
	uint64_t tick;

	start(1000);
	(void)come(0);
	(void)come(1);
	UNTIL(hosts[0].tick > 2 && hosts[1].tick > 2);
	(void)come(2);
	step(callbacks);
	had_come |= hosts[2].n_welcomes && hosts[2].tick > 3;
	if (fault == DIES)
		leave(&hosts[2]);
	else if (fault == VANISHES)
		vnet_vanish(2);
	else
		vnet_reset(2);
	run(20 * NS_PER_MS);
	if (fault != VANISHES)
		assert_int_equal(info().sessions, 2);
	tick = info().tick;
	UNTIL(hosts[0].tick > tick + 10 && hosts[1].tick > tick + 10);
	if (fault == VANISHES)
		UNTIL(info().sessions == 2);
	leave(&hosts[2]);
	(void)come(2);
	UNTIL(hosts[2].n_welcomes == 1 && hosts[2].tick > tick);
	are_same(&hosts[0], &hosts[1]);
	assert_int_equal(hosts[0].n_ended + hosts[1].n_ended, 0);
	stop();
}

static void lose_at_each_step(enum fault fault, int stride)
{
	had_come = false;
	for (int k = 0; k < 120; k += stride)
		lose_at(k, fault);
	assert_true(had_come); /* by the last step */
}

TEST_WITH(a_host_that_dies_at_any_step_delays_no_other, plain, end)
{
	lose_at_each_step(DIES, 1);
}

TEST_WITH(a_host_that_vanishes_at_any_step_delays_no_other, plain, end)
{
	lose_at_each_step(VANISHES, 1);
}

TEST_WITH(a_host_that_is_reset_at_any_step_delays_no_other, plain, end)
{
	lose_at_each_step(IS_RESET, 1);
}

TEST_WITH(a_tls_host_that_dies_at_any_step_delays_no_other, tls, end)
{
	lose_at_each_step(DIES, 7);
}

TEST_WITH(a_tls_host_that_vanishes_at_any_step_delays_no_other, tls, end)
{
	lose_at_each_step(VANISHES, 7);
}
