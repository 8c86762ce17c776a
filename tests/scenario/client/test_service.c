/* SPDX-License-Identifier: Apache-2.0 */
/* Services from both sides of libsimclient in virtual time: every kind of answer, restarts of simd, watchers. */
#include "scenario/client/world.h"

#include <errno.h>
#include <math.h>

#include "registry/service.h"
#include "registry/simd.h"
#include "sim/srv/Empty.h"
#include "sim/srv/SetBool.h"
#include "sim/srv/Trigger.h"

static struct world w;
static struct sim_client *prov, *call;

static int setup(void **state)
{
	(void)state;
	world_create(&w, 1, "");
	prov = world_client(&w, "provider", 0);
	call = world_client(&w, "caller", 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
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
	}
}

/* ---- a lamp ---- */

struct lamp {
	bool on;
	unsigned calls;
	int refuse; /* with this errno */
	struct sim_service *sv;
	bool withdraw; /* from inside the handler */
	const char *text;
	uint32_t text_len;
};

static int on_lamp(void *user, struct sim_request *req)
{
	const struct sim_SetBoolRequest *q = sim_SetBoolRequest_from(req->body, req->size);
	struct lamp *l = user;
	struct sim_builder b;
	struct sim_SetBoolResponse *a = sim_SetBoolResponse_init(req->response, req->response_capacity, &b);

	l->calls++;
	if (l->withdraw) {
		sim_service_destroy(l->sv);
		l->sv = NULL;
	}
	if (l->refuse) {
		snprintf(req->why, sizeof(req->why), "the bulb is gone");
		return l->refuse;
	}
	l->on = q->data;
	a->success = true;
	if (l->text_len)
		memcpy(sim_builder_string(&b, &a->message, l->text_len, 0), l->text, l->text_len);
	else
		sim_SetBoolResponse_message_set(&b, l->on ? "on" : "off");
	req->response_size = sim_builder_size(&b);
	assert_string_equal(req->service, "/car/lamp");
	return 0;
}

static struct sim_service *offer(struct lamp *l, const char *name)
{
	if (sim_service_offer(prov, name, &sim_SetBool_service, NULL, on_lamp, l, &l->sv) < 0)
		fail_msg("%s", sim_why());
	return l->sv;
}

struct answer {
	unsigned calls;
	int r;
	bool success;
	char text[200];
};

static void on_answer(void *user, int r, const char *why, const void *response, size_t size)
{
	struct answer *a = user;

	a->calls++;
	a->r = r;
	if (r < 0) {
		snprintf(a->text, sizeof(a->text), "%s", why);
		assert_null(response);
	} else {
		const struct sim_SetBoolResponse *m = sim_SetBoolResponse_from(response, size);

		a->success = m->success;
		snprintf(a->text, sizeof(a->text), "%s", sim_SetBoolResponse_message(m, size));
	}
}

static int ask(const char *name, bool on, int64_t timeout_dur_ns, struct answer *a)
{
	struct sim_SetBoolRequest q = { .data = on };

	memset(a, 0, sizeof(*a));
	return sim_service_call_async(call, name, &sim_SetBool_service, &q, sizeof(q), timeout_dur_ns, on_answer, a);
}

TEST_WITH(a_call_is_answered, setup, teardown)
{
	struct lamp l = { 0 };
	struct answer a, b;

	offer(&l, "lamp");
	assert_int_equal(sim_service_state(l.sv), 0);
	assert_int_equal(ask("lamp", true, 0, &a), 0);
	turns(10);
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.r, 0);
	assert_true(l.on && a.success);
	assert_string_equal(a.text, "on");
	l.refuse = -ENODEV;
	assert_int_equal(ask("/car/lamp", false, 0, &a), 0);
	assert_int_equal(ask("nothing", false, 0, &b), 0);
	turns(10);
	assert_int_equal(a.r, -ENODEV);
	assert_string_equal(a.text, "the bulb is gone");
	assert_int_equal(b.r, -ENOENT);
	assert_int_equal(b.calls, 1);
	sim_service_destroy(l.sv);
	turns(3);
	assert_int_equal(ask("lamp", true, 0, &a), 0);
	turns(10);
	assert_int_equal(a.r, -ENOENT);
}

