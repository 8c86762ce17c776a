/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a scenario has put on the road: entities by name, and the traffic lights that it controls. Sizes are
 * bounded, and all numbers in here are finite.
 *
 * It lies in a mapping that can be a file: a process that is killed between two requests leaves its scene to the next one,
 * at no cost while it lives (store.h).
 *
 * Thread: the owner's.
 */
#ifndef SOURCES_SS2_SCENE_H
#define SOURCES_SS2_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sim/msg/Pose.h>
#include <sim/msg/Twist.h>

#define SCENE_ENTITIES_MAX 8192 /* as many as a request can name */
#define SCENE_BULBS_MAX    16384
#define SCENE_NAME_MAX     127 /* bytes */
#define SCENE_SLOTS        (2 * SCENE_ENTITIES_MAX)

enum scene_kind { SCENE_EGO, SCENE_VEHICLE, SCENE_PEDESTRIAN, SCENE_OBJECT };

struct scene_entity {
	char name[SCENE_NAME_MAX + 1];
	uint32_t id; /* stays with it; never used again in a run */
	enum scene_kind kind;
	uint32_t subtype;              /* Ss2__EntitySubtype__Enum */
	bool shown;                    /* first_sim_ns holds */
	int64_t first_sim_ns;          /* when it was first shown */
	struct sim_Pose pose;          /* map */
	struct sim_Twist twist, accel; /* its own axes */
	struct sim_Vector3 box_center; /* in its own axes, from the pose */
	struct sim_Vector3 box_size;
};

/* A bulb that is on; of a light with none on a single entry, black or unknown. A light of several groups is in each. */
struct scene_bulb {
	int32_t group; /* as Autoware's map numbers it; the light itself where the scenario names no group */
	int32_t light;
	uint8_t color, shape; /* of sim/TrafficSignal */
	bool blink;
	float score;
};

struct scene {
	struct scene_entity *entity; /* SCENE_ENTITIES_MAX, in the order of spawning */
	struct scene_bulb *bulb;     /* SCENE_BULBS_MAX, those of one light in one group follow one another */
	size_t n_entities, n_bulbs;
	uint32_t last_id;
	size_t indexed;             /* entities that slot has; another number than theirs: it is made again */
	uint16_t slot[SCENE_SLOTS]; /* by name: their place in entity, plus 1; 0: free */
};

/* Over memory of scene_size() bytes, all zero or of a scene of before. Keeps it. */
void scene_init(struct scene *s, void *memory);
size_t scene_size(void);
size_t scene_bulbs_at(void); /* where in there they begin */
void scene_clear(struct scene *s);

/* NULL: there is none. Borrows until the next spawn, despawn or clear. */
struct scene_entity *scene_find(struct scene *s, const char *name);
/* The entity that the vehicle stands for. NULL: none. */
struct scene_entity *scene_ego(const struct scene *s);
/* All zero but name, id and kind. -EINVAL name, -ENOSPC. There must be none of that name. */
int scene_spawn(struct scene *s, const char *name, enum scene_kind kind, struct scene_entity **ret);
int scene_despawn(struct scene *s, const char *name); /* -ENOENT */

#endif
