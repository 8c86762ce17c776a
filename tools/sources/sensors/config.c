/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file. See config.h. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "channel_name.h"
#include "err.h"

#define OF(kind) (1u << (kind))
#define RADAR    OF(SENSOR_RADAR)
#define SONAR    OF(SENSOR_ULTRASONIC)
#define OBJECTS  OF(SENSOR_OBJECTS)
#define LASER    OF(SENSOR_LASER)
#define GRID     OF(SENSOR_GRID)
#define GNSS     OF(SENSOR_GNSS)
#define IMU      OF(SENSOR_IMU)
#define LOOKING  (RADAR | SONAR | OBJECTS | LASER)

/* X(key, kinds that use it, minimum, maximum, description) */
#define NUMBERS(X) \
	X(x, LOOKING | GNSS, -50, 50, "[m] Forward of base_link.") \
	X(y, LOOKING | GNSS, -50, 50, "[m] Left of base_link.") \
	X(z, LOOKING | GNSS, -5, 50, "[m] Above the road.") \
	X(yaw_deg, LOOKING, -180, 180, "[deg] Direction of view, left is positive.") \
	X(rate, LOOKING | GRID | GNSS | IMU, 0, 1000, "[Hz] In simulated time; 0: at every message received.") \
	X(fov_deg, LOOKING, 1, 360, "[deg] Horizontal field of view.") \
	X(up_deg, RADAR | SONAR | OBJECTS, 1, 180, "[deg] Vertical field of view, up and down together.") \
	X(min_range, LOOKING, 0, 1000, "[m] Nearer objects are not seen.") \
	X(range, LOOKING | GRID, 0, 10000, "[m] Objects further away are not seen.") \
	X(noise, RADAR | SONAR | LASER | GNSS, 0, 1000, \
	  "[m] Standard deviation of the distance; of a position, along each axis.") \
	X(noise_up, GNSS, 0, 1000, "[m] Standard deviation of the altitude.") \
	X(noise_deg, RADAR, 0, 45, "[deg] Standard deviation of the azimuth.") \
	X(noise_speed, RADAR, 0, 100, "[m/s] Standard deviation of the speed along the line of sight.") \
	X(noise_acceleration, IMU, 0, 100, "[m/s^2] Standard deviation, along each axis.") \
	X(noise_rotation, IMU, 0, 100, "[rad/s] Standard deviation, about each axis.") \
	X(bias_acceleration, IMU, 0, 100, "[m/s^2] Standard deviation of the constant error.") \
	X(bias_rotation, IMU, 0, 100, "[rad/s] Standard deviation of the constant error.") \
	X(drift_s, GNSS, 0, 100000, "[s] Correlation time of position errors; 0: uncorrelated.") \
	X(rays, LASER, 8, 4096, "Rays of a whole turn.") \
	X(cells, GRID, 1, 1024, "Cells along each side.") \
	X(resolution, GRID, 0, 100, "[m] Side of a cell.") \
	X(seed, LOOKING | GNSS | IMU, 0, INT32_MAX, "Seed of the noise.")

static const char *const KIND_NAMES[] = { "radar", "ultrasonic", "objects", "laser", "grid", "gnss", "imu", NULL };

static const struct sensor_config DEFAULTS[SENSOR_KINDS] = {
	[SENSOR_RADAR] = { .rate = 13.4, .fov_deg = 60, .up_deg = 20, .min_range = 0.5, .range = 160, .z = 0.5 },
	[SENSOR_ULTRASONIC] = { .rate = 15, .fov_deg = 60, .up_deg = 30, .min_range = 0.2, .range = 5, .z = 0.5 },
	[SENSOR_OBJECTS] = { .rate = 10, .fov_deg = 360, .up_deg = 180, .range = 100, .z = 1.5, .occlusion = true },
	[SENSOR_LASER] = { .rate = 10, .fov_deg = 270, .min_range = 0.1, .range = 30, .z = 0.5, .rays = 1440 },
	[SENSOR_GRID] = { .rate = 5, .cells = 200, .resolution = 0.5, .range = 200 },
	[SENSOR_GNSS] = { .rate = 12.5 },
	[SENSOR_IMU] = { .rate = 0 },
};

/* ---- the tables ---- */

