/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simbridge's host with a real plug-in (null) over a lane of the test's own: announce, deliver, answer, end.
 * The test's lane hands out a script of packets and collects the answers.
 */
#include "support/test.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <sim/msg/Ultrasonic.h>

#include "host.h"
#include "task.h"

#define SCRIPT_MAX 16

struct sim_lane {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct sim_lane_packet script[SCRIPT_MAX];
	unsigned next, n;
	struct sim_lane_result answers[64];
	unsigned n_answers;
	int status;
	bool destroyed;
};

/* ---- the lane API, as simbridge sees it ---- */

int sim_lane_recv(struct sim_lane *l, int timeout_ms, struct sim_lane_packet *ret)
{
	(void)timeout_ms;
	pthread_mutex_lock(&l->lock);
	while (l->next == l->n)
		pthread_cond_wait(&l->changed, &l->lock);
	*ret = l->script[l->next++];
	pthread_mutex_unlock(&l->lock);
	return 1;
}

int sim_lane_done(struct sim_lane *l, const struct sim_lane_result *r, unsigned count)
{
	pthread_mutex_lock(&l->lock);
	for (unsigned i = 0; i < count; i++)
		l->answers[l->n_answers++ % 64] = r[i];
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	return 0;
}

int sim_lane_status(struct sim_lane *l, enum sim_bridge_status status, uint64_t sent, uint64_t failed, uint64_t dropped,
		    uint64_t bytes, const char *detail)
{
	(void)sent;
	(void)failed;
	(void)dropped;
	(void)bytes;
	(void)detail;
	l->status = (int)status;
	return 0;
}

int sim_lane_fd(const struct sim_lane *l)
{
	(void)l;
	return -1;
}

void sim_lane_destroy(struct sim_lane *l)
{
	if (l)
		l->destroyed = true;
}

/* ---- script ---- */

