/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters as simd and as ROS have them: values both ways, bounds, what is refused, requests that lie, what is a change. */
#include "support/test.h"

#include <errno.h>
#include <math.h>

#include <sim/srv/ListParams.h>

#include "cdr_reader.h"
#include "enc_wire.h"
#include "param_wire.h"

static _Alignas(64) uint8_t body[8192];

static void put(struct sim_builder *b, struct sim_ParamInfo *to, const char *name, uint8_t type, double v,
		const char *text)
{
	to->param.type = type;
	to->param.bool_value = type == SIM_PARAM_BOOL && v > 0;
	to->param.int_value = type == SIM_PARAM_INT ? (int64_t)v : 0;
	to->param.double_value = type == SIM_PARAM_DOUBLE ? v : 0;
	assert_int_equal(sim_Param_name_set_in(b, &to->param, name), 0);
	if (text)
		assert_int_equal(sim_Param_string_value_set_in(b, &to->param, text), 0);
}

/* on, rate (0.5 and more), count (up to 9), label. rate: what it is. free() by param_table_free(). */
static struct param_table *table_of(double rate, const char *label)
{
	struct param_table *t = calloc(1, sizeof(*t));
	struct sim_ParamInfo *info;
	struct sim_builder b;
	struct sim_ListParamsResponse *m = sim_ListParamsResponse_init(body, sizeof(body), &b);

	info = sim_ListParamsResponse_params_alloc(&b, 4);
	m->total = 9;
	put(&b, &info[0], "on", SIM_PARAM_BOOL, 1, NULL);
	put(&b, &info[1], "rate", SIM_PARAM_DOUBLE, rate, NULL);
	put(&b, &info[2], "count", SIM_PARAM_INT, 5, NULL);
	put(&b, &info[3], "label", SIM_PARAM_STRING, 0, label);
	info[1].has_min = info[2].has_max = 1;
	info[1].min = 0.5;
	info[2].max = 9;
	assert_int_equal(param_table_add(t, body, sim_builder_size(&b)), 4);
	assert_int_equal(t->total, 9);
	memset(body, 0xee, sizeof(body)); /* it was copied */
	return t;
}

static const struct param *find(const struct param_table *t, const char *name)
{
	return param_find(t, name, strlen(name));
}

static struct param_wish wish(const char *name, uint8_t type, double v, const char *text)
{
	return (struct param_wish){ .name = { name, strlen(name) },
				    .value = { .type = type,
					       .bool_value = v > 0,
					       .int_value = type == SIM_PARAM_INT ? (int64_t)v : 0,
					       .double_value = v,
					       .text = { text, strlen(text) } } };
}

/* What is set is what was asked for, and what is set back is what it was. */
TEST(values_go_both_ways)
{
	struct param_table *t = table_of(10, "top");
	struct param_wish w = wish("label", SIM_PARAM_STRING, 0, "rear");
	_Alignas(64) uint8_t request[512];
	const struct sim_SetParamRequest *q;
	size_t size;

	assert_int_equal(param_set_request(&w, request, sizeof(request), &size), 0);
	q = sim_SetParamRequest_from(request, size);
	assert_string_equal(sim_Param_name_in(q, size, &q->param), "label");
	assert_string_equal(sim_Param_string_value_in(q, size, &q->param), "rear");
	assert_int_equal(q->param.type, SIM_PARAM_STRING);
	assert_int_equal(param_restore_request(find(t, "label"), request, sizeof(request), &size), 0);
	assert_string_equal(sim_Param_string_value_in(q, size, &q->param), "top");
	assert_int_equal(param_restore_request(find(t, "rate"), request, sizeof(request), &size), 0);
	assert_true(q->param.type == SIM_PARAM_DOUBLE && q->param.double_value == 10);
	assert_int_equal(param_set_request(&w, request, 48, &size), -EMSGSIZE);
	param_table_free(t);
}

static void refused(const struct param_table *t, const char *name, uint8_t type, double v, const char *want)
{
	struct param_wish w = wish(name, type, v, "");
	char why[PARAM_WHY_MAX] = "";

	assert_int_equal(param_refused(find(t, name), &w, why), *want != '\0');
	assert_string_equal(why, want);
}

