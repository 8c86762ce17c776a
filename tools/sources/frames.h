/* SPDX-License-Identifier: Apache-2.0 */
/* Ways through the tree of a message of transforms. Thread: any; pure. */
#ifndef SOURCES_FRAMES_H
#define SOURCES_FRAMES_H

#include <string.h>

#include <sim/msg/Transforms.h>

#define FRAMES_DEEP 4 /* from the map to a vehicle, with "odom" between them, and one more for who has one */

/*
 * The next transform on the way from *child up to root: the one that is in root, else one that is in another frame, which *child becomes
 * then. NULL: there is none. The caller asks again until *child is root, but FRAMES_DEEP times
 * at most: a message may go in a circle.
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
