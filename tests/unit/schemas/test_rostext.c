/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ROS types made at run time: from the texts of those that rosgen made during the build the same types result, and
 * every type of ours has a message of its own. Invalid definitions are refused with an error text.
 */

#include "tests/support/test.h"

#include <errno.h>

#include "probe/msg/Every.h"
#include "ros/ros_generic.h"
#include "ros/ros_text.h"
#include "sim/introspect.h"

static char why[512];

static struct ros_text *made(const char *name, const char *text, const struct ros_type *const *known)
{
	struct ros_text *t = NULL;

	if (ros_text_create(name, text, known, why, sizeof(why), &t) < 0)
		fail_msg("%s: %s", name, why);
	return t;
}

static void same_type(const struct ros_type *a, const struct ros_type *b)
{
	assert_string_equal(a->name, b->name);
	assert_int_equal(a->n_fields, b->n_fields);
	for (uint32_t i = 0; i < a->n_fields; i++) {
		const struct ros_field *f = &a->fields[i], *g = &b->fields[i];

		assert_string_equal(f->name, g->name);
		assert_true(f->prim == g->prim && f->array == g->array && f->count == g->count &&
			    f->string_max == g->string_max);
		assert_int_equal(f->type != NULL, g->type != NULL);
		if (f->type)
			same_type(f->type, g->type);
	}
}

static void again(const struct ros_type *want, const char *text, const struct ros_type *const *known)
{
	struct ros_text *t = made(want->name, text, known);
	const struct ros_type *got = ros_text_type(t);

	same_type(got, want);
	assert_string_equal(got->hash, want->hash);
	assert_string_equal(got->definition, want->definition);
	ros_text_destroy(t);
}

/* With all nested definitions in the text, and with definitions known from elsewhere. */
TEST(the_definitions_of_rosgen_are_reproduced)
{
	const struct ros_type *const *tables[] = { ros1_types, ros2_types };
	unsigned n = 0;

	for (int i = 0; i < 2; i++)
		for (const struct ros_type *const *t = tables[i]; *t; t++) {
			const char *end = strstr((*t)->definition, "\n====");
			char *first = strndup((*t)->definition,
					      end ? (size_t)(end - (*t)->definition) + 1 : strlen((*t)->definition));

			if (strcmp((*t)->kind, "msg") || !*(*t)->hash ||
			    !strncmp((*t)->name, "builtin_interfaces/", 19)) {
				free(first);
				continue;
			}
			again(*t, (*t)->definition, tables[i]);
			again(*t, first, tables[i]);
			free(first);
			n++;
		}
	assert_true(n > 100);
}

/* ---- types of ours ---- */

static void same_fields(const struct sim_type *t, const struct ros_type *r, bool ros1)
{
	static const uint8_t prims[SIM_KIND_END] = {
#define X(id, num, name, bytes) [SIM_KIND_##id] = ROS_##id,
#define ROS_MESSAGE             ROS_NESTED
		SIM_KINDS(X)
#undef ROS_MESSAGE
#undef X
	};
	char name[ROS_GENERIC_NAME_MAX], back[SIM_TYPE_NAME_MAX + 1];

	ros_generic_name(t->name, name);
	assert_int_equal(strncmp(name, r->name, strcspn(name, "/") + 1), 0);
	assert_string_equal(strchr(name, '/') + 5, strchr(r->name, '/') + 1);
	assert_int_equal(ros_generic_sim_name(name, back), 0);
	assert_string_equal(back, t->name);
	assert_int_equal(ros_generic_sim_name(r->name, back), 0);
	assert_string_equal(back, t->name);
	assert_int_equal(t->n_fields, r->n_fields);
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_field *f = &t->fields[i];
		const struct ros_field *g = &r->fields[i];

		assert_string_equal(f->name, g->name);
		assert_int_equal(prims[f->kind], g->prim);
		assert_int_equal(ros1 && f->array == SIM_ARRAY_BOUNDED ? SIM_ARRAY_VARIABLE : f->array, g->array);
		assert_int_equal(ros1 && f->array == SIM_ARRAY_BOUNDED ? 0 : f->count, g->count);
		assert_int_equal(ros1 ? 0 : f->string_max, g->string_max);
		if (f->type)
			same_fields(f->type, g->type, ros1);
	}
}