/* ---- answered later ---- */

struct later {
	struct sim_pending *p;
	unsigned calls;
};

static int on_later(void *user, struct sim_request *req)
{
	struct later *l = user;
	struct sim_pending *second;

	(void)req;
	l->calls++;
	assert_int_equal(sim_service_defer(prov, &l->p), 0);
	assert_int_equal(sim_service_defer(prov, &second), -EINVAL);
	return -EIO; /* ignored, as the answer was deferred */
}

static int answer_later(struct later *l, int result, const char *why, const char *text)
{
	_Alignas(8) uint8_t body[128];
	struct sim_builder b;
	struct sim_SetBoolResponse *r = sim_SetBoolResponse_init(body, sizeof(body), &b);

	r->success = true;
	sim_SetBoolResponse_message_set(&b, text);
	return sim_service_answer(l->p, result, why, body, sim_builder_size(&b));
}

TEST_WITH(a_handler_may_answer_later, setup, teardown)
{
	struct later l = { 0 };
	struct sim_pending *none;
	struct sim_service *sv;
	struct answer a, b, c;

	assert_int_equal(sim_service_offer(prov, "far", &sim_SetBool_service, NULL, on_later, &l, &sv), 0);
	assert_int_equal(sim_service_defer(prov, &none), -EINVAL);
	assert_int_equal(ask("far", true, 0, &a), 0);
	assert_int_equal(ask("far", true, 0, &b), 0);
	assert_int_equal(ask("far", true, 0, &c), 0);
	turns(10);
	assert_int_equal(l.calls, 1); /* the others wait for it */
	assert_int_equal(a.calls, 0);
	assert_int_equal(answer_later(&l, 0, NULL, "at last"), 0);
	turns(10);
	assert_int_equal(a.r, 0);
	assert_string_equal(a.text, "at last");
	assert_int_equal(answer_later(&l, -ENODEV, "it is away", ""), 0);
	turns(10);
	assert_int_equal(b.r, -ENODEV);
	assert_string_equal(b.text, "it is away");
	assert_int_equal(sim_service_answer(l.p, 0, NULL, "short", 5), -EINVAL);
	turns(10);
	assert_int_equal(c.r, -EINVAL);
	/* an answer after the end of the service is dropped */
	assert_int_equal(ask("far", true, 0, &a), 0);
	turns(10);
	sim_service_destroy(sv);
	turns(10);
	assert_int_equal(a.r, -EPIPE);
	assert_int_equal(answer_later(&l, 0, NULL, "too late"), 0);
	turns(3);
	assert_int_equal(a.calls, 1);
}

TEST_WITH(another_type_is_refused, setup, teardown)
{
	struct lamp l = { 0 };
	struct answer a = { 0 };
	struct sim_TriggerRequest q = { 0 };

	offer(&l, "lamp");
	assert_int_equal(sim_service_call_async(call, "lamp", &sim_Trigger_service, &q, sizeof(q), 0, on_answer, &a),
			 0);
	turns(10);
	assert_int_equal(a.r, -EMEDIUMTYPE);
	assert_int_equal(l.calls, 0);
	sim_service_destroy(l.sv);
}

