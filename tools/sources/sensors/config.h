/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration file with the list of sensors: {"sensors": [{"kind": "radar", "channel": "radar/front", "x": 3.6,
 * ...}, ...]}; its keys are described in sim-sensors(1). Thread: the owner's; read-only once it is loaded.
 */
#ifndef SOURCES_SENSORS_CONFIG_H
#define SOURCES_SENSORS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sim/slot.h>

#include "conf.h"

#define SENSORS_MAX         32
#define SENSORS_OUTAGES_MAX 32

enum sensor_kind {
	SENSOR_RADAR,
	SENSOR_ULTRASONIC,
	SENSOR_OBJECTS,
	SENSOR_LASER,
	SENSOR_GRID,
	SENSOR_GNSS,
	SENSOR_IMU,
	SENSOR_KINDS
};

/* Simulated time during which a receiver has no fix. */
struct sensor_outage {
	double from_s, to_s;
};

/* A value that a kind does not use is 0. */
struct sensor_config {
	enum sensor_kind kind;
	const char *channel;
	char frame[SIM_FRAME_ID_MAX + 1];
	const char *also;       /* a second channel; NULL: none */
	double x, y, z;         /* m, base_link */
	double yaw_deg;         /* of the sensor on the vehicle, left is positive */
	double rate;            /* Hz; 0: at every message of objects, fix or measurement */
	double fov_deg, up_deg; /* of the whole view, horizontally and vertically */
	double min_range, range;
	double noise, noise_up; /* m, standard deviations */
	double noise_deg, noise_speed, noise_acceleration, noise_rotation, bias_acceleration, bias_rotation;
	double drift_s;
	double rays, cells, resolution;
	double seed;
	bool occlusion;
	struct sensor_outage outage[SENSORS_OUTAGES_MAX];
	size_t n_outages;
};

struct sensors_config {
	struct sensor_config sensor[SENSORS_MAX];
	size_t n;
	struct conf *conf; /* owns the texts */
};

/* Returns 0; -ENOENT, -EINVAL or -ENOMEM, with err_why(). Free *ret in any case. */
int sensors_config_load(const char *path, struct sensors_config *ret);
void sensors_config_free(struct sensors_config *c);

#endif
