/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services with real threads, simd in one of its own: two callers at full speed, a simd that is killed in between, handlers that call other services. What a sanitizer should watch; no wall time is asserted.
 */
#include "scenario/client/world.h"

#include <errno.h>
#include <stdatomic.h>

#include "sim/srv/SetBool.h"
#include "sim/srv/Trigger.h"

#define CALLS 500

static struct world w;

static void answer(struct sim_request *req, const char *text)
{
	struct sim_builder b;

	sim_TriggerResponse_init(req->response, req->response_capacity, &b)->success = true;
	sim_TriggerResponse_message_set(&b, text);
	req->response_size = sim_builder_size(&b);
}

static int on_count(void *user, struct sim_request *req)
{
	char text[32];

	snprintf(text, sizeof(text), "%u", atomic_fetch_add((atomic_uint *)user, 1));
	answer(req, text);
	return 0;
}

struct caller {
	pthread_t thread;
	struct sim_client *c;
	unsigned ok, lost, other;
	atomic_uint called_back;
	unsigned asked;
};

static int trigger(struct sim_client *c, const char *name, int64_t timeout_dur_ns, char *text, size_t size)
{
	uint8_t out[256] __attribute__((aligned(8)));
	struct sim_TriggerRequest q = { .pad0_ = { 0 } };
	size_t got;
	int r = sim_service_call(c, name, &sim_Trigger_service, &q, sizeof(q), timeout_dur_ns, out, sizeof(out), &got);

	if (r == 0)
		snprintf(text, size, "%s", sim_TriggerResponse_message(sim_TriggerResponse_from(out, got), got));
	return r;
}

static void on_answer(void *user, int r, const char *why, const void *response, size_t size)
{
	(void)r;
	(void)why;
	(void)response;
	(void)size;
	atomic_fetch_add(&((struct caller *)user)->called_back, 1);
}

static void *call_all(void *arg)
{
	struct caller *k = arg;
	struct sim_TriggerRequest q = { .pad0_ = { 0 } };
	char text[64];

	for (int i = 0; i < CALLS; i++) {
		int r = trigger(k->c, "count", 0, text, sizeof(text));

		if (r == 0)
			k->ok++;
		else if (r == -ENOTCONN || r == -ENOENT || r == -EPIPE)
			k->lost++;
		else
			k->other++;
		if (i % 4 == 0 &&
		    sim_service_call_async(k->c, "count", &sim_Trigger_service, &q, sizeof(q), 0, on_answer, k) == 0)
			k->asked++;
	}
	return NULL;
}

static void run_callers(bool kill, unsigned *ret_ok, unsigned *ret_lost)
{
	struct sim_service_options o = { .size = sizeof(o), .queue = 64, .deadline_dur_ns = 60 * S };
	struct sim_client *prov = world_client(&w, "provider", 0);
	atomic_uint count = 0;
	struct sim_service *sv;
	struct caller k[2] = { { .lost = 0 } };

	assert_int_equal(sim_service_offer(prov, "count", &sim_Trigger_service, &o, on_count, &count, &sv), 0);
	for (int i = 0; i < 2; i++) {
		k[i].c = world_client(&w, "caller", 0);
		assert_int_equal(pthread_create(&k[i].thread, NULL, call_all, &k[i]), 0);
	}
	if (kill) {
		AWAIT(atomic_load(&count) >= CALLS / 4);
		world_kill_simd(&w);
		world_start_simd(&w);
	}
	*ret_ok = *ret_lost = 0;
	for (int i = 0; i < 2; i++) {
		pthread_join(k[i].thread, NULL);
		sim_disconnect(k[i].c); /* open calls end here */
		assert_int_equal(k[i].other, 0);
		assert_int_equal(atomic_load(&k[i].called_back), k[i].asked);
		*ret_ok += k[i].ok;
		*ret_lost += k[i].lost;
	}
	sim_service_destroy(sv);
	sim_disconnect(prov);
	assert_in_range(atomic_load(&count), *ret_ok, 4 * CALLS);
}

TEST(two_callers_get_their_answers)
{
	unsigned ok, lost;

	world_create_threads(&w, "");
	run_callers(false, &ok, &lost);
	assert_int_equal(ok, 2 * CALLS);
	assert_int_equal(lost, 0);
	world_destroy(&w);
}

TEST(each_call_ends_once_when_simd_is_killed)
{
	unsigned ok, lost;

	world_create_threads(&w, "");
	run_callers(true, &ok, &lost);
	assert_int_equal(ok + lost, 2 * CALLS);
	assert_true(ok > 0 && lost > 0);
	world_destroy(&w);
}

/* ---- handlers that call other services ---- */