static void push(struct sim_lane *l, struct sim_lane_packet p)
{
	pthread_mutex_lock(&l->lock);
	assert_true(l->n < SCRIPT_MAX);
	l->script[l->n++] = p;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

static void push_channel(struct sim_lane *l, unsigned id, char *text, size_t size)
{
	char *type = NULL;

	assert_int_equal(sim_type_to_json(&sim_Ultrasonic_type, &type), 0);
	snprintf(text, size, "{\"id\":%u,\"name\":\"/test\",\"type\":%s,\"options\":{}}", id, type);
	free(type);
	push(l, (struct sim_lane_packet){ .event = SIM_LANE_CHANNEL, .text = text });
}

static void push_slot(struct sim_lane *l, uint64_t id, unsigned channel, const struct sim_slot *slot)
{
	struct sim_lane_packet p = { .event = SIM_LANE_DELIVER, .count = 1 };

	p.deliveries[0] = (struct sim_delivery){ .id = id, .slot = slot, .channel_id = channel };
	push(l, p);
}

static void await_answers(struct sim_lane *l, unsigned n)
{
	pthread_mutex_lock(&l->lock);
	while (l->n_answers < n)
		pthread_cond_wait(&l->changed, &l->lock);
	pthread_mutex_unlock(&l->lock);
}

static int answer_of(const struct sim_lane *l, uint64_t id)
{
	for (unsigned i = 0; i < l->n_answers; i++)
		if (l->answers[i].id == id)
			return l->answers[i].result;
	fail_msg("delivery %llu was not answered", (unsigned long long)id);
	return 1;
}

struct fixture {
	struct sim_lane lane;
	struct host *host;
	char text[32768];
	struct sim_slot slot[2];
};

static struct fixture *start(const char *options)
{
	struct fixture *f = calloc(1, sizeof(*f));
	json_t *config = json_object();

	assert_non_null(f);
	pthread_mutex_init(&f->lane.lock, NULL);
	pthread_cond_init(&f->lane.changed, NULL);
	json_object_set_new(config, "plugin", json_string(PLUGINS "/bridge_null.so"));
	json_object_set_new(config, "options", json_loads(options, 0, NULL));
	assert_int_equal(host_create(NULL, "", config, &f->host), 0);
	json_decref(config);
	assert_int_equal(host_lane_start(f->host, &f->lane, true), 0);
	return f;
}

static void stop(struct fixture *f)
{
	push(&f->lane, (struct sim_lane_packet){ .event = SIM_LANE_GONE });
	host_destroy(f->host);
	assert_true(f->lane.destroyed);
	free(f);
}

static void test_answers_each(void **state)
{
	struct fixture *f = start("{}");

	(void)state;
	push(&f->lane, (struct sim_lane_packet){ .event = SIM_LANE_CONNECT, .text = (char *)"anything" });
	push_channel(&f->lane, 3, f->text, sizeof(f->text));
	push_slot(&f->lane, 100, 3, &f->slot[0]);
	push_slot(&f->lane, 101, 9, &f->slot[0]); /* never announced */
	push_slot(&f->lane, 102, 3, NULL);        /* of a life this process does not see */
	await_answers(&f->lane, 3);
	assert_int_equal(answer_of(&f->lane, 100), 0);
	assert_int_equal(answer_of(&f->lane, 101), -ENOTSUP);
	assert_int_equal(answer_of(&f->lane, 102), -ESTALE);
	assert_int_equal(f->host->sent, 1);
	assert_int_equal(f->host->status, SIM_BRIDGE_CONNECTED);
	host_report(f->host);
	assert_int_equal(f->lane.status, SIM_BRIDGE_CONNECTED);
	stop(f);
}

static void test_late_answers_survive_the_end(void **state)
{
	struct fixture *f = start("{\"mode\":\"late\",\"delay_us\":100}");

	(void)state;
	push_channel(&f->lane, 3, f->text, sizeof(f->text));
	for (unsigned i = 0; i < 5; i++)
		push_slot(&f->lane, 200 + i, 3, &f->slot[0]);
	push(&f->lane, (struct sim_lane_packet){ .event = SIM_LANE_GONE });
	host_destroy(f->host);
	assert_int_equal(f->lane.n_answers, 5);
	free(f);
}

static void test_failures_are_counted(void **state)
{
	struct fixture *f = start("{\"mode\":\"fail\",\"every\":2}");

	(void)state;
	push_channel(&f->lane, 3, f->text, sizeof(f->text));
	for (unsigned i = 0; i < 4; i++)
		push_slot(&f->lane, 300 + i, 3, &f->slot[0]);
	await_answers(&f->lane, 4);
	assert_int_equal(answer_of(&f->lane, 301), -EIO);
	assert_int_equal(f->host->sent, 2);
	assert_int_equal(f->host->failed, 2);
	stop(f);
}

static void test_bad_announcements_are_survived(void **state)
{
	static char bad[][64] = { "", "[]", "{\"id\":-1}", "{\"id\":1,\"name\":\"/x\",\"type\":{}}",
				  "{\"id\":1,\"name\":7}" };
	struct fixture *f = start("{}");

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		push(&f->lane, (struct sim_lane_packet){ .event = SIM_LANE_CHANNEL, .text = bad[i] });
	push_slot(&f->lane, 1, 1, &f->slot[0]);
	await_answers(&f->lane, 1);
	assert_int_equal(answer_of(&f->lane, 1), -ENOTSUP);
	stop(f);
}

static void test_unknown_option_is_refused(void **state)
{
	json_t *config = json_pack("{s:s, s:{s:s}}", "plugin", PLUGINS "/bridge_null.so", "options", "typo", "1");
	struct host *h = NULL;

	(void)state;
	assert_int_equal(host_create(NULL, "", config, &h), -EINVAL);
	assert_null(h);
	json_decref(config);
}

static void test_inbound_needs_the_rigs_word(void **state)
{
	struct fixture *f = start("{}");

	(void)state;
	assert_int_equal(host_inbound_publish(f->host, "/control", &sim_Ultrasonic_type, f->text, 64), -EACCES);
	stop(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_each),
		cmocka_unit_test(test_late_answers_survive_the_end),
		cmocka_unit_test(test_failures_are_counted),
		cmocka_unit_test(test_bad_announcements_are_survived),
		cmocka_unit_test(test_unknown_option_is_refused),
		cmocka_unit_test(test_inbound_needs_the_rigs_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
