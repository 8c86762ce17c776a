/* SPDX-License-Identifier: Apache-2.0 */
/* Noise of detections as scenario_simulator_v2's parameters have it: models 2 to 4 held against their figures; invalid files. */
#include "world.h"

#include <unistd.h>

#include "tools/sources/ss2/noise_file.h"
#include "tools/sources/space.h"

#define LOOK_NS INT64_C(100000000)
#define LOOKS   20000

#define FILE_OF(members) "{\"/**\": {\"ros__parameters\": {" members "}}}"
#define FOUND            "\"/perception/object_recognition/detection/objects\""
#define TRUTH            "\"/perception/object_recognition/ground_truth/objects\""
/* Of a model; more: behind its version, with a comma. */
#define MODEL(version, more) \
	FILE_OF(FOUND ": {\"noise\": {\"model\": {\"version\": " version "}, \"v" version "\": {" more "}}}")
#define PHI(a, d, o)     "\"autocorrelation_coefficient\": {\"amplitude\": " a ", \"decay\": " d ", \"offset\": " o "}"
#define CURVE(name, ...) "\"" name "\": {\"values\": [" #__VA_ARGS__ "]}"
#define RADII            "\"ellipse_y_radii\": [20, 40, 100]"

/* 0, or the error of a file with that text. */
static int load(const char *text, struct noise_settings **ret)
{
	char path[] = "/tmp/noise-XXXXXX";
	int fd = mkstemp(path), r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	r = noise_file_load(path, ret);
	unlink(path);
	return r;
}

struct sight {
	struct noise_settings *settings;
	struct store store;
	struct scene scene;
	struct sensors sensors;
	const struct sensors_look *detected, *truth;
	int64_t now_ns;
};

static struct scene_entity *put(struct sight *t, const char *name, enum scene_kind kind, double x, double y)
{
	struct scene_entity *e;

	assert_int_equal(scene_spawn(&t->scene, name, kind, &e), 0);
	e->pose = (struct sim_Pose){ .position = { 100 + x, 200 + y, 5 }, .orientation.w = 1 };
	e->box_size = (struct sim_Vector3){ 4, 2, 1.5 };
	return e;
}

static void attach(struct sight *t, int32_t seed)
{
	struct sensors_detection c = { .all = true, .update_s = 0.1, .range = 500, .seed = seed };

	noise_file_settle(t->settings, &c);
	assert_int_equal(sensors_attach_detection(&t->sensors, &c), 0);
}

/* An ego at (100, 200, 5) that looks along x, and a car 30 m ahead. */
static void open_sight(struct sight *t, const char *text)
{
	memset(t, 0, sizeof(*t));
	if (load(text, &t->settings) < 0)
		fail_msg("%s", err_why());
	assert_int_equal(store_open(&t->store, NULL, 0), 0);
	scene_init(&t->scene, t->store.scene);
	sensors_init(&t->sensors);
	t->sensors.model = t->settings->model;
	put(t, "ego", SCENE_EGO, 0, 0);
	put(t, "car", SCENE_VEHICLE, 30, 0)->subtype = 1;
	attach(t, 17);
}

static void close_sight(struct sight *t)
{
	sensors_finish(&t->sensors);
	store_close(&t->store);
	noise_file_free(t->settings);
}

/* The car in the next look; NULL: it is not seen. The true state is never disturbed. */
static const struct scene_entity *look(struct sight *t)
{
	t->now_ns += LOOK_NS;
	sensors_time(&t->sensors, t->now_ns);
	sensors_detect(&t->sensors, &t->scene, t->now_ns, &t->detected, &t->truth);
	assert_int_equal(t->truth->n, t->scene.n_entities - 1);
	assert_memory_equal(&t->truth->object[0].pose, &t->scene.entity[1].pose, sizeof(struct sim_Pose));
	return t->detected->n ? &t->detected->object[0] : NULL;
}