static void check_generic(const struct sim_type *t)
{
	for (int ros1 = 0; ros1 < 2; ros1++) {
		char name[ROS_GENERIC_NAME_MAX], *text;
		struct ros_text *r;

		text = ros_generic_text(t, ros1 ? ROS_GENERIC_ROS1 : ROS_GENERIC_ROS2);
		assert_non_null(text);
		ros_generic_name(t->name, name);
		r = made(name, text, ros1 ? ros1_types : ros2_types);
		same_fields(t, ros_text_type(r), ros1);
		assert_int_equal(strlen(ros_text_type(r)->hash), ros1 ? 32 : 71);
		ros_text_destroy(r);
		free(text);
	}
}

TEST(every_type_has_a_ros_message)
{
	for (const struct sim_type *const *t = sim_type_builtins(); *t; t++) {
		check_generic(*t);
		assert_null(ros_generic_odd_name(*t));
	}
	check_generic(&probe_Every_type);
}

TEST(only_the_first_line_of_a_type_comment_is_shown)
{
	struct sim_type t = probe_Every_type;
	char *text;

	t.comment = "protobuf a.B\nCgVh";
	text = ros_generic_text(&t, ROS_GENERIC_OURS);
	assert_int_equal(strncmp(text, "# protobuf a.B\n\n", 16), 0);
	assert_null(strstr(text, "CgVh"));
	free(text);
}

TEST(the_text_is_readable)
{
	char *text = ros_generic_text(&probe_Every_type, ROS_GENERIC_ROS2);

	assert_non_null(strstr(text, "# One of each kind, in an order that needs padding.\n\n"));
	assert_non_null(strstr(text, "\nuint64 HIGHU64=18446744073709551615\n"));
	assert_non_null(strstr(text, "\nint64 TICK=10000000\n"));
	assert_non_null(strstr(text, "\nstring TEXT=\"a \\\"quoted\\\" text ?\?/ # not a comment\"\n"));
	assert_non_null(strstr(text, "\nint64 i64  # [m] aligned to eight\n"));
	assert_non_null(strstr(text, "\nbuiltin_interfaces/Time at  # [ns]\n"));
	assert_non_null(strstr(text, "\nstring<=4[<=2] short_words\n"));
	assert_non_null(strstr(text, "\nsim_msgs/Vector3 point\n"));
	assert_non_null(strstr(text, "=\nMSG: sim_msgs/Vector3\n"));
	assert_non_null(strstr(text, "=\nMSG: probe/Leaf\n"));
	free(text);
	text = ros_generic_text(&probe_Every_type, ROS_GENERIC_ROS1);
	assert_non_null(strstr(text, "\nstring TEXT=a \"quoted\" text ?\?/ # not a comment\n"));
	assert_non_null(strstr(text, "\ntime at  # [ns]\n"));
	assert_non_null(strstr(text, "\nstring[] short_words\n"));
	free(text);
	text = ros_generic_text(&probe_Every_type, ROS_GENERIC_OURS);
	assert_non_null(strstr(text, "\nduration TICK=10000000\n"));
	assert_non_null(strstr(text, "\nsim/Vector3 point\n"));
	free(text);
}