#define NUMBER_KEY(key, kinds, lo, hi, text) \
	{ .name = #key, .type = CONF_REAL, .min = (lo), .max = (hi), .doc = (text) },

static const struct conf_key OUTAGE_KEYS[] = {
	{ .name = "from_s", .type = CONF_REAL, .max = INT32_MAX, .required = true, .doc = "[s] Of simulated time." },
	{ .name = "to_s", .type = CONF_REAL, .max = INT32_MAX, .required = true, .doc = "[s] Of simulated time." },
	{ 0 }
};
static const struct conf_key SENSOR_KEYS[] = {
	{ .name = "kind", .type = CONF_CHOICE, .choices = KIND_NAMES, .required = true, .doc = "Kind of the sensor." },
	{ .name = "channel",
	  .type = CONF_STRING,
	  .max = CHANNEL_NAME_MAX,
	  .required = true,
	  .id = true,
	  .doc = "Channel of its messages." },
	{ .name = "frame",
	  .type = CONF_STRING,
	  .max = SIM_FRAME_ID_MAX,
	  .doc = "Its frame; if absent, the channel's name with _ for /." },
	{ .name = "also", .type = CONF_STRING, .max = CHANNEL_NAME_MAX, .doc = "A second channel." },
	{ .name = "occlusion", .type = CONF_BOOL, .doc = "Hidden objects are not seen." },
	{ .name = "outages",
	  .type = CONF_LIST,
	  .sub = OUTAGE_KEYS,
	  .max = SENSORS_OUTAGES_MAX,
	  .doc = "Times without a fix." },
	NUMBERS(NUMBER_KEY){ 0 }
};
static const struct conf_key ROOT_KEYS[] = { { .name = "sensors",
					       .type = CONF_LIST,
					       .sub = SENSOR_KEYS,
					       .max = SENSORS_MAX,
					       .required = true,
					       .doc = "The sensors." },
					     { 0 } };

#define NUMBER_PLACE(key, of, lo, hi, text) { #key, of, offsetof(struct sensor_config, key) },

static const struct {
	const char *key;
	unsigned kinds;
	size_t offset;
} PLACES[] = { NUMBERS(NUMBER_PLACE) };

/* ---- reading ---- */

static int of_no_use(const struct sensor_config *s, const char *path, const char *key)
{
	return err_set(-EINVAL, "%s: sensor %s: %s does not use \"%s\"", path, s->channel, KIND_NAMES[s->kind], key);
}

static int read_numbers(const char *path, struct conf_view v, struct sensor_config *s)
{
	for (size_t i = 0; i < sizeof(PLACES) / sizeof(*PLACES); i++) {
		if (!conf_has(v, PLACES[i].key))
			continue;
		if (!(PLACES[i].kinds & OF(s->kind)))
			return of_no_use(s, path, PLACES[i].key);
		*(double *)(void *)((char *)s + PLACES[i].offset) = conf_real(v, PLACES[i].key);
	}
	s->rays = floor(s->rays);
	s->cells = floor(s->cells);
	return 0;
}

static int read_outages(const char *path, struct conf_view v, struct sensor_config *s)
{
	s->n_outages = conf_has(v, "outages") ? conf_count(v, "outages") : 0;
	if (s->n_outages && s->kind != SENSOR_GNSS)
		return of_no_use(s, path, "outages");
	for (size_t i = 0; i < s->n_outages; i++) {
		struct conf_view o = conf_item(v, "outages", i);

		s->outage[i] = (struct sensor_outage){ conf_real(o, "from_s"), conf_real(o, "to_s") };
	}
	return 0;
}

/* Name of the sensor's frame. */
static void name_frame(struct conf_view v, struct sensor_config *s)
{
	const char *frame = conf_string(v, "frame");

	snprintf(s->frame, sizeof(s->frame), "%.*s", (int)SIM_FRAME_ID_MAX, frame ? frame : s->channel);
	if (!frame && s->kind == SENSOR_GRID)
		strcpy(s->frame, "map"); /* the frame of the grid's cells */
	for (char *p = s->frame; !frame && *p; p++)
		*p = *p == '/' ? '_' : *p;
}

static const char *fault_of(const struct sensor_config *s)
{
	if (s->kind <= SENSOR_LASER && !(s->range > s->min_range))
		return "range must be above min_range";
	if ((s->kind == SENSOR_RADAR || s->kind == SENSOR_ULTRASONIC) && s->fov_deg >= 180)
		return "fov_deg must be below 180";
	if (s->kind == SENSOR_ULTRASONIC && s->up_deg >= 180)
		return "up_deg must be below 180";
	if (s->kind == SENSOR_GRID && !(s->resolution > 0))
		return "resolution must be above 0";
	for (size_t i = 0; i < s->n_outages; i++)
		if (!(s->outage[i].to_s > s->outage[i].from_s))
			return "an outage must end after it begins";
	return NULL;
}

static int read_sensor(const char *path, struct conf_view v, struct sensor_config *s)
{
	enum sensor_kind kind = (enum sensor_kind)conf_choice(v, "kind");
	const char *fault;
	int r;

	*s = DEFAULTS[kind];
	s->kind = kind;
	s->channel = conf_string(v, "channel");
	s->also = conf_string(v, "also");
	name_frame(v, s);
	if (s->also && kind != SENSOR_GNSS && kind != SENSOR_IMU)
		return of_no_use(s, path, "also");
	if (conf_has(v, "occlusion")) {
		if (kind != SENSOR_OBJECTS)
			return of_no_use(s, path, "occlusion");
		s->occlusion = conf_bool(v, "occlusion");
	}
	r = read_numbers(path, v, s);
	if (r == 0)
		r = read_outages(path, v, s);
	if (r < 0)
		return r;
	fault = fault_of(s);
	return fault ? err_set(-EINVAL, "%s: sensor %s: %s", path, s->channel, fault) : 0;
}

int sensors_config_load(const char *path, struct sensors_config *ret)
{
	struct conf_view root;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = conf_create(ROOT_KEYS, &ret->conf);
	if (r == 0)
		r = conf_add_file(ret->conf, path);
	if (r == 0 && (r = conf_finish(ret->conf)) < 0)
		r = err_prefix(r, "%s", path);
	if (r < 0)
		return r;
	root = conf_root(ret->conf);
	ret->n = conf_count(root, "sensors");
	for (size_t i = 0; r == 0 && i < ret->n; i++)
		r = read_sensor(path, conf_item(root, "sensors", i), &ret->sensor[i]);
	return r;
}

void sensors_config_free(struct sensors_config *c)
{
	conf_destroy(c->conf);
	memset(c, 0, sizeof(*c));
}
