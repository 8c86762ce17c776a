/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rigs of the configuration, and their shards: rigs whose bridges may carry the same channel are in one shard, so
 * that a channel and all that its messages touch belong to exactly one shard. Thread: simd-main.
 */
#ifndef REGISTRY_RIG_H
#define REGISTRY_RIG_H

#include "conf.h"

#include <sys/types.h>

struct simd;

struct rig {
	const char *name, *prefix; /* of the configuration */
	struct conf_view view;
	/* 0 .. simd::n_shards - 1, in the order of the first rig of each shard; a rig without bridges: 0 */
	unsigned shard;
	unsigned root; /* first rig of its set; for rig.c */
};

/* simd::rigs from the configuration; rig_destroy_all() frees them. */
int rig_create_all(struct simd *s);
void rig_destroy_all(struct simd *s);

/* The rig of a new client: that of its process, else the only rig; NULL: none. */
const struct rig *rig_of_process(const struct simd *s, pid_t pid);

#endif
