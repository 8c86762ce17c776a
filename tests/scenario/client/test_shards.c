/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several shards, in virtual time: two rigs whose bridges cannot carry the same channel, and clients that publish to
 * both. The seed decides which shard runs next.
 */
#include "scenario/client/world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "imu.h"
#include "libclient/src/publisher.h"
#include "registry/shards.h"
#include "registry/simd.h"

#define RIG(name) \
	"{\"name\": \"" name "\", \"prefix\": \"/" name "\", \"channels\": [{\"name\": \"x\", \"window\": 8}], " \
	"\"bridges\": [{\"name\": \"to-" name \
	"\", \"plugin\": \"null\", \"start\": \"external\", \"channels\": [\"*\"]}]}"

static const char *const conf = "{\"backend\": \"mem\", \"TimeSource\": \"unity\", "
				"\"pools\": [{\"size\": 512, \"count\": 4000}, {\"size\": 65536, \"count\": 200}], "
				"\"rigs\": [" RIG("a") ", " RIG("b") "]}";

static struct world w;
static struct bridge_peer to[2];
static struct sim_client *c;
static struct sim_publisher *p[2];
static struct outcome done[2];

static void begin(uint64_t seed)
{
	world_create(&w, seed, conf);
	for (unsigned i = 0; i < 2; i++) {
		bridge_start_as(&w, &to[i], i ? "to-b" : "to-a");
		bridge_connected(&w, &to[i]);
	}
	c = world_client(&w, "sensor", 0);
	p[0] = imu_advertise(c, "/a/x", 0);
	p[1] = imu_advertise(c, "/b/x", 0);
	memset(done, 0, sizeof(done));
}

static void end(void)
{
	sim_publisher_destroy(p[0]);
	sim_publisher_destroy(p[1]);
	sim_disconnect(c);
	bridge_end(&to[0]);
	bridge_end(&to[1]);
	world_destroy(&w);
}

static int setup(void **state)
{
	(void)state;
	begin(1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	end();
	return 0;
}

static int publish(unsigned i)
{
	return sim_try_queue(p[i], imu_loan(p[i]), NULL, on_done, &done[i]);
}

static uint64_t turns(unsigned i)
{
	return atomic_load(&w.simd->layout_page->shard[i].turns);
}

TEST_WITH(each_rig_has_a_shard_and_a_doorbell, setup, teardown)
{
	assert_int_equal(w.simd->n_shards, 2);
	for (unsigned i = 0; i < 2; i++) {
		const struct pub_reg *reg = p[i]->reg;

		assert_int_equal(atomic_load(&reg->info->shard), i);
		assert_int_equal(wire_shard_of(reg->publisher_id), i);
		assert_ptr_equal(reg->bell, &reg->session->bells[i]);
		assert_true(reg->bell->fd >= 0);
	}
}

/*
 * While the bridge of one rig has its window full of messages and does not answer, the other rig is not affected at
 * all.
 */
TEST_WITH(a_flooded_rig_does_not_affect_another, setup, teardown)
{
	uint64_t before;

	for (unsigned n = 0; n < 8; n++)
		assert_int_equal(publish(0), 0);
	world_process(&w, c);
	before = turns(0);
	for (unsigned n = 0; n < 20; n++) {
		assert_int_equal(publish(1), 0);
		assert_int_equal(bridge_next(&to[1], 100), 1);
		bridge_answer(&to[1], 0);
		world_process(&w, c);
	}
	assert_int_equal(done[1].ok, 20);
	assert_int_equal(done[0].calls, 0);
	assert_true(turns(1) >= 40);
	assert_true(turns(0) <= before + 2); /* house keeping */
}

static void answer_all(unsigned i)
{
	while (bridge_next(&to[i], 10))
		bridge_answer(&to[i], 0);
	world_process(&w, c);
}

static void count(void *arg)
{
	++*(unsigned *)arg;
}

TEST_WITH(a_query_of_all_shards_is_answered_after_the_last_shard, setup, teardown)
{
	unsigned quiet = 0, stepped = 0, shut = 0;

	assert_int_equal(shards_hold(w.simd, true), 0);
	assert_int_equal(publish(0), 0);
	assert_int_equal(publish(1), 0);
	world_process(&w, c);
	assert_int_equal(shards_step(w.simd, count, &stepped), 0);
	assert_int_equal(shards_quiet(w.simd, count, &quiet), 0);
	answer_all(1);
	assert_int_equal(done[1].ok, 1);
	assert_int_equal(stepped + quiet, 0);
	answer_all(0);
	assert_int_equal(stepped, 1);
	assert_int_equal(quiet, 1);
	assert_int_equal(shards_hold(w.simd, false), 0);
	assert_int_equal(publish(0), 0);
	world_run(&w, MS);
	assert_int_equal(shards_shutdown(w.simd, false, count, &shut), 0);
	world_process(&w, c);
	assert_int_equal(shut, 0);
	answer_all(0);
	assert_int_equal(shut, 1);
	assert_int_equal(publish(1), 0);
	world_process(&w, c);
	assert_int_equal(done[1].reason, SIM_REASON_SHUTDOWN);
}

static void ask(const char *method)
{
	char *json;

	assert_int_equal(sim_call(c, method, NULL, &json), 0);
	free(json);
}

/* In both shards, accepted messages complete, and no more are accepted until time runs again. */
TEST_WITH(a_pause_holds_for_all_shards, setup, teardown)
{
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(publish(i), 0);
	world_run(&w, MS);
	ask("PauseClock");
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(publish(i), -ECANCELED);
		assert_int_equal(done[i].reason, SIM_REASON_PAUSED);
		answer_all(i);
		assert_int_equal(done[i].ok, 1);
	}
	ask("ResumeClock");
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(publish(i), 0);
		answer_all(i);
		assert_int_equal(done[i].ok, 2);
	}
}

