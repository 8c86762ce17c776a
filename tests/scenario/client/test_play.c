/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The player of logs with all its threads, publishing into a simd in this process, to be run under a sanitizer. Orders
 * arrive while it plays; channels of the log are found meanwhile. No wall time is asserted.
 */
#include "scenario/client/imu.h"

#include <errno.h>
#include <stdatomic.h>

#include "record/pace.h"
#include "record/player_simd.h"
#include "support/native_log.h"
#include "timeutil.h"

#define BEGIN    (1000 * S)
#define MESSAGES 300u /* of each channel, 10 ms apart */
#define END      (BEGIN + (MESSAGES - 1) * 10 * MS)

static struct world w;

/* ---- a bridge that takes all ---- */

struct taking {
	struct bridge_peer b;
	pthread_t thread;
	atomic_bool stop;
};

static void *take_all(void *arg)
{
	struct taking *t = arg;

	while (!atomic_load(&t->stop))
		if (bridge_next(&t->b, 20))
			bridge_answer(&t->b, 0);
	return NULL;
}

/* ---- a log ---- */

static void put_imu(struct native_log *l, uint32_t channel, int64_t at_ns)
{
	uint8_t body[sizeof(struct sim_Imu)] __attribute__((aligned(64)));
	struct sim_builder b;

	sim_Imu_init(body, sizeof(body), &b)->linear_acceleration.z = 9.81;
	native_log_put(l, channel, at_ns, at_ns, "imu", body, sizeof(body));
}

static void write_log(const char *path)
{
	struct native_log *l = native_log_create(path, LOG_COMPRESSION_NONE);
	uint32_t imu = native_log_channel(l, "/car/imu", &sim_Imu_type),
		 two = native_log_channel(l, "/car/two", &sim_Imu_type), other = native_log_channel(l, "/other", NULL);

	for (unsigned i = 0; i < MESSAGES; i++) {
		put_imu(l, imu, BEGIN + i * 10 * MS);
		if (i % 100 == 50)
			native_log_put(l, other, BEGIN + i * 10 * MS, 0, "", NULL, 0);
		put_imu(l, two, BEGIN + i * 10 * MS);
	}
	native_log_finish(l);
}

/* ---- playing ---- */

struct playing {
	struct sim_client *c;
	struct sim_driver *d;
	struct log_reader *reader;
	struct player_simd *sink;
	struct player *p;
	struct player_options o;
	atomic_uint said;
	struct taking bridge;
	atomic_bool stopped;
	char path[TEST_PATH_MAX];
};

static void say(void *ctx, const char *text)
{
	struct playing *p = ctx;

	assert_non_null(strstr(text, "/other")); /* the channel without a known type, and no other */
	atomic_fetch_add(&p->said, 1);
}

static bool is_stopped(void *ctx)
{
	struct playing *p = ctx;

	return atomic_load(&p->stopped);
}

static void open_sink(struct playing *p, bool lockstep)
{
	struct player_simd_options so = {
		.client = p->c, .driver = p->d, .lockstep = lockstep, .say = say, .stopped = is_stopped, .ctx = p
	};
	char why[300];

	if (log_reader_open(p->path, NULL, &p->reader, why, sizeof(why)) < 0)
		fail_msg("%s", why);
	assert_int_equal(player_simd_create(&so, &p->sink), 0);
	assert_int_equal(merge_create(&p->o.merge), 0);
	assert_int_equal(player_simd_add(p->sink, p->reader, p->path), 0);
	assert_int_equal(player_simd_open(p->sink), 0);
	assert_int_equal(merge_add(p->o.merge, &merge_reader_ops, p->reader), 0);
}

