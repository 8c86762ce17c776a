/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of nodes. Thread: main. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/msg/Param.h>
#include <sim/srv/GetParam.h>
#include <sim/srv/ListParams.h>
#include <sim/srv/SetParam.h>

#include "ask.h"
#include "number.h"
#include "printable.h"

#define LIST "list_parameters"

/* For each type of sim/Param: its name, and the field that holds its value. */
static const struct {
	const char *name, *field;
} TYPES[] = {
	[SIM_PARAM_NOT_SET] = { "none", NULL },
	[SIM_PARAM_BOOL] = { "bool", "bool_value" },
	[SIM_PARAM_INT] = { "int", "int_value" },
	[SIM_PARAM_DOUBLE] = { "double", "double_value" },
	[SIM_PARAM_STRING] = { "string", "string_value" },
};

static unsigned type_of(const json_t *param)
{
	double t = json_num(param, "type");

	return t > 0 && t < (double)(sizeof(TYPES) / sizeof(TYPES[0])) ? (unsigned)t : SIM_PARAM_NOT_SET;
}

/* Returns a new reference; NULL: no value. */
static json_t *value_of(const json_t *param)
{
	unsigned t = type_of(param);

	return t ? json_incref(json_object_get(param, TYPES[t].field)) : NULL;
}

/* {"name", "type": "double", "value": 20} */
static json_t *plain(const json_t *param)
{
	return json_pack("{s:s, s:s, s:o?}", "name", json_text(param, "name"), "type", TYPES[type_of(param)].name,
			 "value", value_of(param));
}