/* A question that simd's end leaves open is freed: world_destroy() looks for leaks. */
TEST_WITH(a_query_left_open_when_simd_exits_is_freed, setup, teardown)
{
	static unsigned quiet;

	assert_int_equal(publish(0), 0);
	world_run(&w, MS);
	assert_int_equal(shards_quiet(w.simd, count, &quiet), 0);
	world_run(&w, MS);
	assert_int_equal(quiet, 0);
}

TEST_WITH(all_shards_follow_a_restart_of_the_data_plane, setup, teardown)
{
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(publish(i), 0);
	world_run(&w, MS);
	world_kill_roudi(&w);
	world_process(&w, c);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(done[i].calls, 1);
		assert_int_equal(done[i].reason, SIM_REASON_RESTART);
	}
	world_start_roudi(&w);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	for (unsigned i = 0; i < 2; i++) {
		world_until(&w, to[i].c, SIM_CLIENT_CONNECTED);
		answer_all(i);
		assert_int_equal(publish(i), 0);
		assert_int_equal(bridge_next(&to[i], 1000), 1);
		bridge_answer(&to[i], 0);
		world_process(&w, c);
		assert_int_equal(done[i].ok, 1);
	}
}

/* Tokens are shared: each shard frees the claims of its own dead, and only these. */
TEST_WITH(claims_of_a_dead_client_are_freed_by_their_shard, setup, teardown)
{
	struct sim_client *dies = world_client(&w, "dies", 0);
	struct sim_publisher *q[2] = { imu_advertise(dies, "/a/y", 0), imu_advertise(dies, "/b/y", 0) };
	_Atomic uint64_t *token = w.simd->dispatch_page->token;

	for (unsigned i = 0; i < 2; i++) {
		atomic_store(&token[10 + i], q[i]->reg->publisher_id);
		atomic_store(&token[20 + i], p[i]->reg->publisher_id);
		atomic_store(&w.simd->dispatch_page->channel[q[i]->reg->channel_id].cell[3], q[i]->reg->publisher_id);
	}
	atomic_store(&token[30], 77u << WIRE_SHARD_BITS | 63); /* a claim in the name of a shard that does not exist */
	sim_publisher_destroy(q[0]);
	sim_publisher_destroy(q[1]);
	sim_disconnect(dies);
	world_run(&w, 3 * S);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(atomic_load(&token[10 + i]), 0);
		/* the claims of living clients */
		assert_int_equal(atomic_load(&token[20 + i]), p[i]->reg->publisher_id);
		atomic_store(&token[20 + i], 0);
	}
	assert_int_equal(atomic_load(&token[30]), 0);
}

