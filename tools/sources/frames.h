/* SPDX-License-Identifier: Apache-2.0 */
/* Paths through the tree of frames in a transforms message. Thread: any; pure. */
#ifndef SOURCES_FRAMES_H
#define SOURCES_FRAMES_H

#include <string.h>

#include <sim/msg/Transforms.h>

#define FRAMES_DEEP 4 /* from the map to a vehicle, with "odom" between them, and one more frame if a vehicle has one */

/*
 * The next transform on the path from *child up to root: the one whose parent is root, else one with another parent.
 * *child becomes that parent. NULL: there is none. The caller repeats this until *child is root, but at most
 * FRAMES_DEEP times: a message may contain a cycle.
 */
static inline const struct sim_Transform *frames_up(const struct sim_Transforms *m, size_t body_size, const char *root,
						    const char **child)
{
	const struct sim_Transform *found = NULL;
	const char *in = NULL;
	uint32_t n;
	const struct sim_Transform *t = sim_Transforms_transforms(m, body_size, &n);

	for (uint32_t i = 0; i < n; i++) {
		const char *p = sim_Transform_parent_frame_in(m, body_size, &t[i]);
		const char *c = sim_Transform_child_frame_in(m, body_size, &t[i]);

		if (!p || !c || strcmp(c, *child) != 0 || (found && strcmp(p, root) != 0))
			continue;
		found = &t[i];
		in = p;
		if (strcmp(p, root) == 0)
			break;
	}
	if (found)
		*child = in;
	return found;
}

#endif
