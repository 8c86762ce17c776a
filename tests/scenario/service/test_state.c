/* SPDX-License-Identifier: Apache-2.0 */
/* A service as seen by its provider and its callers: bounds, deadlines, and exactly one answer in every case. */
#include "scenario/service/actor.h"

#include <errno.h>
#include <string.h>

#include "registry/service.h"
#include "registry/simd.h"

static struct desk d;
static struct actor prov, one, two, plain;

static void turn(void)
{
	for (int i = 0; i < 8; i++) {
		assert_true(exec_sim_settle(d.x) >= 0);
		actor_read(&prov);
		actor_read(&one);
		actor_read(&two);
		actor_read(&plain);
	}
}

static int setup(void **state)
{
	(void)state;
	desk_open(&d, "");
	actor_open(&d, &prov, "provider");
	actor_open(&d, &one, "one");
	actor_open(&d, &two, "two");
	actor_open(&d, &plain, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	actor_finish(&prov);
	actor_finish(&one);
	actor_finish(&two);
	actor_finish(&plain);
	desk_close(&d);
	return 0;
}

static json_t *figures(const char *name)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"name\": \"%s\"}", name);
	assert_int_equal(actor_ask(&two, "GetService", text), 0);
	return json_object_get(two.last, "service");
}

static void expect(const char *name, const char *figure, int64_t n)
{
	json_t *j = json_object_get(figures(name), figure);

	if (json_integer_value(j) != n)
		fail_msg("%s is %lld, not %lld", figure, (long long)json_integer_value(j), (long long)n);
}

TEST_WITH(a_request_is_answered, setup, teardown)
{
	assert_int_equal(actor_offer(&prov, "lamp", 4, 1000), 0);
	assert_string_equal(json_string_value(json_object_get(prov.last, "name")), "/lamp");
	actor_call(&one, "lamp", 7, 42);
	turn();
	assert_int_equal(one.n_replies, 2); /* Hello, and the empty one to the tagged call */
	assert_int_equal(prov.n_held, 1);
	assert_int_equal(prov.held[0].n, 42);
	assert_int_equal(one.answers[7], 0);
	actor_answer(&prov, 0);
	turn();
	assert_int_equal(one.answers[7], 1);
	assert_int_equal(one.answer[7], 0);
	assert_int_equal(one.echo[7], 42);

	actor_call(&plain, "/lamp", -1, 43);
	turn();
	assert_int_equal(plain.n_replies, 0);
	actor_answer(&prov, 0);
	turn();
	assert_int_equal(plain.n_replies, 1);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(plain.last, "response"), "n")), 43);

	actor_call(&plain, "lamp", -1, 44);
	turn();
	actor_answer(&prov, -EIO);
	turn();
	assert_int_equal(plain.reply[1], -EIO);
	expect("lamp", "calls", 3);
	expect("lamp", "answered", 2);
	expect("lamp", "failed", 1);
}

/* One at a time with the provider, `queue` more wait, one more is refused. */
TEST_WITH(the_queue_is_bounded, setup, teardown)
{
	assert_int_equal(actor_offer(&prov, "lamp", 2, 1000), 0);
	for (int i = 0; i < 4; i++)
		actor_call(&one, "lamp", i, i);
	turn();
	assert_int_equal(prov.requests, 1);
	assert_int_equal(one.answer[3], -EBUSY);
	for (int i = 0; i < 3; i++) {
		actor_answer(&prov, 0);
		turn();
		assert_int_equal(one.answers[i], 1);
	}
	assert_int_equal(prov.requests, 3);
	expect("lamp", "refused", 1);
}

TEST_WITH(the_open_calls_of_a_caller_are_bounded, setup, teardown)
{
	char name[16];
	unsigned refused = 0;

	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		assert_int_equal(actor_offer(&prov, name, 64, 1000), 0);
		for (int k = 0; k < 15; k++)
			actor_call(&one, name, 15 * i + k, k);
	}
	turn();
	for (int i = 0; i < 45; i++)
		refused += one.answer[i] == -EBUSY;
	assert_int_equal(refused, 45 - SERVICE_CALLER_MAX);
	actor_call(&two, "s2", 0, 0); /* another caller has its own share */
	turn();
	assert_int_equal(two.answers[0], 0);
}