/* Neither side sends a string that the other cannot read: the call, or the answer, fails at the sender. */
TEST_WITH(a_string_with_a_nul_is_refused, setup, teardown)
{
	static const struct sim_service_type echo = { .abi = SIM_TYPE_ABI,
						      .size = sizeof(echo),
						      .name = "sim/Echo",
						      .request = &sim_SetBoolResponse_type,
						      .response = &sim_SetBoolResponse_type };
	struct lamp l = { .text = "a\0b", .text_len = 3 };
	uint8_t q[256] __attribute__((aligned(8))) = { 0 };
	struct sim_builder b;
	struct answer a;

	offer(&l, "lamp");
	assert_int_equal(ask("lamp", true, 0, &a), 0);
	turns(10);
	assert_int_equal(a.r, -EBADMSG);
	assert_non_null(strstr(a.text, "NUL"));
	l.text = "\\u0000 \"\\\"";
	l.text_len = (uint32_t)strlen(l.text);
	assert_int_equal(ask("lamp", true, 0, &a), 0);
	turns(10);
	assert_int_equal(a.r, 0);
	assert_string_equal(a.text, l.text);
	memcpy(sim_builder_string(&b, &sim_SetBoolResponse_init(q, sizeof(q), &b)->message, 3, 0), "a\0b", 3);
	assert_int_equal(sim_service_call_async(call, "echo", &echo, q, sim_builder_size(&b), 0, on_answer, &a),
			 -EINVAL);
	assert_non_null(strstr(sim_why(), "NUL"));
	assert_int_equal(sim_client_state(call), SIM_CLIENT_CONNECTED);
	sim_service_destroy(l.sv);
}

TEST_WITH(wrong_arguments_are_refused, setup, teardown)
{
	struct sim_service_options o = { .size = sizeof(o) };
	struct sim_SetBoolRequest q = { 0 };
	struct lamp l = { 0 }, second = { 0 };
	struct sim_service *sv;
	uint8_t out[64];

	assert_int_equal(sim_service_offer(prov, "x", NULL, NULL, on_lamp, &l, &sv), -EINVAL);
	assert_int_equal(sim_service_offer(prov, "x", &sim_SetBool_service, NULL, NULL, &l, &sv), -EINVAL);
	assert_int_equal(sim_service_offer(prov, "a b", &sim_SetBool_service, NULL, on_lamp, &l, &sv), -EINVAL);
	o.queue = 257;
	assert_int_equal(sim_service_offer(prov, "x", &sim_SetBool_service, &o, on_lamp, &l, &sv), -EINVAL);
	o.queue = 0;
	o.deadline_dur_ns = -1;
	assert_int_equal(sim_service_offer(prov, "x", &sim_SetBool_service, &o, on_lamp, &l, &sv), -EINVAL);
	o.size = 1;
	assert_int_equal(sim_service_offer(prov, "x", &sim_SetBool_service, &o, on_lamp, &l, &sv), -EINVAL);
	offer(&l, "lamp");
	assert_int_equal(sim_service_offer(prov, "lamp", &sim_SetBool_service, NULL, on_lamp, &second, &sv), -EEXIST);
	assert_non_null(strstr(sim_why(), "provider"));
	assert_int_equal(sim_service_call(call, "lamp", &sim_SetBool_service, &q, 0, 0, out, sizeof(out), NULL),
			 -EINVAL);
	assert_int_equal(sim_service_call(call, "lamp", &sim_SetBool_service, &q, sizeof(q), 0, NULL, 0, NULL),
			 -EINVAL);
	assert_int_equal(sim_service_call(call, NULL, &sim_SetBool_service, &q, sizeof(q), 0, out, sizeof(out), NULL),
			 -EINVAL);
	assert_int_equal(sim_service_state(NULL), -EINVAL);
	sim_service_destroy(NULL);
	sim_service_watcher_destroy(NULL);
	sim_service_type_unref(NULL);
	sim_service_destroy(l.sv);
}

