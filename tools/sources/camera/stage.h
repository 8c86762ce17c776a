/* SPDX-License-Identifier: Apache-2.0 */
/* What stands and moves in the map, as things that can be drawn; out of messages and a file. Thread: one at a time. */
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
	double at[3];    /* m in the map: the middle of its box's floor */
	double yaw;      /* rad about z */
	double size[3];  /* m: length, width, height */
	uint32_t colour; /* red, green, blue, linear, from the lowest byte on */
	uint32_t id;     /* of the object; others: any */
	uint8_t form;    /* enum form */
	uint8_t label;   /* LABEL_* */
	uint8_t lit;     /* LIT_*, IN_SHADE */
};

/* A frame in the map: where it is, and its axes as columns, row by row. */
struct pose {
	double at[3], axes[9];
};

struct stage {
	struct thing things[STAGE_THINGS_MAX];
	size_t n;
	uint64_t left_out; /* things that found no room */
};

/* Its box has numbers that can be drawn with. */
bool thing_ok(const struct thing *t);

/* The pose of `child` in `parent` out of a message. False: it is not in it, or its numbers are none. */
bool pose_find(const struct sim_Transforms *m, size_t body_size, const char *parent, const char *child,
	       struct pose *ret);
/* b, given in a. */
struct pose pose_in(const struct pose *a, const struct pose *b);
void pose_quaternion(const struct pose *p, struct sim_Quaternion *ret);
struct pose pose_from_rpy(const double at[3], double roll, double pitch, double yaw);

/* Buildings as sim-lidar(1) has them. 0; -ENOENT, -EINVAL, -E2BIG, -ENOMEM, with a sentence. Appends. */
int stage_add_buildings(struct stage *s, const char *path);
/* Objects and lights are in base, the frame that the message is in. */
void stage_add_objects(struct stage *s, const struct sim_Detected3DObjects *m, size_t body_size,
		       const struct pose *base);
void stage_add_signals(struct stage *s, const struct sim_TrafficSignals *m, size_t body_size, const struct pose *base);

/* Light of the moment: what is in a building's shadow gets IN_SHADE, at night all gets LIT_NIGHT. sun: direction to it. */
void stage_light(struct stage *s, const double sun[3]);

/* The class that has this label, as sim/Detected3DObject names it; "Unknown": none of them. */
const char *stage_label_name(uint8_t label);

#endif
