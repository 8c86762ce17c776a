/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a killed sim-ss2 leaves to the next one: the scene, the vehicle on board and the state of the scenario, in a
 * mapped file. It costs nothing while a process runs, and exists however the process ends. It is valid for one life of
 * simd and one generation of its clock.
 *
 *   idle     the next process continues where this one was: the next request finds its scene
 *   busy     this process ended within a request. All was copied before the request began, and the next process
 *            restores the copy, as if the request had not come. If the connection outlives the process (peers.h), the
 *            request comes again; otherwise ZeroMQ's REQ never gets an answer, so the scenario is lost, and the next
 *            process says which request it was
 *
 * The vehicle, in the memory after the scene, is large, and most requests do not change it: it is copied when it is
 * about to move, in a request or in a turn.
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

/* Fixed-width; `size` is the size of the mapping that it was written with. */
struct store_head {
	uint64_t magic, size;
	uint64_t simd_id; /* of the clock page */
	uint32_t clock_generation;
	uint32_t busy; /* number in the envelope of the request being handled, plus 1; 0: idle */
	uint32_t initialised, last_id;
	uint64_t request; /* number of the request that has begun and whose copy is valid; 0: none */
	uint32_t moving;  /* 1: the copy of the memory after the scene is valid; 0: it is not */
	uint32_t turn;    /* enum store_turn: the turn of the last answer */
	uint64_t n_entities, n_bulbs;
	int64_t now_sim_ns, placed_sim_ns, run_ns;
	double step_time_s;
	uint64_t attached[192]; /* the sensors' configuration, in the server's layout */
	char owner[STORE_OWNER_MAX];
};

struct store {
	struct store_head *head;
	void *scene; /* after the head, scene_size() bytes */
	void *more;  /* after the scene */
	size_t size, more_size;
	struct store_head *copy; /* a copy of the head, followed by copies of the scene and of more */
	int fd;
};

/*
 * more: bytes after the scene, for the caller. path NULL: memory of this process only. A file without valid contents is
 * reset. Errors: -ENOMEM, -EPERM, errno of open().
 */
int store_open(struct store *s, const char *path, size_t more);
void store_close(struct store *s); /* the file is not removed */
/* Make it empty. */
void store_reset(struct store *s);

/* Begin the request of that number, above 0: until store_end() all can be restored. */
void store_begin(struct store *s, uint64_t request);
void store_end(struct store *s);
/*
 * Announce a change of the memory after the scene. It lasts until store_moved(), or until the end of the request it is
 * made in.
 */
void store_move(struct store *s);
void store_moved(struct store *s);
/*
 * Call it in the next process. answered: number of the last answered request. True: a request was begun and not
 * answered, and all is restored to before it.
 */
bool store_settle(struct store *s, uint64_t answered);

#endif