struct relay {
	struct sim_client *c;
	const char *next;
	int r;
};

static int on_relay(void *user, struct sim_request *req)
{
	struct relay *y = user;
	char text[64];

	y->r = trigger(y->c, y->next, 200 * MS, text, sizeof(text));
	if (y->r < 0)
		return y->r;
	answer(req, text);
	return 0;
}

TEST(a_handler_may_call_another_service)
{
	struct sim_client *a, *b;
	struct sim_service *relay, *count, *self;
	struct relay on = { .next = "count" }, own = { .next = "self" };
	atomic_uint n = 41;
	char text[64];

	world_create_threads(&w, "");
	on.c = own.c = a = world_client(&w, "a", 0);
	b = world_client(&w, "b", 0);
	assert_int_equal(sim_service_offer(a, "relay", &sim_Trigger_service, NULL, on_relay, &on, &relay), 0);
	assert_int_equal(sim_service_offer(a, "self", &sim_Trigger_service, NULL, on_relay, &own, &self), 0);
	assert_int_equal(sim_service_offer(b, "count", &sim_Trigger_service, NULL, on_count, &n, &count), 0);
	assert_int_equal(trigger(b, "relay", 0, text, sizeof(text)), 0);
	assert_string_equal(text, "41");
	/* the handler calls its own service, and so waits for itself */
	assert_int_equal(trigger(b, "self", 0, text, sizeof(text)), -ETIMEDOUT);
	assert_int_equal(own.r, -ETIMEDOUT);
	assert_int_equal(trigger(b, "relay", 0, text, sizeof(text)), 0);
	sim_service_destroy(relay);
	sim_service_destroy(self);
	sim_service_destroy(count);
	sim_disconnect(a);
	sim_disconnect(b);
	world_destroy(&w);
}

/* simd forwards a request unread; the provider knows the type and refuses an invalid body. */
TEST(a_malformed_request_is_refused_by_its_reader)
{
	struct sim_client *a, *b;
	struct sim_service *sv;
	atomic_uint n = 0;
	char *reply = NULL;

	world_create_threads(&w, "");
	a = world_client(&w, "a", 0);
	b = world_client(&w, "b", 0);
	assert_int_equal(sim_service_offer(a, "set", &sim_SetBool_service, NULL, on_count, &n, &sv), 0);
	assert_int_equal(sim_call(b, "CallService", "{\"service\":\"set\",\"request\":{\"data\":\"x\"}}", &reply),
			 -EINVAL);
	assert_non_null(strstr(sim_why(), "request to service /car/set: field 'data'"));
	assert_int_equal(sim_call(b, "CallService", "{\"service\":\"set\",\"request\":{\"date\":true}}", &reply),
			 -EINVAL);
	assert_non_null(strstr(sim_why(), "no field 'date'"));
	assert_int_equal(sim_call(b, "CallService", "{\"service\":\"set\",\"request\":[]}", &reply), -EINVAL);
	assert_int_equal(atomic_load(&n), 0);
	sim_service_destroy(sv);
	sim_disconnect(a);
	sim_disconnect(b);
	world_destroy(&w);
}

/* Destroying waits for the handler that runs. */
struct slow {
	atomic_bool in, go, done;
};

static int on_slow(void *user, struct sim_request *req)
{
	struct slow *s = user;

	atomic_store(&s->in, true);
	AWAIT(atomic_load(&s->go));
	answer(req, "");
	atomic_store(&s->done, true);
	return 0;
}

static void *let_go(void *arg)
{
	moment_us(5000);
	atomic_store(&((struct slow *)arg)->go, true);
	return NULL;
}

TEST(destroying_waits_for_the_handler)
{
	struct sim_TriggerRequest q = { .pad0_ = { 0 } };
	struct slow s = { .in = false };
	struct caller k = { .asked = 0 };
	struct sim_service *sv;
	struct sim_client *c;
	pthread_t t;

	world_create_threads(&w, "");
	c = world_client(&w, "c", 0);
	assert_int_equal(sim_service_offer(c, "slow", &sim_Trigger_service, NULL, on_slow, &s, &sv), 0);
	assert_int_equal(sim_service_call_async(c, "slow", &sim_Trigger_service, &q, sizeof(q), 0, on_answer, &k), 0);
	AWAIT(atomic_load(&s.in));
	assert_int_equal(pthread_create(&t, NULL, let_go, &s), 0);
	sim_service_destroy(sv);
	assert_true(atomic_load(&s.done));
	pthread_join(t, NULL);
	sim_disconnect(c);
	assert_int_equal(atomic_load(&k.called_back), 1);
	world_destroy(&w);
}
