/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types made of protobuf definitions: names, limits, unsupported fields, possible mistakes of a peer.
 * test_pb_type_all.cpp compares their messages with libprotobuf.
 */
#include "support/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <sim/introspect.h>

#include "pb_type.h"
#include "pb_writer.h"
#include "unit/introspect/random_msg.h"

static uint8_t set[1 << 20];
static size_t set_size;
static char why[400];
static _Alignas(64) uint8_t body[65536];
static struct dec_pb decoder;

static void read_set(void)
{
	FILE *f = fopen(PB_SETS "unit/convert/pb_types.bin", "re");

	assert_non_null(f);
	set_size = fread(set, 1, sizeof(set), f);
	fclose(f);
	assert_in_range(set_size, 1000, sizeof(set) - 1);
}

static struct pb_type *create(const char *name)
{
	struct pb_type *t = NULL;

	read_set();
	if (pb_type_create(set, set_size, name, &t, why, sizeof(why)) < 0)
		fail_msg("%s: %s", name, why);
	return t;
}

static const struct sim_field *field(const struct sim_type *t, const char *name)
{
	for (uint32_t i = 0; i < t->n_fields; i++)
		if (strcmp(t->fields[i].name, name) == 0)
			return &t->fields[i];
	fail_msg("%s has no %s", t->name, name);
	return NULL;
}

/* ---- types ---- */

TEST(a_message_becomes_a_type_with_its_fields_by_number)
{
	struct pb_type *t = create("pb_types.two.Many");
	const struct sim_type *s = pb_type_sim(t);

	assert_string_equal(s->name, "pb_types_two/Many");
	assert_int_equal(s->n_fields, 41);
	assert_string_equal(s->fields[0].name, "present");
	assert_int_equal(s->fields[0].kind, SIM_KIND_UINT32);
	assert_int_equal(s->fields[0].count, 2); /* words for 40 bits */
	assert_string_equal(s->fields[1].name, "a1");
	assert_string_equal(s->fields[40].name, "a40");
	assert_null(pb_type_loss(t));
	pb_type_destroy(t);
}

TEST(fields_have_the_nearest_field_kind)
{
	struct pb_type *t = create("pb_types.two.Every");
	const struct sim_type *s = pb_type_sim(t);

	assert_int_equal(field(s, "s32")->kind, SIM_KIND_INT32);
	assert_int_equal(field(s, "x64")->kind, SIM_KIND_UINT64);
	assert_int_equal(field(s, "raw")->kind, SIM_KIND_UINT8);
	assert_int_equal(field(s, "raw")->array, SIM_ARRAY_VARIABLE);
	assert_int_equal(field(s, "raws")->kind, SIM_KIND_STRING);
	assert_string_equal(field(s, "inner")->type->name, "pb_types_two/Every_Inner");
	assert_int_equal(field(s, "inner")->array, SIM_ARRAY_BOUNDED);
	assert_int_equal(field(s, "inner")->count, 1);
	assert_int_equal(field(s, "inners")->array, SIM_ARRAY_VARIABLE);
	assert_string_equal(field(s, "named")->type->name, "pb_types_two/Every_NamedEntry");
	assert_string_equal(s->fields[0].name, "present_"); /* one of its own is called present */
	(void)field(s, "present");
	(void)field(s, "field_63"); /* _private */
	pb_type_destroy(t);
}

TEST(values_of_enums_are_constants)
{
	struct pb_type *t = create("pb_types.two.Every");
	const struct sim_type *s = pb_type_sim(t);

	assert_int_equal(s->n_constants, 4);
	assert_string_equal(s->constants[0].name, "FIRST");
	assert_string_equal(s->constants[0].value, "3");
	assert_string_equal(s->constants[3].name, "OUTER_LOW");
	assert_string_equal(s->constants[3].value, "-7");
	pb_type_destroy(t);
}

