/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Something that draws for a while, for readback_*: two pictures that are scaled into each other again and again, which takes drivers
 * without a GPU some ms and needs no shader. Thread: the role's. Failures are a negative errno, with what failed on stderr.
 */
#ifndef BENCH_READBACK_H
#define BENCH_READBACK_H

#include <sim/readback.h>

#define SCENE_W     1280u
#define SCENE_H     720u
#define SCENE_TURNS 1 /* a frame */
#define SCENE_RING  3 /* pictures that are read */

struct scene {
	const char *name;
	unsigned ahead; /* pictures that are drawn before the first has arrived, when it goes as fast as it can */
	int (*init)(struct sim_readback_options *o); /* its back end */
	void (*draw)(unsigned i);                    /* into picture i of the ring; submitted, not waited for */
	/*
	 * The same, and then into memory of its own without a reader; sleeps until the frame SCENE_RING frames before
	 * is there.
	 */
	int (*bare)(unsigned frame);
	void (*source)(unsigned i, struct sim_readback_source *s);
	void (*finish)(void);
};

extern const struct scene scene_gl, scene_vulkan;

#endif
