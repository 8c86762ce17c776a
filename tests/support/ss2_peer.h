/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenario_simulator_v2's end of its protocol, for tests: requests written by hand from the numbers of their fields,
 * as the versions from 0.8.0 on write them, and answers read the same way. Shares nothing with what it tests.
 * Thread: the test's.
 */
#ifndef TEST_SS2_PEER_H
#define TEST_SS2_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* major * 10000 + minor * 100 + patch: those at which something changed, one of 10.x, and the last */
#define PEER_VERSIONS(X) X(800) X(900) X(10000) X(10400) X(30402) X(50000) X(100303) X(250020)

/* Cells of the grid that it attaches, along each side, 0.5 m each. */
#define PEER_GRID_CELLS 200
/* Of the lidar: rad from column to column; and where its beams look, which it writes the other way up. */
#define PEER_LIDAR_RESOLUTION 0.00698
#define PEER_LIDAR_BEAMS      16
double peer_lidar_elevation(int beam);

enum {
	PEER_INITIALIZE = 1,
	PEER_UPDATE_FRAME,
	PEER_SPAWN_VEHICLE,
	PEER_SPAWN_PEDESTRIAN,
	PEER_SPAWN_OBJECT,
	PEER_DESPAWN,
	PEER_UPDATE_STATUS,
	PEER_ATTACH_LIDAR,
	PEER_ATTACH_DETECTION,
	PEER_ATTACH_GRID,
	PEER_UPDATE_LIGHTS,
	PEER_FOLLOW,
	PEER_ATTACH_LIGHT_DETECTOR,
	PEER_UPDATE_STEP_TIME,
	PEER_ATTACH_IMU,
	PEER_REQUESTS
};

struct peer_buf {
	uint8_t data[2 << 20]; /* statuses of more than 8192 cars that turn on a slope */
	size_t len;
};

struct peer_pose {
	double x, y, z, qz, qw;
	double qx, qy;
};

struct peer_status {
	const char *name, *action;
	int type, subtype;
	struct peer_pose pose;
	double speed, yaw_rate, accel, time_s;
};

struct peer_bulb {
	int color, shape, status;
	float confidence;
};

struct peer_light {
	int32_t id;
	int32_t relation[4]; /* up to the first 0 */
	int n;
	struct peer_bulb bulb[4];
};

/* Each writes one request into b, from its start. t_ns: the scenario's ROS time. */
void peer_initialize(struct peer_buf *b, double step_s, int64_t t_ns);
void peer_frame(struct peer_buf *b, double simulation_s, double scenario_s, int64_t t_ns);
void peer_spawn_vehicle(struct peer_buf *b, const char *name, bool ego, const struct peer_pose *at);
/* PEER_SPAWN_PEDESTRIAN, PEER_SPAWN_OBJECT */
void peer_spawn(struct peer_buf *b, uint32_t number, const char *name, const struct peer_pose *at);
void peer_despawn(struct peer_buf *b, const char *name);
void peer_update_status(struct peer_buf *b, int version, const struct peer_status *s, size_t n, bool npc_started,
			bool overwrite_ego);
/* One of a crowd: it turns on a slope, and all its numbers differ from 0. */
struct peer_status peer_turning(const char *name, int i);
void peer_attach(struct peer_buf *b, uint32_t number, const char *entity);
void peer_lights(struct peer_buf *b, int version, const struct peer_light *l, size_t n);
void peer_follow(struct peer_buf *b, const char *name);
void peer_step_time(struct peer_buf *b, double step_s);
/* A member that no version of the protocol has. */
void peer_unknown(struct peer_buf *b, uint32_t number);

/* Whether that version sends the request. */
bool peer_has(int version, uint32_t number);

struct peer_answer_status {
	char name[128], action[64];
	bool has_pose;
	struct peer_pose pose;
	double speed, yaw_rate, accel, jerk;
};

#define PEER_STATUSES 16

struct peer_answer {
	uint32_t number;
	bool success;
	char description[512];
	size_t n;
	struct peer_answer_status status[PEER_STATUSES]; /* the first ones */
};

/* False: the bytes are not a valid answer. */
bool peer_read(const void *data, size_t len, struct peer_answer *ret);

#endif
