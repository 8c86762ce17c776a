/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services between simbridge's host and a plug-in, over a library of the test's own that answers on the test's command:
 * each call is answered once, by the library or by the end of the connection, whichever is first.
 */
#include "support/test.h"

#include <errno.h>
#include <string.h>

#include <sim/srv/SetBool.h>

#include "host.h"

#define CALLS_MAX 64

static struct {
	sim_service_watch_fn watch;
	void *user;
	bool watched;
	unsigned watches; /* so far */
	int refuse;       /* the next calls */
	unsigned n;
	struct {
		sim_answer_fn fn;
		void *user;
	} call[CALLS_MAX];
	sim_service_fn handler; /* of the offered service; NULL: none */
	void *handler_user;
	int refuse_offer, answer;
} lib;

/* ---- the library, as the host sees it ---- */

int sim_service_watch(struct sim_client *c, sim_service_watch_fn fn, void *user, struct sim_service_watcher **ret)
{
	lib.watch = fn;
	lib.user = user;
	lib.watched = true;
	lib.watches++;
	*ret = (struct sim_service_watcher *)(void *)c;
	return 0;
}

void sim_service_watcher_destroy(struct sim_service_watcher *w)
{
	if (w)
		lib.watched = false;
}

int sim_service_call_async(struct sim_client *c, const char *name, const struct sim_service_type *type,
			   const void *request, size_t size, int64_t timeout_dur_ns, sim_answer_fn fn, void *user)
{
	(void)c;
	(void)timeout_dur_ns;
	assert_string_equal(name, "/lamp");
	assert_string_equal(type->name, "sim/SetBool");
	assert_true(request && size == sizeof(struct sim_SetBoolRequest));
	if (lib.refuse)
		return lib.refuse;
	assert_true(lib.n < CALLS_MAX);
	lib.call[lib.n].fn = fn;
	lib.call[lib.n++].user = user;
	return 0;
}

int sim_service_offer(struct sim_client *c, const char *name, const struct sim_service_type *type,
		      const struct sim_service_options *o, sim_service_fn fn, void *user, struct sim_service **ret)
{
	assert_string_equal(name, "far/lamp");
	assert_string_equal(type->name, "sim/SetBool");
	assert_true(o && o->size == sizeof(*o) && o->queue >= 100); /* of several clients at once */
	if (lib.refuse_offer)
		return lib.refuse_offer;
	lib.handler = fn;
	lib.handler_user = user;
	*ret = (struct sim_service *)(void *)c;
	return 0;
}

void sim_service_destroy(struct sim_service *sv)
{
	assert_non_null(sv);
	lib.handler = NULL;
}

int sim_service_defer(struct sim_client *c, struct sim_pending **ret)
{
	*ret = (struct sim_pending *)(void *)c;
	return 0;
}

int sim_service_answer(struct sim_pending *p, int result, const char *why, const void *response, size_t size)
{
	assert_ptr_equal(p, &lib);
	assert_true(why && !response && !size);
	lib.answer = result;
	return 0;
}

static void lib_answers(unsigned i, int r)
{
	struct sim_SetBoolResponse m = { .success = 1 };

	lib.call[i].fn(lib.call[i].user, r, r < 0 ? "no" : "", r < 0 ? NULL : &m, r < 0 ? 0 : sizeof(m));
}

/* ---- the plug-in's side ---- */

struct seen {
	unsigned calls;
	int r;
	struct host *h; /* call again from the answer */
};

static int call(struct host *h, struct seen *s);

static void on_answer(void *user, int r, const char *why, const void *response, size_t size)
{
	struct seen *s = user;

	assert_true((r == 0) == (response != NULL) && (r < 0 || size == sizeof(struct sim_SetBoolResponse)) && why);
	s->calls++;
	s->r = r;
	if (s->h && s->calls == 1)
		assert_int_equal(call(s->h, s), 0);
}

