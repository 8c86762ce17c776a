/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sensors that a scenario attaches to its ego, as in simple_sensor_simulator: what the detection sensor and the IMU
 * measure of the scene, with the noise, delay, range and loss of their configuration. Seeded: the same scenario gives
 * the same measurements.
 *
 * Periods and delays use the scenario's own time (current_simulation_time) as last set by sensors_time(); ROS time,
 * which may jitter, stamps the measurements. A sensor measures for the first time one period after it was attached.
 *
 * Lidar, every scan_duration: the points that its rays hit. A cloud is published after `delay`, with the stamp of its
 * scan.
 *
 * Detection, every update_duration: all entities within `range` of the ego that are not more than 1 m below it, or are
 * on or above its plane, and that the lidar hit in its last scan (with `all`, also those that it did not hit). The look
 * of `delay` ago is published, with Gaussian noise in x and y and each object lost with probability_of_lost, or as
 * another model has it (noise.h). The ground truth is published after a delay of its own, without noise.
 *
 * Thread: the owner's; no I/O.
 */
#ifndef SOURCES_SS2_SENSORS_H
#define SOURCES_SS2_SENSORS_H

#include "grid.h"
#include "lidar.h"
#include "noise.h"
#include "rnd.h"
#include "scene.h"

#define SENSORS_OBJECTS_MAX 256 /* objects of one look; of more, the nearest */
#define SENSORS_LOOKS_MAX   64  /* looks that may wait for their delay */
#define SENSORS_FRAME_MAX   39

/* Plain numbers, all finite; the next process takes them over after a kill. */
struct sensors_detection {
	bool attached, all;
	double update_s, range, noise, lost, delay_s, truth_delay_s;
	int32_t seed;
};

struct sensors_imu {
	bool attached, gravity;
	int32_t seed;
	double noise_orientation, noise_twist, noise_acceleration; /* standard deviations: rad, rad/s, m/s^2 */
	char frame[SENSORS_FRAME_MAX + 1];
};

struct sensors_grid {
	bool attached;
	double update_s;
	struct grid grid;
};

struct sensors_config {
	struct lidar_config lidar;
	struct sensors_grid grid;
	struct sensors_detection detection;
	struct sensors_imu imu;
	bool lights; /* the pseudo traffic light detector is attached */
};

/* One look: objects at one instant. */
struct sensors_look {
	int64_t sim_ns, run_ns; /* its stamp; the scenario's own time */
	struct sim_Pose ego;
	uint32_t n;
	struct scene_entity object[SENSORS_OBJECTS_MAX];
};

struct sensors_queue {
	struct sensors_look *look; /* a ring */
	size_t first, n;
};

/*
 * Pose of the ego when its plane was taken. An object more than 1 m below the ego is detected only if it is on or above
 * that plane.
 */
struct sensors_plane {
	bool taken;
	struct sim_Pose ego;
};

struct sensors {
	struct sensors_config config;
	struct rnd detection, imu;
	const struct noise_model *model; /* model of detections; NULL or version 1: their configuration alone counts */
	struct noise noise;
	int64_t run_ns;                                      /* the scenario's own time */
	int64_t scanned_run_ns, looked_run_ns, drawn_run_ns; /* last measurement, or when the sensor was attached */
	struct sensors_queue scans, detected, truth;
	struct sensors_look *drawn; /* objects of the grid */
	struct sensors_plane plane;
	struct lidar lidar;
	struct lidar_cloud cloud;
	uint32_t hit[SENSORS_OBJECTS_MAX], n_hit; /* ids of the objects hit by the last scan */
};

void sensors_init(struct sensors *s);
void sensors_finish(struct sensors *s);
void sensors_reset(struct sensors *s); /* detaches all sensors */

/* Set the scenario's own time. */
void sensors_time(struct sensors *s, int64_t run_ns);

/* Attach a sensor; an attached one of the same kind is replaced. Errors: -ERANGE with err_why(); -ENOMEM. */
int sensors_attach_lidar(struct sensors *s, const struct lidar_config *c);
int sensors_attach_detection(struct sensors *s, const struct sensors_detection *c);
int sensors_attach_grid(struct sensors *s, const struct sensors_grid *c);
int sensors_attach_imu(struct sensors *s, const struct sensors_imu *c);

/*
 * A frame at sim_ns: the cloud to publish now; NULL: none. Borrowed until the next frame. Call it before
 * sensors_detect().
 */
const struct lidar_cloud *sensors_scan(struct sensors *s, const struct scene *scene, int64_t sim_ns);

/*
 * A frame at sim_ns: *ret_detected and *ret_truth are the looks to publish now; NULL: none. Borrowed until the next
 * frame. Without an ego or a sensor both are NULL.
 */
void sensors_detect(struct sensors *s, const struct scene *scene, int64_t sim_ns,
		    const struct sensors_look **ret_detected, const struct sensors_look **ret_truth);

/*
 * A frame at sim_ns: the objects to draw in a grid, as the lidar hit them in its last scan; NULL: no grid is due.
 * Borrowed until the next frame.
 */
const struct sensors_look *sensors_draw(struct sensors *s, const struct scene *scene, int64_t sim_ns);

struct sensors_measure {
	struct sim_Quaternion orientation;
	struct sim_Vector3 angular_velocity, linear_acceleration;
};
/* False: no IMU, or no ego. */
bool sensors_imu(struct sensors *s, const struct scene *scene, struct sensors_measure *ret);

#endif
