/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolution of ROS 1 names: "/a" is global, "a" relative to the namespace, "~a" private to the node; then remapping.
 * Thread: any.
 */
#ifndef NAMES_H
#define NAMES_H

#include <stddef.h>

#define ROS1_TEXT_MAX 256u /* maximum length of addresses, URIs and names of other nodes; longer ones are cut */

#define NAMES_LEN 247u /* bytes of a name */
#define NAMES_MAX 64u  /* remappings */

struct names {
	char node[NAMES_LEN + 1];       /* "/rig/simd" */
	char name_space[NAMES_LEN + 1]; /* "/rig" or "/" */
	unsigned n;
	struct {
		char from[NAMES_LEN + 1], to[NAMES_LEN + 1]; /* resolved */
	} map[NAMES_MAX];
};

/*
 * Reads the node's name, its namespace and a JSON list of remappings: ["camera:=/front/camera", "~x:=y", "__name:=sim",
 * "__ns:=/car"]; the last two override node and name_space. -EINVAL, with the reason in why, which begins with the
 * option.
 */
int names_init(struct names *n, const char *node, const char *name_space, const char *list, char *why, size_t why_size);

/* Resolves a name to the one in the graph. -EINVAL, with the reason in why. */
int names_resolve(const struct names *n, const char *name, char ret[NAMES_LEN + 1], char *why, size_t why_size);

#endif