static int call(struct host *h, struct seen *s)
{
	struct sim_SetBoolRequest q = { .data = 1 };

	return h->services.call(h, "/lamp", &sim_SetBool_service, &q, sizeof(q), 0, on_answer, s);
}

static struct host *start(const char *options)
{
	json_t *config = json_object();
	struct host *h;

	memset(&lib, 0, sizeof(lib));
	json_object_set_new(config, "plugin", json_string(FAULTY));
	json_object_set_new(config, "options", json_loads(options, 0, NULL));
	/* never looked into: what would is the test's own */
	assert_int_equal(host_create((struct sim_client *)(void *)&lib, "", config, &h), 0);
	json_decref(config);
	host_connect(h, "");
	return h;
}

static void on_request(void *user, const void *request, size_t size, struct sim_pending *p)
{
	unsigned *n = user;

	assert_true(size == sizeof(struct sim_SetBoolRequest) && request);
	assert_ptr_equal(p, &lib);
	++*n;
}

/* What the far side serves is offered, answered later, and not offered to the far side again. */
TEST(a_service_of_the_far_side_is_called)
{
	struct host *h = start("{\"call\":\"/car/far/lamp\", \"calls\":1}");
	const struct sim_bridge_host *host = &h->services;
	struct sim_SetBoolRequest q = { .data = 1 };
	struct sim_request req = { .body = &q, .size = sizeof(q) };
	unsigned n = 0;

	json_object_set_new(h->config, "prefix", json_string("/car"));
	assert_int_equal(host->serve(h, "far/lamp", NULL, NULL, NULL), -ENOENT);
	lib.refuse_offer = -EEXIST;
	assert_int_equal(host->serve(h, "far/lamp", &sim_SetBool_service, on_request, &n), -EEXIST);
	lib.refuse_offer = 0;
	assert_int_equal(host->serve(h, "far/lamp", &sim_SetBool_service, on_request, &n), 0);
	assert_int_equal(host->serve(h, "far/lamp", &sim_SetBool_service, on_request, &n), -EEXIST);
	assert_int_equal(lib.handler(lib.handler_user, &req), 0);
	assert_int_equal(n, 1);
	assert_int_equal(host->answer(h, (struct sim_pending *)(void *)&lib, -EIO, "broken", NULL, 0), 0);
	assert_int_equal(lib.answer, -EIO);
	lib.watch(lib.user, "/car/far/lamp", &sim_SetBool_service);
	assert_int_equal(lib.n, 0); /* the plug-in, which would call it, does not know it */
	assert_int_equal(host->serve(h, "far/lamp", NULL, NULL, NULL), 0);
	assert_null(lib.handler);
	host_destroy(h);
}

TEST(a_call_is_answered_once)
{
	struct host *h = start("{}");
	struct seen s[3] = { { 0 } };

	assert_true(lib.watched);
	for (int i = 0; i < 3; i++)
		assert_int_equal(call(h, &s[i]), 0);
	lib_answers(1, 0);
	lib_answers(0, -ETIMEDOUT);
	assert_int_equal(s[0].r, -ETIMEDOUT);
	assert_int_equal(s[1].calls, 1);
	assert_int_equal(s[2].calls, 0);
	host_disconnect(h);
	assert_false(lib.watched);
	assert_int_equal(s[2].r, -ECANCELED);
	assert_int_equal(call(h, &s[0]), -ENOTCONN);
	host_connect(h, "");
	s[2] = (struct seen){ .h = h };
	assert_int_equal(call(h, &s[2]), 0);
	lib_answers(2, 0); /* late, of the first connection: ignored */
	assert_int_equal(s[2].calls, 0);
	lib_answers(3, 0);
	assert_int_equal(s[2].calls, 1);
	lib_answers(4, 0); /* what the answer had called */
	assert_int_equal(s[2].calls, 2);
	host_destroy(h);
}

