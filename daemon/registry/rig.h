/* SPDX-License-Identifier: Apache-2.0 */
/* The rigs of the configuration. Thread: simd-main. */
#ifndef REGISTRY_RIG_H
#define REGISTRY_RIG_H

#include "conf.h"

#include <sys/types.h>

struct simd;

struct rig {
	const char *name, *prefix; /* of the configuration */
	struct conf_view view;
};

/* simd::rigs from the configuration; rig_destroy_all() frees them. */
int rig_create_all(struct simd *s);
void rig_destroy_all(struct simd *s);

/* NULL: none. */
const struct rig *rig_find(const struct simd *s, const char *name);
/* The rig a new client belongs to: its process's, else the only one; NULL: none. */
const struct rig *rig_of_process(const struct simd *s, pid_t pid);

#endif
