/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of a world as messages: what is around the ego, and where each object's frame is in the map. Also which of them is which: a world's ids have 64
 * bits, those of messages 32. Thread: the owner's; the messages are pure.
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
	uint64_t key;         /* of the world */
	uint32_t id;          /* of messages: stays with it for the whole run */
	int64_t first_sim_ns; /* seen since */
	bool seen;            /* in this round */
	double distance;      /* from the ego, or from the origin where there is none */
	struct sim_world_object o;
	struct sim_world_shape shape;
};

/* Zeroed to begin with, but for most. */
struct others {
	uint32_t most;    /* that one message has: the nearest */
	struct other *at; /* ascending by key */
	uint32_t n, size;
	struct ids ids;
	const struct other **near; /* of at, the nearest first: of the last round */
	uint32_t n_near;
};

/* Where the ego is; known false: nobody has said it. */
struct join_ego {
	bool known;
	int64_t stamp_sim_ns;
	double position[3], rotation[4], velocity[3], spin[3]; /* as of sim_world_object */
};

void others_finish(struct others *t);
/* A round: begin, put of each that is seen, end. -ENOMEM. */
void others_begin(struct others *t);
int others_put(struct others *t, const struct sim_world_object *o, const struct join_ego *ego)
	__attribute__((warn_unused_result));
int others_end(struct others *t) __attribute__((warn_unused_result));

/* Detected3DObjects in base_link, or in the map where the ego is not known; of the last round. The size; 0: it does not fit. */
size_t others_objects(const struct others *t, const struct join_ego *ego, void *body, size_t cap);
size_t others_objects_max(uint32_t n);
/* Transforms from the map to world_CONNECTION_NUMBER. */
size_t others_tf(const struct others *t, void *body, size_t cap);
size_t others_tf_max(uint32_t n);

#endif
