/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts a world's objects to messages: objects around the ego, and frames of objects in the map. Maps the world's
 * 64-bit ids to the 32-bit ids of messages. Thread: the owner's; message functions are pure.
 */
#ifndef SOURCES_JOIN_OTHERS_H
#define SOURCES_JOIN_OTHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sim/world.h>

#include "../ids.h"

#define FRAME_MAP  "map"
#define FRAME_BASE "base_link"

struct other {
	uint64_t key;         /* id in the world */
	uint32_t id;          /* id in messages; constant during a run */
	int64_t first_sim_ns; /* time of its first appearance */
	bool seen;            /* in this round */
	double distance;      /* from the ego, or from the origin without an ego */
	struct sim_world_object o;
	struct sim_world_shape shape;
};

/* Initialize with zeros, except most. */
struct others {
	uint32_t most;    /* limit of objects per message: the nearest */
	struct other *at; /* ascending by key */
	uint32_t n, size;
	struct ids ids;
	const struct other **near; /* elements of `at`, nearest first, after the last round */
	uint32_t n_near;
};

/* Pose of the ego; known false: no message yet. */
struct join_ego {
	bool known;
	int64_t stamp_sim_ns;
	double position[3], rotation[4], velocity[3], spin[3]; /* as in sim_world_object */
};

void others_finish(struct others *t);
/* A round: others_begin(), others_put() for each visible object, others_end(). -ENOMEM. */
void others_begin(struct others *t);
int others_put(struct others *t, const struct sim_world_object *o, const struct join_ego *ego)
	__attribute__((warn_unused_result));
int others_end(struct others *t) __attribute__((warn_unused_result));

/* Detected3DObjects of the last round in base_link, or in the map without ego. Returns the size; 0: does not fit. */
size_t others_objects(const struct others *t, const struct join_ego *ego, void *body, size_t cap);
size_t others_objects_max(uint32_t n);
/* Transforms from the map to world_CONNECTION_NUMBER frames. */
size_t others_tf(const struct others *t, void *body, size_t cap);
size_t others_tf_max(uint32_t n);

#endif
