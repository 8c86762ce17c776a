/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters inside one program: declaring, checking, refusing and reading. Thread: the test's, and setters beside it.
 */
#include "tests/support/test.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <sim/introspect.h>
#include <sim/param.h>
#include <sim/service.h>
#include <sim/srv/NodeInfo.h>

#include "err.h"
#include "mem.h"

static struct sim_params *p;

static int begin(void **state)
{
	(void)state;
	return sim_params_create(NULL, "lidar", &p);
}

static int end(void **state)
{
	(void)state;
	sim_params_destroy(p);
	sim_params_destroy(NULL);
	return 0;
}

static struct sim_param_options bounds(struct sim_param_value min, struct sim_param_value max)
{
	return (struct sim_param_options){ .size = sizeof(struct sim_param_options), .min = min, .max = max };
}

static int declare(const char *name, struct sim_param_value v, const struct sim_param_options *o)
{
	return sim_params_declare(p, name, &v, o);
}

static int set(const char *name, struct sim_param_value v)
{
	return sim_params_set(p, name, &v);
}

static int64_t get_int(const char *name)
{
	int64_t i = -1;

	assert_int_equal(sim_params_get_int(p, name, &i), 0);
	return i;
}

#define REFUSED(call, errnum, sentence) \
	do { \
		assert_int_equal(call, -(errnum)); \
		assert_string_equal(err_why(), sentence); \
	} while (0)

TEST_WITH(each_type_is_set_and_read, begin, end)
{
	char text[8];
	bool b = true;
	double d = 0;

	assert_int_equal(declare("on", sim_param_bool(false), NULL), 0);
	assert_int_equal(declare("rings", sim_param_int(INT64_MIN), NULL), 0);
	assert_int_equal(declare("frequency", sim_param_double(10.5), NULL), 0);
	assert_int_equal(declare("frame", sim_param_string("lidar"), NULL), 0);
	assert_int_equal(sim_params_get_bool(p, "on", &b), 0);
	assert_false(b);
	assert_true(get_int("rings") == INT64_MIN);
	assert_int_equal(sim_params_get_double(p, "frequency", &d), 0);
	assert_true(d >= 10.5 && d <= 10.5);
	assert_int_equal(set("on", sim_param_bool(true)), 0);
	assert_int_equal(set("rings", sim_param_int(64)), 0);
	assert_int_equal(set("frequency", sim_param_double(20)), 0);
	assert_int_equal(set("frame", sim_param_string("l\xc3\xb6")), 0);
	assert_int_equal(sim_params_get_bool(p, "on", &b), 0);
	assert_true(b);
	assert_int_equal(get_int("rings"), 64);
	assert_int_equal(sim_params_get_double(p, "frequency", &d), 0);
	assert_true(d >= 20 && d <= 20);
	assert_int_equal(sim_params_get_string(p, "frame", text, 4), 0);
	assert_string_equal(text, "l\xc3\xb6");
	REFUSED(sim_params_get_string(p, "frame", text, 3), ENOBUFS,
		"parameter frame: 3 bytes and its NUL do not fit into 3");
}

TEST_WITH(parameters_are_listed_by_name, begin, end)
{
	assert_int_equal(declare("b", sim_param_int(1), NULL), 0);
	assert_int_equal(declare("c", sim_param_bool(true), NULL), 0);
	assert_int_equal(declare("a", sim_param_string(""), NULL), 0);
	assert_int_equal(sim_params_count(p), 3);
	assert_string_equal(sim_params_name(p, 0), "a");
	assert_string_equal(sim_params_name(p, 1), "b");
	assert_string_equal(sim_params_name(p, 2), "c");
	assert_null(sim_params_name(p, 3));
	assert_int_equal(sim_params_type(p, "a"), SIM_PARAM_STRING);
	assert_int_equal(sim_params_type(p, "b"), SIM_PARAM_INT);
	assert_int_equal(sim_params_type(p, "d"), SIM_PARAM_NOT_SET);
	assert_int_equal(sim_params_count(NULL), 0);
	assert_null(sim_params_name(NULL, 0));
	assert_int_equal(sim_params_type(NULL, "a"), SIM_PARAM_NOT_SET);
}