TEST(names_that_ros_does_not_allow_are_reported)
{
	static const struct {
		const char *type, *field, *odd;
	} cases[] = {
		{ "demo/Type", "a_b2", NULL },   { "Demo/Type", "a", "Demo/Type" }, { "demo/type", "a", "demo/type" },
		{ "demo/T_x", "a", "demo/T_x" }, { "demo/Type", "minX", "minX" },   { "demo/Type", "a__b", "a__b" },
		{ "demo/Type", "end_", "end_" }, { "demo/Type", "A", "A" },         { "de_mo/Type", "a", NULL },
		{ "de__mo/T", "a", "de__mo/T" }, { "de_mo/T_x", "a", "de_mo/T_x" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sim_field f = { .name = cases[i].field, .comment = "", .kind = SIM_KIND_INT8 };
		struct sim_type t = { .name = cases[i].type, .comment = "", .fields = &f, .n_fields = 1 };
		const char *odd = ros_generic_odd_name(&t);

		assert_int_equal(odd != NULL, cases[i].odd != NULL);
		if (odd)
			assert_string_equal(odd, cases[i].odd);
	}
}

TEST(type_names_have_two_or_three_parts)
{
	char out[SIM_TYPE_NAME_MAX + 1];
	char longest[SIM_TYPE_NAME_MAX + 8];

	assert_int_equal(ros_generic_sim_name("sim_msgs/msg/Imu", out), 0);
	assert_string_equal(out, "sim/Imu");
	assert_int_equal(ros_generic_sim_name("example/FloatArray", out), 0);
	assert_string_equal(out, "example/FloatArray");
	assert_int_equal(ros_generic_sim_name("demo", out), -EINVAL);
	assert_int_equal(ros_generic_sim_name("demo/", out), -EINVAL);
	assert_int_equal(ros_generic_sim_name("/msg/A", out), -EINVAL);
	assert_int_equal(ros_generic_sim_name("a/srv/B", out), -EINVAL);
	memset(longest, 'a', sizeof(longest));
	longest[1] = '/';
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(ros_generic_sim_name(longest, out), -EINVAL);
}

/* ---- refused definitions ---- */

static void refused(const char *name, const char *text, const struct ros_type *const *known, int want, const char *word)
{
	struct ros_text *t = NULL;

	assert_int_equal(ros_text_create(name, text, known, why, sizeof(why), &t), want);
	assert_null(t);
	if (!strstr(why, word))
		fail_msg("\"%s\" does not say \"%s\"", why, word);
}

TEST(bad_texts_are_refused)
{
	char *many = malloc(65536), *at = many;

	refused("Name", "int8 a\n", ros2_types, -EINVAL, "\"Name\" is not of the form package/msg/Name");
	refused("a/idl/B", "int8 a\n", ros2_types, -EINVAL, "is not of the form package/msg/Name");
	refused("a/B", "int8 a\n===\nMSG: a/srv/C\nint8 d\n", ros2_types, -EINVAL, "line 3");
	refused("a/B", "int8[ a\n", ros2_types, -EINVAL, "a/B:1: array '[' is not closed");
	refused("a/B", "int8 a\nint8 a\n", ros2_types, -EINVAL, "a/B:2:");
	refused("a/B", "C c\n", ros2_types, -ENOENT, "type 'a/C' is not defined");
	refused("a/B", "C c\n===\nMSG: a/D\nint8 d\n", ros2_types, -ENOENT, "type 'a/C' is not defined");
	refused("a/B", "B b\n", ros2_types, -EINVAL, "contains itself");
	refused("a/B", "int8 a\n===\nint8 b\n", ros2_types, -EINVAL, "line 3");
	refused("a/B", "int8 a\n===\nMSG: nothing\n", ros2_types, -EINVAL, "line 3");
	refused("a/B", "wstring w\n", ros2_types, -EINVAL, "wstring");
	refused("a/B", "time t\n", ros2_types, -EINVAL, "builtin_interfaces/Time");
	refused("a/B", "int8[<=3] a\n", ros1_types, -ENOTSUP, "ROS 1");
	for (unsigned i = 0; i < ROS_TEXT_TYPES; i++)
		at += sprintf(at, "int8 a\n===\nMSG: a/T%u\n", i);
	refused("a/B", many, ros2_types, -E2BIG, "more than 100 definitions");
	free(many);
}

/* Halves of services, from our types, hash as those that rosgen made of ROS' own. */
static void half_of(const struct ros_service *s, const struct sim_service_type *ours)
{
	char *text = ros_generic_text(ours->response, ROS_GENERIC_ROS2), name[160];
	int package = (int)strcspn(s->name, "/");
	struct ros_text *t;

	snprintf(name, sizeof(name), "%.*s/srv/%s_Response", package, s->name, s->name + package + 1);
	t = made(name, text, ros2_types);
	assert_string_equal(ros_text_type(t)->name, s->response->name);
	assert_string_equal(ros_text_type(t)->kind, "srv");
	assert_string_equal(ros_text_type(t)->hash, s->response->hash);
	ros_text_destroy(t);
	free(text);
}

TEST(the_request_and_response_of_a_service_have_their_text)
{
	unsigned n = 0;

	for (const struct sim_service_type *const *v = sim_service_type_builtins(); *v; v++)
		for (const struct ros_service *s = ros2_services; s->name; s++)
			if (strcmp(strchr(s->name, '/'), strchr((*v)->name, '/')) == 0 &&
			    strncmp(s->name, "std_srvs/", 9) == 0) {
				half_of(s, *v);
				n++;
			}
	assert_int_equal(n, 3);
}

/* The fields of a type, as "type name; " each. */
static const char *fields_of(const struct ros_type *t)
{
	static char all[500];
	size_t n = 0;

	all[0] = '\0';
	for (uint32_t i = 0; i < t->n_fields; i++)
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s %s; ",
				      t->fields[i].type ? t->fields[i].type->name : "-", t->fields[i].name);
	return all;
}