TEST(names_that_collide_or_are_too_long_get_a_number)
{
	struct pb_type *t = create("pb_types.two.Two_Names");
	const char *a = field(pb_type_sim(t), "a")->type->name, *b = field(pb_type_sim(t), "b")->type->name;

	assert_string_equal(a, "pb_types_two/Two_Names_A");
	assert_int_equal(strncmp(b, "pb_types_two/Two_Names_A_", 25), 0);
	assert_int_equal(strlen(b), 25 + 8);
	pb_type_destroy(t);
	t = create("pb_types.two.ANameThatIsLongerThanOurNamesOfTypesMayBe_SoThatItIsCutAndNumbered");
	assert_int_equal(strncmp(pb_type_sim(t)->name, "pb_types_two/ANameThatIsLongerThanOurNames_", 43), 0);
	pb_type_destroy(t);
}

TEST(fields_carried_as_bytes_are_named)
{
	struct pb_type *t = create("pb_types.two.Every");

	assert_string_equal(pb_type_loss(t), "pb_types.two.Every.again nests itself, and is carried as bytes; "
					     "pb_types.two.Every.more nests itself, and is carried as bytes");
	assert_int_equal(field(pb_type_sim(t), "again")->kind, SIM_KIND_UINT8);
	assert_int_equal(field(pb_type_sim(t), "more")->kind, SIM_KIND_STRING);
	pb_type_destroy(t);
	t = create("pb_types.two.Old");
	assert_string_equal(pb_type_loss(t), "pb_types.two.Old may have extensions, which are left out; "
					     "pb_types.two.Old.sub is a group, and is left out");
	pb_type_destroy(t);
	t = create("pb_types.two.D1"); /* D8 is the eighth: it has no room for D9; D10 of D6 is the seventh */
	assert_non_null(strstr(pb_type_loss(t), "pb_types.two.D8.d is nested too deep, and is carried as bytes"));
	assert_null(strstr(pb_type_loss(t), "leaf"));
	pb_type_destroy(t);
	t = create("pb_types.two.Nothing");
	assert_null(pb_type_loss(t));
	pb_type_destroy(t);
}

/* ---- definitions ---- */

TEST(a_definition_without_the_message_is_refused_with_the_reason)
{
	static const char *const none[] = { "pb_types.two.Nobody", "pb_types.two.Outer", "", ".", "pb_types.two" };
	struct pb_type *t;

	read_set();
	for (unsigned i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_int_equal(pb_type_create(set, set_size, none[i], &t, why, sizeof(why)), -ENOENT);
		assert_non_null(strstr(why, none[i]));
	}
	assert_int_equal(pb_type_create(NULL, 0, "a.B", &t, why, sizeof(why)), -ENOENT);
}

TEST(a_damaged_definition_is_refused_or_usable)
{
	uint64_t seed = test_seed(3);
	uint8_t *bytes = malloc(sizeof(set));

	assert_non_null(bytes);
	read_set();
	for (unsigned i = 0; i < 3000; i++) {
		size_t n = random_next(&seed) % 2 ? set_size : random_next(&seed) % set_size;
		struct pb_type *t;

		memcpy(bytes, set, n);
		for (unsigned k = random_next(&seed) % 4; k && n; k--)
			bytes[random_next(&seed) % n] = (uint8_t)random_next(&seed);
		why[0] = '\0';
		if (pb_type_create(bytes, n, "pb_types.two.Every", &t, why, sizeof(why)) == 0)
			pb_type_destroy(t);
		else
			assert_true(*why);
	}
	free(bytes);
}

TEST(the_definition_is_passed_on_with_the_type)
{
	struct pb_type *t = create("pb_types.two.Every"), *back;
	size_t n, m;
	const void *at = pb_type_set(t, &n), *of_back;

	assert_int_equal(pb_type_of_sim(pb_type_sim(t), &back, why, sizeof(why)), 0);
	assert_string_equal(pb_type_name(back), "pb_types.two.Every");
	of_back = pb_type_set(back, &m);
	assert_int_equal(n, m);
	assert_memory_equal(at, of_back, n);
	assert_non_null(memmem(set, set_size, at, n)); /* the set that it came in; pb_types3.proto is not needed */
	assert_true(n < set_size);
	pb_type_destroy(back);
	pb_type_destroy(t);
}

