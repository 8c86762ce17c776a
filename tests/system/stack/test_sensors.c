/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-sensors in lock-step, with the rig full.json without its lidars: each sensor measures at its rate, sees
 * sim-sumo's objects, and a run repeats byte for byte, noise included. And with an invalid file of sensors it exits
 * with an error text.
 */
#include "stack.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define STEPS   "205" /* of 10 ms */
#define LINE    (1u << 20)
#define SENSORS "config/rigs/demo/sensors.json"

struct seen {
	const char *channel; /* with spaces around it, as in the log */
	unsigned n;          /* in 2 s */
	const char *word;    /* in at least one of its messages; NULL: any will do */
};

static json_t *load(void)
{
	json_error_t e;
	json_t *rig = json_load_file("config/rigs/full.json", 0, &e);

	if (!rig)
		fail_msg("config/rigs/full.json:%d: %s", e.line, e.text);
	return rig;
}

static void add(json_t *command, const char *const *words)
{
	for (; *words; words++)
		json_array_append_new(command, json_string(*words));
}

/* Without lidars; time waits for the sensors and for the log, and does not wait for a wall. */
static char *conf(const char *log)
{
	static const char *const sumo[] = { "--free-run", "--steps", STEPS, NULL }, *const sensors[] = { "--rank",
													 "100", NULL };
	json_t *rig = load(), *kept = json_array(), *p;
	char *text, *ret;
	size_t i;

	json_array_foreach(json_object_get(rig, "processes"), i, p) {
		bool is_sumo = strcmp(json_string_value(json_object_get(p, "name")), "sumo") == 0;

		if (!is_sumo && strcmp(json_string_value(json_object_get(p, "name")), "sensors") != 0)
			continue;
		add(json_object_get(p, "command"), is_sumo ? sumo : sensors);
		json_object_set_new(p, "restart", json_string("never"));
		json_array_append(kept, p);
	}
	assert_int_equal(json_array_size(kept), 2);
	json_object_set_new(rig, "processes", kept);
	json_object_set_new(rig, "wait_for", json_pack("[s,s]", "sensors", "log"));
	json_object_set_new(rig, "bridges",
			    json_pack("[{s:s,s:s,s:s}]", "name", "log", "plugin", "logging", "connection", log));
	text = json_dumps(rig, 0);
	assert_true(asprintf(&ret, "\"TimeSource\":\"unity\",\"rigs\":[%s]", text) > 0);
	free(text);
	json_decref(rig);
	return ret;
}

static void run(const char *log, unsigned nth)
{
	char *text = conf(log);
	pid_t simd = stack_start(text);

	free(text);
	AWAIT(stack_count("process: sumo exited", "exit code 0") == nth);
	stack_stop(simd);
}

static size_t read_file(const char *path, unsigned char **ret)
{
	FILE *f = fopen(path, "rb");
	size_t n;

	assert_non_null(f);
	*ret = malloc(LINE * 16);
	assert_non_null(*ret);
	n = fread(*ret, 1, LINE * 16, f);
	fclose(f);
	return n;
}

/* Two lines a message: "TYPE CHANNEL TIME NUMBER", and its body. */
static void look_for(const char *path, const struct seen *want)
{
	static char head[LINE], body[LINE];
	gzFile f = gzopen(path, "rb");
	bool word = !want->word;
	unsigned n = 0;

	assert_non_null(f);
	while (gzgets(f, head, sizeof(head)) && gzgets(f, body, sizeof(body))) {
		if (!strstr(head, want->channel))
			continue;
		n++;
		word = word || strstr(body, want->word);
	}
	gzclose(f);
	if (n != want->n)
		fail_msg("%s: %u messages are not %u", want->channel, n, want->n);
	if (!word)
		fail_msg("%s: no message has %s", want->channel, want->word);
}

TEST_WITH(a_run_repeats_byte_for_byte, NULL, stack_sweep)
{
	/* 205 steps: 21 looks, what the last one brings is looked at in no step any more; rates beyond 10 Hz are those of the looks, gps 12.5 Hz, imu 100 Hz */
	static const struct seen all[] = {
		{ " /radar/front ", 21, "\"new_detection\":false" },
		{ " /radar/rear ", 21, "\"objects\":[" },
		{ " /ultrasonic/front_left ", 21, "minimum_distance" },
		{ " /laser/front ", 21, "\"angle_increment\":0.00436" },
		{ " /objects/front ", 21, "\"label\":\"Car\"" },
		{ " /grid ", 11, "100" },
		{ " /gps/measured ", 26, NULL },
		{ " /gps/ins ", 26, "\"position_type\":54" },
		{ " /imu/corrected ", 204, "global_acceleration" },
		{ " /imu/measured ", 204, NULL },
		{ " /lanes ", 21, "\"position\":-1" },
		{ " /vehicle_odometry ", 21, NULL },
	};
	unsigned char *first, *second;
	size_t n, m;

	run("/tmp/out-first", 1);
	run("/tmp/out-second", 2);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		look_for("/tmp/out-first.txt.gz", &all[i]);
	n = read_file("/tmp/out-first.txt.gz", &first);
	m = read_file("/tmp/out-second.txt.gz", &second);
	if (n != m || memcmp(first, second, n) != 0)
		fail_msg("the second run differs: /tmp/out-first.txt.gz has %zu bytes, /tmp/out-second.txt.gz %zu", n,
			 m);
	free(first);
	free(second);
}

static const struct ctl_result *sensors(const char *file)
{
	const char *const argv[] = { "sim-sensors", "--simd-socket", "/tmp/nobody", file ? "--sensors" : NULL, file,
				     NULL };

	return stack_run(argv);
}

TEST(errors_in_the_sensor_file_are_reported)
{
	const struct ctl_result *r = sensors(NULL);
	FILE *f;

	assert_int_equal(r->code, 2);
	assert_non_null(strstr(r->err, "Give --sensors FILE.json"));
	f = fopen("/tmp/out-wrong.json", "w");
	assert_non_null(f);
	fputs("{\"sensors\": [{\"kind\": \"radar\", \"channel\": \"r\", \"fov\": 60}]}", f);
	fclose(f);
	r = sensors("/tmp/out-wrong.json");
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->err, "/tmp/out-wrong.json: sensors[0].fov: unknown key"));
	r = sensors(SENSORS);
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->err, "/tmp/nobody"));
}