TEST_WITH(deadlines_end_calls_before_and_after_delivery, setup, teardown)
{
	assert_int_equal(actor_offer(&prov, "lamp", 4, 100), 0);
	actor_call(&one, "lamp", 0, 0);
	actor_call(&one, "lamp", 1, 1);
	actor_post(&two, "CallService", "{\"service\": \"lamp\", \"request\": {}, \"tag\": 0, \"timeout_ms\": 30}");
	actor_post(&two, "CallService", "{\"service\": \"lamp\", \"request\": {}, \"tag\": 1, \"timeout_ms\": 5000}");
	turn();
	desk_run(&d, 29 * MS);
	turn();
	assert_int_equal(two.answers[0], 0);
	desk_run(&d, 2 * MS);
	turn();
	assert_int_equal(two.answer[0], -ETIMEDOUT);
	assert_int_equal(one.answers[0], 0);
	desk_run(&d, 100 * MS);
	turn();
	assert_int_equal(one.answer[0], -ETIMEDOUT);
	assert_int_equal(one.answer[1], -ETIMEDOUT); /* timed out in the queue: it was never delivered */
	assert_int_equal(two.answer[1], -ETIMEDOUT); /* the service's own deadline holds */
	expect("lamp", "timed_out", 4);
	assert_true(json_is_true(json_object_get(figures("lamp"), "running")));
}

/* The next request waits until the provider has finished the one that was abandoned. */
TEST_WITH(late_answers_are_counted, setup, teardown)
{
	assert_int_equal(actor_offer(&prov, "lamp", 4, 100), 0);
	actor_call(&one, "lamp", 0, 0);
	turn();
	desk_run(&d, 101 * MS);
	actor_call(&one, "lamp", 1, 1);
	turn();
	assert_int_equal(one.answer[0], -ETIMEDOUT);
	assert_int_equal(prov.requests, 1);
	actor_answer(&prov, 0);
	turn();
	assert_int_equal(one.answers[0], 1);
	assert_int_equal(prov.requests, 2);
	actor_answer(&prov, 0);
	turn();
	assert_int_equal(one.answer[1], 0);
	assert_int_equal(one.echo[1], 1);
	expect("lamp", "late", 1);
}

TEST_WITH(double_and_foreign_answers_are_ignored, setup, teardown)
{
	int64_t id;

	assert_int_equal(actor_offer(&prov, "lamp", 4, 1000), 0);
	assert_int_equal(actor_offer(&two, "other", 4, 1000), 0);
	actor_call(&one, "lamp", 0, 0);
	actor_call(&one, "lamp", 1, 1);
	turn();
	id = prov.held[0].id;
	actor_answer_id(&two, id, 0, 99); /* `two` has not been given this request */
	turn();
	assert_int_equal(one.answers[0], 0);
	actor_answer(&prov, 0);
	turn();
	actor_answer_id(&prov, id, 0, 98);
	actor_answer_id(&prov, id + 1000, -EIO, 0);
	turn();
	assert_int_equal(one.answers[0], 1);
	assert_int_equal(one.echo[0], 0);
	assert_int_equal(one.answers[1], 0);
	expect("lamp", "ignored", 2);
	expect("other", "ignored", 1);
	actor_answer(&prov, 0);
	turn();
	assert_int_equal(one.echo[1], 1);
}

