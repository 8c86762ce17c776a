/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entities of a scenario, by name, and the traffic lights that it controls. Sizes are bounded, and all numbers are
 * finite.
 *
 * The scene is in a mapping that may be a file: a process killed between two requests leaves its scene to the next one,
 * at no cost while it runs (store.h).
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
	uint32_t id; /* constant; not used again in a run */
	enum scene_kind kind;
	uint32_t subtype;              /* Ss2__EntitySubtype__Enum */
	bool shown;                    /* first_sim_ns is valid */
	int64_t first_sim_ns;          /* when it was first published */
	struct sim_Pose pose;          /* map */
	struct sim_Twist twist, accel; /* in its own axes */
	struct sim_Vector3 box_center; /* in its own axes, from the pose */
	struct sim_Vector3 box_size;
};

/*
 * A bulb that is on. A light without such a bulb has a single entry, black or unknown. A light of several groups has
 * entries in each group.
 */
struct scene_bulb {
	int32_t group; /* number in Autoware's map; the light's own id if the scenario names no group */
	int32_t light;
	uint8_t color, shape; /* of sim/TrafficSignal */
	bool blink;
	float score;
};

struct scene {
	struct scene_entity *entity; /* SCENE_ENTITIES_MAX, in the order of spawning */
	struct scene_bulb *bulb;     /* SCENE_BULBS_MAX; bulbs of one light in one group are consecutive */
	size_t n_entities, n_bulbs;
	uint32_t last_id;
	size_t indexed;             /* number of entities in `slot`; if it is not n_entities, slot is built again */
	uint16_t slot[SCENE_SLOTS]; /* by name: index in `entity` plus 1; 0: free */
};

/* Use memory of scene_size() bytes, all zero or with an earlier scene. Keeps the pointer. */
void scene_init(struct scene *s, void *memory);
size_t scene_size(void);
size_t scene_bulbs_at(void); /* offset of the bulbs in the memory */
void scene_clear(struct scene *s);

/* NULL: no such entity. The result is valid until the next spawn, despawn or clear. */
struct scene_entity *scene_find(struct scene *s, const char *name);
/* The entity that represents the vehicle. NULL: none. */
struct scene_entity *scene_ego(const struct scene *s);
/*
 * Add an entity, all zero but name, id and kind (and the unit orientation). Errors: -EINVAL: invalid name; -ENOSPC. The
 * name must not be in use.
 */
int scene_spawn(struct scene *s, const char *name, enum scene_kind kind, struct scene_entity **ret);
int scene_despawn(struct scene *s, const char *name); /* -ENOENT */

#endif
