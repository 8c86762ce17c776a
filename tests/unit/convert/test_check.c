/* SPDX-License-Identifier: Apache-2.0 */
/* The output of a converter against the definition: every deviation is found, named, and ends the message. */

#include "tests/support/test.h"

#include <errno.h>

#include "enc_check.h"
#include "enc_wire.h"

/* string label; uint32 size; uint32 stride of MultiArrayDimension in MultiArrayLayout in Float32MultiArray */
static const struct ros_type *definition(void)
{
	return ros_type_find(ros2_types, "std_msgs/msg/Float32MultiArray");
}

static void dimension(struct sim_enc *e, uint32_t n)
{
	sim_enc_begin(e, NULL);
	sim_enc_text(e, "label", "a");
	sim_enc_u32(e, "size", n);
	sim_enc_u32(e, "stride", n);
	sim_enc_end(e);
}

static void layout(struct sim_enc *e, uint32_t n)
{
	sim_enc_begin(e, "layout");
	sim_enc_list(e, "dim", n);
	for (uint32_t i = 0; i < n; i++)
		dimension(e, i);
	sim_enc_list_end(e);
	sim_enc_u32(e, "data_offset", 0);
	sim_enc_end(e);
}

static const float data[3] = { 1, 2, 3 };

static void right(struct sim_enc *e)
{
	layout(e, 2);
	sim_enc_array(e, "data", SIM_KIND_FLOAT32, data, 3);
}
static void too_short(struct sim_enc *e)
{
	layout(e, 0);
}
static void too_long(struct sim_enc *e)
{
	right(e);
	sim_enc_u8(e, "more", 1);
}
static void wrong_name(struct sim_enc *e)
{
	layout(e, 0);
	sim_enc_array(e, "date", SIM_KIND_FLOAT32, data, 3);
}
static void wrong_kind(struct sim_enc *e)
{
	layout(e, 0);
	sim_enc_array(e, "data", SIM_KIND_FLOAT64, data, 1);
}
static void wrong_order(struct sim_enc *e)
{
	sim_enc_array(e, "data", SIM_KIND_FLOAT32, data, 3);
	layout(e, 0);
}
static void one_for_many(struct sim_enc *e)
{
	layout(e, 0);
	sim_enc_f32(e, "data", 1);
}
static void list_of_numbers(struct sim_enc *e)
{
	layout(e, 0);
	sim_enc_list(e, "data", 1);
}
static void fixed_for_variable(struct sim_enc *e)
{
	layout(e, 0);
	e->ops->array(e, "data", SIM_KIND_FLOAT32, data, 3, 1);
}
static void at_no_place(struct sim_enc *e)
{
	layout(e, 0);
	sim_enc_array(e, "data", SIM_KIND_FLOAT32, NULL, 3);
}
static void too_few(struct sim_enc *e)
{
	sim_enc_begin(e, "layout");
	sim_enc_list(e, "dim", 2);
	dimension(e, 1);
	sim_enc_list_end(e);
}
static void too_many(struct sim_enc *e)
{
	sim_enc_begin(e, "layout");
	sim_enc_list(e, "dim", 1);
	dimension(e, 1);
	dimension(e, 1);
}
static void other_elements(struct sim_enc *e)
{
	sim_enc_begin(e, "layout");
	sim_enc_list(e, "dim", 1);
	sim_enc_text(e, NULL, "dimension");
}
static void element_without_list(struct sim_enc *e)
{
	sim_enc_begin(e, NULL);
}
static void ends_inside(struct sim_enc *e)
{
	sim_enc_begin(e, "layout");
}
static void ends_too_soon(struct sim_enc *e)
{
	sim_enc_begin(e, "layout");
	sim_enc_end(e);
}
static void ends_too_often(struct sim_enc *e)
{
	right(e);
	sim_enc_end(e);
}
static void no_list_ends(struct sim_enc *e)
{
	right(e);
	sim_enc_list_end(e);
}
static void no_header(struct sim_enc *e)
{
	static const struct sim_enc_header h = { .frame = "" };

	sim_enc_header(e, "layout", &h);
}
static void nonsense_kind(struct sim_enc *e)
{
	e->ops->value(e, "layout", (enum sim_kind)77, data);
}
static void its_own_error(struct sim_enc *e)
{
	sim_enc_fail(e, -EDOM);
	right(e);
}

static int say(void (*what)(struct sim_enc *e), struct enc_check *c)
{
	struct enc_wire w;
	struct iov_buf o;
	int r;

	iov_buf_init(&o);
	wire_begin(&w, WIRE_CDR, &o);
	enc_check_begin(c, definition(), &w.enc);
	what(&c->enc);
	r = enc_check_end(c);
	assert_int_equal(wire_finish(&w), 0);
	iov_buf_finish(&o);
	return r;
}

TEST(differences_from_the_definition_are_named)
{
	static const struct {
		void (*what)(struct sim_enc *e);
		const char *word;
	} cases[] = {
		{ too_short, "ends before 'data'" },
		{ too_long, "'more' (UINT8) is encoded where 'nothing'" },
		{ wrong_name, "'date' (FLOAT32[]) is encoded where 'data' (FLOAT32[]) is expected" },
		{ wrong_kind, "(FLOAT64[])" },
		{ wrong_order, "where 'layout' (message) is expected" },
		{ one_for_many, "'data' (FLOAT32) is encoded" },
		{ list_of_numbers, "(message[])" },
		{ fixed_for_variable, "no array of fixed size" },
		{ at_no_place, "elements at NULL" },
		{ too_few, "before its last element" },
		{ too_many, "more elements" },
		{ other_elements, "another kind" },
		{ element_without_list, "an element" },
		{ ends_inside, "inside 'std_msgs/MultiArrayLayout'" },
		{ ends_too_soon, "ends before 'dim'" },
		{ ends_too_often, "without being begun" },
		{ no_list_ends, "none has begun" },
		{ no_header, "no header" },
		{ nonsense_kind, "(?)" },
	};
	struct enc_check c;

	assert_int_equal(say(right, &c), 0);
	assert_string_equal(c.why, "");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(say(cases[i].what, &c), -EPROTO);
		if (!strstr(c.why, cases[i].word))
			fail_msg("\"%s\" does not say \"%s\"", c.why, cases[i].word);
	}
	assert_int_equal(say(its_own_error, &c), -EDOM);
}
