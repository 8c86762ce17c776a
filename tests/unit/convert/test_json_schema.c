/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types from JSON Schemas, whose every property becomes a field or is named; schemas that describe no message; schemas
 * from types.
 */
#include "support/test.h"

#include <errno.h>
#include <stdlib.h>

#include "json_schema.h"
#include "mem.h"
#include "ros/ros_generic.h"
#include "sim/introspect.h"

static char left_out[JSON_SCHEMA_LEFT_MAX], why[600];

/* The type's definition, with nested ones behind lines of "=". */
static void makes(const char *name, const char *schema, const char *type, const char *definition)
{
	const struct sim_type *t = NULL;
	char *text;

	if (json_schema_type(name, schema, strlen(schema), &t, left_out, why, sizeof(why)) < 0)
		fail_msg("%s", why);
	assert_string_equal(t->name, type);
	text = ros_generic_text(t, ROS_GENERIC_OURS);
	assert_string_equal(text, definition);
	free(text);
	sim_type_unref(t);
}

static void is_refused(const char *schema, const char *sentence)
{
	const struct sim_type *t = NULL;

	assert_int_equal(json_schema_type("a.B", schema, strlen(schema), &t, left_out, why, sizeof(why)), -ENOTSUP);
	if (!strstr(why, sentence))
		fail_msg("'%s' is not in '%s'", sentence, why);
}

#define OBJECT(properties)        "{\"type\":\"object\",\"properties\":{" properties "}}"
#define TITLED(title, properties) "{\"title\":\"" title "\",\"type\":\"object\",\"properties\":{" properties "}}"
#define NUMBER                    "{\"type\":\"number\"}"
#define RULE                      "================================================================================\n"

TEST(properties_become_fields_in_order)
{
	makes("car.Thing",
	      OBJECT("\"z\":" NUMBER
		     ",\"a\":{\"type\":\"integer\"},\"on\":{\"type\":\"boolean\"},\"text\":{\"type\":\"string\"},"
		     "\"data\":{\"type\":\"string\",\"contentEncoding\":\"base64\"},\"list\":{\"type\":\"array\",\"items\":" NUMBER
		     "},\"words\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"),
	      "car/Thing", "float64 z\nint64 a\nbool on\nstring text\nuint8[] data\nfloat64[] list\nstring[] words\n");
	assert_string_equal(left_out, "");
}

TEST(nested_objects_become_types_named_by_title_or_path)
{
	makes("car.Thing",
	      OBJECT("\"at\":" TITLED("geo.Point", "\"x\":" NUMBER) ",\"inner\":" OBJECT("\"deep\":" OBJECT(
		      "\"y\":" NUMBER)) ",\"more\":{\"type\":\"array\",\"items\":" TITLED("geo.Point",
											  "\"x\":" NUMBER) "},\"odd\":" TITLED("What it is.",
															       "\"n\":" NUMBER)),
	      "car/Thing",
	      "geo/Point at\ncar/Thing_inner inner\ngeo/Point[] more\ncar/Thing_odd odd\n" RULE
	      "MSG: geo/Point\nfloat64 x\n" RULE "MSG: car/Thing_inner\ncar/Thing_inner_deep deep\n" RULE
	      "MSG: car/Thing_inner_deep\nfloat64 y\n" RULE "MSG: car/Thing_odd\nfloat64 n\n");
	assert_string_equal(left_out, "");
}

TEST(two_types_of_one_title_are_distinguished)
{
	makes("car.Thing",
	      OBJECT("\"a\":" TITLED("P", "\"x\":" NUMBER) ",\"b\":" TITLED("P", "\"y\":" NUMBER) ",\"c\":" TITLED(
		      "P", "\"y\":" NUMBER)),
	      "car/Thing",
	      "car/P a\ncar/P_2 b\ncar/P_2 c\n" RULE "MSG: car/P\nfloat64 x\n" RULE "MSG: car/P_2\nfloat64 y\n");
}

TEST(references_to_definitions_are_resolved)
{
	makes("car.Thing",
	      "{\"$ref\":\"#/definitions/Root\",\"definitions\":{\"Root\":" OBJECT(
		      "\"a\":{\"$ref\":\"#/$defs/Point\"},\"n\":{\"$ref\":\"#/definitions/Number\"}") ",\"Number\":" NUMBER
												      "},\"$defs\":{\"Point\":" TITLED(
													      "Point",
													      "\"x\":{\"$ref\":\"#/definitions/Number\"}") "}}",
	      "car/Thing", "car/Point a\nfloat64 n\n" RULE "MSG: car/Point\nfloat64 x\n");
}

#define SEC_NSEC(more) \
	more "\"type\":\"object\",\"properties\":{\"sec\":{\"type\":\"integer\"},\"nsec\":{\"type\":\"integer\"}}}"

TEST(times_and_durations_are_recognised)
{
	makes("car.Thing",
	      OBJECT("\"at\":" SEC_NSEC("{\"title\":\"time\",") ",\"plain\":" SEC_NSEC("{") ",\"wait\":" SEC_NSEC(
		      "{\"title\":\"duration\",") ",\"almost\":" OBJECT("\"sec\":{\"type\":\"integer\"},\"nsec\":" NUMBER)),
	      "car/Thing",
	      "time at\ntime plain\nduration wait\ncar/Thing_almost almost\n" RULE
	      "MSG: car/Thing_almost\nint64 sec\nfloat64 nsec\n");
}

