/* SPDX-License-Identifier: Apache-2.0 */
/* Names of channels, services and nodes: what may be one, and how a rig's prefix is put before it. Thread: any; nothing is kept. */
#ifndef BASE_CHANNEL_NAME_H
#define BASE_CHANNEL_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define CHANNEL_NAME_MAX 99 /* SIM_CHANNEL_MAX of sim/slot.h */

/* 1..99 of [A-Za-z0-9_./~-], no empty part between slashes. */
bool channel_name_ok(const char *s);

/*
 * The full name: prefix + '/' + name, or the name as it is when it has a leading slash or there is no prefix; always with
 * a leading slash. -EINVAL, -ENAMETOOLONG with a sentence.
 */
int channel_name_full(const char *prefix, const char *name, char ret[CHANNEL_NAME_MAX + 1]);

/*
 * Whose a full name is, in words; NULL: anybody's. Bridges carry a channel as a topic of its name, where each node of ROS 2 has topics of its own,
 * and tools take what stands below /simd for simd's word.
 */
const char *channel_name_reserved(const char *full);

#define NODE_NAME_MAX 63

/* 1..63 of [A-Za-z0-9_.~-] and single slashes inside. 0; -EINVAL with a sentence. NULL is no name. */
int node_name_check(const char *name);
/* Of a name of Cyber, which may be anything: what is no character of a node's name becomes '_'. True: something did. */
bool node_name_fit(char *name);

/* 1..max ASCII letters, digits and others. */
bool channel_name_made_of(const char *s, size_t max, const char *others);

#endif
