/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host, as far as the ROS 2 plug-in sees it: options, log, and what comes in. Its pipes wake a test: a byte for each
 * warning that something is dropped, a struct host_in for each message that came in, a struct host_done for each answer. Thread: main; the plug-in calls from its own.
 */
#ifndef HOST_H
#define HOST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <sim/bridge.h>

#define HOST_STAMP  INT64_C(1640995200123456768) /* simulated time, always */
#define HOST_IN     512u                         /* bytes of a message that came in */
#define HOST_OFFERS 8u

struct host_in {
	char channel[64], type[64];
	size_t size;
	_Alignas(8) uint8_t body[HOST_IN];
};

struct host_done { /* an answer to a message for which publish() returned 1 */
	struct sim_task *task;
	int result;
};

struct host_call { /* of a service: to be answered with fn, as the host does */
	char service[64];
	const struct sim_service_type *type;
	size_t size;
	sim_answer_fn fn;
	void *user;
	_Alignas(8) uint8_t request[HOST_IN];
};

struct host_answer { /* of a service of the far side */
	struct sim_pending *p;
	int result;
	char why[300];
	size_t size;
	_Alignas(8) uint8_t response[HOST_IN];
};

struct host {
	struct sim_bridge_host host;
	const struct sim_bridge_ops *ops;
	const char *const *options; /* key, value, ..., NULL: instead of the plug-in's defaults */
	const char *connection;     /* set after host_init(); "" until then */
	unsigned n_later;           /* calls of publish() that were answered later */
	int dropped[2], came[2], driven[2], done[2], called[2], answered[2];
	char offered[HOST_OFFERS][64]; /* channels that come in */
	unsigned n_offered;
	const struct sim_type *offered_type; /* of the last of them */
	struct {                             /* a service of the far side; "": none */
		char name[64];
		const struct sim_service_type *type;
		sim_bridge_serve_fn fn;
		void *user;
	} served;
	char log[8192]; /* guarded by log_lock while the plug-in runs */
	pthread_mutex_t log_lock;
	pthread_cond_t logged;
	void (*in_order)(struct sim_task *task); /* set after host_init(); NULL: all is in order */
	char clocks[256];                        /* other publishers of /clock, as told last; guarded by log_lock */
	/* /clock */
	pthread_t clock;
	struct sim_bridge_topic *clock_topic;
	struct sim_bridge *b;
	_Atomic bool clock_stop;
};

#define HOST_SIMD_ID UINT64_C(0xabcdef0123456789)

/* Load the plug-in. options: kept. Here and below what goes wrong aborts, with a sentence. */
void host_init(struct host *h, const char *plugin, const char *const *options);
/* Create it and connect; whatever it offers is listened to. */
struct sim_bridge *host_create(struct host *h);
/* Wait until a channel is offered that was not when it connected, and listen to it. */
void host_listen(struct host *h, struct sim_bridge *b, const char *channel);
struct sim_bridge_topic *host_open(struct host *h, struct sim_bridge *b, const char *name, const struct sim_type *type,
				   const char *options);
/* /clock goes out, always with HOST_STAMP, on a thread of its own: from here until it is stopped. */
void host_clock_start(struct host *h, struct sim_bridge *b);
void host_clock_stop(struct host *h);
/* Wait for the next message or the next drop. */
struct host_in host_next(struct host *h);
void host_next_drop(struct host *h);
/* The next time that simd is driven to. */
int64_t host_next_drive(struct host *h);

/* Wait until the log says so; until the other clocks are those: "" for none, else a part of their names. */
void host_wait_log(struct host *h, const char *text);
void host_wait_clocks(struct host *h, const char *part);

/* Wait for the next call of a service. */
struct host_call host_next_call(struct host *h);

/* Wait for the next answer of a service of the far side. */
struct host_answer host_next_answer(struct host *h);

/* Publish as a lane does, and wait for the answer: the result. */
int host_publish(struct host *h, struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_slot *s);
/* Wait for the next answer. */
struct host_done host_next_done(struct host *h);

/* A slot for a body of this many bytes, stamped. returns: free(). */
struct sim_slot *host_slot(size_t body, const char *frame);
/* One with an image of rgb8, all bytes alike. */
struct sim_slot *host_image(uint32_t width, uint32_t height);

#endif
