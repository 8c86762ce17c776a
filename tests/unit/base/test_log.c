/* SPDX-License-Identifier: Apache-2.0 */
/* log.h: levels, handler, ring, repeats. Thread: one, and producers for the ring. */
#include "tests/support/test.h"

#include "err.h"
#include "log.h"
#include "timeutil.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

LOG_TOPIC("here");

struct got {
	pthread_mutex_t lock;
	unsigned n;
	enum log_level level;
	char topic[32], text[LOG_LINE_MAX];
	unsigned next[4]; /* expected number of each producer */
	bool disordered;
};

static void take(void *user, enum log_level level, const char *topic, const char *text)
{
	struct got *g = user;
	unsigned who, i;

	pthread_mutex_lock(&g->lock);
	g->n++;
	g->level = level;
	snprintf(g->topic, sizeof(g->topic), "%s", topic);
	snprintf(g->text, sizeof(g->text), "%s", text);
	if (sscanf(text, "line %u %u", &who, &i) == 2) {
		g->disordered |= i < g->next[who];
		g->next[who] = i + 1;
	}
	pthread_mutex_unlock(&g->lock);
	errno = ENOTTY; /* a handler that spoils errno */
}

static struct got got = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int setup(void **state)
{
	(void)state;
	memset(got.next, 0, sizeof(got.next));
	got.n = 0;
	got.disordered = false;
	log_set_handler(take, &got);
	return log_set_spec("*:info");
}

static int evaluated;

static int costly(void)
{
	return ++evaluated;
}

TEST_WITH(levels_follow_the_last_match, setup, NULL)
{
	evaluated = 0;
	log_debug("%d", costly());
	assert_int_equal(evaluated, 0); /* below the level: not even evaluated */
	assert_int_equal(log_set_spec("*:error,here:debug,other:none"), 0);
	log_debug("%d", costly());
	assert_int_equal(evaluated, 1);
	assert_int_equal(got.n, 1);
	assert_string_equal(got.topic, "here");
	assert_string_equal(got.text, "1");
	assert_int_equal(got.level, LOG_LEVEL_DEBUG);
	assert_int_equal(log_set_spec("here:debug,*:warn"), 0);
	log_info("no");
	assert_int_equal(got.n, 1);
	assert_int_equal(log_set_spec("debug"), 0);
	log_debug("yes");
	assert_int_equal(got.n, 2);
}

TEST_WITH(a_bad_spec_changes_nothing, setup, NULL)
{
	static const char *const bad[] = {
		"here:loud", ":info",           "x:",
		"info,nope", "here:info:debug", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:info"
	};
	char many[1024] = "";

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (log_set_spec(bad[i]) != -EINVAL || !*err_why())
			fail_msg("\"%s\" was taken", bad[i]);
	for (int i = 0; i < LOG_RULES_MAX; i++)
		strcat(many, "x:info,");
	assert_int_equal(log_set_spec(many), -EINVAL);
	assert_int_equal(log_set_spec(""), 0);
	assert_int_equal(log_set_spec(",,here:warn,"), 0);
	assert_false(log_on(&log_topic_here, LOG_LEVEL_INFO));
}

TEST_WITH(logging_keeps_errno, setup, NULL)
{
	errno = ENOENT;
	log_error("x");
	assert_int_equal(errno, ENOENT);
	assert_int_equal(got.n, 1);
}

static void wait_for_a_reader(void *user, enum log_level level, const char *topic, const char *text)
{
	(void)level, (void)topic, (void)text;
	pthread_mutex_lock(user);
	pthread_mutex_unlock(user);
}

TEST_WITH(a_blocked_log_handler_does_not_block_the_producers, setup, NULL)
{
	pthread_mutex_t nobody_reads = PTHREAD_MUTEX_INITIALIZER;
	struct log_ring *ring;

	log_set_handler(wait_for_a_reader, &nobody_reads);
	pthread_mutex_lock(&nobody_reads);
	assert_int_equal(log_ring_create(16, &ring), 0);
	assert_int_equal(log_ring_start(ring, "log"), 0);
	log_thread_use(ring);
	for (unsigned i = 0; i < 40; i++)
		log_info("line %u", i);
	log_thread_use(NULL);
	assert_true(log_ring_dropped(ring) >= 40 - 17);
	assert_int_equal(log_ring_stop_within(ring, NS_PER_MS), -ETIMEDOUT);
	pthread_mutex_unlock(&nobody_reads);
	assert_int_equal(log_ring_stop_within(ring, 60 * NS_PER_S), 0);
	assert_int_equal(log_ring_stop_within(ring, 0), 0);
	log_ring_destroy(ring);
}

TEST_WITH(the_ring_keeps_order_and_counts_drops, setup, NULL)
{
	struct log_ring *ring;

	assert_int_equal(log_ring_create(0, &ring), -EINVAL);
	assert_int_equal(log_ring_create(10, &ring), 0); /* 16 */
	log_thread_use(ring);
	for (unsigned i = 0; i < 20; i++)
		log_info("line 0 %u", i);
	assert_int_equal(got.n, 0);
	assert_int_equal(log_ring_dropped(ring), 4);
	log_thread_use(NULL);
	assert_int_equal(log_ring_drain(ring, 3), 3);
	assert_int_equal(log_ring_drain(ring, 0), 13);
	assert_int_equal(got.next[0], 16);
	assert_false(got.disordered);
	assert_int_equal(got.n, 17); /* one line tells the drops */
	log_thread_use(ring);
	log_info("%0300d", 1); /* cut */
	log_thread_use(NULL);
	assert_int_equal(log_ring_drain(ring, 0), 1);
	assert_int_equal(strlen(got.text), LOG_RING_TEXT - 1);
	log_ring_destroy(ring);
	log_ring_destroy(NULL);
}

struct producer {
	struct log_ring *ring;
	unsigned who;
};

static void *produce(void *arg)
{
	struct producer *p = arg;

	log_thread_use(p->ring);
	for (unsigned i = 0; i < 5000; i++)
		log_info("line %u %u", p->who, i);
	return NULL;
}

TEST_WITH(many_producers_lose_only_counted_lines, setup, NULL)
{
	struct producer p[4];
	pthread_t t[4];
	struct log_ring *ring;
	uint64_t dropped;

	assert_int_equal(log_ring_create(1024, &ring), 0);
	assert_int_equal(log_ring_start(ring, "test-log"), 0);
	for (unsigned i = 0; i < 4; i++) {
		p[i] = (struct producer){ ring, i };
		assert_int_equal(pthread_create(&t[i], NULL, produce, &p[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	log_ring_stop(ring);
	dropped = log_ring_dropped(ring);
	assert_false(got.disordered);
	/* lines that tell of drops come on top */
	assert_true(got.n + dropped >= 20000 && got.n <= 20000);
	log_ring_destroy(ring);
}

TEST_WITH(repeated_lines_are_suppressed_and_counted, setup, NULL)
{
	struct log_limit limit = LOG_LIMIT(NS_PER_S, 2);

	for (int i = 0; i < 10; i++)
		log_limited(&limit, 5 * NS_PER_S + i, LOG_LEVEL_WARN, "late by %d", i);
	assert_int_equal(got.n, 2);
	log_limited(&limit, 6 * NS_PER_S, LOG_LEVEL_WARN, "late by %d", 10);
	assert_string_equal(got.text, "late by 10 (8 more like it before)");
	log_limited(&limit, 6 * NS_PER_S, LOG_LEVEL_WARN, "again");
	assert_string_equal(got.text, "again");
}
