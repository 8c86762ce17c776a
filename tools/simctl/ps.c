/* SPDX-License-Identifier: Apache-2.0 */
/* ps: lists the simds of this machine. Thread: main. */
#include <stdio.h>

#include "planes.h"
#include "simctl.h"

/* clang-format off */
static const struct column simd_columns[] = {
	{ "RUNTIME", "runtime", .least = 16, .end = true },
	{ "USER", "user", .leave = 3 },
	{ "PID", "pid", NUM, .leave = 2, .none = "-" },
	{ "RIGS", "rigs", .leave = 1, .least = 12 },
	{ "SINCE", "uptime_ms", SPAN, .scale = 1e-3, .leave = 4, .none = "-" },
	{ "MEMORY MIB", "memory", NUM1, .scale = 1.0 / (1 << 20), .leave = 5 },
	{ "STATUS", "status", .leave = 0 },
	{ 0 },
};
/* clang-format on */

static void join_rigs(json_t *simd)
{
	const json_t *name;
	json_t *text = NULL;
	size_t i;

	json_array_foreach(json_object_get(simd, "rigs"), i, name) {
		json_t *more = text ? json_sprintf("%s,%s", json_string_value(text), json_string_value(name))
				    : json_string(json_string_value(name));

		json_decref(text);
		text = more;
	}
	json_object_set_new(simd, "rigs", text ? text : json_string("-"));
}

/* Texts of the table's cells and of --names. */
static void make_cells(json_t *reply)
{
	json_t *simd;
	size_t i;

	ctl_make_fit(reply);
	json_array_foreach(json_object_get(reply, "simds"), i, simd) {
		join_rigs(simd);
		json_object_set(simd, "name", json_object_get(simd, "runtime"));
	}
}

static int ps_once(struct ctl *c)
{
	json_t *reply;

	ctl_begin_wait(c); /* asks each simd in turn */
	reply = planes_find();
	ctl_end_wait();

	if (!reply)
		fprintf(stderr, "simctl: out of memory\n");
	if (!c->a.json)
		make_cells(reply);
	return ctl_list(c, reply, "simds", simd_columns);
}

int cmd_ps(struct ctl *c)
{
	return ctl_repeat(c, ps_once);
}
