/* SPDX-License-Identifier: Apache-2.0 */
/* Names as ROS 1 resolves them: "/a" is global, "a" of the namespace, "~a" of the node; then those that are remapped. Thread: any. */
#ifndef NAMES_H
#define NAMES_H

#include <stddef.h>

#define ROS1_TEXT_MAX 256u /* what addresses, URIs and names of others are cut to */

#define NAMES_LEN 247u /* bytes of one */
#define NAMES_MAX 64u  /* that are remapped */

struct names {
	char node[NAMES_LEN + 1];       /* "/rig/simd" */
	char name_space[NAMES_LEN + 1]; /* "/rig" or "/" */
	unsigned n;
	struct {
		char from[NAMES_LEN + 1], to[NAMES_LEN + 1]; /* resolved */
	} map[NAMES_MAX];
};

/*
 * From the node's name, its namespace and a list in JSON: ["camera:=/front/camera", "~x:=y", "__name:=sim", "__ns:=/car"], where the last two win
 * over node and name_space. -EINVAL, with a sentence in why that begins with the option.
 */
int names_init(struct names *n, const char *node, const char *name_space, const char *list, char *why, size_t why_size);

/* The name that a name has in the graph. -EINVAL, with a sentence in why. */
int names_resolve(const struct names *n, const char *name, char ret[NAMES_LEN + 1], char *why, size_t why_size);

#endif
