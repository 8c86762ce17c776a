/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs RouDi: finds or starts one, attaches to it, watches its process and its health, and replaces one
 * that has exited or hangs. Each run of RouDi is a generation; its number, the iox_generation, grows for as long as the
 * runtime directory exists.
 *
 *     ABSENT --start--> STARTING --answers--> ATTACHING --ipc--> UP --dies, hangs--> ABSENT (again)
 *
 * Thread: simd-main; calls that may block run on the helper.
 */
#ifndef SUPERVISE_ROUDI_H
#define SUPERVISE_ROUDI_H

#include "conf.h"
#include "admission.h"
#include "spawn_ops.h"
#include "state.h"

#include <stdbool.h>
#include <stdint.h>

struct exec;
struct helper;
struct ipc;
struct roudi;

struct roudi_events {
	/*
	 * A generation begins; the callee owns ipc. pools: those that this RouDi really has, and the callbacks that
	 * give them memory. A negative return: the generation cannot be used.
	 */
	int (*up)(void *arg, struct ipc *ipc, uint32_t generation, const struct pools *pools);
	/* Bytes of /dev/shm that the next generation needs. */
	int64_t (*need)(void *arg);
	/* The generation has ended; the next one will be started. */
	void (*lost)(void *arg, const char *why);
	/* No generation could be made at the start, or no further one will be made. err_why() says why. */
	void (*failed)(void *arg, int r);
	/* The pid, ownership or generation changed: the state file is to be written. */
	void (*changed)(void *arg);
};

struct roudi_options {
	struct exec *x;
	struct helper *helper;
	const struct conf *conf;
	const struct pools *pools; /* copied */
	const char *runtime_dir;   /* copied */
	/* directory of the data plane (plane.h); "": RouDi is not started by simd. Borrowed */
	const char *plane;
	const char *app; /* name to attach with; copied */
	const struct spawn_ops *ops;
	void *user;
	const struct state *state; /* state that an earlier simd left; NULL: none. Borrowed */
	struct roudi_events events;
	void *arg;
};

int roudi_create(const struct roudi_options *o, struct roudi **ret);
/* Ends RouDi if simd owns it, and removes its leftovers. NULL is fine. */
void roudi_destroy(struct roudi *r);
/* Finds or starts RouDi. 0: up() or failed() follows. Negative: refused, with err_why() set. */
int roudi_start(struct roudi *r);
/* simd is stopping: a RouDi that exits from now on is not replaced. */
void roudi_closing(struct roudi *r);
/* Ends this generation because RouDi is unresponsive. */
void roudi_broken(struct roudi *r, const char *why);
/* All clients have moved to the present generation: frees the memory of earlier ones. */
void roudi_all_moved(struct roudi *r);

struct roudi_info {
	struct state_proc proc;
	bool owned;
	uint32_t generation;
	uint64_t config_hash;
	bool adopted; /* taken over from an earlier simd, still in the same generation */
	bool robust;  /* a killed client leaves no lock that RouDi would wait for */
};
void roudi_info(const struct roudi *r, struct roudi_info *ret);

#endif
