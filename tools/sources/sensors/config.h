/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that says which sensors there are: {"sensors": [{"kind": "radar", "channel": "radar/front", "x": 3.6, ...}, ...]}; its
 * keys are in sim-sensors(1). Thread: the owner's; it is read only once it is loaded.
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

/* Simulated time in which a receiver has no fix. */
struct sensor_outage {
	double from_s, to_s;
};

/* What a kind has no use for is 0. */
struct sensor_config {
	enum sensor_kind kind;
	const char *channel;
	char frame[SIM_FRAME_ID_MAX + 1];
	const char *also;       /* a second channel, NULL: none */
	double x, y, z;         /* m, base_link */
	double yaw_deg;         /* of the sensor on the vehicle, left is positive */
	double rate;            /* Hz; 0: at every look */
	double fov_deg, up_deg; /* of the whole view, across and up */
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
	struct conf *conf; /* has the texts */
};

/* Returns 0; -ENOENT, -EINVAL, -ENOMEM, with a sentence in err_why(). Free it in any case. */
int sensors_config_load(const char *path, struct sensors_config *ret);
void sensors_config_free(struct sensors_config *c);

#endif