TEST(a_damaged_or_foreign_type_has_no_definition)
{
	static const char *const damaged[] = { "protobuf pb_types.two.Every\n!", "protobuf pb_types.two.Every\n",
					       "protobuf pb_types.two.Every\n99999999999 ",
					       "protobuf pb_types.two.Every\n5 !",
					       "protobuf pb_types.two.Every\n5 AAAA" };
	struct pb_type *t = create("pb_types.two.Every"), *back = NULL;
	struct sim_type other = *pb_type_sim(t);

	assert_int_equal(pb_type_of_sim(sim_type_builtin("sim/Image"), &back, why, sizeof(why)), -ENOENT);
	assert_int_equal(pb_type_of_sim(field(pb_type_sim(t), "inner")->type, &back, why, sizeof(why)), -ENOENT);
	other.hash++;
	assert_int_equal(pb_type_of_sim(&other, &back, why, sizeof(why)), -ENOTSUP);
	assert_non_null(strstr(why, "is not what the definition in its comment says"));
	other.hash--;
	for (unsigned i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		other.comment = damaged[i];
		assert_int_equal(pb_type_of_sim(&other, &back, why, sizeof(why)), -ENOTSUP);
		assert_non_null(strstr(why, "is damaged in the comment of pb_types_two/Every"));
	}
	assert_null(back);
	pb_type_destroy(t);
}

/* A file with a message and, as a comment of the source would be, an unknown field. */
static size_t make_large(uint32_t filler_field, size_t filler, uint8_t **ret)
{
	uint8_t *text = calloc(1, filler + 1);
	uint64_t seed = test_seed(9);
	struct iovec iov[IOV_BUF_PIECES];
	struct iov_buf o;
	struct pb_writer w;
	size_t n;

	assert_non_null(text);
	for (size_t i = 0; i < filler; i++)
		text[i] = (uint8_t)random_next(&seed);
	iov_buf_init(&o);
	pb_begin(&w, &o);
	pb_open(&w, 1);
	pb_string(&w, 1, "a.proto", 7);
	pb_string(&w, 2, "a", 1);
	pb_open(&w, 4);
	pb_string(&w, 1, "B", 1);
	pb_close(&w);
	pb_string(&w, filler_field, (const char *)text, filler);
	pb_close(&w);
	assert_int_equal(pb_end(&w), 0);
	assert_int_equal(iov_buf_iov(&o, iov), 1);
	n = iov[0].iov_len;
	*ret = malloc(n);
	assert_non_null(*ret);
	memcpy(*ret, iov[0].iov_base, n);
	iov_buf_finish(&o);
	free(text);
	return n;
}

TEST(a_definition_that_is_too_long_to_pass_on_is_named)
{
	struct pb_type *t, *back;
	uint8_t *large;
	size_t n = make_large(9, 300000, &large); /* source_code_info, which is not needed */

	assert_int_equal(pb_type_create(large, n, "a.B", &t, why, sizeof(why)), 0);
	assert_null(pb_type_loss(t));
	assert_int_equal(pb_type_of_sim(pb_type_sim(t), &back, why, sizeof(why)), 0);
	pb_type_destroy(back);
	pb_type_destroy(t);
	free(large);
	n = make_large(99, 300000, &large);
	assert_int_equal(pb_type_create(large, n, "a.B", &t, why, sizeof(why)), 0);
	assert_string_equal(pb_type_loss(t), "its definition is too long to travel with it");
	assert_int_equal(pb_type_of_sim(pb_type_sim(t), &back, why, sizeof(why)), -ENOENT);
	pb_type_destroy(t);
	free(large);
}

/* ---- messages ---- */

static int take(const struct pb_type *t, const void *data, size_t n, size_t *ret_size)
{
	struct message_in to = { .buf = body, .room = sizeof(body) };
	int r;

	dec_pb_init(&decoder);
	r = pb_type_decode(t, &decoder, data, n, &to);
	*ret_size = to.size;
	return r;
}