TEST_WITH(another_type_is_refused, begin, end)
{
	struct sim_param_value odd = { .type = 9 };
	bool b;

	assert_int_equal(declare("rings", sim_param_int(64), NULL), 0);
	REFUSED(set("rings", sim_param_double(3)), EINVAL, "parameter rings is of type int, not double");
	REFUSED(set("rings", odd), EINVAL, "parameter rings: a value is a bool, an int, a double or a string");
	REFUSED(sim_params_get_bool(p, "rings", &b), EINVAL, "parameter rings is of type int, not bool");
	REFUSED(set("ring", sim_param_int(3)), ENOENT, "node lidar has no parameter ring");
	REFUSED(sim_params_get_bool(p, "ring", &b), ENOENT, "node lidar has no parameter ring");
	assert_int_equal(get_int("rings"), 64);
}

TEST_WITH(bounds_are_enforced, begin, end)
{
	struct sim_param_options o = bounds(sim_param_int(1), sim_param_int(128));
	struct sim_param_options d = bounds(sim_param_double(0.5), (struct sim_param_value){ .type = 0 });

	REFUSED(declare("rings", sim_param_int(0), &o), ERANGE,
		"parameter rings: 0 is less than 1, the least that it may be");
	assert_int_equal(declare("rings", sim_param_int(128), &o), 0);
	assert_int_equal(set("rings", sim_param_int(1)), 0);
	REFUSED(set("rings", sim_param_int(129)), ERANGE,
		"parameter rings: 129 is more than 128, the most that it may be");
	assert_int_equal(get_int("rings"), 1);
	assert_int_equal(declare("rate", sim_param_double(0.5), &d), 0);
	assert_int_equal(set("rate", sim_param_double(1e300)), 0);
	REFUSED(set("rate", sim_param_double(0.25)), ERANGE,
		"parameter rate: 0.25 is less than 0.5, the least that it may be");
	REFUSED(set("rate", sim_param_double(NAN)), EINVAL, "parameter rate: a double is a finite number");
	REFUSED(set("rate", sim_param_double(INFINITY)), EINVAL, "parameter rate: a double is a finite number");
	REFUSED(declare("x", sim_param_string(""), &o), EINVAL,
		"parameter x: bounds are for ints and doubles, and of the same type");
	REFUSED(declare("x", sim_param_double(2), &o), EINVAL,
		"parameter x: bounds are for ints and doubles, and of the same type");
	o = bounds(sim_param_int(2), sim_param_int(1));
	REFUSED(declare("x", sim_param_int(2), &o), EINVAL, "parameter x: its greatest value is less than its least");
	o.size = 1;
	assert_int_equal(declare("x", sim_param_int(2), &o), -EINVAL);
}

TEST_WITH(names_and_texts_are_checked, begin, end)
{
	static char longest[SIM_PARAM_TEXT_MAX + 2], name[SIM_PARAM_NAME_MAX + 2];
	struct sim_param_options o = { .size = sizeof(o), .description = longest };
	struct sim_params *q;

	memset(longest, 'x', sizeof(longest) - 1);
	memset(name, 'n', sizeof(name) - 1);
	REFUSED(declare(name, sim_param_int(0), NULL), EINVAL, "a parameter's name has 1 to 63 characters");
	name[SIM_PARAM_NAME_MAX] = '\0';
	assert_int_equal(declare(name, sim_param_int(0), NULL), 0);
	REFUSED(declare(name, sim_param_int(0), NULL), EEXIST, err_why());
	assert_int_equal(declare("", sim_param_int(0), NULL), -EINVAL);
	assert_int_equal(declare("a b", sim_param_int(0), NULL), -EINVAL);
	assert_int_equal(declare(NULL, sim_param_int(0), NULL), -EINVAL);
	REFUSED(declare("s", sim_param_string(longest), NULL), EINVAL, "parameter s: a string has at most 4096 bytes");
	longest[SIM_PARAM_TEXT_MAX] = '\0';
	assert_int_equal(declare("s", sim_param_string(longest), NULL), 0);
	REFUSED(set("s", sim_param_string("\xff")), EINVAL, "parameter s: the string is not UTF-8");
	REFUSED(set("s", sim_param_string(NULL)), EINVAL, "parameter s: a string is NULL");
	REFUSED(declare("t", sim_param_int(0), &o), EINVAL,
		"parameter t: its description is UTF-8 of at most 255 bytes");
	assert_int_equal(sim_params_create(NULL, "/lidar", &q), -EINVAL);
	assert_int_equal(sim_params_create(NULL, "a//b", &q), -EINVAL);
	assert_int_equal(sim_params_create(NULL, NULL, &q), -EINVAL);
	assert_int_equal(sim_params_create(NULL, "lidar", NULL), -EINVAL);
}