/* The provider processes nothing: the deadline of the call, and then that of the service, ends the call. */
TEST_WITH(deadlines_of_the_call_and_of_the_service_are_kept, setup, teardown)
{
	struct sim_service_options o = { .size = sizeof(o), .queue = 1, .deadline_dur_ns = 500 * MS };
	struct sim_SetBoolRequest q = { 0 };
	struct lamp l = { 0 };
	struct answer a[3];
	uint8_t out[64];

	assert_int_equal(sim_service_offer(prov, "lamp", &sim_SetBool_service, &o, on_lamp, &l, &l.sv), 0);
	assert_int_equal(sim_service_call(call, "lamp", &sim_SetBool_service, &q, sizeof(q), 100 * MS, out, sizeof(out),
					  NULL),
			 -ETIMEDOUT);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ask("lamp", true, 10 * S, &a[i]), 0);
	for (int i = 0; i < 600; i++) {
		world_run(&w, MS);
		sim_process(call);
	}
	assert_int_equal(a[0].r, -ETIMEDOUT);
	assert_int_equal(a[1].r, -EBUSY);
	assert_int_equal(a[2].r, -EBUSY);
	turns(10); /* the late answer is dropped */
	assert_int_equal(l.calls, 1);
	assert_int_equal(a[0].calls, 1);
	assert_int_equal(ask("lamp", true, 0, &a[0]), 0);
	turns(10);
	assert_int_equal(a[0].r, 0);
	sim_service_destroy(l.sv);
}

static int64_t skew_dur_ns;

static int64_t skewed_now(void *arg)
{
	return exec_now(((struct world *)arg)->x) + skew_dur_ns;
}

/* simd stops answering altogether: the client keeps the deadline itself, and ignores a later answer. */
TEST_WITH(a_call_times_out_when_simd_hangs, setup, teardown)
{
	struct answer a;
	struct lamp l = { 0 };

	offer(&l, "lamp");
	w.env.now = skewed_now;
	skew_dur_ns = 0;
	assert_int_equal(ask("lamp", true, 50 * MS, &a), 0);
	skew_dur_ns = 1040 * MS;
	sim_process(call);
	assert_int_equal(a.calls, 0);
	skew_dur_ns = 1060 * MS;
	sim_process(call);
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.r, -ETIMEDOUT);
	turns(10);
	assert_int_equal(l.calls, 1);
	assert_int_equal(a.calls, 1);
	sim_service_destroy(l.sv);
}

TEST_WITH(calls_end_when_their_provider_disconnects, setup, teardown)
{
	struct sim_client *other = world_client(&w, "other", 0);
	struct lamp l = { 0 };
	struct answer a, b;

	assert_int_equal(sim_service_offer(other, "lamp", &sim_SetBool_service, NULL, on_lamp, &l, &l.sv), 0);
	assert_int_equal(ask("lamp", true, 0, &a), 0);
	assert_int_equal(ask("lamp", true, 0, &b), 0);
	turns(10);
	assert_int_equal(a.calls, 0);
	sim_service_destroy(l.sv);
	sim_disconnect(other);
	turns(10);
	assert_int_equal(a.r, -EPIPE);
	assert_int_equal(b.r, -EPIPE);
	assert_int_equal(a.calls + b.calls, 2);
	offer(&l, "lamp"); /* the name is free */
	sim_service_destroy(l.sv);
}

TEST_WITH(a_killed_simd_ends_calls_and_services_return, setup, teardown)
{
	struct lamp l = { 0 };
	struct answer a, b;

	offer(&l, "lamp");
	assert_int_equal(ask("lamp", true, 0, &a), 0);
	world_run(&w, MS);
	world_kill_simd(&w);
	for (int i = 0; i < 10; i++) {
		sim_process(prov);
		sim_process(call);
	}
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.r, -ENOTCONN);
	assert_int_equal(sim_service_state(l.sv), -ENOTCONN);
	assert_int_equal(ask("lamp", true, 0, &b), -ENOTCONN);
	world_start_simd(&w);
	for (int i = 0; i < 100; i++)
		turns(20);
	assert_int_equal(sim_client_state(prov), SIM_CLIENT_CONNECTED);
	assert_int_equal(sim_service_state(l.sv), 0);
	assert_int_equal(ask("lamp", true, 0, &a), 0);
	turns(10);
	assert_int_equal(a.r, 0);
	assert_int_equal(a.calls, 1);
	sim_service_destroy(l.sv);
}

