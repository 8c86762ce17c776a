/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a node, as another program sees them through simd: lists, reads, sets, refusals. */
#include "scenario/client/world.h"

#include <errno.h>

#include <sim/param.h>
#include <sim/srv/GetParam.h>
#include <sim/srv/ListParams.h>
#include <sim/srv/SetParam.h>

static struct world w;
static struct sim_client *node, *other;
static struct sim_params *p;
static uint8_t body[SIM_SERVICE_BODY_MAX] __attribute__((aligned(64)));
static size_t size;

static int setup(void **state)
{
	(void)state;
	world_create_threads(&w, "");
	node = world_client(&w, "lidar", 0);
	other = world_client(&w, "other", 0);
	if (sim_params_create(node, "lidar", &p) < 0)
		fail_msg("%s", sim_why());
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_params_destroy(p);
	sim_disconnect(node);
	sim_disconnect(other);
	world_destroy(&w);
	return 0;
}

static void declare(const char *name, struct sim_param_value v, const struct sim_param_options *o)
{
	if (sim_params_declare(p, name, &v, o) < 0)
		fail_msg("%s", sim_why());
}

static const struct sim_Param *get(const char *name)
{
	uint8_t q[256] __attribute__((aligned(8)));
	struct sim_builder b;

	sim_GetParamRequest_init(q, sizeof(q), &b);
	assert_int_equal(sim_GetParamRequest_name_set(&b, name), 0);
	if (sim_service_call(other, "lidar/get_parameter", &sim_GetParam_service, q, sim_builder_size(&b), 0, body,
			     sizeof(body), &size) < 0)
		fail_msg("%s", sim_why());
	return &sim_GetParamResponse_from(body, size)->param;
}

/* Sets a parameter. Returns NULL if it was accepted, otherwise the reason. */
static const char *set(const char *name, struct sim_param_value v)
{
	static uint8_t q[2 * SIM_PARAM_TEXT_MAX] __attribute__((aligned(8)));
	const struct sim_SetParamResponse *m;
	struct sim_SetParamRequest *to;
	struct sim_builder b;

	to = sim_SetParamRequest_init(q, sizeof(q), &b);
	assert_int_equal(sim_Param_name_set_in(&b, &to->param, name), 0);
	to->param.type = v.type;
	if (v.type == SIM_PARAM_BOOL)
		to->param.bool_value = v.as.b;
	else if (v.type == SIM_PARAM_INT)
		to->param.int_value = v.as.i;
	else if (v.type == SIM_PARAM_DOUBLE)
		to->param.double_value = v.as.d;
	else if (v.type == SIM_PARAM_STRING)
		assert_int_equal(sim_Param_string_value_set_in(&b, &to->param, v.as.s), 0);
	if (sim_service_call(other, "lidar/set_parameter", &sim_SetParam_service, q, sim_builder_size(&b), 0, body,
			     sizeof(body), &size) < 0)
		fail_msg("%s", sim_why());
	m = sim_SetParamResponse_from(body, size);
	return m->success ? NULL : sim_SetParamResponse_message(m, size);
}

static const struct sim_ParamInfo *list(uint32_t start, uint32_t *ret_n, uint32_t *ret_total)
{
	struct sim_ListParamsRequest q = { .start = start };
	const struct sim_ListParamsResponse *m;

	if (sim_service_call(other, "lidar/list_parameters", &sim_ListParams_service, &q, sizeof(q), 0, body,
			     sizeof(body), &size) < 0)
		fail_msg("%s", sim_why());
	m = sim_ListParamsResponse_from(body, size);
	*ret_total = m->total;
	return sim_ListParamsResponse_params(m, size, ret_n);
}

static int refuse_even(void *user, const char *name, const struct sim_param_value *v, char *why, size_t why_size)
{
	(void)user;
	if (v->as.i % 2)
		return 0;
	snprintf(why, why_size, "%s are odd", name);
	return -EDOM;
}