TEST_WITH(the_number_of_parameters_is_bounded, begin, end)
{
	char name[16];

	for (unsigned i = 0; i < SIM_PARAMS_MAX; i++) {
		snprintf(name, sizeof(name), "p%u", i);
		assert_int_equal(declare(name, sim_param_int(i), NULL), 0);
	}
	REFUSED(declare("more", sim_param_int(0), NULL), EMFILE, "node lidar has 256 parameters, and may have no more");
	for (unsigned i = 0; i < SIM_PARAMS_MAX; i++) {
		snprintf(name, sizeof(name), "p%u", i);
		assert_int_equal(get_int(name), i);
	}
}

/* ---- the callback ---- */

struct asked {
	unsigned calls;
	int answer;
	const char *why;
	int64_t seen, before;
	int nested;
};

static int on_change(void *user, const char *name, const struct sim_param_value *v, char *why, size_t why_size)
{
	struct asked *a = user;
	struct sim_param_value again = sim_param_int(5);

	a->calls++;
	a->seen = v->as.i;
	a->before = get_int(name);
	a->nested = sim_params_set(p, name, &again);
	if (a->why)
		snprintf(why, why_size, "%s", a->why);
	return a->answer;
}

TEST_WITH(the_callback_decides_about_a_change, begin, end)
{
	struct asked a = { .answer = 0 };
	struct sim_param_options o = { .size = sizeof(o), .read_only = true, .changed = on_change, .user = &a };

	assert_int_equal(declare("n", sim_param_int(1), &o), 0);
	assert_int_equal(a.calls, 0);
	assert_int_equal(set("n", sim_param_int(2)), 0); /* read-only is for others */
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.seen, 2);
	assert_int_equal(a.before, 1);
	assert_int_equal(a.nested, -EDEADLK);
	assert_int_equal(get_int("n"), 2);
	a.answer = -EBUSY;
	a.why = "the motor turns";
	REFUSED(set("n", sim_param_int(3)), EBUSY, "parameter n: the motor turns");
	assert_int_equal(get_int("n"), 2);
	a.why = NULL;
	assert_int_equal(set("n", sim_param_int(3)), -EBUSY);
	assert_int_equal(set("n", sim_param_bool(true)), -EINVAL);
	assert_int_equal(a.calls, 3); /* it is not asked about what cannot be */
}

/* ---- threads ---- */

static _Atomic int inside;

static int alone(void *user, const char *name, const struct sim_param_value *v, char *why, size_t why_size)
{
	(void)user;
	(void)name;
	(void)v;
	(void)why;
	(void)why_size;
	assert_int_equal(atomic_fetch_add(&inside, 1), 0);
	sched_yield();
	atomic_fetch_sub(&inside, 1);
	return 0;
}

static void *setter(void *arg)
{
	const char *text = arg;

	for (int i = 0; i < 500; i++)
		assert_int_equal(set("s", sim_param_string(text)), 0);
	return NULL;
}

