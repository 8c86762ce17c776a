/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sensors that a scenario attaches to its ego, as simple_sensor_simulator has them: what the detection sensor and the IMU measure of
 * the scene, with the noise, delay, range and loss that their configuration asks for. Seeded: the same scenario gives the
 * same measurements.
 *
 * Rhythm and delays go by the scenario's own time (current_simulation_time), as sensors_time() was told last: ROS time stamps what is
 * measured, and may jitter. A sensor measures for the first time one period after it was attached.
 *
 * Lidar, every scan_duration: what its rays meet; a cloud leaves after `delay`, with the stamp of its scan.
 *
 * Detection, every update_duration: all within `range` of the ego that are not more than 1 m below it, or on or above its plane, and that the
 * lidar hit in its last scan (`all`: that does not matter). What leaves is that of `delay` ago, x and y with Gaussian noise, each
 * object lost with probability_of_lost, or as another model has it (noise.h). The ground truth leaves after a delay of its own, as it was.
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

#define SENSORS_OBJECTS_MAX 256 /* of one look: the nearest */
#define SENSORS_LOOKS_MAX   64  /* that may wait for their delay */
#define SENSORS_FRAME_MAX   39

/* Plain numbers, all finite: part of what a killed process leaves. */
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
	bool lights; /* the pseudo detector of traffic lights */
};

/* One look: objects as they were. */
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

/* Where a plane of the ego's was taken: by it is told whether what is more than 1 m lower is seen all the same. */
struct sensors_plane {
	bool taken;
	struct sim_Pose ego;
};

struct sensors {
	struct sensors_config config;
	struct rnd detection, imu;
	const struct noise_model *model; /* of detections; NULL or version 1: what their configuration says */
	struct noise noise;
	int64_t run_ns;                                      /* the scenario's own time */
	int64_t scanned_run_ns, looked_run_ns, drawn_run_ns; /* last, or since when it is attached */
	struct sensors_queue scans, detected, truth;
	struct sensors_look *drawn; /* by a grid */
	struct sensors_plane plane;
	struct lidar lidar;
	struct lidar_cloud cloud;
	uint32_t hit[SENSORS_OBJECTS_MAX], n_hit; /* ids of what the last scan met */
};

void sensors_init(struct sensors *s);
void sensors_finish(struct sensors *s);
void sensors_reset(struct sensors *s); /* nothing attached */

/* The scenario is there now, by its own time. */
void sensors_time(struct sensors *s, int64_t run_ns);

/* -ERANGE with a sentence; -ENOMEM. The one before is replaced. */
int sensors_attach_lidar(struct sensors *s, const struct lidar_config *c);
int sensors_attach_detection(struct sensors *s, const struct sensors_detection *c);
int sensors_attach_grid(struct sensors *s, const struct sensors_grid *c);
int sensors_attach_imu(struct sensors *s, const struct sensors_imu *c);

/* A frame at sim_ns: the cloud that leaves now, NULL: none. Borrowed until the next frame. Comes before sensors_detect(). */
const struct lidar_cloud *sensors_scan(struct sensors *s, const struct scene *scene, int64_t sim_ns);

/*
 * A frame at sim_ns: *ret_detected and *ret_truth are what leaves now, NULL: nothing. Borrowed until the next frame. No ego, no
 * sensor: nothing.
 */
void sensors_detect(struct sensors *s, const struct scene *scene, int64_t sim_ns,
		    const struct sensors_look **ret_detected, const struct sensors_look **ret_truth);

/* A frame at sim_ns: what a grid is to be drawn of in it, as the lidar hit it in its last scan; NULL: none is due. Borrowed until the next frame. */
const struct sensors_look *sensors_draw(struct sensors *s, const struct scene *scene, int64_t sim_ns);

struct sensors_measure {
	struct sim_Quaternion orientation;
	struct sim_Vector3 angular_velocity, linear_acceleration;
};
/* False: no IMU, or no ego. */
bool sensors_imu(struct sensors *s, const struct scene *scene, struct sensors_measure *ret);

#endif