TEST(choices_of_constants_have_their_common_type)
{
	makes("car.Thing",
	      OBJECT("\"level\":{\"oneOf\":[{\"title\":\"LOW\",\"const\":0},{\"title\":\"HIGH\",\"const\":1}]},"
		     "\"word\":{\"enum\":[\"a\",\"b\"]},\"both\":{\"enum\":[\"a\",1]}"),
	      "car/Thing", "int64 level\nstring word\n");
	assert_string_equal(left_out, "both (anything)");
}

TEST(properties_that_cannot_be_fields_are_named)
{
	makes("car.Thing",
	      OBJECT("\"n\":" NUMBER ",\"max-speed\":" NUMBER ",\"u\":{\"anyOf\":[" NUMBER
		     "]},\"l\":{\"type\":[\"number\",\"null\"]},"
		     "\"in\":" OBJECT("\"map\":{\"type\":\"object\",\"additionalProperties\":" NUMBER
				      "}") ",\"x\":true,"
					   "\"a\":{\"type\":\"array\"}"),
	      "car/Thing", "float64 n\n");
	assert_string_equal(
		left_out,
		"max-speed (its name), u (a union), l (of several types), in.map (a map), x (anything), and 1 more");
	makes("car.Thing",
	      "{\"type\":\"object\",\"properties\":{\"n\":" NUMBER
	      ",\"child\":{\"$ref\":\"#\"},\"gone\":{\"$ref\":\"#/$defs/none\"},"
	      "\"far\":{\"$ref\":\"http://x/y\"},\"aa\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/A\"}}},"
	      "\"$defs\":{\"A\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/A\"}}}}",
	      "car/Thing", "float64 n\n");
	assert_string_equal(
		left_out,
		"child (it nests itself), gone (a reference that leads nowhere), far (a reference that leads nowhere), "
		"aa (an array of arrays)");
}

TEST(names_are_turned_into_type_names)
{
	static const char *const names[][2] = {
		{ "foxglove.Log", "foxglove/Log" },
		{ "car_msgs/msg/Thing", "car_msgs/Thing" },
		{ "Thing", "json/Thing" },
		{ "a.b.C", "a_b/C" },
		{ "car.two words", "car/two_words" },
		{ "3d.2", "n3d/n2" },
		{ "", "json/Titled" },
	};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		makes(names[i][0], TITLED("Titled", "\"x\":" NUMBER), names[i][1], "float64 x\n");
}

/* A tree of references, each of which leads to the next one twice: 2^30 properties. */
static char *doubling(void)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fprintf(f, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
	for (int i = 0; i < 7; i++) {
		fprintf(f, "%s\"d%d\":{\"type\":\"object\",\"properties\":{", i ? "," : "", i);
		for (int k = 0; k < 20; k++)
			fprintf(f, "%s\"p%d\":{\"$ref\":\"#/$defs/d%d\"}", k ? "," : "", k, i + 1);
		fprintf(f, "}}");
	}
	fprintf(f, ",\"d7\":" OBJECT("\"x\":" NUMBER) "}}");
	fclose(f);
	return text;
}

TEST(a_schema_that_is_not_of_an_object_is_refused)
{
	char *text = doubling(), deep[400];

	is_refused("", "cannot be read");
	is_refused("{\"type\":", "cannot be read");
	is_refused("{\"type\":\"object\",\"type\":\"object\"}", "cannot be read");
	is_refused("[]", "not that of an object");
	is_refused("{\"type\":\"number\"}", "not that of an object");
	is_refused("{\"$ref\":\"#\"}", "not that of an object");
	is_refused(OBJECT(""), "not that of an object");
	is_refused(OBJECT("\"a b\":" NUMBER ",\"m\":{}"), "can be a field: a b (its name), m (anything)");
	is_refused(text, "too many properties");
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	is_refused(deep, "nests too deep");
	free(text);
}

/* As deep as types may be, and one deeper. */
TEST(depth_is_bounded)
{
	char text[2000] = "{\"type\":\"object\",\"properties\":{\"x\":" NUMBER;
	const struct sim_type *t;

	for (int i = 0; i < 9; i++)
		strcat(text, ",\"d\":{\"type\":\"object\",\"properties\":{\"x\":" NUMBER);
	for (int i = 0; i < 10; i++)
		strcat(text, "}}");
	assert_int_equal(json_schema_type("a.B", text, strlen(text), &t, left_out, why, sizeof(why)), 0);
	assert_string_equal(left_out, "d.d.d.d.d.d.d.d (nested too deep)");
	sim_type_unref(t);
}

/* The schema of each type of ours reads as a type with the same fields, as far as JSON can express them. */
TEST(every_type_has_a_schema)
{
	for (const struct sim_type *const *t = sim_type_builtins(); *t; t++) {
		const struct sim_type *back = NULL;
		char *text = NULL;

		assert_int_equal(json_schema_text(*t, "stamped", &text), 0);
		if (json_schema_type((*t)->name, text, strlen(text), &back, left_out, why, sizeof(why)) < 0)
			fail_msg("%s: %s", (*t)->name, why);
		mem_free(text);
		assert_string_equal(left_out, "");
		assert_string_equal(back->name, (*t)->name);
		assert_int_equal(back->n_fields, (*t)->n_fields + 1);
		for (uint32_t i = 0; i < (*t)->n_fields; i++)
			assert_string_equal(back->fields[i + 1].name, (*t)->fields[i].name);
		sim_type_unref(back);
	}
}
