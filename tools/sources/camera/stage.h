/* SPDX-License-Identifier: Apache-2.0 */
/* The things in the map that can be drawn, from messages and a file. Thread: one at a time. */
#ifndef CAMERA_STAGE_H
#define CAMERA_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/TrafficSignals.h>
#include <sim/msg/Transforms.h>

#include "forms.h"

#define STAGE_THINGS_MAX 8192u

struct thing {
	double at[3];    /* m in the map: centre of its box's floor */
	double yaw;      /* rad about z */
	double size[3];  /* m: length, width, height */
	uint32_t colour; /* red, green, blue, linear, from the lowest byte up */
	uint32_t id;     /* of the object; arbitrary for others */
	uint8_t form;    /* enum form */
	uint8_t label;   /* LABEL_* */
	uint8_t lit;     /* LIT_*, IN_SHADE */
};

/* A frame in the map: its position, and its axes as columns of a row-major matrix. */
struct pose {
	double at[3], axes[9];
};

struct stage {
	struct thing things[STAGE_THINGS_MAX];
	size_t n;
	uint64_t left_out; /* things without room, or with invalid numbers */
};

/* Whether its box can be drawn. */
bool thing_ok(const struct thing *t);

/* Finds the pose of `child` in `parent` in a message. False: not there, or invalid numbers. */
bool pose_find(const struct sim_Transforms *m, size_t body_size, const char *parent, const char *child,
	       struct pose *ret);
/* Pose b, given in the frame a, in the frame that a is given in. */
struct pose pose_in(const struct pose *a, const struct pose *b);
void pose_quaternion(const struct pose *p, struct sim_Quaternion *ret);
struct pose pose_from_rpy(const double at[3], double roll, double pitch, double yaw);

/* Adds buildings from a file, see sim-lidar(1). 0; -ENOENT, -EINVAL, -E2BIG, -ENOMEM, with the reason in err_why(). */
int stage_add_buildings(struct stage *s, const char *path);
/* base: the pose of the messages' frame. */
void stage_add_objects(struct stage *s, const struct sim_Detected3DObjects *m, size_t body_size,
		       const struct pose *base);
void stage_add_signals(struct stage *s, const struct sim_TrafficSignals *m, size_t body_size, const struct pose *base);

/* Sets IN_SHADE for things in a building's shadow, and LIT_NIGHT for all at night. sun: direction to it. */
void stage_light(struct stage *s, const double sun[3]);

/* The class with this label, as in sim/Detected3DObject; "Unknown": none. */
const char *stage_label_name(uint8_t label);

#endif
