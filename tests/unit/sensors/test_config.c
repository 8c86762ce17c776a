/* SPDX-License-Identifier: Apache-2.0 */
/* The file of sensors: valid settings, and error texts for invalid ones. */
#include "tests/support/test.h"

#include <errno.h>
#include <string.h>

#include "err.h"
#include "tools/sources/sensors/unit.h"

static int load(const char *text, struct sensors_config *ret)
{
	char path[TEST_PATH_MAX];
	FILE *f = fopen(test_path(path, "sensors.json"), "w");
	int r;

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	r = sensors_config_load(path, ret);
	remove(path);
	return r;
}

TEST(each_sensor_kind_has_its_defaults)
{
	struct sensors_config c;

	assert_int_equal(
		load("{\"sensors\": [{\"kind\": \"radar\", \"channel\": \"radar/front\"},"
		     "{\"kind\": \"gnss\", \"channel\": \"fix\", \"also\": \"ins\", \"frame\": \"roof\", \"noise\": 2,"
		     " \"outages\": [{\"from_s\": 1, \"to_s\": 2.5}]}, {\"kind\": \"grid\", \"channel\": \"g\"},"
		     "{\"kind\": \"objects\", \"channel\": \"o\", \"occlusion\": false}]}",
		     &c),
		0);
	assert_int_equal(c.n, 4);
	assert_int_equal(c.sensor[0].kind, SENSOR_RADAR);
	assert_string_equal(c.sensor[0].frame, "radar_front");
	assert_true(c.sensor[0].range == 160 && c.sensor[0].rate == 13.4 && c.sensor[0].noise == 0 &&
		    !c.sensor[0].also);
	assert_string_equal(c.sensor[1].frame, "roof");
	assert_string_equal(c.sensor[1].also, "ins");
	assert_true(c.sensor[1].noise == 2 && c.sensor[1].n_outages == 1 && c.sensor[1].outage[0].to_s == 2.5);
	assert_string_equal(c.sensor[2].frame, "map");
	assert_false(c.sensor[3].occlusion);
	sensors_config_free(&c);
}

TEST(the_demo_has_each_kind)
{
	bool has[SENSOR_KINDS] = { false };
	struct sensors_config c;

	assert_int_equal(sensors_config_load("config/rigs/demo/sensors.json", &c), 0);
	for (size_t i = 0; i < c.n; i++) {
		struct unit u;

		has[c.sensor[i].kind] = true;
		assert_int_equal(unit_init(&u, &c.sensor[i]), 0);
		unit_finish(&u);
	}
	for (int i = 0; i < SENSOR_KINDS; i++)
		assert_true(has[i]);
	sensors_config_free(&c);
}

static void refused(const char *sensor, const char *words)
{
	char text[512];
	struct sensors_config c;
	int r;

	snprintf(text, sizeof(text), "{\"sensors\": [%s]}", sensor);
	r = load(text, &c);
	/* the file's name, once */
	if (r != -EINVAL || !strstr(err_why(), words) || !strstr(err_why(), "sensors.json") ||
	    strstr(strstr(err_why(), "sensors.json") + 1, "sensors.json"))
		fail_msg("%s: %d \"%s\" has no \"%s\"", sensor, r, err_why(), words);
	sensors_config_free(&c);
}

TEST(invalid_files_are_reported)
{
	struct sensors_config c;

	assert_int_equal(sensors_config_load("no/such.json", &c), -ENOENT);
	assert_non_null(strstr(err_why(), "no/such.json"));
	sensors_config_free(&c);
	assert_int_equal(load("{\n\"sensors\": [\n}", &c), -EINVAL);
	assert_non_null(strstr(err_why(), ":3:"));
	sensors_config_free(&c);
	refused("", "at least one");
	refused("{\"kind\": \"radar\"}", "channel");
	refused("{\"kind\": \"sonar\", \"channel\": \"a\"}", "ultrasonic");
	refused("{\"kind\": \"radar\", \"channel\": \"a\", \"rang\": 3}", "range");
	refused("{\"kind\": \"radar\", \"channel\": \"a\", \"x\": 51}", "-50 to 50");
	refused("{\"kind\": \"radar\", \"channel\": \"a\", \"range\": 0.1}", "above min_range");
	refused("{\"kind\": \"radar\", \"channel\": \"a\", \"fov_deg\": 180}", "below 180");
	refused("{\"kind\": \"ultrasonic\", \"channel\": \"a\", \"up_deg\": 180}", "up_deg");
	refused("{\"kind\": \"radar\", \"channel\": \"a\", \"cells\": 5}", "does not use \"cells\"");
	refused("{\"kind\": \"laser\", \"channel\": \"a\", \"occlusion\": true}", "does not use \"occlusion\"");
	refused("{\"kind\": \"laser\", \"channel\": \"a\", \"also\": \"b\"}", "does not use \"also\"");
	refused("{\"kind\": \"imu\", \"channel\": \"a\", \"outages\": [{\"from_s\": 1, \"to_s\": 2}]}",
		"does not use \"outages\"");
	refused("{\"kind\": \"gnss\", \"channel\": \"a\", \"outages\": [{\"from_s\": 2, \"to_s\": 2}]}", "outage");
	refused("{\"kind\": \"grid\", \"channel\": \"a\", \"resolution\": 0}", "resolution");
	refused("{\"kind\": \"radar\", \"channel\": \"a\"}, {\"kind\": \"laser\", \"channel\": \"a\"}", "a");
}