TEST_WITH(changes_happen_one_at_a_time, begin, end)
{
	struct sim_param_options o = { .size = sizeof(o), .changed = alone };
	char *texts[2] = { (char *)(uintptr_t) "aaaaaaaa", (char *)(uintptr_t) "bbbb" };
	pthread_t t[2];
	char got[16];

	assert_int_equal(declare("s", sim_param_string("aaaaaaaa"), &o), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, setter, texts[i]), 0);
	for (int i = 0; i < 500; i++) {
		assert_int_equal(sim_params_get_string(p, "s", got, sizeof(got)), 0);
		assert_true(strcmp(got, texts[0]) == 0 || strcmp(got, texts[1]) == 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

/* ---- out of memory ---- */

TEST(running_out_of_memory_leaks_nothing)
{
	struct mem_stats before, after;

	mem_stats(&before);
	for (int64_t n = 1;; n++) {
		int r;

		mem_fail_after(n);
		p = NULL;
		r = sim_params_create(NULL, "lidar", &p);
		if (r == 0)
			r = declare("s", sim_param_string("one"), NULL);
		if (r == 0)
			r = set("s", sim_param_string("two"));
		mem_fail_after(0);
		sim_params_destroy(p);
		mem_stats(&after);
		assert_int_equal(after.blocks, before.blocks);
		if (r == 0)
			break;
		assert_int_equal(r, -ENOMEM);
	}
}

/* ---- sim/NodeInfo ---- */

static void text(int (*put)(struct sim_builder *, void *, const char *), struct sim_builder *b, void *e, size_t len)
{
	char s[128];

	memset(s, 'x', len);
	s[len] = '\0';
	assert_int_equal(put(b, e, s), 0);
}

#define PUT(type, field) \
	static int type##_##field(struct sim_builder *b, void *e, const char *s) \
	{ \
		return sim_##type##_##field##_set_in(b, e, s); \
	}
PUT(NodeReader, channel)
PUT(NodeReader, channel_type)
PUT(NodeReader, delivery)
PUT(NodeWriter, channel)
PUT(NodeWriter, channel_type)
PUT(NodeWriter, transport)
PUT(NodeTimer, name)
PUT(NodeInfoResponse, name)
PUT(NodeInfoResponse, process)
PUT(NodeInfoResponse, host)
PUT(NodeInfoResponse, mode)
PUT(NodeInfoResponse, component)

static void fill_lists(struct sim_builder *b)
{
	struct sim_NodeReader *r = sim_NodeInfoResponse_readers_alloc(b, 64);
	struct sim_NodeWriter *w = sim_NodeInfoResponse_writers_alloc(b, 64);
	struct sim_NodeTimer *t = sim_NodeInfoResponse_timers_alloc(b, 32);

	assert_true(r && w && t);
	for (int i = 0; i < 64; i++) {
		r[i].received = r[i].processed = r[i].overrun = r[i].lost = UINT64_MAX;
		r[i].depth = r[i].pending = UINT32_MAX;
		text(NodeReader_channel, b, &r[i], 99);
		text(NodeReader_channel_type, b, &r[i], 63);
		text(NodeReader_delivery, b, &r[i], 15);
		w[i].written = w[i].refused = w[i].intra = UINT64_MAX;
		text(NodeWriter_channel, b, &w[i], 99);
		text(NodeWriter_channel_type, b, &w[i], 63);
		text(NodeWriter_transport, b, &w[i], 15);
		if (i >= 32)
			continue;
		t[i].period = INT64_MIN;
		t[i].fired = t[i].missed = UINT64_MAX;
		text(NodeTimer_name, b, &t[i], 100);
	}
}

static int count_out(void *user, const char *data, size_t len)
{
	(void)data;
	*(size_t *)user += len;
	return 0;
}

/* Also in JSON form. */
TEST(the_largest_node_fits_into_an_answer)
{
	static uint8_t body[SIM_SERVICE_BODY_MAX] __attribute__((aligned(64)));
	struct sim_json_options o = { .exact = true };
	struct sim_NodeInfoResponse *m;
	struct sim_builder b;
	size_t json = 0;

	m = sim_NodeInfoResponse_init(body, sizeof(body), &b);
	memset(m, 0xff, offsetof(struct sim_NodeInfoResponse, name));
	text(NodeInfoResponse_name, &b, m, 63);
	text(NodeInfoResponse_process, &b, m, 63);
	text(NodeInfoResponse_host, &b, m, 40);
	text(NodeInfoResponse_mode, &b, m, 15);
	text(NodeInfoResponse_component, &b, m, 63);
	fill_lists(&b);
	assert_int_equal(sim_msg_to_json(&sim_NodeInfoResponse_type, body, sim_builder_size(&b), &o, count_out, &json),
			 0);
	assert_in_range(json, 50000, SIM_SERVICE_BODY_MAX - 512);
}
