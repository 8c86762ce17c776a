/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by readback.c and request.c. Thread: the owner's, except struct worker. */
#ifndef READBACK_READBACK_PRIVATE_H
#define READBACK_READBACK_PRIVATE_H

#include <pthread.h>

#include <sim/readback.h>

#include "device.h"
#include "err.h"
#include "list.h"
#include "worker.h"

enum request_state {
	REQUEST_IDLE,
	REQUEST_ON_DEVICE,
	REQUEST_COPIED, /* by the worker, now or soon */
	REQUEST_OVER,   /* its memory is not used any more */
};

struct request {
	struct list link; /* readback::idle, pending, finished, taken or dying; in no list while in its callback */
	struct sim_readback_ticket t;
	struct device_request dev;
	struct job job;
	enum request_state state;
	bool dead;             /* its error is set already, whatever the device does */
	bool on_dev;           /* started, and not released */
	struct sim_slot *slot; /* loaned; passed to the ticket once it is filled */
	float depth_scale;
	enum sim_readback_format from_format;
	bool flip;
	char why[256];
	void *user; /* options.user_size bytes; NULL if that is 0 */
};

struct readback_shape {              /* A shape that has been checked. */
	struct sim_readback_shape s; /* row_pitch and depth_scale never 0 */
	size_t rows_size;
};

struct sim_readback {
	struct device *dev;
	struct worker worker;
	pthread_t owner;
	struct readback_shape shape;
	enum sim_readback_full full;
	unsigned in_flight;
	struct sim_publisher *pub;
	size_t head, user_size;
	sim_readback_done_fn done;
	void *done_arg;
	bool in_callback, lost;
	char lost_why[256];
	uint64_t last; /* number */
	struct list idle, pending, finished, taken, dying;
	struct sim_readback_counters n;
};

/* ---- request.c ---- */

/* Whether the caller is the owner's thread and not in a callback: 0, -EPERM, -EDEADLK. */
int readback_enter(const struct sim_readback *rb, const char *call);
/* Polls the device and the worker, and completes what is over, in order. Returns how many. */
int readback_turn(struct sim_readback *rb);
/* Fails a request with this result, in its turn. */
void readback_kill(struct sim_readback *rb, struct request *q, int result, const char *why);
/* Returns it to the idle ones. */
void readback_recycle(struct sim_readback *rb, struct request *q);
/* A pending or dying request that is not over. NULL: none. */
struct request *readback_unfinished(struct sim_readback *rb);
void readback_wait(struct sim_readback *rb, struct request *q, uint32_t seen, int64_t dur_ns);

/* ---- readback.c ---- */

/* Takes the device, also on failure. o has been checked except for the device's own options. */
int readback_create_with(const struct sim_readback_options *o, struct device *dev, struct sim_readback **ret);
int readback_check_shape(const struct sim_readback_shape *s, struct readback_shape *ret);

#endif
