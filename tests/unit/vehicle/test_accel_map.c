/* SPDX-License-Identifier: Apache-2.0 */
/* The table of accelerations: between its lines, at its edges, invalid files; and a vehicle that uses it. */
#include "car.h"

#include <errno.h>
#include <unistd.h>

#include "tools/sources/vehicle/accel_map.h"

#define MAP_CAR CAR ", \"vehicle_model_type\": \"DELAY_STEER_MAP_ACC_GEARED\""

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

static int load(const char *text, struct accel_map *ret)
{
	char path[] = "/tmp/accel-map-XXXXXX";
	int fd = mkstemp(path), r;

	assert_true(fd >= 0);
	close(fd);
	put(path, text);
	r = accel_map_load(path, ret);
	unlink(path);
	return r;
}

TEST(the_map_is_interpolated_and_clamped_at_its_edges)
{
	struct accel_map m;

	assert_int_equal(load("default, 0, 5, 10\n-2, -4, -3, -3\n\n0, 0, 0, 0\r\n4, 2, 1, 0.5\n", &m), 0);
	near(accel_map_at(&m, 4, 0), 2, 0);
	near(accel_map_at(&m, 4, 7.5), 0.75, 1e-15);
	near(accel_map_at(&m, 2, 2.5), 0.75, 1e-15);
	near(accel_map_at(&m, -1, 10), -1.5, 1e-15);
	near(accel_map_at(&m, 9, 100), 0.5, 0);
	near(accel_map_at(&m, -9, -1), -4, 0);
	assert_int_equal(load("one, 3\n1, 0.5\n", &m), 0);
	near(accel_map_at(&m, 7, 7), 0.5, 0);
}

static void refused(const char *text, const char *word)
{
	struct accel_map m = { .n_orders = 77 };

	assert_int_equal(load(text, &m), -EINVAL);
	assert_int_equal(m.n_orders, 77);
	if (!strstr(err_why(), word) || !strstr(err_why(), "/tmp/accel-map-"))
		fail_msg("%s: %s", text, err_why());
}

TEST(an_invalid_file_is_refused_with_the_reason)
{
	static char wide[4096] = "default";
	struct accel_map m;

	refused("", "no accelerations");
	refused("default\n", ":1: a name and the speeds");
	refused("default, 0, 5\n", "no accelerations");
	refused("default, 0, 0\n", ":1: orders rise");
	refused("default, 0, 5\n1, 1\n", ":2: fewer");
	refused("default, 0, 5\n1, 1, 1, 1\n", ":2: more");
	refused("default, 0, 5\n1, 1, 1\n1, 1, 1\n", ":3: orders rise");
	refused("default, 0, 5\n1, 1, fast\n", ":2: this must be numbers");
	refused("default, 0, 5\n1, 1, nan\n", ":2: this must be numbers");
	refused("default, 0, 5\n1, 1, 1e9\n", ":2: this must be numbers");
	for (int i = 0; i <= ACCEL_MAP_MAX; i++)
		snprintf(wide + strlen(wide), 16, ", %d", i);
	refused(wide, "more than 32 speeds");
	memset(wide, ' ', 2000);
	refused(wide, "too long");
	assert_int_equal(accel_map_load("/nowhere/map.csv", &m), -ENOENT);
}

/* The map lies beside the file that names it. */
static struct vehicle_params map_car(const char *map, const char *more)
{
	char dir[] = "/tmp/accel-car-XXXXXX", path[64], text[512];
	struct vehicle_params p;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/map.csv", dir);
	put(path, map);
	snprintf(path, sizeof(path), "%s/car.json", dir);
	snprintf(text, sizeof(text), "{" MAP_CAR ", \"acceleration_map_path\": \"map.csv\"%s}", more);
	put(path, text);
	if (params_load(path, &p) < 0)
		fail_msg("%s", err_why());
	unlink(path);
	snprintf(path, sizeof(path), "%s/map.csv", dir);
	unlink(path);
	rmdir(dir);
	return p;
}

/*
 * An order u comes out as u (1 - v / V): tau v'' + v' + u v / V = u, whose solution is V plus two exponentials. 1 um/s after 20 s,
 * whatever the step.
 */
TEST(a_vehicle_follows_its_acceleration_map)
{
	static const int64_t steps[] = { MS, 10 * MS, 33333333, 700 * MS };
	struct vehicle_params p =
		map_car("x, 0, 20\n0, 0, 0\n4, 4, 0\n", ", \"acc_time_delay\": 0.1, \"acc_time_constant\": 0.3");
	double u = 2, V = 20, tau = 0.3, root = sqrt(1 - 4 * tau * u / V), t = 19.9;
	double r1 = (-1 + root) / (2 * tau), r2 = (-1 - root) / (2 * tau);
	double b = V * r1 / (r2 - r1), a = -V - b; /* v(0) = v'(0) = 0 */
	static struct model m;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		model_init(&m, &p);
		model_order(&m, &(struct model_order){ .accel = u, .gear = GEAR_DRIVE });
		for (int64_t left = 20 * S; left > 0; left -= steps[i])
			model_advance(&m, left < steps[i] ? left : steps[i]);
		near(m.s.speed, V + a * exp(r1 * t) + b * exp(r2 * t), 1e-6);
		near(m.s.accel, a * r1 * exp(r1 * t) + b * r2 * exp(r2 * t), 1e-6);
		near(m.s.x, V * t + a / r1 * (exp(r1 * t) - 1) + b / r2 * (exp(r2 * t) - 1), 1e-5);
	}
}

TEST(braking_and_reverse_follow_the_map)
{
	struct vehicle_params p = map_car("x, 0, 20\n-4, -2, -2\n0, 0, 0\n4, 1, 1\n",
					  ", \"acc_time_delay\": 0, \"acc_time_constant\": 0");
	static struct model m;

	model_init(&m, &p);
	model_order(&m, &(struct model_order){ .accel = 4, .gear = GEAR_REVERSE });
	model_advance(&m, 3 * S);
	near(m.s.speed, -3, 1e-9);
	model_order(&m, &(struct model_order){ .accel = -4, .gear = GEAR_REVERSE });
	model_advance(&m, S);
	near(m.s.speed, -1, 1e-9);
	model_advance(&m, S);
	near(m.s.speed, 0, 0);
}

TEST(a_model_with_a_map_requires_one)
{
	struct vehicle_params p;

	assert_true(params_parse("car.json", "{" MAP_CAR "}", &p) < 0);
	assert_non_null(strstr(err_why(), "acceleration_map_path is missing"));
	assert_true(params_parse("car.json", "{" MAP_CAR ", \"acceleration_map_path\": \"/nowhere/map.csv\"}", &p) < 0);
	assert_non_null(strstr(err_why(), "/nowhere/map.csv"));
}