/* The text of a .srv file is the definition of each of its messages, as rosbag2 writes it. */
TEST(the_text_of_a_service_defines_its_messages)
{
	static const char text[] = "int64 a\na/msg/C c\n--- \r\nint64 sum\n\n=====\nMSG: a/C\nint8 d\n",
			  headed[] =
				  "=====\nSRV: a/srv/B\nint64 a\na/msg/C c\n---\nint64 sum\n=====\nMSG: a/C\nint8 d\n";

	for (unsigned i = 0; i < 2; i++) {
		struct ros_text *t = made("a/srv/B_Request", i ? headed : text, ros2_types);

		assert_string_equal(fields_of(ros_text_type(t)), "- a; a/C c; ");
		assert_string_equal(ros_text_type(t)->kind, "srv");
		ros_text_destroy(t);
		t = made("a/srv/B_Response", i ? headed : text, ros2_types);
		assert_string_equal(fields_of(ros_text_type(t)), "- sum; ");
		ros_text_destroy(t);
		t = made("a/srv/B_Event", i ? headed : text, ros2_types);
		assert_string_equal(fields_of(ros_text_type(t)),
				    "service_msgs/ServiceEventInfo info; a/B_Request request; a/B_Response response; ");
		assert_int_equal(ros_text_type(t)->fields[1].array, ROS_BOUNDED);
		assert_int_equal(ros_text_type(t)->fields[1].count, 1);
		assert_string_equal(ros_text_type(t)->kind, "srv");
		assert_string_equal(ros_text_type(t)->fields[1].type->kind, "srv");
		assert_string_equal(ros_text_type(t)->fields[0].type->kind, "msg");
		ros_text_destroy(t);
	}
	refused("a/srv/B", text, ros2_types, -EINVAL, "of a service or an action");
	refused("a/B_Event", "int8 a\n---\nint8[ b\n", ros2_types, -EINVAL, "a/B_Response:");
}