static void near(double a, double b, double eps)
{
	if (!(fabs(a - b) <= eps))
		fail_msg("%.9g is not %.9g within %g", a, b, eps);
}

struct figures {
	double mean, deviation, phi; /* phi: from one look to the next */
};

/* Of what the car is moved away from the ego. */
static struct figures figures_of(struct sight *t)
{
	double sum = 0, square = 0, product = 0, before = 0, m;

	for (int i = 0; i < LOOKS; i++) {
		double d = look(t)->pose.position.x - 130;

		sum += d;
		square += d * d;
		product += i ? d * before : 0;
		before = d;
	}
	m = sum / LOOKS;
	square = square / LOOKS - m * m;
	return (struct figures){ m, sqrt(square), (product / (LOOKS - 1) - m * m) / square };
}

TEST(distance_noise_depends_on_the_ellipse_around_the_object)
{
	struct figures f;
	struct sight t;

	open_sight(&t, MODEL("2", RADII ", \"distance\": {" CURVE("mean", 0, 0.5, 7) ", " CURVE("standard_deviation", 0,
												0.2, 7) "}"));
	f = figures_of(&t);
	near(f.mean, 0.5, 0.01);
	near(f.deviation, 0.2, 0.01);
	near(f.phi, 0, 0.03);
	near(look(&t)->pose.position.y, 200, 1e-9);
	t.scene.entity[1].pose.position =
		(struct sim_Vector3){ 100, 310, 5 }; /* beyond all of them nothing is seen at all */
	assert_null(look(&t));
	t.scene.entity[1].pose.position.y = 210; /* within the first, it is where it is */
	near(look(&t)->pose.position.y, 210, 1e-9);
	close_sight(&t);
}

TEST(noise_is_correlated_over_time)
{
	struct figures f;
	struct sight t;

	open_sight(&t, MODEL("2", RADII ", \"distance\": {" PHI("1", "6.93147", "0.2") ", " CURVE(
					  "mean", 0, 0.5, 7) ", " CURVE("standard_deviation", 0, 0.2, 7) "}"));
	f = figures_of(&t);
	near(f.mean, 0.5, 0.02);
	near(f.deviation, 0.2, 0.02);
	near(f.phi, 0.7, 0.02); /* half of it in 0.1 s, and what stays */
	close_sight(&t);
}

/* The ellipses are the ego's: half as long as they are wide. */
TEST(ellipses_turn_with_the_ego)
{
	static const char text[] = MODEL("2", RADII ", \"distance\": {\"mean\": {\"ellipse_normalized_x_radius\": 0.5, "
						    "\"values\": [1, 2, 3]}}");
	struct sight t;

	open_sight(&t, text);
	near(look(&t)->pose.position.x, 133, 1e-9); /* 60 m */
	t.scene.entity[0].pose.orientation = (struct sim_Quaternion){ .z = sin(M_PI / 4), .w = cos(M_PI / 4) };
	near(look(&t)->pose.position.x, 132, 1e-9);
	close_sight(&t);
}

TEST(detection_is_correlated_over_time)
{
	unsigned seen = 0, again = 0;
	bool before = false;
	struct sight t;

	open_sight(&t,
		   MODEL("2", RADII ", \"true_positive\": {" PHI("0.9", "0", "0") ", " CURVE("rate", 1, 0.6, 1) "}"));
	for (int i = 0; i < LOOKS; i++) {
		bool now = look(&t) != NULL;

		seen += now;
		again += now && before;
		before = now;
	}
	near((double)seen / LOOKS, 0.6, 0.03);
	near((double)again / seen, 0.96, 0.01);
	close_sight(&t);
}

TEST(yaw_has_noise_and_flips)
{
	struct sight t;

	open_sight(&t,
		   MODEL("2", RADII ", \"yaw\": {" CURVE("mean", 0.1, 0.1,
							 0.1) "}, "
							      "\"yaw_flip\": {\"rate\": 1, \"speed_threshold\": 0.5}"));
	near(remainder(space_yaw(look(&t)->pose.orientation), 2 * M_PI), 0.1 - M_PI, 1e-9);
	t.scene.entity[1].twist.linear.x = 3;
	near(space_yaw(look(&t)->pose.orientation), 0.1, 1e-9);
	close_sight(&t);
}