TEST(what_rclcpp_refuses)
{
	struct param_table *t = table_of(10, "top");

	refused(t, "rate", SIM_PARAM_DOUBLE, 0.5, "");
	refused(t, "rate", SIM_PARAM_DOUBLE, 1e300, "");
	refused(t, "rate", SIM_PARAM_DOUBLE, 0.25, "Parameter {rate} doesn't comply with floating point range.");
	refused(t, "count", SIM_PARAM_INT, -1e18, "");
	refused(t, "count", SIM_PARAM_INT, 9, "");
	refused(t, "count", SIM_PARAM_INT, 10, "Parameter {count} doesn't comply with integer range.");
	refused(t, "off", SIM_PARAM_BOOL, 1, "parameter 'off' cannot be set because it was not declared");
	refused(t, "on", 10, 1,
		"Wrong parameter type, parameter {on} is of type {bool}, setting it to {unknown type} is not allowed.");
	param_table_free(t);
}

/* A bound on one side is none on the other; an int's are ints. */
TEST(bounds_are_ranges)
{
	static const char *const asked[] = { "rate", "count" };
	struct param_text names[2];
	struct param_request q = { .names = names, .n = 2 };
	struct param_table *t = table_of(10, "");
	struct enc_wire w;
	struct iov_buf o;
	struct iovec iov[IOV_BUF_PIECES];
	double at_least, at_most;
	int64_t least, most;
	const uint8_t *p;

	for (int i = 0; i < 2; i++)
		names[i] = (struct param_text){ asked[i], strlen(asked[i]) };
	iov_buf_init(&o);
	wire_begin(&w, WIRE_CDR, &o);
	param_write_response(PARAM_DESCRIBE, &q, t, &w.enc);
	assert_int_equal(wire_finish(&w), 0);
	assert_int_equal(iov_buf_iov(&o, iov), 1);
	p = (const uint8_t *)iov[0].iov_base + 4;
	/* count; "rate", type; two empty strings; two bools: 4 + 9 + 1, 16 + 5, 24 + 5, 31; then at 32 the range */
	memcpy(&at_least, p + 40, 8);
	memcpy(&at_most, p + 48, 8);
	assert_true(at_least == 0.5 && at_most == (double)INFINITY);
	/* 64: none of ints; "count" at 68, 10 bytes, type, strings at 80 and 88, bools at 93; none at 96, one at 100 */
	memcpy(&least, p + 104, 8);
	memcpy(&most, p + 112, 8);
	assert_true(least == INT64_MIN && most == 9);
	iov_buf_finish(&o);
	param_table_free(t);
}

TEST(a_count_that_lies)
{
	static const uint8_t names[] = { 0, 1, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 'a', 0, 0, 0 };
	struct param_request q = { .n = 77 };
	struct cdr_reader d;
	uint8_t many[8] = { 0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff };

	for (unsigned call = 0; call < PARAM_CALLS_N; call++) {
		cdr_reader_begin(&d, WIRE_CDR, names, sizeof(names));
		assert_int_equal(param_read_request((enum param_call)call, &d.dec, &q), -EBADMSG);
		cdr_reader_begin(&d, WIRE_CDR, many, sizeof(many));
		assert_int_equal(param_read_request((enum param_call)call, &d.dec, &q), -EBADMSG);
	}
	assert_int_equal(q.n, 77);
}

TEST(a_body_that_is_none)
{
	struct param_table t = { .n = 0 };

	memset(body, 0xff, sizeof(body));
	assert_true(param_table_add(&t, body, 64) <= 0); /* its array lies outside: there is none */
	assert_int_equal(param_table_add(&t, body, 3), -EBADMSG);
	assert_true(t.n == 0 && t.n_bodies == 0);
}

TEST(what_is_a_change)
{
	struct param_table *a = table_of(10, "top"), *b = table_of(11, "top"), *c = table_of(10, "rear"),
			   *same = table_of(10, "top"), none = { .n = 0 };

	assert_false(param_changed(a, same));
	assert_true(param_changed(a, b) && param_changed(a, c) && param_changed(NULL, a) && param_changed(a, &none));
	assert_false(param_changed(NULL, &none));
	param_table_free(a);
	param_table_free(b);
	param_table_free(c);
	param_table_free(same);
}