TEST_WITH(a_shutdown_of_simd_ends_open_calls, setup, teardown)
{
	struct lamp l = { 0 };
	struct answer a;

	offer(&l, "lamp");
	assert_int_equal(ask("lamp", true, 0, &a), 0);
	world_run(&w, MS);
	service_all_close(w.simd);
	turns(10);
	assert_int_equal(a.r, -ECANCELED);
	sim_service_destroy(l.sv);
}

TEST_WITH(a_caller_may_disconnect_with_calls_open, setup, teardown)
{
	struct sim_client *other = world_client(&w, "other", 0);
	struct sim_SetBoolRequest q = { 0 };
	struct answer a = { 0 };
	struct lamp l = { 0 };

	offer(&l, "lamp");
	assert_int_equal(sim_service_call_async(other, "lamp", &sim_SetBool_service, &q, sizeof(q), 0, on_answer, &a),
			 0);
	sim_disconnect(other);
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.r, -ECANCELED);
	turns(10);
	sim_service_destroy(l.sv);
}

TEST_WITH(a_handler_may_withdraw_its_own_service, setup, teardown)
{
	struct lamp l = { .withdraw = true };
	struct answer a, b;

	offer(&l, "lamp");
	assert_int_equal(ask("lamp", true, 0, &a), 0);
	assert_int_equal(ask("lamp", true, 0, &b), 0);
	turns(10);
	assert_int_equal(l.calls, 1);
	assert_null(l.sv);
	assert_int_equal(a.calls, 1); /* withdrawn before it was answered */
	assert_int_equal(a.r, -EPIPE);
	assert_int_equal(b.r, -EPIPE);
}

/* ---- the list of services ---- */

struct seen {
	unsigned came, went;
	char names[8][100];
	const struct sim_service_type *type;
};

static void on_change(void *user, const char *name, const struct sim_service_type *type)
{
	struct seen *s = user;

	if (!type) {
		s->went++;
		return;
	}
	snprintf(s->names[s->came++ % 8], 100, "%s", name);
	s->type = type;
}

TEST_WITH(watchers_see_services_come_and_go, setup, teardown)
{
	const struct sim_service_type *t;
	struct sim_service_watcher *wa, *wb;
	struct seen a = { 0 }, b = { 0 };
	struct lamp l = { 0 }, m = { 0 };

	offer(&l, "lamp");
	assert_int_equal(sim_service_watch(call, on_change, &a, &wa), 0);
	turns(10);
	assert_int_equal(a.came, 1);
	assert_string_equal(a.names[0], "/car/lamp");
	assert_string_equal(a.type->name, "sim/SetBool");
	assert_true(sim_type_equal(a.type->response, &sim_SetBoolResponse_type));
	offer(&m, "/horn");
	turns(10);
	assert_int_equal(a.came, 2);
	assert_string_equal(a.names[1], "/horn");
	assert_int_equal(sim_service_watch(call, on_change, &b, &wb), 0);
	turns(10);
	assert_int_equal(b.came, 2);
	assert_int_equal(a.came, 2);
	sim_service_destroy(m.sv);
	turns(10);
	assert_int_equal(a.went + b.went, 2);
	assert_int_equal(sim_service_type_of(call, "lamp", &t), 0);
	assert_true(sim_type_equal(t->request, &sim_SetBoolRequest_type));
	sim_service_type_unref(t);
	assert_int_equal(sim_service_type_of(call, "/horn", &t), -ENOENT);
	sim_service_watcher_destroy(wb);
	world_kill_simd(&w);
	world_start_simd(&w);
	for (int i = 0; i < 100; i++)
		turns(20);
	/* counted this way, as the watcher may have seen it leave and return meanwhile */
	assert_int_equal(a.came - a.went, 1);
	sim_service_destroy(l.sv);
	turns(10);
	assert_int_equal(a.came, a.went);
	assert_int_equal(b.came, 2);
	sim_service_watcher_destroy(wa);
}