TEST(noise_groups_apply_to_their_entities)
{
	struct sight t;

	open_sight(
		&t,
		MODEL("3",
		      "\"cars\": {\"noise_application_entities\": {\"subtypes\": [\"TRUCK\", \"CA?\"], \"names\": [\"c*\"]}, "
		      "\"distance\": {" CURVE(
			      "mean", 1, 1, 1, 1, 1, 1, 1, 1,
			      1) "}}, "
				 "\"walkers\": {\"noise_application_entities\": {\"types\": [\"PEDESTRIAN\"]}, "
				 "\"distance\": {" CURVE("mean", 2, 2, 2, 2, 2, 2, 2, 2, 2) "}}"));
	put(&t, "bob", SCENE_PEDESTRIAN, 40, 0);
	put(&t, "van", SCENE_VEHICLE, 50, 0)->subtype = 1;
	(void)look(&t);
	assert_int_equal(t.detected->n, 3);
	near(t.detected->object[0].pose.position.x, 131, 1e-9);
	near(t.detected->object[1].pose.position.x, 142, 1e-9);
	near(t.detected->object[2].pose.position.x, 150, 0);
	close_sight(&t);
}

TEST(model_4_measures_from_the_nearest_point)
{
	const struct scene_entity *e;
	struct sight t;

	open_sight(&t, MODEL("4", "\"all\": {" RADII ", \"position\": {\"x\": {" CURVE(
					  "mean", 0.5, 0.5,
					  0.5) "}, "
					       "\"y\": {" CURVE("mean", 2, 2,
								2) "}}, \"yaw\": {" CURVE("mean", 0.1, 0.1, 0.1) "}}"));
	e = look(&t);
	near(e->pose.position.x, 128 + 2 * cos(0.1) + 2, 1e-9); /* its back is at 128 */
	near(e->pose.position.y, 200 + 2 * sin(0.1) - 0.5, 1e-9);
	near(space_yaw(e->pose.orientation), 0.1, 1e-9);
	t.scene.entity[1].pose.position = t.scene.entity[0].pose.position; /* no line leads there */
	near(look(&t)->pose.position.x, 100, 0);
	close_sight(&t);
}

TEST(the_same_seed_gives_the_same_noise)
{
	static const char text[] =
		MODEL("4", "\"all\": {" RADII ", \"position\": {\"x\": {" CURVE(
				   "standard_deviation", 1, 1,
				   1) "}, "
				      "\"y\": {" CURVE("standard_deviation", 1, 1,
						       1) "}}, "
							  "\"true_positive\": {" CURVE("rate", 0.5, 0.5, 0.5) "}}");
	uint64_t hash[3];
	struct sight t;

	for (int run = 0; run < 3; run++) {
		open_sight(&t, text);
		attach(&t, run < 2 ? 5 : 6);
		hash[run] = HASH64_INIT;
		for (int i = 0; i < 100; i++) {
			const struct scene_entity *e = look(&t);

			if (e)
				hash[run] = hash64(hash[run], &e->pose, sizeof(e->pose));
		}
		close_sight(&t);
	}
	assert_int_equal(hash[0], hash[1]);
	assert_true(hash[0] != hash[2]);
}