static void begin(struct playing *p, bool lockstep)
{
	char *answer = NULL;

	memset(p, 0, sizeof(*p));
	p->o = (struct player_options){ .sink = &player_simd_sink,
					.rate_e6 = PACE_ONE,
					.begin_ns = BEGIN,
					.end_ns = END,
					.preload_dur_ns = 100 * MS,
					.preload_bytes = 100000,
					.tick_dur_ns = 10 * MS,
					.lockstep = lockstep };
	write_log(test_path(p->path, "play.mcap"));
	world_create_threads(&w, ", \"dispatch\": {\"wait_ms\": 500, \"deadline_ms\": 600000}");
	bridge_start(&w, &p->bridge.b);
	bridge_connected(&w, &p->bridge.b);
	assert_int_equal(pthread_create(&p->bridge.thread, NULL, take_all, &p->bridge), 0);
	p->c = world_client(&w, "play", 0);
	/* a source of simd's own whose time may be set, as that of `play` */
	assert_int_equal(sim_call(p->c, "SetSource", "{\"source\": \"unity\"}", &answer), 0);
	free(answer);
	assert_int_equal(sim_driver_acquire(p->c, lockstep ? SIM_DRIVER_LOCKSTEP : 0, &p->d), 0);
	open_sink(p, lockstep);
	p->o.ctx = p->sink;
	assert_int_equal(player_create(&p->o, &p->p), 0);
}

static void end(struct playing *p)
{
	int r;

	player_simd_finish(p->sink);
	r = player_stop(p->p);
	assert_true(r == 0 || (r == -ECANCELED && p->stopped));
	player_destroy(p->p);
	merge_destroy(p->o.merge);
	player_simd_destroy(p->sink);
	log_reader_close(p->reader);
	sim_driver_release(p->d);
	sim_disconnect(p->c);
	atomic_store(&p->bridge.stop, true);
	pthread_join(p->bridge.thread, NULL);
	bridge_end(&p->bridge.b);
	world_destroy(&w);
}

static uint64_t published(struct playing *p)
{
	struct player_status s;

	player_status(p->p, &s);
	return s.published;
}

TEST(every_message_of_a_log_is_played_in_lockstep)
{
	static struct playing p;
	struct player_simd_counters n;

	begin(&p, true);
	assert_int_equal(player_start(p.p), 0);
	AWAIT(player_over(p.p, S));
	player_simd_finish(p.sink);
	player_simd_counters(p.sink, &n);
	assert_int_equal(n.queued, 2 * MESSAGES);
	assert_int_equal(n.failed + n.refused + n.bad + n.local, 0);
	assert_int_equal(n.channels, 2);
	assert_int_equal(n.skipped, 1);
	assert_int_equal(atomic_load(&p.said), 1);
	assert_int_equal(sim_now(p.c), END);
	end(&p);
}

TEST(pause_seek_next_and_rate_work_while_a_log_plays)
{
	static struct playing p;
	struct player_simd_counters n;

	begin(&p, false);
	assert_int_equal(player_start(p.p), 0);
	assert_int_equal(player_set_rate(p.p, 20 * PACE_ONE), 0);
	AWAIT(published(&p) > 20);
	player_pause(p.p, true);
	assert_int_equal(player_seek(p.p, BEGIN + 2 * S), 0);
	AWAIT(sim_now(p.c) == BEGIN + 2 * S);
	assert_int_equal(player_next(p.p), 0);
	player_simd_counters(p.sink, &n);
	assert_int_equal(player_seek(p.p, BEGIN), 0);
	assert_int_equal(player_set_rate(p.p, 100 * PACE_ONE), 0);
	player_pause(p.p, false);
	AWAIT(player_over(p.p, S));
	assert_int_equal(sim_now(p.c), END);
	end(&p);
}

TEST(a_replay_can_be_stopped_in_the_middle)
{
	static struct playing p;

	begin(&p, false);
	assert_int_equal(player_start(p.p), 0);
	AWAIT(published(&p) > 5);
	atomic_store(&p.stopped, true);
	end(&p);
}

/* In the middle, where an advance waits; and at the end, where the caller waits for the published messages. */
TEST(a_replay_can_be_stopped_in_a_pause_in_lockstep)
{
	for (int at_end = 0; at_end <= 1; at_end++) {
		static struct playing p;
		char *answer = NULL;

		begin(&p, true);
		assert_int_equal(player_start(p.p), 0);
		AWAIT(at_end ? player_over(p.p, S) : published(&p) > 5);
		assert_int_equal(sim_call(p.c, "PauseClock", "{}", &answer), 0);
		free(answer);
		atomic_store(&p.stopped, true);
		AWAIT(player_over(p.p, S));
		end(&p);
	}
}