static int64_t value(const struct pb_type *t, size_t size, const char *path)
{
	struct sim_field_path p;
	struct sim_field_view v;
	double d = 0;

	assert_int_equal(sim_field_find(pb_type_sim(t), path, &p), 0);
	assert_int_equal(sim_field_get(&p, body, size, &v), 0);
	assert_int_equal(sim_field_number(&v, 0, &d), 0);
	return (int64_t)d;
}

TEST(fields_of_another_wire_type_are_ignored_and_the_last_of_two_counts)
{
	static const uint8_t twice[] = { 0x18, 1, 0x18, 2, /* i32 */ 0x0d, 0, 0, 0, 0, /* f64 as a float */ 0x3d,
					 1,    0, 0,    0 /* s32 fixed */ };
	struct pb_type *t = create("pb_types.two.Every");
	size_t size;

	assert_int_equal(take(t, twice, sizeof(twice), &size), 0);
	assert_int_equal(value(t, size, "i32"), 2);
	assert_int_equal(value(t, size, "s32"), -1); /* its default */
	assert_int_equal(value(t, size, "present_[0]"), 1 << 2);
	dec_pb_finish(&decoder);
	pb_type_destroy(t);
}

TEST(of_two_singular_messages_the_last_counts)
{
	static const uint8_t twice[] = { 0x9a, 1, 2, 8, 1, 0x9a, 1, 2, 8, 2 }; /* inner { a: 1 } inner { a: 2 } */
	struct pb_type *t = create("pb_types.two.Every");
	size_t size;

	assert_int_equal(take(t, twice, sizeof(twice), &size), 0);
	assert_int_equal(value(t, size, "inner[0].a"), 2);
	dec_pb_finish(&decoder);
	pb_type_destroy(t);
}

TEST(numbers_may_be_packed_or_not)
{
	static const uint8_t mixed[] = { 0x88, 2, 1, 0x8a, 2, 2, 2, 3, 0x88, 2, 4 }; /* i32s, 33 */
	struct pb_type *t = create("pb_types.two.Every");
	size_t size;

	assert_int_equal(take(t, mixed, sizeof(mixed), &size), 0);
	assert_int_equal(value(t, size, "i32s[3]"), 4);
	assert_int_equal(value(t, size, "i32s[1]"), 2);
	dec_pb_finish(&decoder);
	pb_type_destroy(t);
}

/* The bytes are refused, or they become a valid body that is written again. */
TEST(a_damaged_message_is_refused_or_valid)
{
	uint64_t seed = test_seed(5);
	struct pb_type *t = create("pb_types.two.Every");
	size_t size;

	for (unsigned i = 0; i < 4000; i++) {
		uint8_t wire[200], *exact;
		size_t n = random_next(&seed) % sizeof(wire);
		struct iov_buf o;

		for (size_t k = 0; k < n; k++) /* tags that there are, and anything */
			wire[k] = random_next(&seed) % 3 ? (uint8_t)random_next(&seed)
							 : (uint8_t)(random_next(&seed) % 16 * 8 + 2);
		exact = malloc(n + !n);
		assert_non_null(exact);
		memcpy(exact, wire, n);
		iov_buf_init(&o);
		if (take(t, exact, n, &size) == 0) {
			assert_int_equal(sim_msg_check(pb_type_sim(t), body, size), 0);
			assert_int_equal(pb_type_encode(t, body, size, &o), 0);
		}
		iov_buf_finish(&o);
		dec_pb_finish(&decoder);
		free(exact);
	}
	pb_type_destroy(t);
}

TEST(an_inconsistent_body_is_refused)
{
	struct pb_type *t = create("pb_types.two.Every");
	struct iov_buf o;
	size_t size;

	assert_int_equal(take(t, "", 0, &size), 0);
	dec_pb_finish(&decoder);
	iov_buf_init(&o);
	assert_int_equal(pb_type_encode(t, body, pb_type_sim(t)->fixed_size - 1, &o), -EBADMSG);
	iov_buf_reset(&o);
	((struct sim_span *)(void *)(body + field(pb_type_sim(t), "texts")->offset))->count = 1000000;
	assert_int_equal(pb_type_encode(t, body, size, &o), -EBADMSG);
	iov_buf_finish(&o);
	pb_type_destroy(t);
}