TEST(a_file_overrides_the_scenario)
{
	struct sensors_detection c = {
		.all = true, .range = 50, .noise = 1, .lost = 0.5, .delay_s = 2, .truth_delay_s = 3, .seed = 4
	};
	struct sensors_detection as_it_is = c;
	struct noise_settings *s;

	noise_file_settle(NULL, &c);
	assert_memory_equal(&c, &as_it_is, sizeof(c));
	assert_int_equal(load(FILE_OF(FOUND ": {\"range\": 70, \"seed\": 9}"), &s), 0);
	noise_file_settle(s, &c);
	as_it_is.seed = 9;
	assert_memory_equal(&c, &as_it_is, sizeof(c));
	noise_file_free(s);
	assert_int_equal(
		load(FILE_OF(FOUND
			     ": {\"version\": 20240605, \"override_legacy_configuration\": true, \"range\": 70, \"delay\": 0.5, "
			     "\"noise\": {\"v1\": {\"position\": {\"standard_deviation\": 0.25}, \"missing_probability\": 0.125}}}, " TRUTH
			     ": {\"override_legacy_configuration\": true, \"delay\": 1.5}"),
		     &s),
		0);
	noise_file_settle(s, &c);
	assert_true(!c.all && c.range == 70 && c.delay_s == 0.5 && c.noise == 0.25 && c.lost == 0.125 &&
		    c.truth_delay_s == 1.5);
	noise_file_free(s);
}

TEST(of_too_many_objects_the_first_are_forgotten)
{
	struct sight t;
	char name[16];

	open_sight(&t,
		   MODEL("2", RADII ", \"true_positive\": {" PHI("1", "0", "0") ", " CURVE("rate", 0.5, 0.5, 0.5) "}"));
	for (int i = 0; i < 3 * NOISE_STATES; i++) {
		snprintf(name, sizeof(name), "npc%d", i);
		put(&t, name, SCENE_VEHICLE, 10, 0);
		snprintf(name, sizeof(name), "npc%d", i - 100);
		if (i >= 100)
			assert_int_equal(scene_despawn(&t.scene, name), 0);
		t.now_ns += LOOK_NS;
		sensors_time(&t.sensors, t.now_ns);
		sensors_detect(&t.sensors, &t.scene, t.now_ns, &t.detected, &t.truth);
		assert_in_range(t.sensors.noise.n, 1, NOISE_STATES);
	}
	close_sight(&t);
}

static void refused(const char *text, const char *word)
{
	struct noise_settings *s = NULL;

	assert_true(load(text, &s) < 0);
	assert_null(s);
	if (!strstr(err_why(), word) || !strstr(err_why(), "/tmp/noise-"))
		fail_msg("%s: %s", text, err_why());
}

TEST(invalid_noise_configurations_are_refused_with_the_reason)
{
	refused("{", "noise-");
	refused(FILE_OF("\"/perception/object_recognition/detection/object\": {}"), "did you mean");
	refused(FILE_OF(FOUND ": {\"noise\": {\"model\": {\"version\": 5}}}"), "version");
	refused(FILE_OF(FOUND ": {\"noise\": {\"model\": {\"version\": 3}}}"), "there is no object noise.v3");
	refused(MODEL("2", RADII ", \"distance\": {" CURVE("mean", 0, 1) "}"),
		"distance.mean.values has 2 numbers, ellipse_y_radii 3");
	refused(MODEL("2", "\"distance\": {" CURVE("standard_deviation", -1, 0, 0, 0, 0, 0, 0, 0, 0) "}"), "number 1");
	refused(MODEL("2", "\"true_positive\": {" CURVE("rate", 0, 0, 0, 0, 0, 0, 0, 0, 1.5) "}"), "number 9");
	refused(MODEL("2", "\"position\": {}"), "position");
	refused(MODEL("4", "\"all\": {\"distance\": {}}"), "noise.v4.all");
	refused(MODEL("3", "\"all\": 7"), "noise.v3.all");
	refused(MODEL("2", "\"yaw\": {\"mean\": {\"ellipse_normalized_x_radius\": 0}}"), "above 0");
	refused(MODEL("2", "\"ellipse_y_radii\": [\"far\"]"), "ellipse_y_radii");
	assert_true(noise_file_load("/nowhere/noise.json", &(struct noise_settings *){ NULL }) == -ENOENT);
}
