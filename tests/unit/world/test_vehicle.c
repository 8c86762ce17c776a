/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of vehicles in sim/world.h, against protobuf-c's reading and writing of them. Thread: the test's. */
#include "support/test.h"

#include <errno.h>
#include <math.h>

#include <sim/world.h>

#include "rnd.h"
#include "wire/world.pb-c.h"

static const struct sim_world_vehicle truck = { .shape = { .model = "truck", .size = { 12, 2.5, 3.5 } },
						.steering = -0.25,
						.lights = SIM_WORLD_LOW_BEAM | SIM_WORLD_BRAKE_LIGHT,
						.acceleration = { -1.5, 0.25, 0 },
						.n_parts = 6 };

static void wheels_of(struct sim_world_part wheels[6])
{
	for (int i = 0; i < 6; i++)
		wheels[i] = (struct sim_world_part){ .kind = SIM_WORLD_WHEEL,
						     .position = { 5 - i / 2 * 3.0, i % 2 ? -1.1 : 1.1, 0.5 },
						     .rotation = { cos(0.1 * i), 0, sin(0.1 * i), 0 } };
	wheels[5].kind = SIM_WORLD_OTHER_PART;
}

TEST(protobuf_reads_written_vehicles)
{
	struct sim_world_part wheels[6];
	Sim__World__Vehicle *v;
	uint8_t body[1024];
	int n;

	wheels_of(wheels);
	n = sim_world_vehicle_write(&truck, wheels, body, sizeof(body));
	assert_true(n > 0 && n <= 200 + 48 * 6);
	v = sim__world__vehicle__unpack(NULL, (size_t)n, body);
	assert_non_null(v);
	assert_string_equal(v->model, "truck");
	assert_int_equal(v->parts->n_kind, 6);
	assert_int_equal(v->parts->kind[5], 4);
	assert_int_equal(v->parts->n_position_mm, 18);
	assert_int_equal(v->parts->position_mm[4], -1100);
	assert_int_equal(v->parts->n_rotation_q20, 24);
	assert_int_equal(v->parts->rotation_q20[0], 1 << 20);
	assert_int_equal(v->parts->rotation_q20[4 * 3 + 2], lround(sin(0.3) * 1048576));
	assert_int_equal(v->steering_e4, -2500);
	assert_int_equal(v->lights, 5);
	assert_int_equal(v->n_acceleration_mm, 3);
	assert_int_equal(v->acceleration_mm[0], -1500);
	sim__world__vehicle__free_unpacked(v, NULL);
}

TEST(written_vehicles_read_back)
{
	struct sim_world_part wheels[6], got[6];
	struct sim_world_vehicle v;
	uint8_t body[1024];
	int n;

	wheels_of(wheels);
	n = sim_world_vehicle_write(&truck, wheels, body, sizeof(body));
	assert_int_equal(sim_world_vehicle_read(body, (size_t)n, &v, got, 6), 0);
	assert_string_equal(v.shape.model, "truck");
	assert_int_equal(v.n_parts, 6);
	assert_true(fabs(v.steering + 0.25) < 1e-9 && v.lights == 5 && fabs(v.acceleration[1] - 0.25) < 1e-9);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(got[i].kind, wheels[i].kind);
		for (int k = 0; k < 3; k++)
			assert_true(fabs(got[i].position[k] - wheels[i].position[k]) < 1e-3);
		for (int k = 0; k < 4; k++)
			assert_true(fabs(got[i].rotation[k] - wheels[i].rotation[k]) < 1e-6);
	}
	assert_int_equal(sim_world_vehicle_read(body, (size_t)n, &v, got, 2), 0); /* room for the first alone */
	assert_int_equal(v.n_parts, 6);
	assert_int_equal(sim_world_vehicle_read(NULL, 0, &v, NULL, 0), 0);
	assert_int_equal(v.n_parts, 0);
}

