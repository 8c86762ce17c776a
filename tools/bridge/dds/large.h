/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large messages: converted and written one after the other on a thread of their own, so that no small message waits
 * for them on a lane; and sent in parts, so that no receive buffer overflows. Cyclone sends a message in one go, and
 * the receive buffer of a reader with its own settings has 2 MB: what exceeds it is lost unless the reader runs
 * meanwhile. So after each part the sender looks how full the receive buffers of this machine are, and continues when
 * there is room; if the kernel does not report that, it pauses for a fixed time.
 *
 * Options of the bridge: "pacing", "pacing_ms" (LARGE_OPTIONS). Thread: large_take(), large_drain(): those of publish()
 * and close(); large_write(): any.
 */
#ifndef LARGE_H
#define LARGE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <dds/dds.h>

#include <sim/bridge.h>

#define LARGE_BYTES (128u << 10) /* size from which a message is large */
#define LARGE_MAX   64u          /* messages queued for the thread */

#define LARGE_OPTIONS \
	{ "pacing", "auto", \
	  "large messages: auto: as fast as receive buffers are emptied; time: 512 KiB a millisecond; off: at once" }, \
	{ \
		"pacing_ms", "100", \
			"pacing auto: how long a large message waits for readers on this machine whose buffers are full, ms; 10 to 60000" \
	}

struct receivers;

struct large_message {
	struct sim_bridge_topic *channel;
	const struct sim_message *m;
	struct sim_task *task;
};

/* Writes one message of a channel: as publish(), on the thread. Returning 1: the task is answered elsewhere. */
typedef int large_write_fn(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m,
			   struct sim_task *task);

struct large {
	const struct sim_bridge_host *host;
	large_write_fn *write;
	struct sim_bridge *arg;
	bool open, running;
	bool whole, timed; /* sent in one go; with a pause after each 512 KiB */
	char name[16];
	pthread_t thread;
	pthread_mutex_t lock; /* a leaf */
	pthread_cond_t changed;
	struct large_message ring[LARGE_MAX]; /* the first of n is being written; guarded by lock */
	unsigned first, n;
	bool stop;
	pthread_mutex_t wire;        /* serialises sending; guards the members below */
	struct receivers *receivers; /* NULL: buffers are not watched */
	int64_t quiet_mono_ns;       /* no log line about losses before this time */
};

struct large_writer {  /* state of a writer */
	bool reliable; /* large messages wait until its readers have the previous one */
	struct {
		unsigned timeouts;    /* consecutive timeouts of waiting for acknowledgements */
		int64_t skip_mono_ns; /* no waiting for acknowledgements before this time */
	} acks;                       /* guarded by large::wire */
	int readers_known;            /* readers_ever when the last large message was sent; guarded by large::wire */
	_Atomic int readers_ever;
};

/*
 * localhost: all readers are on this machine, so their buffers can be watched. name: of the thread, 15 characters.
 * Errors are logged; call large_close() also after an error; it writes what is queued.
 */
int large_open(struct large *l, const struct sim_bridge_host *host, bool localhost, const char *name,
	       large_write_fn *write, struct sim_bridge *b);
void large_close(struct large *l);

/*
 * large_take() queues the message if it is large, or follows a queued one of its channel; it then returns true, and the
 * thread answers the task. Blocks while the queue is full. large_drain() waits until no message of the channel is
 * queued.
 */
bool large_take(struct large *l, struct sim_bridge_topic *channel, const struct sim_message *m, struct sim_task *task);
void large_drain(struct large *l, const struct sim_bridge_topic *channel);

/* dds_write() of a sample of `size` bytes, in parts if it is large. */
dds_return_t large_write(struct large *l, struct large_writer *w, dds_entity_t writer, const void *sample, size_t size);

#endif
