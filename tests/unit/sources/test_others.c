/* SPDX-License-Identifier: Apache-2.0 */
/* tools/sources/join/others.h: objects of a world as messages. Thread: the test's. */
#include "tests/support/test.h"

#include <math.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/Transforms.h>

#include "tools/sources/join/others.h"

#define ID(connection, number) ((uint64_t)(connection) << 40 | (uint64_t)(number) << 16 | 1)

static uint8_t body[1 << 17] __attribute__((aligned(64)));
static const struct join_ego nobody = { .known = false };

/* Turned about z. */
static struct sim_world_object object(uint64_t id, double x, double y, double yaw, int64_t time_sim_ns)
{
	return (struct sim_world_object){ .id = id,
					  .code = SIM_WORLD_PEDESTRIAN,
					  .position = { x, y, 1 },
					  .rotation = { cos(yaw / 2), 0, 0, sin(yaw / 2) },
					  .time_sim_ns = time_sim_ns };
}

static void put(struct others *t, const struct sim_world_object *o, const struct join_ego *ego)
{
	assert_int_equal(others_put(t, o, ego), 0);
}

static const struct sim_Detected3DObject *read_objects(const struct others *t, const struct join_ego *ego,
						       uint32_t *ret_n)
{
	size_t n = others_objects(t, ego, body, others_objects_max(t->n_near));
	const struct sim_Detected3DObjects *all = sim_Detected3DObjects_from(body, n);

	assert_non_null(all);
	return sim_Detected3DObjects_objects(all, n, ret_n);
}

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

TEST(object_ids_stay_with_their_objects)
{
	struct others t = { .most = 10 };
	const struct sim_Detected3DObject *o;
	uint32_t n, first;

	for (int round = 0; round < 3; round++) {
		others_begin(&t);
		for (unsigned i = round == 2; i < 3; i++) {
			struct sim_world_object w = object(ID(9 - i, i), i, 0, 0, round * 100);

			put(&t, &w, &nobody);
		}
		assert_int_equal(others_end(&t), 0);
	}
	o = read_objects(&t, &nobody, &n);
	assert_int_equal(n, 2);
	assert_int_equal(o[0].id, 2);
	assert_int_equal(o[1].id, 3);
	assert_int_equal(o[0].tracking_time, 200);
	first = o[0].id;
	others_begin(&t);
	put(&t, &(struct sim_world_object){ .id = ID(9, 0), .rotation = { 1 } }, &nobody); /* in range again */
	assert_int_equal(others_end(&t), 0);
	o = read_objects(&t, &nobody, &n);
	assert_int_equal(n, 1);
	assert_int_equal(o[0].id, 1);
	assert_int_equal(o[0].tracking_time, 0);
	others_begin(&t);
	put(&t, &(struct sim_world_object){ .id = ID(9, 0) + 1, .rotation = { 1 } },
	    &nobody); /* removed, and put again: another one */
	assert_int_equal(others_end(&t), 0);
	o = read_objects(&t, &nobody, &n);
	assert_int_equal(o[0].id, 4);
	assert_int_not_equal(o[0].id, first);
	others_finish(&t);
}

TEST(of_many_objects_the_nearest_are_published)
{
	const struct join_ego ego = { .known = true, .position = { 500, 0, 0 }, .rotation = { 1, 0, 0, 0 } };
	struct others t = { .most = 10 };
	const struct sim_Detected3DObject *o;
	uint32_t n;

	others_begin(&t);
	for (unsigned i = 0; i < 1000; i++) {
		struct sim_world_object w = object(ID(1, i), (i * 7919) % 1000, 0, 0, 0);

		put(&t, &w, &ego);
	}
	assert_int_equal(others_end(&t), 0);
	o = read_objects(&t, &ego, &n);
	assert_int_equal(n, 10);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(fabs(o[i].pose.position.x) <= 5);
		assert_true(near(o[i].map_position.x - 500, o[i].pose.position.x));
	}
	others_finish(&t);
}

/* The ego looks north at 10 20; a car 5 m ahead of it looks west, its box 1 m before its origin. */
TEST(an_object_is_published_at_its_box_centre)
{
	static const struct sim_world_shape shape = { .size = { 4, 2, 1.5 }, .offset = { 1, 0, 0.75 } };
	const struct join_ego ego = { .known = true,
				      .position = { 10, 20, 0 },
				      .rotation = { sqrt(0.5), 0, 0, sqrt(0.5) } };
	struct sim_world_object w = object(ID(3, 4), 10, 25, M_PI, 0);
	struct others t = { .most = 10 };
	const struct sim_Detected3DObject *o;
	const struct sim_Transforms *all;
	const struct sim_Transform *at;
	uint8_t car[128];
	uint32_t n;
	size_t len;

	w.code = SIM_WORLD_VEHICLE;
	w.velocity[0] = -3;
	w.spin[2] = 0.5;
	w.body = car;
	w.body_size = (size_t)sim_world_shape_write(SIM_WORLD_VEHICLE, &shape, car, sizeof(car));
	others_begin(&t);
	put(&t, &w, &ego);
	assert_int_equal(others_end(&t), 0);
	o = read_objects(&t, &ego, &n);
	assert_true(near(o->map_position.x, 9) && near(o->map_position.y, 25) && near(o->map_position.z, 1.75));
	assert_true(near(o->pose.position.x, 5) && near(o->pose.position.y, 1) && near(o->pose.position.z, 1.75));
	assert_true(near(fabs(o->pose.orientation.z), sqrt(0.5)));
	assert_true(near(o->velocity.linear.x, 3) && near(o->velocity.linear.y, 0));
	assert_true(near(o->velocity.angular.z, 0.5));
	assert_true(near(fabs(o->heading), M_PI));
	assert_true(near(o->size.y, 2));
	len = others_tf(&t, body, others_tf_max(1));
	all = sim_Transforms_from(body, len);
	assert_non_null(all);
	at = sim_Transforms_transforms(all, len, &n);
	assert_int_equal(n, 1);
	assert_string_equal(sim_Transform_child_frame_in(all, len, at), "world_3_4");
	assert_string_equal(sim_Transform_parent_frame_in(all, len, at), "map");
	assert_true(near(at->translation.x, 10) && near(at->translation.y, 25) && near(at->translation.z, 1));
	others_finish(&t);
}