TEST_WITH(invalid_offers_calls_and_answers_are_refused, setup, teardown)
{
	static const char *const offers[] = {
		"{\"name\": \"a b\", \"type\": \"t/S\", \"request\": " TYPE_A ", \"response\": " TYPE_B "}",
		"{\"name\": \"x\", \"type\": \"S\", \"request\": " TYPE_A ", \"response\": " TYPE_B "}",
		"{\"name\": \"x\", \"type\": \"t/S\", \"request\": {}, \"response\": " TYPE_B "}",
		"{\"name\": \"x\", \"type\": \"t/S\", \"request\": " TYPE_A "}",
		"{\"name\": \"x\", \"type\": \"t/S\", \"request\": " TYPE_A
		", \"response\": {\"name\": \"t/B\", \"hash\": \"xyz\"}}",
		"{\"name\": \"x\", \"type\": \"t/S\", \"request\": " TYPE_A ", \"response\": " TYPE_B ", \"queue\": 0}",
		"{\"name\": \"x\", \"type\": \"t/S\", \"request\": " TYPE_A ", \"response\": " TYPE_B
		", \"deadline_ms\": 9999999}",
		"{\"name\": \"x\", \"type\": \"t/S\", \"request\": " TYPE_A ", \"response\": " TYPE_B ", \"more\": 1}",
	};
	static const char *const calls[] = {
		"{\"service\": \"lamp\"}",
		"{\"service\": \"lamp\", \"request\": 1}",
		"{\"service\": \"lamp\", \"request\": {}, \"tag\": -2}",
		"{\"service\": \"lamp\", \"request\": {}, \"timeout_ms\": 0}",
		"{\"service\": 5, \"request\": {}}",
	};

	for (unsigned i = 0; i < sizeof(offers) / sizeof(*offers); i++) {
		int r = actor_ask(&prov, "OfferService", offers[i]);

		if (r != -EINVAL && r != -ERANGE)
			fail_msg("offer %u: %d", i, r);
	}
	assert_int_equal(actor_offer(&plain, "lamp", 1, 1), -EPROTO); /* no Hello */
	assert_int_equal(actor_offer(&prov, "lamp", 1, 1000), 0);
	for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		int r = actor_ask(&one, "CallService", calls[i]);

		if (r != -EINVAL && r != -ERANGE)
			fail_msg("call %u: %d", i, r);
	}
	/* a tag without a stream */
	assert_int_equal(actor_ask(&plain, "CallService", "{\"service\": \"lamp\", \"request\": {}, \"tag\": 1}"),
			 -EINVAL);
	assert_int_equal(actor_ask(&prov, "AnswerService", "{\"request_id\": 1}"), -EINVAL);
	assert_int_equal(actor_ask(&prov, "WithdrawService", "{\"service_id\": 999}"), -ENOENT);
	assert_int_equal(prov.requests, 0);
}

TEST_WITH(names_and_types_are_checked, setup, teardown)
{
	assert_int_equal(actor_offer(&prov, "lamp", 1, 1000), 0);
	assert_int_equal(actor_offer(&two, "/lamp", 1, 1000), -EEXIST);
	assert_non_null(strstr(json_string_value(json_object_get(two.last, "why")), "provider"));
	assert_int_equal(actor_ask(&plain, "CallService", "{\"service\": \"none\", \"request\": {}}"), -ENOENT);
	assert_int_equal(actor_ask(&plain, "CallService",
				   "{\"service\": \"lamp\", \"request\": {}, \"type\": \"t/X\"}"),
			 -EMEDIUMTYPE);
	assert_int_equal(actor_ask(&plain, "CallService",
				   "{\"service\": \"lamp\", \"request\": {}, \"request_hash\": \"00000000000000ab\"}"),
			 -EMEDIUMTYPE);
	assert_int_equal(actor_ask(&plain, "CallService",
				   "{\"service\": \"lamp\", \"request\": {}, \"response_hash\": \"00000000000000aa\"}"),
			 -EMEDIUMTYPE);
	actor_post(&plain, "CallService",
		   "{\"service\": \"lamp\", \"request\": {}, \"type\": \"t/S\", \"request_hash\": \"00000000000000aa\", "
		   "\"response_hash\": \"00000000000000bb\"}");
	turn();
	assert_int_equal(prov.n_held, 1);
	actor_answer(&prov, 0);
	turn();
	assert_int_equal(actor_ask(&two, "GetService", "{\"name\": \"lamp\"}"), 0);
	assert_string_equal(json_string_value(json_object_get(json_object_get(two.last, "response"), "name")), "t/B");
	assert_int_equal(actor_ask(&two, "ListServices", "{}"), 0);
	assert_int_equal(json_array_size(json_object_get(two.last, "services")), 1);
}

/* Large bodies: in both directions, and over the bound. */
TEST_WITH(bodies_are_bounded, setup, teardown)
{
	static char text[SERVICE_BODY_MAX + 200], fill[SERVICE_BODY_MAX + 1];

	assert_int_equal(actor_offer(&prov, "lamp", 4, 1000), 0);
	memset(fill, 'x', SERVICE_BODY_MAX - 8); /* {"s":"..."} */
	snprintf(text, sizeof(text), "{\"service\": \"lamp\", \"request\": {\"s\": \"%s\"}}", fill);
	actor_post(&plain, "CallService", text);
	turn();
	assert_int_equal(prov.n_held, 1);
	snprintf(text, sizeof(text), "{\"request_id\": %lld, \"response\": {\"s\": \"%s\"}}",
		 (long long)prov.held[0].id, fill);
	actor_post(&prov, "AnswerService", text);
	prov.n_held = 0;
	turn();
	assert_int_equal(plain.reply[0], 0);

	memset(fill, 'x', SERVICE_BODY_MAX - 7);
	snprintf(text, sizeof(text), "{\"service\": \"lamp\", \"request\": {\"s\": \"%s\"}}", fill);
	assert_int_equal(actor_ask(&plain, "CallService", text), -EMSGSIZE);
	actor_call(&one, "lamp", 0, 0);
	turn();
	snprintf(text, sizeof(text), "{\"request_id\": %lld, \"response\": {\"s\": \"%s\"}}",
		 (long long)prov.held[0].id, fill);
	assert_int_equal(actor_ask(&prov, "AnswerService", text), -EMSGSIZE);
	turn();
	assert_int_equal(one.answers[0], 1);
	assert_int_equal(one.answer[0], -EMSGSIZE);
}

