/* SPDX-License-Identifier: Apache-2.0 */
/* Service calls and clock events as channels, with the whole daemon in virtual time. */
#include "scenario/client/world.h"

#include <errno.h>
#include <stdlib.h>

#include <sim/msg/ClockEvent.h>
#include <sim/msg/ServiceCall.h>
#include <sim/srv/SetBool.h>

#include "registry/channel.h"
#include "registry/journal.h"
#include "registry/simd.h"

static struct world w;
static struct sim_client *prov, *call, *watch;
static struct sim_subscriber *sub;
static struct sim_service *lamp;
static unsigned answers;

static int setup(void **state)
{
	(void)state;
	world_create(&w, 1, "");
	prov = world_client(&w, "provider", 0);
	call = world_client(&w, "caller", 0);
	watch = world_client(&w, "watcher", 0);
	answers = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_subscriber_destroy(sub);
	sub = NULL;
	sim_disconnect(watch);
	sim_disconnect(call);
	sim_disconnect(prov);
	world_destroy(&w);
	return 0;
}

static void turns(int n)
{
	for (int i = 0; i < n; i++) {
		world_run(&w, MS);
		sim_process(prov);
		sim_process(call);
		sim_process(watch);
	}
}

static void subscribe(const char *channel, const struct sim_type *type)
{
	if (sim_subscribe(watch, channel, type, NULL, &sub) < 0)
		fail_msg("%s", sim_why());
	turns(5);
}

static void control(const char *method, const char *params)
{
	char *json;

	if (sim_call(call, method, params, &json) < 0)
		fail_msg("%s: %s", method, sim_why());
	free(json);
	turns(3);
}

static const struct sim_message *next(void)
{
	const struct sim_message *m;

	if (sim_take(sub, &m) < 0)
		fail_msg("nothing was published");
	return m;
}

static void nothing_more(void)
{
	const struct sim_message *m;

	assert_int_equal(sim_take(sub, &m), -EAGAIN);
}

/* ---- services ---- */

static int on_lamp(void *user, struct sim_request *req)
{
	const int *refuse = user;
	struct sim_builder b;
	struct sim_SetBoolResponse *a = sim_SetBoolResponse_init(req->response, req->response_capacity, &b);

	a->success = true;
	(void)!sim_SetBoolResponse_message_set(&b, "on");
	req->response_size = sim_builder_size(&b);
	if (*refuse)
		snprintf(req->why, sizeof(req->why), "the bulb is gone");
	return *refuse;
}

static void on_answer(void *user, int r, const char *why, const void *response, size_t size)
{
	(void)user, (void)r, (void)why, (void)response, (void)size;
	answers++;
}

static void offer(int *refuse)
{
	assert_int_equal(sim_service_offer(prov, "lamp", &sim_SetBool_service, NULL, on_lamp, refuse, &lamp), 0);
}

static void ask(void)
{
	struct sim_SetBoolRequest q = { .data = true };
	unsigned before = answers;

	assert_int_equal(sim_service_call_async(call, "lamp", &sim_SetBool_service, &q, sizeof(q), 0, on_answer, NULL),
			 0);
	turns(10);
	assert_int_equal(answers, before + 1);
}

static const struct sim_ServiceCall *call_of(const struct sim_message *m)
{
	const struct sim_ServiceCall *c = sim_ServiceCall_from(m->body, m->body_size);

	assert_non_null(c);
	assert_string_equal(sim_ServiceCall_service(c, m->body_size), "/car/lamp");
	assert_string_equal(sim_ServiceCall_service_type(c, m->body_size), "sim/SetBool");
	assert_string_equal(sim_ServiceCall_provider(c, m->body_size), "provider");
	assert_string_equal(sim_ServiceCall_caller(c, m->body_size), "caller");
	assert_string_equal(sim_ServiceCall_request(c, m->body_size), "{\"data\":true}");
	assert_true(m->header.stamp_sim_ns >= c->called);
	assert_int_equal(m->header.stamp_sim_ns - c->called, c->took);
	assert_true(c->took_wall >= 0);
	return c;
}

TEST_WITH(calls_are_published_with_their_answers, setup, teardown)
{
	const struct sim_ServiceCall *c;
	const struct sim_message *m;
	int refuse = 0;

	offer(&refuse);
	subscribe(JOURNAL_CALLS_CHANNEL, &sim_ServiceCall_type);
	ask();
	m = next();
	c = call_of(m);
	assert_int_equal(c->result, 0);
	assert_int_equal(m->header.sequence, 1);
	assert_string_equal(sim_ServiceCall_response(c, m->body_size), "{\"success\":true,\"message\":\"on\"}");
	assert_string_equal(sim_ServiceCall_why(c, m->body_size), "");
	sim_release(sub, m);

	refuse = -ENODEV;
	ask();
	m = next();
	c = call_of(m);
	assert_int_equal(c->result, -ENODEV);
	assert_int_equal(m->header.sequence, 2);
	assert_string_equal(sim_ServiceCall_response(c, m->body_size), "");
	assert_string_equal(sim_ServiceCall_why(c, m->body_size), "the bulb is gone");
	sim_release(sub, m);
	nothing_more();
	sim_service_destroy(lamp);
}