TEST_WITH(other_programs_set_and_read_parameters, setup, teardown)
{
	struct sim_param_options o = { .size = sizeof(o), .changed = refuse_even };
	struct sim_param_options fixed = { .size = sizeof(fixed), .read_only = true };
	const struct sim_Param *frame;
	char text[16];
	double d = 0;

	declare("rings", sim_param_int(63), &o);
	declare("frequency", sim_param_double(10), NULL);
	declare("frame", sim_param_string("top"), NULL);
	declare("serial", sim_param_bool(true), &fixed);
	assert_null(set("frequency", sim_param_double(20)));
	assert_int_equal(sim_params_get_double(p, "frequency", &d), 0);
	assert_true(d >= 20 && d <= 20);
	assert_null(set("frame", sim_param_string("fr\"ont")));
	assert_int_equal(sim_params_get_string(p, "frame", text, sizeof(text)), 0);
	assert_string_equal(text, "fr\"ont");
	frame = get("frame"); /* which sets body and size */
	assert_string_equal(sim_Param_string_value_in(body, size, frame), "fr\"ont");
	assert_null(set("rings", sim_param_int(-1)));
	assert_string_equal(set("rings", sim_param_int(2)), "parameter rings: rings are odd");
	assert_string_equal(set("rings", sim_param_string("2")), "parameter rings is of type int, not string");
	assert_int_equal(get("rings")->int_value, -1);
	assert_int_equal(get("rings")->type, SIM_PARAM_INT);
	assert_string_equal(set("serial", sim_param_bool(false)),
			    "parameter serial is read-only: only node lidar itself sets it");
	assert_int_equal(get("serial")->bool_value, 1);
	assert_string_equal(set("ring", sim_param_int(1)), "node lidar has no parameter ring");
	assert_string_equal(set("rings", (struct sim_param_value){ .type = 0 }),
			    "parameter rings: a value is a bool, an int, a double or a string");
	assert_int_equal(get("ring")->type, SIM_PARAM_NOT_SET);
}

TEST_WITH(a_second_node_of_the_same_name_is_refused, setup, teardown)
{
	struct sim_params *q = NULL;

	assert_int_equal(sim_params_create(other, "lidar", &q), -EEXIST);
	assert_non_null(strstr(sim_why(), "lidar"));
	assert_null(q);
	assert_int_equal(sim_params_create(other, "lidar2", &q), 0);
	sim_params_destroy(q);
	assert_int_equal(sim_params_create(other, "lidar2", &q), 0); /* the name is free again */
	sim_params_destroy(q);
}

TEST_WITH(a_list_has_the_type_and_bounds_of_each_parameter, setup, teardown)
{
	struct sim_param_options o = { .size = sizeof(o),
				       .description = "[Hz] turns a second",
				       .min = sim_param_double(1),
				       .max = sim_param_double(100) };
	const struct sim_ParamInfo *i;
	uint32_t n, total;

	assert_null(list(0, &n, &total));
	assert_int_equal(total, 0);
	declare("frequency", sim_param_double(10), &o);
	declare("a", sim_param_string("x"), NULL);
	assert_null(set("frequency", sim_param_double(20)));
	i = list(0, &n, &total);
	assert_int_equal(n, 2);
	assert_int_equal(total, 2);
	assert_string_equal(sim_Param_name_in(body, size, &i[0].param), "a");
	assert_string_equal(sim_Param_name_in(body, size, &i[1].param), "frequency");
	assert_string_equal(sim_ParamInfo_description_in(body, size, &i[1]), "[Hz] turns a second");
	assert_true(i[1].param.double_value >= 20 && i[1].initial.double_value <= 10);
	assert_true(i[1].has_min && i[1].has_max && !i[1].read_only && i[1].min <= 1 && i[1].max >= 100);
	assert_true(!i[0].has_min && !i[0].has_max);
	assert_non_null(list(1, &n, &total));
	assert_int_equal(n, 1);
	assert_null(list(2, &n, &total));
	assert_null(list(UINT32_MAX, &n, &total));
	assert_int_equal(total, 2);
}

/* Parameters with the longest texts: each answer fits, and lists some of them. */
TEST_WITH(the_longest_parameters_are_listed, setup, teardown)
{
	static char text[SIM_PARAM_TEXT_MAX + 1], description[SIM_PARAM_DESCRIPTION_MAX + 1];
	struct sim_param_options o = { .size = sizeof(o), .description = description };
	uint32_t n, total = 1, seen = 0;
	char name[SIM_PARAM_NAME_MAX + 1];

	memset(text, 1, sizeof(text) - 1); /* control characters: six bytes of JSON each */
	memset(description, 1, sizeof(description) - 1);
	for (unsigned i = 0; i < SIM_PARAMS_MAX; i++) {
		snprintf(name, sizeof(name), "%063u", i);
		declare(name, sim_param_string(text), &o);
	}
	while (seen < total) {
		const struct sim_ParamInfo *i = list(seen, &n, &total);

		assert_true(n > 0);
		for (uint32_t k = 0; k < n; k++) {
			snprintf(name, sizeof(name), "%063u", seen + k);
			assert_string_equal(sim_Param_name_in(body, size, &i[k].param), name);
		}
		seen += n;
	}
	assert_int_equal(seen, SIM_PARAMS_MAX);
}
