/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rigs of the configuration, and their shards: rigs of which one channel could have bridges of both are in one shard,
 * so that a channel and all that its messages touch belong to exactly one. Thread: simd-main.
 */
#ifndef REGISTRY_RIG_H
#define REGISTRY_RIG_H

#include "conf.h"

#include <sys/types.h>

struct simd;

struct rig {
	const char *name, *prefix; /* of the configuration */
	struct conf_view view;
	unsigned shard; /* 0 .. simd::n_shards - 1, ascending with the first rig of each; without bridges: 0 */
	unsigned root;  /* of those it meets, the first; for rig.c */
};

/* simd::rigs from the configuration; rig_destroy_all() frees them. */
int rig_create_all(struct simd *s);
void rig_destroy_all(struct simd *s);

/* The rig a new client belongs to: its process's, else the only one; NULL: none. */
const struct rig *rig_of_process(const struct simd *s, pid_t pid);

#endif