/* The library may answer when the host is long gone. */
TEST(calls_are_answered_after_the_end)
{
	struct host *h = start("{}");
	struct seen s = { 0 };

	assert_int_equal(call(h, &s), 0);
	host_destroy(h);
	assert_int_equal(s.calls, 1);
	assert_int_equal(s.r, -ECANCELED);
	lib_answers(0, 0);
	assert_int_equal(s.calls, 1);
}

TEST(calls_are_bounded)
{
	struct host *h = start("{}");
	struct seen s = { 0 };

	for (int i = 0; i < HOST_CALLS_MAX; i++)
		assert_int_equal(call(h, &s), 0);
	assert_int_equal(call(h, &s), -EBUSY);
	lib_answers(0, 0);
	assert_int_equal(call(h, &s), 0);
	assert_int_equal(h->services.call(h, NULL, &sim_SetBool_service, &s, 1, 0, on_answer, &s), -EINVAL);
	host_destroy(h);
	assert_int_equal(s.calls, HOST_CALLS_MAX + 1);
	for (int i = 1; i <= HOST_CALLS_MAX; i++)
		lib_answers((unsigned)i, 0);
	assert_int_equal(s.calls, HOST_CALLS_MAX + 1);
}

TEST(a_call_may_be_refused_by_the_library)
{
	struct host *h = start("{}");
	struct seen s = { 0 };

	lib.refuse = -ENOTCONN;
	for (int i = 0; i < 2 * HOST_CALLS_MAX; i++)
		assert_int_equal(call(h, &s), -ENOTCONN);
	lib.refuse = 0;
	assert_int_equal(call(h, &s), 0);
	lib_answers(0, 0);
	assert_int_equal(s.calls, 1);
	host_destroy(h);
}

/*
 * The far side disconnects and reconnects: all services are announced to it again, and its earlier requests are
 * answered.
 */
TEST(after_a_reconnect_services_are_announced_again)
{
	struct host *h = start("{}");
	struct seen s[2] = { { 0 } };

	assert_int_equal(call(h, &s[0]), 0);
	h->services.status(h, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED, "lost");
	host_connection_step(h, 0);
	assert_int_equal(lib.watches, 1);
	host_connection_step(h, 1000000000); /* connects */
	host_connection_step(h, 1000000000); /* and tells all again */
	assert_int_equal(lib.watches, 2);
	assert_true(lib.watched);
	assert_int_equal(s[0].calls, 1);
	assert_int_equal(s[0].r, -ECANCELED);
	assert_int_equal(call(h, &s[1]), 0);
	lib_answers(0, 0);
	lib_answers(1, 0);
	assert_int_equal(s[0].calls, 1);
	assert_int_equal(s[1].calls, 1);
	host_destroy(h);
}

/* The null bridge calls the configured service, again and again while it exists. */
TEST(the_plug_in_learns_which_services_exist)
{
	struct host *h = start("{\"call\": \"/lamp\", \"calls\": 3}");

	lib.watch(lib.user, "/other", &sim_SetBool_service);
	assert_int_equal(lib.n, 0);
	lib.watch(lib.user, "/lamp", &sim_SetBool_service);
	lib.watch(lib.user, "/lamp", &sim_SetBool_service); /* it knows */
	assert_int_equal(lib.n, 1);
	lib_answers(0, 0);
	assert_int_equal(lib.n, 2);
	lib.watch(lib.user, "/lamp", NULL);
	lib.watch(lib.user, "/never", NULL);
	lib_answers(1, -EPIPE);
	assert_int_equal(lib.n, 2);
	lib.watch(lib.user, "/lamp", &sim_SetBool_service);
	assert_int_equal(lib.n, 3);
	lib_answers(2, 0);
	assert_int_equal(lib.n, 3); /* three were asked for */
	host_destroy(h);
}

static int prepare(void **state)
{
	(void)state;
	log_set_spec("none");
	return 0;
}

TEST_GROUP(prepare, NULL)
