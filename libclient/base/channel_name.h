/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of channels, services and nodes: which names are valid, and how a rig's prefix is added. Thread: any;
 * stateless.
 */
#ifndef BASE_CHANNEL_NAME_H
#define BASE_CHANNEL_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define CHANNEL_NAME_MAX 99 /* SIM_CHANNEL_MAX of sim/slot.h */

/* 1..99 of [A-Za-z0-9_./~-], no empty part between slashes. */
bool channel_name_ok(const char *s);

/*
 * The full name: prefix + '/' + name, or the name as it is when it has a leading slash or there is no prefix; always
 * with a leading slash. -EINVAL, -ENAMETOOLONG with a sentence.
 */
int channel_name_full(const char *prefix, const char *name, char ret[CHANNEL_NAME_MAX + 1]);

/*
 * Whom a reserved full name belongs to, in words; NULL: not reserved. Bridges carry a channel as a topic of the same
 * name, and there each node of ROS 2 has topics of its own; tools take names below /simd for simd's own.
 */
const char *channel_name_reserved(const char *full);

#define NODE_NAME_MAX 63

/* 1..63 of [A-Za-z0-9_.~-] and single slashes inside. 0; -EINVAL with a sentence. NULL is invalid. */
int node_name_check(const char *name);
/*
 * Makes a node name of a Cyber name, which may have any characters: replaces those that are not allowed by '_'. True:
 * it replaced some.
 */
bool node_name_fit(char *name);

/* Whether s has 1..max characters, all ASCII letters, digits or in `others`. */
bool channel_name_made_of(const char *s, size_t max, const char *others);

#endif