/* The value as text. buf: size bytes; *ret_more: it was truncated. */
static void value_text(const json_t *value, char *buf, size_t size)
{
	if (json_is_string(value))
		printable(buf, size, json_string_value(value), json_string_length(value));
	else if (json_is_real(value))
		snprintf(buf, size, "%.10g", json_real_value(value));
	else if (json_is_integer(value))
		snprintf(buf, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else
		snprintf(buf, size, "%s", json_is_true(value) ? "true" : "false");
}

static void print_value(const json_t *value)
{
	size_t size = (json_is_string(value) ? json_string_length(value) : 0) * PRINTABLE_ESCAPE_MAX + 64;
	char *text = malloc(size);

	if (!text)
		return;
	value_text(value, text, size);
	puts(text);
	free(text);
}

/* ---- list ---- */

/* clang-format off */
static const struct column columns[] = {
	{ "NAME", "name", .least = 12, .end = true },
	{ "TYPE", "type", .leave = 2 },
	{ "VALUE", "shown", .least = 12 },
	{ "MAY BE", "range", .leave = 1 },
	{ "DESCRIPTION", "description", .leave = 3, .least = 12 },
	{ 0 },
};
static const struct column node_columns[] = {
	{ "NODE", "name", .least = 12, .end = true },
	{ 0 },
};
/* clang-format on */

static void range_text(const json_t *info, char *buf, size_t size)
{
	char min[24] = "", max[24] = "";

	if (json_yes(info, "has_min"))
		snprintf(min, sizeof(min), "%.10g", json_num(info, "min"));
	if (json_yes(info, "has_max"))
		snprintf(max, sizeof(max), "%.10g", json_num(info, "max"));
	if (json_yes(info, "read_only"))
		snprintf(buf, size, "read-only");
	else
		snprintf(buf, size, "%s%s%s", min, *min || *max ? " .. " : "", max);
}

/* The parameter's description for printing: with --json the bounds are numbers, else text. */
static json_t *plain_info(const struct ctl *c, const json_t *info)
{
	json_t *j = plain(json_object_get(info, "param")), *value = json_object_get(j, "value");
	char text[64];

	json_object_set_new(j, "description", json_string(json_text(info, "description")));
	if (c->a.json) {
		json_object_set_new(j, "initial", value_of(json_object_get(info, "initial")));
		json_object_set_new(j, "min",
				    json_yes(info, "has_min") ? json_real(json_num(info, "min")) : json_null());
		json_object_set_new(j, "max",
				    json_yes(info, "has_max") ? json_real(json_num(info, "max")) : json_null());
		json_object_set(j, "read_only", json_object_get(info, "read_only"));
		return j;
	}
	value_text(value, text, sizeof(text));
	json_object_set_new(j, "shown", json_string(text));
	range_text(info, text, sizeof(text));
	json_object_set_new(j, "range", json_string(text));
	return j;
}

/* All parameters of a node, fetched in as many calls as needed. NULL: failed, as with ctl_ask(). */
static json_t *params_of(struct ctl *c, const char *node, int *ret_result)
{
	json_t *all = json_array(), *answer, *list;
	double total;
	size_t n;

	do {
		json_t *request = json_pack("{s:I}", "start", (json_int_t)json_array_size(all));

		answer = ctl_ask(c, node, LIST, &sim_ListParams_service, request, ret_result);
		json_decref(request);
		if (!answer) {
			json_decref(all);
			return NULL;
		}
		list = json_object_get(answer, "params");
		n = json_array_size(list);
		json_array_extend(all, list);
		total = json_num(answer, "total");
		json_decref(answer);
	} while (n && (double)json_array_size(all) < total);
	return all;
}

static int list_nodes(struct ctl *c)
{
	json_t *nodes = ctl_nodes(c, LIST, &sim_ListParams_service);

	return ctl_list(c, nodes ? json_pack("{s:o}", "nodes", nodes) : NULL, "nodes", node_columns);
}

int cmd_param_list(struct ctl *c)
{
	json_t *all, *shown, *info;
	size_t i;
	int r;

	if (!c->a.node)
		return list_nodes(c);
	all = params_of(c, c->a.node, &r);
	if (!all)
		return r == -ENOENT ? ctl_no_node(c, c->a.node, LIST, &sim_ListParams_service, "param list") : 1;
	shown = json_array();
	json_array_foreach(all, i, info)
		json_array_append_new(shown, plain_info(c, info));
	json_decref(all);
	return ctl_list(c, json_pack("{s:s, s:o}", "node", c->a.node, "params", shown), "params", columns);
}

/* ---- get ---- */

/* Reports that the node has no such parameter, and a similar name. Returns 1. */
static int no_param(struct ctl *c)
{
	struct near near = { .word = c->a.param };
	int r;
	json_t *all = params_of(c, c->a.node, &r), *info;
	size_t i;

	json_array_foreach(all, i, info)
		(void)near_offer(&near, json_text(json_object_get(info, "param"), "name"));
	fprintf(stderr, "simctl: node %s has no parameter \"%.63s\"; ", c->a.node, c->a.param);
	if (near.found)
		fprintf(stderr, "did you mean %s?\n", near.found);
	else
		fprintf(stderr, "`simctl param list %s` shows those there are\n", c->a.node);
	json_decref(all);
	return 1;
}

/* The parameter, by GetParam. NULL: failed, and printed. */
static json_t *get(struct ctl *c)
{
	json_t *request, *answer, *param;
	int r;

	if (strlen(c->a.param) > 63) {
		no_param(c);
		return NULL;
	}
	request = json_pack("{s:s}", "name", c->a.param);
	answer = ctl_ask(c, c->a.node, "get_parameter", &sim_GetParam_service, request, &r);
	json_decref(request);
	if (!answer) {
		if (r == -ENOENT)
			ctl_no_node(c, c->a.node, LIST, &sim_ListParams_service, "param list");
		return NULL;
	}
	param = json_incref(json_object_get(answer, "param"));
	json_decref(answer);
	if (type_of(param) != SIM_PARAM_NOT_SET)
		return param;
	json_decref(param);
	no_param(c);
	return NULL;
}

static int show(const struct ctl *c, const json_t *param)
{
	json_t *j = plain(param);

	if (c->a.json)
		return ctl_put(c, j);
	print_value(json_object_get(j, "value"));
	json_decref(j);
	return 0;
}

int cmd_param_get(struct ctl *c)
{
	json_t *param = get(c);
	int code = param ? show(c, param) : 1;

	json_decref(param);
	return code;
}

/* ---- set ---- */

static json_t *parse_bool(const char *s)
{
	if (strcmp(s, "true") == 0 || strcmp(s, "on") == 0)
		return json_true();
	return strcmp(s, "false") == 0 || strcmp(s, "off") == 0 ? json_false() : NULL;
}

static json_t *parse_int(const char *s)
{
	int64_t i;

	return number_i64(s, NUMBER_ANY, INT64_MIN, INT64_MAX, &i) == 0 ? json_integer(i) : NULL;
}

static json_t *parse_double(const char *s)
{
	double d;

	return number_f64(s, &d) == 0 ? json_real(d) : NULL;
}

static json_t *parse(unsigned type, const char *s)
{
	switch (type) {
	case SIM_PARAM_BOOL:
		return parse_bool(s);
	case SIM_PARAM_INT:
		return parse_int(s);
	case SIM_PARAM_DOUBLE:
		return parse_double(s);
	default:
		return json_string(s); /* NULL: invalid UTF-8 */
	}
}

/* Sets the parameter. Returns 0, or 1 after printing why. On return, param holds `value`. */
static int set(struct ctl *c, json_t *param, json_t *value)
{
	json_t *request, *answer;
	int r;

	json_object_set_new(param, TYPES[type_of(param)].field, value);
	request = json_pack("{s:O}", "param", param);
	answer = ctl_ask(c, c->a.node, "set_parameter", &sim_SetParam_service, request, &r);
	json_decref(request);
	if (!answer) {
		if (r == -ENOENT)
			fprintf(stderr, "simctl: the parameters of node %s can no longer be set\n", c->a.node);
		return 1;
	}
	r = json_yes(answer, "success") ? 0 : 1;
	if (r) {
		char why[512];

		printable(why, sizeof(why), json_text(answer, "message"), strlen(json_text(answer, "message")));
		fprintf(stderr, "simctl: %s\n", why);
	}
	json_decref(answer);
	return r;
}

int cmd_param_set(struct ctl *c)
{
	json_t *param = get(c), *value;
	unsigned type;
	int code = 1;

	if (!param)
		return 1;
	type = type_of(param);
	value = parse(type, c->a.value);
	if (!value)
		fprintf(stderr, "simctl: parameter %s is %s %s, which \"%.80s\" is not%s\n", c->a.param,
			type == SIM_PARAM_INT ? "an" : "a", TYPES[type].name, c->a.value,
			type == SIM_PARAM_BOOL ? "; write true or false" : "");
	else
		code = set(c, param, value);
	if (code == 0)
		code = show(c, param);
	json_decref(param);
	return code;
}
