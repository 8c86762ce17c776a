/* SPDX-License-Identifier: Apache-2.0 */
/* line.h: messages as lines. Thread: the test's. */
#include "support/test.h"

#include <errno.h>

#include "line.h"

static _Alignas(64) uint8_t body[65536];
static char text[65536], why[512];

static struct sim_message message_of(const struct sim_type *type, const char *json)
{
	struct sim_message m = { .header = { .sequence = 7, .stamp_sim_ns = 2500000000, .frame_id = "base,\"x\"" },
				 .body = body };

	assert_int_equal(sim_msg_from_json(type, json, strlen(json), body, sizeof(body), &m.body_size), 0);
	return m;
}

/* The head, if there is one, and the line. */
static const char *print(struct line *l, const struct sim_message *m)
{
	FILE *f = fmemopen(text, sizeof(text), "w");

	line_print_head(l, f);
	line_print(l, m, f);
	fclose(f);
	line_destroy(l);
	return text;
}

static const char *columns(const char *type_name, const char *field, enum line_time time, const char *json)
{
	const struct sim_type *type = sim_type_builtin(type_name);
	struct sim_message m = message_of(type, json);
	struct line *l;

	if (line_columns(type, field, time, why, &l) < 0)
		fail_msg("%s", why);
	return print(l, &m);
}

static const char *template(const char *type_name, const char *t, const char *json)
{
	const struct sim_type *type = sim_type_builtin(type_name);
	struct sim_message m = message_of(type, json);
	struct line *l;

	if (line_template(type, t, LINE_SECONDS, why, &l) < 0)
		fail_msg("%s", why);
	return print(l, &m);
}

TEST(each_number_is_a_column)
{
	assert_string_equal(columns("sim/Vector3", NULL, LINE_SECONDS, "{\"x\":1.5,\"z\":-2}"),
			    "time,x,y,z\n2.500000000,1.5,0.0,-2.0\n");
	assert_string_equal(columns("sim/Twist", "linear", LINE_NS, "{\"linear\":{\"y\":0.1}}"),
			    "time,linear.x,linear.y,linear.z\n2500000000,0.0,0.1,0.0\n");
	assert_string_equal(columns("sim/Twist", "linear.y", LINE_DATE, "{\"linear\":{\"y\":0.1}}"),
			    "time,linear.y\n1970-01-01T00:00:02.500000000Z,0.1\n");
}

TEST(strings_are_quoted_where_needed)
{
	assert_string_equal(columns("sim/String", NULL, LINE_NS, "{\"data\":\"plain\"}"),
			    "time,data\n2500000000,plain\n");
	assert_string_equal(columns("sim/String", NULL, LINE_NS, "{\"data\":\"a, \\\"b\\\"\"}"),
			    "time,data\n2500000000,\"a, \"\"b\"\"\"\n");
	assert_null(strchr(strchr(columns("sim/String", NULL, LINE_NS, "{\"data\":\"a\\u001b[31m\\nb\"}"), '\n') + 1,
			   '\033'));
}

TEST(variable_length_arrays_are_left_out_and_named)
{
	struct line *l;

	assert_int_equal(line_columns(sim_type_builtin("sim/LaserScan"), NULL, LINE_NS, why, &l), 0);
	assert_non_null(strstr(line_left_out(l), "ranges"));
	line_destroy(l);
	assert_string_equal(columns("sim/LaserScan", "ranges[1]", LINE_NS, "{\"ranges\":[1,2.5]}"),
			    "time,ranges[1]\n2500000000,2.5\n");
	assert_string_equal(columns("sim/LaserScan", "ranges[1]", LINE_NS, "{\"ranges\":[1]}"),
			    "time,ranges[1]\n2500000000,\n");
}

TEST(a_template_inserts_values)
{
	assert_string_equal(template("sim/Vector3", "at {@time}: {x:.2} {y} {{{z:.0}}}",
				     "{\"x\":1.556,\"y\":3,\"z\":2}"),
			    "at 2.500000000: 1.56 3.0 {2}\n");
	assert_string_equal(template("sim/String", "{@sequence} {data}", "{\"data\":\"a, b\"}"), "7 a, b\n");
	assert_string_equal(template("sim/Vector3", "{@frame}", "{}"), "base,\"x\"\n");
	assert_string_equal(template("sim/Detected3DObjects", "<{objects[0].label}|{objects[0].id}>", "{}"), "<|>\n");
	assert_string_equal(template("sim/Vector3", "", "{}"), "\n");
}

static void is_wrong(const char *t, const char *part)
{
	struct line *l;

	assert_int_equal(line_template(sim_type_builtin("sim/Vector3"), t, LINE_NS, why, &l), -EINVAL);
	if (!strstr(why, part))
		fail_msg("\"%s\", not \"%s\"", why, part);
}

TEST(errors_are_named)
{
	struct line *l;
	enum line_time time;

	is_wrong("{x", "a { without its }");
	is_wrong("x}", "a } without its {");
	is_wrong("{w}", "{w}: ");
	is_wrong("{x:.a}", "{x}: the number of decimal places is expected after the :");
	is_wrong("{x:.12}", "{x}: the number of decimal places is expected after the :");
	is_wrong("{}", "{}: ");
	assert_int_equal(line_columns(sim_type_builtin("sim/Vector3"), "w", LINE_NS, why, &l), -EINVAL);
	assert_int_equal(line_time_of("iso", &time), -EINVAL);
	assert_int_equal(line_time_of(NULL, &time), 0);
	assert_int_equal(time, LINE_SECONDS);
}
