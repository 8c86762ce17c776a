/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a killed sim-ss2 leaves to the next one: the scene, the vehicle on board and where the scenario stands, in a file that is mapped, so that it
 * costs nothing while both live and is there whatever ends the process. It holds for one life of simd and one stretch of its
 * clock.
 *
 *   idle     the next process goes on where this one was: the request that comes next finds its scene
 *   busy     this one ended within a request. Before it began all was copied, and the next process puts that back: it is as if the
 *            request had not come. Where the connection outlives the process (peers.h) it comes again; where it does not,
 *            ZeroMQ's REQ never gets an answer, so the scenario is lost, and the next process says which request it was
 *
 * What lies behind the scene, the vehicle, is large, and most requests leave it as it is: it is copied when it is to move, also in a
 * request or in a turn.
 *
 * Thread: the owner's.
 */
#ifndef SOURCES_SS2_STORE_H
#define SOURCES_SS2_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_MAGIC     UINT64_C(0x3330656e65637373) /* "sscene03" */
#define STORE_OWNER_MAX 64

enum store_turn { STORE_TURN_OVER, STORE_TURN_DUE, STORE_TURN_MOVED };

/* Fixed-width; `size` is that of what it was written with. */
struct store_head {
	uint64_t magic, size;
	uint64_t simd_id; /* of the clock page */
	uint32_t clock_generation;
	uint32_t busy; /* number of the request that is being answered, plus 1; 0: idle */
	uint32_t initialised, last_id;
	uint64_t request; /* number of the one that has begun, and whose copy holds; 0: none */
	uint32_t moving;  /* likewise of what lies behind the scene */
	uint32_t turn;    /* enum store_turn: that of the last answer */
	uint64_t n_entities, n_bulbs;
	int64_t now_sim_ns, placed_sim_ns, run_ns;
	double step_time_s;
	uint64_t attached[192]; /* of whoever owns them */
	char owner[STORE_OWNER_MAX];
};

struct store {
	struct store_head *head;
	void *scene; /* behind it, scene_size() bytes */
	void *more;  /* behind that */
	size_t size, more_size;
	struct store_head *copy; /* and what is behind it, as the above */
	int fd;
};

/* more: bytes behind the scene, for the caller. path NULL: memory of this process alone. A file that does not hold is made again. Errors: -ENOMEM, those of open(). */
int store_open(struct store *s, const char *path, size_t more);
void store_close(struct store *s); /* the file stays */
/* Make it empty. */
void store_reset(struct store *s);

/* A request of that number, above 0, begins: until store_end() all can be put back. */
void store_begin(struct store *s, uint64_t request);
void store_end(struct store *s);
/* What lies behind the scene is to be changed, until store_moved(), or the end of the request that it is changed in. */
void store_move(struct store *s);
void store_moved(struct store *s);
/* In the next process. answered: the last request that was. True: one was not, and all is as it was before it. */
bool store_settle(struct store *s, uint64_t answered);

#endif