/* The same for a .action file, of which ROS makes ten messages. */
TEST(the_text_of_an_action_defines_its_messages)
{
	static const char text[] = "int32 order\n---\nint32[] sequence\n---\na/C partial\n=====\nMSG: a/C\nint8 d\n",
			  headed[] = "=====\nACTION: a/action/F\nint32 order\n---\nint32[] sequence\n---\na/C partial\n"
				     "=====\nMSG: a/C\nint8 d\n";
	static const struct {
		const char *name, *fields;
	} messages[] = {
		{ "a/action/F_Goal", "- order; " },
		{ "a/action/F_Result", "- sequence; " },
		{ "a/action/F_Feedback", "a/C partial; " },
		{ "a/action/F_FeedbackMessage", "unique_identifier_msgs/UUID goal_id; a/F_Feedback feedback; " },
		{ "a/action/F_SendGoal_Request", "unique_identifier_msgs/UUID goal_id; a/F_Goal goal; " },
		{ "a/action/F_SendGoal_Response", "- accepted; - stamp; " },
		{ "a/action/F_GetResult_Request", "unique_identifier_msgs/UUID goal_id; " },
		{ "a/action/F_GetResult_Response", "- status; a/F_Result result; " },
		{ "a/action/F_SendGoal_Event", "service_msgs/ServiceEventInfo info; a/F_SendGoal_Request request; "
					       "a/F_SendGoal_Response response; " },
		{ "a/action/F_GetResult_Event", "service_msgs/ServiceEventInfo info; a/F_GetResult_Request request; "
						"a/F_GetResult_Response response; " },
	};

	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		for (unsigned k = 0; k < 2; k++) {
			struct ros_text *t = made(messages[i].name, k ? headed : text, ros2_types);

			assert_string_equal(fields_of(ros_text_type(t)), messages[i].fields);
			assert_string_equal(ros_text_type(t)->kind, "action");
			ros_text_destroy(t);
		}
	refused("a/action/F_Request", text, ros2_types, -EINVAL, "of a service or an action");
	refused("a/action/F_Goal", "---\n---\n---\n", ros2_types, -EINVAL, "of a service or an action");
	refused("a/action/F_FeedbackMessage", "---\n---\nint8[ b\n", ros2_types, -EINVAL, "a/F_Feedback:");
}

/* All that stands behind the "=", as genmsg has it: its sums. */
TEST(a_string_of_ros_1_has_no_quotes_and_no_comment)
{
	static const struct {
		const char *text, *sum;
	} cases[] = {
		{ "string A=\"x\" # note\n", "06277a565c4dcea73819110559883a78" },
		{ "string A='x#y'  # note \nint8 a\n", "c1aaedece61407f6faafe617c6dd7489" },
		{ "string A = \"x\"#\n", "59bc590759d4a51ee8ce6b5d04b892f2" },
		{ "string A=x # y\n", "ef0c72b98c0b65b1512f8ad76b5d866e" },
		{ "string A=\n", "02092ecd4fe62c4b32ce1b00e9542f95" },
		{ "string A= #\n", "522c753e95ea5df393c401cdb8c92e96" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ros_text *t = made("a/B", cases[i].text, ros1_types);

		assert_string_equal(ros_text_type(t)->hash, cases[i].sum);
		again(ros_text_type(t), ros_text_type(t)->definition, ros1_types);
		ros_text_destroy(t);
	}
}

TEST(all_syntax_forms_of_ros_are_accepted)
{
	struct ros_text *t;

	t = made(
		"a/msg/B",
		"byte b\r\nchar c 3\r\nint8 LOW=-1\r\nbyte MINUS=-1\r\na/msg/C c2\r\n=====\r\nMSG: a/msg/C\r\nstring<=3 s \"x\"\r\n",
		ros2_types);
	assert_string_equal(ros_text_type(t)->name, "a/B");
	assert_int_equal(ros_text_type(t)->fields[0].prim, ROS_BYTE);
	assert_int_equal(ros_text_type(t)->fields[1].prim, ROS_CHAR);
	assert_int_equal(ros_text_type(t)->fields[2].type->fields[0].string_max, 3);
	ros_text_destroy(t);
	t = made("a/B", "time t\nHeader h\n===\nMSG: a/Header\n", ros1_types);
	assert_int_equal(ros_text_type(t)->fields[0].prim, ROS_TIME);
	assert_string_equal(ros_text_type(t)->fields[1].type->name, "a/Header");
	ros_text_destroy(t);
	t = made("a/B", "a/C c\na/D d\n===\nMSG: a/C\n===\nMSG: a/D\nint8 e\n", ros1_types);
	assert_non_null(strstr(ros_text_type(t)->definition, "\nMSG: a/C\n\n===")); /* genpy wants a line there */
	ros_text_destroy(t);
	t = made("a/B", "Header h\n", ros1_types);
	assert_string_equal(ros_text_type(t)->fields[0].type->name, "std_msgs/Header");
	ros_text_destroy(t);
	t = made("a/B", "", ros2_types);
	assert_int_equal(ros_text_type(t)->n_fields, 0);
	ros_text_destroy(t);
	ros_text_destroy(NULL);
}