/* ---- the clock ---- */

static void expect(uint8_t kind, int64_t from_s, int64_t to_s, double scale, const char *source)
{
	const struct sim_message *m = next();
	const struct sim_ClockEvent *e = sim_ClockEvent_from(m->body, m->body_size);

	assert_non_null(e);
	assert_int_equal(e->kind, kind);
	if (from_s >= 0)
		assert_int_equal(e->from, from_s * S);
	if (to_s >= 0)
		assert_int_equal(e->to, to_s * S);
	assert_true(e->scale == scale);
	assert_string_equal(sim_ClockEvent_source(e, m->body_size), source);
	assert_int_equal(m->header.clock_generation, e->generation);
	sim_release(sub, m);
}

TEST_WITH(pause_step_scale_and_source_changes_are_published, setup, teardown)
{
	subscribe(JOURNAL_CLOCK_CHANNEL, &sim_ClockEvent_type);
	control("SetSource", "{\"source\":\"simulation\",\"continue\":false}");
	expect(SIM_CLOCK_EVENT_JUMP, 0, 0, 1, "simulation");
	expect(SIM_CLOCK_EVENT_SOURCE, -1, -1, 1, "simulation");
	nothing_more();
	control("PauseClock", NULL);
	expect(SIM_CLOCK_EVENT_PAUSE, -1, -1, 1, "simulation");
	control("SetScale", "{\"scale\":2.0}");
	expect(SIM_CLOCK_EVENT_SCALE, -1, -1, 2, "simulation");
	control("StepClock", "{\"dur_ns\":1000000000}");
	expect(SIM_CLOCK_EVENT_STEP, -1, -1, 2, "simulation");
	expect(SIM_CLOCK_EVENT_PAUSE, -1, -1, 2, "simulation");
	control("ResumeClock", NULL);
	expect(SIM_CLOCK_EVENT_RESUME, -1, -1, 2, "simulation");
	nothing_more();
}

TEST_WITH(a_driver_and_its_jumps_are_published, setup, teardown)
{
	struct sim_driver *d;

	subscribe(JOURNAL_CLOCK_CHANNEL, &sim_ClockEvent_type);
	control("SetSource", "{\"source\":\"ss2\",\"continue\":false}");
	expect(SIM_CLOCK_EVENT_JUMP, 0, 0, 1, "ss2");
	expect(SIM_CLOCK_EVENT_SOURCE, 0, 0, 1, "ss2");
	assert_int_equal(sim_driver_acquire(call, 0, &d), 0);
	turns(3);
	expect(SIM_CLOCK_EVENT_DRIVER, 0, 0, 1, "ss2");
	assert_int_equal(sim_driver_set(d, 7 * S), 0);
	assert_int_equal(sim_driver_jump(d, 3 * S), 0);
	turns(3);
	expect(SIM_CLOCK_EVENT_JUMP, 0, 7, 1, "ss2");
	expect(SIM_CLOCK_EVENT_JUMP, 7, 3, 1, "ss2");
	sim_driver_release(d);
	turns(3);
	expect(SIM_CLOCK_EVENT_DRIVER, 3, 3, 1, "ss2");
	nothing_more();
}

/* ---- when the channels exist ---- */

static unsigned publishers_of(const char *channel)
{
	const struct channel *ch = channel_find(w.simd, channel);

	return ch ? ch->n_publishers : 0;
}

TEST_WITH(without_subscribers_no_journal_channel_exists, setup, teardown)
{
	int refuse = 0;

	offer(&refuse);
	ask();
	assert_null(channel_find(w.simd, JOURNAL_CALLS_CHANNEL));
	assert_null(channel_find(w.simd, JOURNAL_CLOCK_CHANNEL));
	subscribe(JOURNAL_CALLS_CHANNEL, NULL);
	assert_int_equal(publishers_of(JOURNAL_CALLS_CHANNEL), 1);
	assert_int_equal(publishers_of(JOURNAL_CLOCK_CHANNEL), 0);
	sim_subscriber_destroy(sub);
	sub = NULL;
	turns(5);
	assert_int_equal(publishers_of(JOURNAL_CALLS_CHANNEL), 0);
	assert_false(journal_wanted(w.simd, JOURNAL_CALLS));
	ask();
	sim_service_destroy(lamp);
}

TEST_WITH(the_journal_continues_in_a_new_generation, setup, teardown)
{
	int refuse = 0;
	const struct sim_message *m;

	offer(&refuse);
	subscribe(JOURNAL_CALLS_CHANNEL, &sim_ServiceCall_type);
	ask();
	sim_release(sub, next());
	world_kill_roudi(&w);
	turns(5);
	assert_false(journal_wanted(w.simd, JOURNAL_CALLS));
	ask();
	world_start_roudi(&w);
	world_until(&w, watch, SIM_CLIENT_CONNECTED);
	turns(1500);
	ask();
	m = next();
	(void)call_of(m);
	assert_int_equal(m->header.sequence, 2);
	sim_release(sub, m);
	sim_service_destroy(lamp);
}
