/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several shards on the dispatch thread pool, over ipc_mem: sensors that publish into two of them each, bridges that answer, simd's
 * threads taking turns. What a sanitizer should watch.
 */
#include "scenario/client/imu.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>

#define RIGS     4
#define MESSAGES 400

#define CHANNEL(name) "{\"name\": \"" name "\", \"window\": 8}"
#define RIG(name) \
	"{\"name\": \"" name "\", \"prefix\": \"/" name \
	"\", \"channels\": [" CHANNEL("from0") ", " CHANNEL("from1") ", " CHANNEL("from2") ", " CHANNEL( \
		"from3") "], \"bridges\": [{\"name\": \"to-" name \
			 "\", \"plugin\": \"null\", \"start\": \"external\", \"channels\": [\"*\"]}]}"

static const char *const conf = "{\"backend\": \"mem\", \"TimeSource\": \"unity\", "
				"\"pools\": [{\"size\": 512, \"count\": 4000}, {\"size\": 65536, \"count\": 200}], "
				"\"rigs\": [" RIG("r0") ", " RIG("r1") ", " RIG("r2") ", " RIG("r3") "]}";

static struct world w;

struct far {
	struct bridge_peer b;
	pthread_t thread;
	unsigned got;
};

static struct far fars[RIGS];
static atomic_bool stop;

static void *answer_all(void *arg)
{
	struct far *f = arg;

	while (!atomic_load(&stop)) {
		unsigned n = bridge_next(&f->b, 20);

		f->got += n;
		if (n)
			bridge_answer(&f->b, 0);
	}
	return NULL;
}

struct near {
	unsigned number;
	struct sim_client *c;
	struct sim_publisher *p[2]; /* in shards that differ */
	pthread_t thread;
	atomic_uint ok;
};

static struct near nears[RIGS];

static void on_sent(void *user, bool ok, enum sim_reason reason)
{
	(void)reason;
	atomic_fetch_add(&((struct near *)user)->ok, ok);
}

static void *publish_all(void *arg)
{
	struct near *n = arg;

	for (unsigned i = 0; i < MESSAGES; i++)
		assert_int_equal(sim_try_queue(n->p[i % 2], imu_loan(n->p[i % 2]), NULL, on_sent, n), 0);
	assert_int_equal(sim_flush(n->c, -1), 0);
	return NULL;
}

static void begin(void)
{
	char name[16], channel[32];

	world_create_threads(&w, conf);
	atomic_store(&stop, false);
	for (unsigned i = 0; i < RIGS; i++) {
		fars[i].got = 0;
		snprintf(name, sizeof(name), "to-r%u", i);
		bridge_start_as(&w, &fars[i].b, name);
		bridge_connected(&w, &fars[i].b);
	}
	for (unsigned i = 0; i < RIGS; i++) {
		struct near *n = &nears[i];

		memset(n, 0, sizeof(*n));
		n->number = i;
		n->c = world_client(&w, "sensor", 0);
		for (unsigned k = 0; k < 2; k++) {
			snprintf(channel, sizeof(channel), "/r%u/from%u", (i + k) % RIGS, i);
			n->p[k] = imu_advertise(n->c, channel, 0);
			for (struct sim_bridges b = { 0, 0 }; !b.connected;)
				assert_true(sim_publisher_bridges_wait(n->p[k], &b, S) >= 0);
		}
	}
}

static void end(void)
{
	atomic_store(&stop, true);
	for (unsigned i = 0; i < RIGS; i++) {
		pthread_join(fars[i].thread, NULL);
		bridge_end(&fars[i].b);
	}
	world_destroy(&w);
}

TEST(all_shards_work_at_once_and_lose_nothing)
{
	unsigned got = 0;
	char *json;

	begin();
	for (unsigned i = 0; i < RIGS; i++)
		assert_int_equal(pthread_create(&fars[i].thread, NULL, answer_all, &fars[i]), 0);
	for (unsigned i = 0; i < RIGS; i++)
		assert_int_equal(pthread_create(&nears[i].thread, NULL, publish_all, &nears[i]), 0);
	for (unsigned i = 0; i < 20; i++) { /* calls that query all shards, meanwhile */
		assert_int_equal(sim_call(nears[0].c, "GetDispatch", NULL, &json), 0);
		assert_non_null(strstr(json, "\"shards\":"));
		free(json);
	}
	for (unsigned i = 0; i < RIGS; i++)
		pthread_join(nears[i].thread, NULL);
	for (unsigned i = 0; i < RIGS; i++) {
		assert_int_equal(atomic_load(&nears[i].ok), MESSAGES);
		for (unsigned k = 0; k < 2; k++)
			sim_publisher_destroy(nears[i].p[k]);
		sim_disconnect(nears[i].c);
	}
	end();
	for (unsigned i = 0; i < RIGS; i++)
		got += fars[i].got;
	assert_int_equal(got, RIGS * MESSAGES);
}

/* simd is killed while all of it is busy: every callback still comes once. */
TEST(all_shards_survive_a_killed_simd)
{
	begin();
	for (unsigned i = 0; i < RIGS; i++)
		assert_int_equal(pthread_create(&fars[i].thread, NULL, answer_all, &fars[i]), 0);
	for (unsigned i = 0; i < RIGS; i++)
		for (unsigned k = 0; k < 40; k++)
			assert_int_equal(sim_try_queue(nears[i].p[k % 2], imu_loan(nears[i].p[k % 2]), NULL, on_sent,
						       &nears[i]),
					 0);
	world_kill_simd(&w);
	for (unsigned i = 0; i < RIGS; i++) {
		for (unsigned k = 0; k < 2; k++)
			sim_publisher_destroy(nears[i].p[k]);
		sim_disconnect(nears[i].c);
		assert_true(atomic_load(&nears[i].ok) <= 40);
	}
	end();
}