TEST_WITH(held_bytes_are_bounded, setup, teardown)
{
	static char text[SERVICE_BODY_MAX + 200], fill[SERVICE_BODY_MAX];
	struct actor more[6];
	unsigned refused = 0;

	memset(fill, 'x', SERVICE_BODY_MAX - 100);
	for (int i = 0; i < 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "s%d", i);
		assert_int_equal(actor_offer(&prov, name, 64, 1000), 0);
	}
	for (int i = 0; i < 6; i++) {
		actor_open(&d, &more[i], "more");
		for (int k = 0; k < SERVICE_CALLER_MAX; k++) {
			snprintf(text, sizeof(text),
				 "{\"service\": \"s%d\", \"tag\": %d, \"request\": {\"s\": \"%s\"}}", i % 3, k, fill);
			actor_post(&more[i], "CallService", text);
			turn();
			actor_read(&more[i]);
		}
		for (int k = 0; k < SERVICE_CALLER_MAX; k++)
			refused += more[i].answer[k] == -EBUSY;
	}
	/* 192 were sent, all would fit the queues */
	assert_in_range(refused, 192 - SERVICE_HELD_MAX / (SERVICE_BODY_MAX - 200) - 1, 192 - 127);
	for (int i = 0; i < 6; i++)
		actor_finish(&more[i]);
	assert_true(exec_sim_settle(d.x) >= 0);
	turn();
}

TEST_WITH(calls_end_when_the_provider_disconnects, setup, teardown)
{
	assert_int_equal(actor_offer(&prov, "lamp", 4, 1000), 0);
	assert_int_equal(actor_offer(&prov, "horn", 4, 1000), 0);
	for (int i = 0; i < 3; i++)
		actor_call(&one, "lamp", i, i);
	actor_call(&plain, "horn", -1, 0);
	turn();
	actor_vanish(&prov);
	turn();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(one.answers[i], 1);
		assert_int_equal(one.answer[i], -EPIPE);
	}
	assert_int_equal(plain.reply[0], -EPIPE);
	assert_int_equal(actor_ask(&plain, "CallService", "{\"service\": \"lamp\", \"request\": {}}"), -ENOENT);
	assert_int_equal(actor_offer(&two, "lamp", 4, 1000), 0); /* the name is free */
}

TEST_WITH(withdrawing_ends_open_calls, setup, teardown)
{
	char text[64];

	assert_int_equal(actor_offer(&prov, "lamp", 4, 1000), 0);
	snprintf(text, sizeof(text), "{\"service_id\": %lld}",
		 (long long)json_integer_value(json_object_get(prov.last, "service_id")));
	actor_call(&one, "lamp", 0, 0);
	actor_call(&one, "lamp", 1, 1);
	turn();
	assert_int_equal(actor_ask(&two, "WithdrawService", text), -ENOENT); /* the service is not that of `two` */
	assert_int_equal(actor_ask(&prov, "WithdrawService", text), 0);
	turn();
	assert_int_equal(one.answer[0], -EPIPE);
	assert_int_equal(one.answer[1], -EPIPE);
	actor_answer(&prov, 0); /* too late: ignored */
	turn();
	assert_int_equal(one.answers[0], 1);
	assert_false(prov.cut_off);
}

/* Waiting calls of a disconnected caller are dropped, a running one is left to end, and the service continues. */
TEST_WITH(answers_for_disconnected_callers_are_dropped, setup, teardown)
{
	assert_int_equal(actor_offer(&prov, "lamp", 8, 1000), 0);
	actor_call(&one, "lamp", 0, 10);
	actor_call(&one, "lamp", 1, 11);
	turn();
	actor_call(&plain, "lamp", -1, 12);
	turn();
	actor_call(&two, "lamp", 0, 13);
	turn();
	actor_vanish(&one);
	actor_vanish(&plain);
	turn();
	actor_answer(&prov, 0);
	turn();
	assert_int_equal(prov.n_held, 1);
	assert_int_equal(prov.held[0].n, 13);
	actor_answer(&prov, 0);
	turn();
	assert_int_equal(two.echo[0], 13);
}

