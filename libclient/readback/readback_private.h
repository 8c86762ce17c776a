/* SPDX-License-Identifier: Apache-2.0 */
/* What readback.c and request.c share. Thread: the owner's, but for struct worker. */
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
	REQUEST_OVER,   /* nobody touches its memory */
};

struct request {
	struct list link; /* readback::idle, pending, finished, taken or dying; the one in a callback: none */
	struct sim_readback_ticket t;
	struct device_request dev;
	struct job job;
	enum request_state state;
	bool dead;             /* has its error already, whatever the device does */
	bool on_dev;           /* started, and not released */
	struct sim_slot *slot; /* loaned; the ticket has it once it is filled */
	float depth_scale;
	enum sim_readback_format from_format;
	bool flip;
	char why[256];
	void *user; /* of user_size bytes; NULL: 0 */
};

struct readback_shape {              /* checked */
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

/* The owner's, and not from a callback: 0, -EPERM, -EDEADLK. */
int readback_enter(const struct sim_readback *rb, const char *call);
/* Looks at the device and the worker, and completes what is over, in order. Returns how many. */
int readback_turn(struct sim_readback *rb);
/* Its error is that, in its turn. */
void readback_kill(struct sim_readback *rb, struct request *q, int result, const char *why);
/* Back to the idle ones. */
void readback_recycle(struct sim_readback *rb, struct request *q);
/* One that is not over: among those that are pending or dying. NULL: none. */
struct request *readback_unfinished(struct sim_readback *rb);
void readback_wait(struct sim_readback *rb, struct request *q, uint32_t seen, int64_t dur_ns);

/* ---- readback.c ---- */

/* Takes the device, also on failure. o has been checked but for what is the device's. */
int readback_create_with(const struct sim_readback_options *o, struct device *dev, struct sim_readback **ret);
int readback_check_shape(const struct sim_readback_shape *s, struct readback_shape *ret);

#endif
