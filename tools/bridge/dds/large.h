/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large messages: converted and written on a thread of their own, one after the other, so that nothing small waits for them on a lane;
 * and sent in parts, so that no receive buffer overflows. Cyclone sends a whole message at once, and a reader
 * with its own settings has a buffer of 2 MB: what is more is lost unless the reader runs meanwhile. So behind each part we look
 * how full the buffers of this machine are, and go on when there is room; where the kernel does not say it, after a fixed time.
 *
 * Options of the bridge: "pacing", "pacing_ms" (LARGE_OPTIONS). Thread: take(), drain(): those of publish() and close(); write(): any.
 */
#ifndef LARGE_H
#define LARGE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <dds/dds.h>

#include <sim/bridge.h>

#define LARGE_BYTES (128u << 10) /* what is large */
#define LARGE_MAX   64u          /* messages that wait for their thread */

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

/* One message of a channel is written: as publish(), on the thread. 1: the task is answered otherwise. */
typedef int large_write_fn(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m,
			   struct sim_task *task);

struct large {
	const struct sim_bridge_host *host;
	large_write_fn *write;
	struct sim_bridge *arg;
	bool open, running;
	bool whole, timed; /* sent at once; with a pause behind each 512 KiB */
	char name[16];
	pthread_t thread;
	pthread_mutex_t lock; /* a leaf */
	pthread_cond_t changed;
	struct large_message ring[LARGE_MAX]; /* what is being written is the first of n; guarded by lock */
	unsigned first, n;
	bool stop;
	pthread_mutex_t wire;        /* one is sent at a time; guards what follows */
	struct receivers *receivers; /* NULL: nobody looks */
	int64_t quiet_mono_ns;       /* no line about losses before then */
};

struct large_writer {  /* what is known of a writer */
	bool reliable; /* so large messages wait until its readers have the one before */
	struct {
		unsigned timeouts;    /* in a row, of waiting for acknowledgements */
		int64_t skip_mono_ns; /* no wait before then */
	} acks;                       /* guarded by large::wire */
	int readers_known;            /* of readers_ever, when the last large one was sent; guarded by it too */
	_Atomic int readers_ever;
};

/*
 * localhost: all readers are on this machine, so that their buffers can be seen. name: of the thread, 15 characters. Errors are logged;
 * close() follows also then, and writes what waits.
 */
int large_open(struct large *l, const struct sim_bridge_host *host, bool localhost, const char *name,
	       large_write_fn *write, struct sim_bridge *b);
void large_close(struct large *l);

/*
 * Whether the message goes that way, which then answers the task; it waits where too many do already. drain() waits until none of
 * the channel is left.
 */
bool large_take(struct large *l, struct sim_bridge_topic *channel, const struct sim_message *m, struct sim_task *task);
void large_drain(struct large *l, const struct sim_bridge_topic *channel);

/* dds_write() of a sample of `size` bytes, in parts where it is large. */
dds_return_t large_write(struct large *l, struct large_writer *w, dds_entity_t writer, const void *sample, size_t size);

#endif