TEST_WITH(a_client_that_dies_does_not_stop_the_other_shards, setup, teardown)
{
	struct sim_client *dies = world_client(&w, "dies", 0);
	struct sim_publisher *q = imu_advertise(dies, "/a/x", 0);
	struct outcome lost = { 0 };

	for (unsigned n = 0; n < 4; n++) {
		assert_int_equal(sim_try_queue(q, imu_loan(q), NULL, on_done, &lost), 0);
		assert_int_equal(publish(n % 2), 0);
	}
	sim_publisher_destroy(q);
	sim_disconnect(dies);
	assert_int_equal(lost.calls, 4);
	answer_all(1);
	answer_all(0);
	assert_int_equal(done[0].ok, 2);
	assert_int_equal(done[1].ok, 2);
	for (unsigned n = 0; n < 16; n++) { /* and its credits are back */
		assert_int_equal(publish(0), 0);
		answer_all(0);
	}
	assert_int_equal(done[0].ok, 18);
}

TEST_WITH(statistics_cover_all_shards, setup, teardown)
{
	char *json;

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(publish(i), 0);
		answer_all(i);
	}
	assert_int_equal(sim_call(c, "GetDispatch", NULL, &json), 0);
	assert_non_null(strstr(json, "\"/a/x\""));
	assert_non_null(strstr(json, "\"/b/x\""));
	assert_non_null(strstr(json, "\"packets_in\":"));
	free(json);
	assert_int_equal(sim_call(c, "ListBridges", NULL, &json), 0);
	assert_non_null(strstr(json, "\"sent\":1"));
	assert_null(strstr(json, "\"sent\":0"));
	free(json);
}

/* ---- the same inputs, the same outputs ---- */

#define MESSAGES 24

/* Writes what each bridge gets in one step into text. */
static void one_run(uint64_t seed, char *text, size_t size)
{
	struct sim_publisher *more[2];
	unsigned stepped = 0;
	size_t n = 0;

	begin(seed);
	more[0] = imu_advertise(c, "/b/more", 0);
	more[1] = imu_advertise(c, "/a/more", 0);
	assert_int_equal(shards_hold(w.simd, true), 0);
	for (unsigned i = 0; i < MESSAGES; i++) {
		struct sim_publisher *pub = i % 4 < 2 ? p[i % 2] : more[i % 2];
		struct sim_slot *slot = imu_loan(pub);

		slot->stamp_sim_ns = i * 7919 % 5;
		assert_int_equal(sim_try_queue(pub, slot, NULL, NULL, NULL), 0);
		if ((seed * 31 + i) % 3 == 0)
			world_run(&w, MS / 10);
	}
	assert_int_equal(shards_step(w.simd, count, &stepped), 0);
	for (unsigned b = 0; b < 2; b++)
		while (bridge_next(&to[b], 10)) {
			for (unsigned k = 0; k < to[b].p.count; k++)
				n += (size_t)snprintf(text + n, size - n, "%u:%u/%llu ", b,
						      to[b].p.deliveries[k].message.header.channel_id,
						      (unsigned long long)to[b].p.deliveries[k].message.header.sequence);
			bridge_answer(&to[b], 0);
		}
	world_process(&w, c);
	assert_int_equal(stepped, 1);
	sim_publisher_destroy(more[0]);
	sim_publisher_destroy(more[1]);
	end();
}

TEST(a_step_over_several_shards_repeats_exactly)
{
	char first[1024], other[1024];

	one_run(1, first, sizeof(first));
	for (uint64_t seed = 2; seed <= 20; seed++) {
		one_run(seed, other, sizeof(other));
		assert_string_equal(other, first);
	}
}