TEST_WITH(shutting_down_ends_open_calls, setup, teardown)
{
	assert_int_equal(actor_offer(&prov, "lamp", 8, 1000), 0);
	actor_call(&one, "lamp", 0, 0);
	actor_call(&one, "lamp", 1, 1);
	actor_call(&plain, "lamp", -1, 0);
	turn();
	service_all_close(d.simd);
	turn();
	assert_int_equal(one.answer[0], -ECANCELED);
	assert_int_equal(one.answer[1], -ECANCELED);
	assert_int_equal(plain.reply[0], -ECANCELED);
	actor_answer(&prov, 0);
	actor_call(&one, "lamp", 2, 0);
	turn();
	assert_int_equal(one.answers[0], 1);
	assert_int_equal(one.answer[2], -ECANCELED);
	assert_int_equal(actor_offer(&two, "horn", 8, 1000), -ECANCELED);
}

TEST_WITH(listeners_are_notified_once_per_turn, setup, teardown)
{
	char name[16];
	unsigned before;

	before = two.told;
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		assert_int_equal(actor_offer(&prov, name, 1, 1000), 0);
	}
	turn();
	assert_true(two.told > before);
	before = two.told;
	actor_vanish(&prov);
	turn();
	assert_int_equal(two.told, before + 1); /* five at once, one notification */
}

TEST_WITH(a_client_may_call_its_own_service, setup, teardown)
{
	assert_int_equal(actor_offer(&prov, "lamp", 4, 1000), 0);
	actor_call(&prov, "lamp", 5, 1);
	turn();
	actor_answer(&prov, 0);
	turn();
	assert_int_equal(prov.answers[5], 1);
	assert_int_equal(prov.echo[5], 1);
}

static int setup_bridge(void **state)
{
	(void)state;
	desk_open(&d, "");
	actor_open(&d, &prov, "provider");
	actor_open(&d, &one, "log");
	actor_open(&d, &two, "two");
	actor_open(&d, &plain, NULL);
	return 0;
}

/* The rig's bridge may call the services listed in "services"; the test's rig excludes "secret/...". */
TEST_WITH(a_bridge_may_use_only_its_listed_services, setup_bridge, teardown)
{
	assert_int_equal(actor_ask(&one, "AttachBridge", "{\"bridge\": \"log\"}"), 0);
	assert_int_equal(actor_offer(&prov, "lamp", 1, 1000), 0);
	assert_int_equal(actor_offer(&prov, "secret/door", 1, 1000), 0);
	assert_int_equal(actor_ask(&one, "ListServices", "{}"), 0);
	assert_int_equal(json_array_size(json_object_get(one.last, "services")), 1);
	assert_int_equal(actor_ask(&one, "GetService", "{\"name\": \"secret/door\"}"), -EACCES);
	actor_call(&one, "secret/door", 1, 0);
	actor_call(&one, "lamp", 2, 0);
	turn();
	assert_int_equal(one.answer[1], -EACCES);
	assert_int_equal(prov.n_held, 1);
	actor_answer(&prov, 0);
	turn();
	assert_int_equal(one.answer[2], 0);
	assert_int_equal(actor_ask(&two, "ListServices", "{}"), 0);
	assert_int_equal(json_array_size(json_object_get(two.last, "services")), 2);
}

static int setup_narrow(void **state)
{
	(void)state;
	desk_open(&d, ", \"limits\": {\"services\": 3, \"per_client\": 2}");
	actor_open(&d, &prov, "provider");
	actor_open(&d, &one, "one");
	actor_open(&d, &two, "two");
	actor_open(&d, &plain, NULL);
	return 0;
}

TEST_WITH(offers_are_bounded, setup_narrow, teardown)
{
	assert_int_equal(actor_offer(&prov, "a", 1, 1000), 0);
	assert_int_equal(actor_offer(&prov, "b", 1, 1000), 0);
	assert_int_equal(actor_offer(&prov, "c", 1, 1000), -EMFILE);
	assert_int_equal(actor_offer(&one, "c", 1, 1000), 0);
	assert_int_equal(actor_offer(&one, "d", 1, 1000), -EMFILE);
}
