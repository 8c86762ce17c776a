/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a killed sim-ss2 leaves to the next one: the scene, the vehicle on board and where the scenario stands, in a file that is mapped, so that it
 * costs nothing while both live and is there whatever ends the process. It holds for one life of simd and one stretch of its
 * clock.
 *
 *   idle     the next process goes on where this one was: the request that comes next finds its scene
 *   busy     this one ended within a request. ZeroMQ's REQ never gets that answer, so the scenario is lost; the next process
 *            says which request it was
 *
 * Thread: the owner's.
 */
#ifndef SOURCES_SS2_STORE_H
#define SOURCES_SS2_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_MAGIC UINT64_C(0x3230656e65637373) /* "sscene02" */

/* Fixed-width; `size` is that of what it was written with. */
struct store_head {
	uint64_t magic, size;
	uint64_t simd_id; /* of the clock page */
	uint32_t clock_generation;
	uint32_t busy; /* number of the request that is being answered, plus 1; 0: idle */
	uint32_t initialised, last_id;
	uint64_t n_entities, n_bulbs;
	int64_t now_sim_ns, placed_sim_ns, run_ns;
	double step_time_s;
	uint64_t attached[192]; /* of whoever owns them */
};

struct store {
	struct store_head *head;
	void *scene; /* behind it, scene_size() bytes */
	void *more;  /* behind that */
	size_t size;
	int fd;
};

/* more: bytes behind the scene, for the caller. path NULL: memory of this process alone. A file that does not hold is made again. Errors: -ENOMEM, those of open(). */
int store_open(struct store *s, const char *path, size_t more);
void store_close(struct store *s); /* the file stays */
/* Make it empty. */
void store_reset(struct store *s);

#endif
