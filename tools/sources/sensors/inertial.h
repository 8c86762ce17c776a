/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An inertial sensor at base_link: exact measurements with a constant bias, drawn once from the seed, and white noise;
 * and the same values in the map, without gravity. Such a sensor does not measure orientation, position and velocity;
 * they stay exact.
 *
 * Thread: one at a time; nothing is allocated. The same measurements give the same messages.
 */
#ifndef SOURCES_SENSORS_INERTIAL_H
#define SOURCES_SENSORS_INERTIAL_H

#include <sim/msg/CorrectedImu.h>
#include <sim/msg/Imu.h>

#include "config.h"
#include "rnd.h"

#define INERTIAL_GRAVITY 9.80665 /* m/s^2 */

struct inertial {
	const struct sensor_config *c; /* kept pointer */
	struct rnd rnd;
	struct sim_Vector3 bias_acceleration, bias_rotation;
	struct sim_Vector3 turned; /* rad, by the exact gyro since the last measurement */
	int64_t span_dur_ns;       /* since the last measurement */
	uint32_t span_generation;  /* the generation of the clock they belong to: there is no mean across a jump */
	uint32_t clock_generation;
	bool started;
};

/*
 * Call it for each exact message, whether it is measured or not. The rotation between measurements is included in the
 * next one, so that the integral of the gyro is the yaw at any rate.
 */
void inertial_hear(struct inertial *s, const struct sim_Imu *truth, uint32_t clock_generation);
void inertial_init(struct inertial *s, const struct sensor_config *c);
void inertial_measure(struct inertial *s, const struct sim_Imu *truth, uint32_t clock_generation, struct sim_Imu *ret);
/* Convert to the map's axes. ret->imu is *imu. */
void inertial_correct(const struct sim_Imu *imu, struct sim_CorrectedImu *ret);

#endif
