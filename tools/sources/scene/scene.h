/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sensor sees, as boxes around it: detected objects (given in base_link) and buildings
 * (given in the map, from a file). Thread: one at a time.
 */
#ifndef SOURCES_SCENE_SCENE_H
#define SOURCES_SCENE_SCENE_H

#include <stddef.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/Transforms.h>

#include "scan.h"

#define SCENE_BOXES_MAX     1024 /* objects and buildings of one turn */
#define SCENE_BUILDINGS_MAX 4096

/* Position of the sensor on the vehicle, and its rotation about z. */
struct scene_mount {
	double x, y, z; /* m, base_link */
	double yaw;     /* rad */
};

/* Position of base_link in the map, and its rotation about z. */
struct scene_pose {
	double x, y, z, yaw;
};

struct scene_buildings {
	struct scan_box *boxes; /* in the map */
	size_t n;
};

/*
 * Read buildings: {"buildings": [{"x","y","length","width","height", "yaw", "z", "reflectivity"}, ...]}, metres and
 * radians in the map; z is that of the ground. Absent values: z 0, yaw 0, reflectivity 0.35. Returns 0; -EINVAL,
 * -ENOENT or -E2BIG, with the reason in why.
 */
int scene_buildings_load(const char *path, struct scene_buildings *ret, char *why, size_t cap);
void scene_buildings_free(struct scene_buildings *b);

/* Rotation about z; a tilt is ignored. */
double scene_yaw_of(const struct sim_Quaternion *q);

/* Finds the pose of `child` in `parent` in a message, through frames between them. -ENOENT: the message lacks it. */
int scene_pose_of(const struct sim_Transforms *m, size_t body_size, const char *parent, const char *child,
		  struct scene_pose *ret);

/* Append boxes in the sensor's frame; return the new count, never above SCENE_BOXES_MAX. */
size_t scene_add_objects(const struct sim_Detected3DObjects *m, size_t body_size, const struct scene_mount *mount,
			 struct scan_box *boxes, size_t n);
size_t scene_add_buildings(const struct scene_buildings *b, const struct scene_pose *base,
			   const struct scene_mount *mount, double range_m, struct scan_box *boxes, size_t n);

#endif