TEST(the_maximum_number_of_parts_fits)
{
	static struct sim_world_part parts[SIM_WORLD_PARTS_MAX + 1], got[SIM_WORLD_PARTS_MAX];
	struct sim_world_vehicle v = { .n_parts = SIM_WORLD_PARTS_MAX };
	static uint8_t body[200 + 48 * SIM_WORLD_PARTS_MAX];
	int n;

	for (unsigned i = 0; i < SIM_WORLD_PARTS_MAX; i++)
		parts[i] = (struct sim_world_part){ .kind = UINT32_MAX,
						    .position = { -1000, 1000, -999.999 },
						    .rotation = { -0.5, 0.5, -0.5, 0.5 } };
	n = sim_world_vehicle_write(&v, parts, body, sizeof(body));
	assert_true(n > 0);
	assert_int_equal(sim_world_vehicle_write(&v, parts, body, (size_t)n - 1), -ENOBUFS);
	assert_int_equal(sim_world_vehicle_read(body, (size_t)n, &v, got, SIM_WORLD_PARTS_MAX), 0);
	assert_int_equal(v.n_parts, SIM_WORLD_PARTS_MAX);
	assert_true(fabs(got[SIM_WORLD_PARTS_MAX - 1].position[2] + 999.999) < 1e-9);
	v.n_parts++;
	assert_int_equal(sim_world_vehicle_write(&v, parts, body, sizeof(body)), -EINVAL);
	v.n_parts = 1;
	parts[0].position[1] = 1000.1;
	assert_int_equal(sim_world_vehicle_write(&v, parts, body, sizeof(body)), -EINVAL);
	parts[0].position[1] = NAN;
	assert_int_equal(sim_world_vehicle_write(&v, parts, body, sizeof(body)), -EINVAL);
	v = truck;
	v.n_parts = 0;
	v.acceleration[2] = INFINITY;
	assert_int_equal(sim_world_vehicle_write(&v, NULL, body, sizeof(body)), -EINVAL);
}

TEST(lists_of_different_length_are_refused)
{
	static const int32_t positions[] = { 1, 2, 3, 4 };
	static const uint32_t kinds[] = { 0, 1 };
	Sim__World__Vehicle m = SIM__WORLD__VEHICLE__INIT;
	Sim__World__Parts parts = SIM__WORLD__PARTS__INIT;
	struct sim_world_part got[4];
	struct sim_world_vehicle v;
	uint8_t body[128];
	size_t n;

	m.parts = &parts;
	parts.n_kind = 2;
	parts.kind = (uint32_t *)(uintptr_t)kinds;
	n = sim__world__vehicle__pack(&m, body);
	assert_int_equal(sim_world_vehicle_read(body, n, &v, got, 4), 0); /* no places: at the origin */
	assert_true(got[1].kind == 1 && got[1].position[0] == 0 && got[1].rotation[0] == 1);
	parts.n_position_mm = 4;
	parts.position_mm = (int32_t *)(uintptr_t)positions;
	n = sim__world__vehicle__pack(&m, body);
	assert_int_equal(sim_world_vehicle_read(body, n, &v, got, 4), -EBADMSG);
}

/* Any byte wrong, cut off anywhere: an answer, and nothing beyond the room. */
TEST(any_bytes_are_checked)
{
	struct sim_world_part wheels[6], got[3];
	uint8_t body[1024], wrong[1024];
	struct sim_world_vehicle v;
	struct rnd r;
	int n;

	wheels_of(wheels);
	n = sim_world_vehicle_write(&truck, wheels, body, sizeof(body));
	rnd_seed(&r, 4);
	for (int i = 0; i < 20000; i++) {
		size_t len = rnd_below(&r, (uint32_t)n + 1);

		memcpy(wrong, body, (size_t)n);
		wrong[rnd_below(&r, (uint32_t)n)] = (uint8_t)rnd_u64(&r);
		(void)!sim_world_vehicle_read(wrong, i % 2 ? len : (size_t)n, &v, got, 3);
	}
}
