/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every mapping against the definition of its target: an encoder that knows the definition and compares each call with the
 * field that is due, in the words of ROS 2 and of ROS 1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <strings.h>

#include "map.h"
#include "sample.h"
#include "sim/introspect.h"
#include "sim/msg/Image.h"
#include "sim/point_cloud.h"

#define DEPTH 16

struct check {
	struct enc enc;
	const struct ros_type *const *types;
	struct level {
		const struct ros_type *type;
		uint32_t at;   /* field that is due */
		uint32_t left; /* elements of a list that are still to come */
		bool list;
	} level[DEPTH];
	unsigned depth;
	uint8_t scratch[4096];
};

static struct check *check_of(struct enc *e)
{
	return (struct check *)(void *)e;
}

/* The field that is due, checked by name, kind and arity. */
static const struct ros_field *due(struct check *c, const char *name, unsigned prim, bool array)
{
	struct level *l = &c->level[c->depth];
	const struct ros_field *f = l->at < l->type->n_fields ? &l->type->fields[l->at] : NULL;

	if (!f || l->list || !name || strcasecmp(f->name, name) != 0 || f->prim != prim ||
	    (f->array != ROS_ONE) != array)
		fail_msg("%s: said '%s' of kind %u%s, due is '%s' of kind %u", l->type->name, name ? name : "(element)",
			 prim, array ? "[]" : "", f ? f->name : "nothing", f ? f->prim : 0u);
	if (f) /* the analyser does not know that fail_msg() never returns */
		l->at++;
	return f;
}

static void check_value(struct enc *e, const char *name, enum ros_prim prim, const void *v)
{
	(void)v;
	due(check_of(e), name, prim, false);
}
static void check_string(struct enc *e, const char *name, const char *s, size_t len)
{
	assert_int_equal(strlen(s), len);
	due(check_of(e), name, ROS_STRING, false);
}
static void check_time(struct enc *e, const char *name, enum ros_prim prim, int64_t ns)
{
	(void)ns;
	due(check_of(e), name, prim, false);
}
static void check_array(struct enc *e, const char *name, enum ros_prim prim, const void *data, uint32_t n, bool fixed)
{
	const struct ros_field *f = due(check_of(e), name, prim, true);

	assert_int_equal(fixed, f->array == ROS_FIXED);
	assert_true(!fixed || f->count == n);
	assert_true(data || !n);
}
static void *check_room(struct enc *e, const char *name, enum ros_prim prim, uint32_t n)
{
	check_array(e, name, prim, e, n, false);
	assert_true(n <= sizeof(check_of(e)->scratch));
	return check_of(e)->scratch;
}

static void push(struct check *c, struct level l)
{
	assert_true(c->depth + 1 < DEPTH);
	c->level[++c->depth] = l;
}

static void check_begin(struct enc *e, const char *name)
{
	struct check *c = check_of(e);
	struct level *l = &c->level[c->depth];

	if (name) {
		push(c, (struct level){ .type = due(c, name, ROS_NESTED, false)->type });
		return;
	}
	assert_true(l->list && l->left > 0);
	l->left--;
	push(c, (struct level){ .type = l->type });
}

static void complete(const struct level *l)
{
	if (!l->list && l->at != l->type->n_fields)
		fail_msg("%s ends before '%s'", l->type->name, l->type->fields[l->at].name);
}

static void check_end(struct enc *e)
{
	struct check *c = check_of(e);

	assert_true(c->depth > 0 && !c->level[c->depth].list);
	complete(&c->level[c->depth--]);
}
static void check_list(struct enc *e, const char *name, uint32_t n)
{
	const struct ros_field *f = due(check_of(e), name, ROS_NESTED, true);

	assert_int_equal(f->array, ROS_VARIABLE);
	push(check_of(e), (struct level){ .type = f->type, .left = n, .list = true });
}
static void check_list_end(struct enc *e)
{
	struct check *c = check_of(e);

	assert_true(c->depth > 0 && c->level[c->depth].list);
	assert_int_equal(c->level[c->depth--].left, 0);
}
static void check_header(struct enc *e, const char *name, const struct enc_header *h)
{
	assert_string_equal(due(check_of(e), name, ROS_NESTED, false)->type->name, "std_msgs/Header");
	assert_non_null(h->frame);
}

static const struct enc_ops check_ops = {
	.value = check_value,
	.string = check_string,
	.time = check_time,
	.array = check_array,
	.room = check_room,
	.begin = check_begin,
	.end = check_end,
	.list = check_list,
	.list_end = check_list_end,
	.header = check_header,
};

