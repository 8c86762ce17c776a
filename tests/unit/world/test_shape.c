/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of objects in sim/world.h, against protobuf-c's reading of them. Thread: the test's. */
#include "support/test.h"

#include <errno.h>
#include <math.h>

#include <sim/world.h>

#include "wire/world.pb-c.h"

static const struct sim_world_shape car = { .model = "sedan",
					    .size = { 4.5, 1.8, 1.45 },
					    .offset = { 1.4, 0, -0.725 } };

TEST(protobuf_reads_written_bodies)
{
	uint8_t body[128];
	int n = sim_world_shape_write(SIM_WORLD_VEHICLE, &car, body, sizeof(body));
	Sim__World__Vehicle *v;

	assert_true(n > 0);
	v = sim__world__vehicle__unpack(NULL, (size_t)n, body);
	assert_non_null(v);
	assert_string_equal(v->model, "sedan");
	assert_int_equal(v->n_size_mm, 3);
	assert_int_equal(v->size_mm[0], 4500);
	assert_int_equal(v->size_mm[2], 1450);
	assert_int_equal(v->offset_mm[0], 1400);
	assert_int_equal(v->offset_mm[2], -725);
	sim__world__vehicle__free_unpacked(v, NULL);
}

TEST(written_bodies_read_back)
{
	struct sim_world_shape s;
	uint8_t body[128];
	int n;

	for (uint32_t code = 0; code < 256; code++) {
		bool has = code == SIM_WORLD_VEHICLE || (code >= SIM_WORLD_PEDESTRIAN && code <= SIM_WORLD_GENERIC);

		n = sim_world_shape_write(code, &car, body, sizeof(body));
		assert_int_equal(n < 0 ? n : 0, has ? 0 : -EINVAL);
		if (!has)
			continue;
		assert_int_equal(sim_world_shape_read(code, body, (size_t)n, &s), 0);
		assert_string_equal(s.model, car.model);
		assert_true(fabs(s.size[1] - 1.8) < 1e-9);
		assert_true(fabs(s.offset[2] - (code == SIM_WORLD_VEHICLE ? -0.725 : 0.725)) < 1e-9);
	}
}

TEST(a_body_may_have_more_or_fewer_fields)
{
	static const int32_t size[] = { 900, 600, 1700, 5 };
	Sim__World__Person p = SIM__WORLD__PERSON__INIT;
	struct sim_world_shape s;
	uint8_t body[64];
	size_t n;

	p.n_size_mm = 4;
	p.size_mm = (int32_t *)(uintptr_t)size;
	p.posture = 2;
	n = sim__world__person__pack(&p, body);
	assert_int_equal(sim_world_shape_read(SIM_WORLD_PEDESTRIAN, body, n, &s), 0);
	assert_string_equal(s.model, "");
	assert_true(fabs(s.size[2] - 1.7) < 1e-9 && fabs(s.offset[2] - 0.85) < 1e-9);
	assert_int_equal(sim_world_shape_read(SIM_WORLD_PEDESTRIAN, "\x10\x02\x10\x04\x10\x06", 6, &s),
			 0); /* unpacked */
	assert_true(fabs(s.size[0] - 0.001) < 1e-9 && fabs(s.size[2] - 0.003) < 1e-9);
	assert_int_equal(sim_world_shape_read(SIM_WORLD_VEHICLE, NULL, 0, &s), 0);
	assert_true(s.size[0] == 0);
}

TEST(invalid_shapes_are_refused)
{
	struct sim_world_shape s = car;
	uint8_t body[128];

	assert_int_equal(sim_world_shape_read(SIM_WORLD_VEHICLE, "\x0a\x05x", 3, &s), -EBADMSG);
	assert_int_equal(sim_world_shape_read(SIM_WORLD_VEHICLE, "\x12\x02\xff\xff", 4, &s), -EBADMSG);
	s = car;
	assert_int_equal(sim_world_shape_write(SIM_WORLD_VEHICLE, &s, body, 10), -ENOBUFS);
	s.size[1] = NAN;
	assert_int_equal(sim_world_shape_write(SIM_WORLD_VEHICLE, &s, body, sizeof(body)), -EINVAL);
	s.size[1] = 1001;
	assert_int_equal(sim_world_shape_write(SIM_WORLD_VEHICLE, &s, body, sizeof(body)), -EINVAL);
	s = car;
	memset(s.model, 'x', sizeof(s.model)); /* without an end */
	assert_int_equal(sim_world_shape_write(SIM_WORLD_VEHICLE, &s, body, sizeof(body)), 2 + 64 + 2 + 6 + 2 + 5);
	assert_int_equal(sim_world_shape_read(SIM_WORLD_VEHICLE, body, 2 + 64 + 2 + 6 + 2 + 5, &s), 0);
	assert_int_equal(strlen(s.model), 63);
}
