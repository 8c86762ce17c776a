/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run of RouDi: finds one or starts one, attaches to it, watches its process and its health, ends and
 * replaces one that is dead or hangs. Each run is a generation; its number, the iox_generation, ascends for as long
 * as the runtime directory exists.
 *
 *     ABSENT --start--> STARTING --answers--> ATTACHING --ipc--> UP --dies, hangs--> ABSENT (again)
 *
 * Thread: simd-main; what may block runs on the helper.
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
	/* A generation begins. ipc: takes. pools: what this RouDi really has, and who gives it memory. Negative: it is of no use. */
	int (*up)(void *arg, struct ipc *ipc, uint32_t generation, const struct pools *pools);
	/* Bytes of /dev/shm that the next generation takes. */
	int64_t (*need)(void *arg);
	/* It is over; the next one is on its way. */
	void (*lost)(void *arg, const char *why);
	/* The first generation is unavailable, or a later one for good; err_why() says why. */
	void (*failed)(void *arg, int r);
	/* pid, ownership or generation changed: write the state file. */
	void (*changed)(void *arg);
};

struct roudi_options {
	struct exec *x;
	struct helper *helper;
	const struct conf *conf;
	const struct pools *pools; /* copied */
	const char *runtime_dir;   /* copied */
	const char *plane;         /* plane.h; "": RouDi is somebody else's. Borrows */
	const char *app;           /* name to attach with; copied */
	const struct spawn_ops *ops;
	void *user;
	const struct state *state; /* of an earlier simd; NULL: none. Borrows */
	struct roudi_events events;
	void *arg;
};

int roudi_create(const struct roudi_options *o, struct roudi **ret);
/* Ends the RouDi that is ours, and removes what it leaves. NULL is fine. */
void roudi_destroy(struct roudi *r);
/* Find or start one. 0: up() or failed() follows; negative: refused, with a sentence. */
int roudi_start(struct roudi *r);
/* simd is stopping: a RouDi that ends now is not replaced. */
void roudi_closing(struct roudi *r);
/* It is unresponsive: end this generation. */
void roudi_broken(struct roudi *r, const char *why);
/* All clients have moved to the present generation: the memory of older ones can be freed. */
void roudi_all_moved(struct roudi *r);

struct roudi_info {
	struct state_proc proc;
	bool owned;
	uint32_t generation;
	uint64_t config_hash;
	bool adopted; /* from an earlier simd, in its present generation */
	bool robust;  /* a client's death leaves it no lock to wait for */
};
void roudi_info(const struct roudi *r, struct roudi_info *ret);

#endif