static _Alignas(64) uint8_t body[65536];

/* A body that the mapping takes: images and clouds say their size twice. */
static size_t fitting_body(const struct sim_type *t)
{
	struct sim_builder b;

	if (strcmp(t->name, "sim/Image") == 0) {
		struct sim_Image *m = sim_Image_init(body, sizeof(body), &b);

		m->height = 2;
		m->width = 1;
		m->step = 4;
		assert_int_equal(sim_Image_encoding_set(&b, "rgb8"), 0);
		memset(sim_Image_data_alloc(&b, 8), 1, 8);
		return sim_builder_size(&b);
	}
	if (strcmp(t->name, "sim/PointCloud") == 0) {
		memset(sim_point_cloud_begin(body, sizeof(body), 3, &b), 0, 3 * sizeof(struct sim_Point));
		return sim_builder_size(&b);
	}
	return sample_body(t, body, sizeof(body));
}

static struct map_in input(size_t size, const struct map_options *options)
{
	return (struct map_in){ .body = body,
				.size = size,
				.header = { .stamp_sim_ns = 1500000000, .seq = 7, .frame = "frame" },
				.options = options };
}

static void check_one(const struct map *m, const struct ros_type *const *types, const struct map_options *options)
{
	struct check c = { .enc.ops = &check_ops, .types = types };
	struct map_in in = input(fitting_body(sim_type_builtin(m->sim)), options);

	assert_true(in.size > 0);
	c.level[0].type = ros_type_find(types, m->ros);
	if (!c.level[0].type)
		fail_msg("%s is not defined", m->ros);
	assert_int_equal(m->emit(&in, &c.enc), 0);
	assert_int_equal(c.depth, 0);
	complete(&c.level[0]);
}

static void every_mapping_follows_its_definition(void **state)
{
	static const struct map_options plain;

	(void)state;
	for (const struct map *m = map_table; m->sim; m++) {
		check_one(m, ros2_types, &plain);
		check_one(m, ros1_types, &plain);
	}
}

static void the_options_do_not_change_the_fields(void **state)
{
	static const struct map_options swap = { .encoding = "bgr8", .frame = "other", .child_frame = "child" };

	(void)state;
	check_one(map_find("sim/Image", NULL), ros2_types, &swap);
	check_one(map_find("sim/GpsOdometry", NULL), ros2_types, &swap);
	for (int p = MAP_POINTS_NATIVE; p <= MAP_POINTS_SVL32; p++)
		check_one(map_find("sim/PointCloud", NULL), ros2_types,
			  &(struct map_options){ .points = (enum map_points)p });
}

/* A body that is cut anywhere is refused or read within its bounds (the sanitizers look). */
static void cut_bodies_are_harmless(void **state)
{
	static const struct map_options plain;

	(void)state;
	for (const struct map *m = map_table; m->sim; m++) {
		const struct sim_type *t = sim_type_builtin(m->sim);
		size_t full = fitting_body(t);

		for (size_t size = 0; size <= full; size += 4) {
			struct check c = { .enc.ops = &check_ops };
			struct map_in in = input(size, &plain);
			int r;

			c.level[0].type = ros_type_find(ros2_types, m->ros);
			r = m->emit(&in, &c.enc);
			assert_true(r == 0 || r == -EBADMSG);
			assert_true(size >= t->fixed_size || r == -EBADMSG);
		}
	}
}

static void mappings_are_found_by_either_name(void **state)
{
	(void)state;
	assert_string_equal(map_find("sim/CanBus", NULL)->ros, "lgsvl_msgs/CanBusData");
	assert_string_equal(map_find("sim/CanBus", "autoware_vehicle_msgs/msg/GearReport")->ros,
			    "autoware_vehicle_msgs/GearReport");
	assert_ptr_equal(map_find("sim/Imu", "sensor_msgs/Imu"), map_find("sim/Imu", NULL));
	assert_null(map_find("sim/Imu", "sensor_msgs/Image"));
	assert_null(map_find("sim/Imu", "sensor_msgs/Im"));
	assert_null(map_find("sim/Imu", "sensor_msgs"));
	assert_null(map_find("sim/GpsIns", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_mapping_follows_its_definition),
		cmocka_unit_test(the_options_do_not_change_the_fields),
		cmocka_unit_test(cut_bodies_are_harmless),
		cmocka_unit_test(mappings_are_found_by_either_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
