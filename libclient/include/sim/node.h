/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes: a program's named parts, with readers, writers, services and parameters, as in Cyber RT and ROS 2. A host runs
 * them: one connection to simd, and the threads (in simulation, the one thread) that callbacks run on.
 *
 * Units of processing with several inputs are built on nodes: sim/component.h.
 *
 * Two run modes, one word in the configuration:
 *
 *   reality      callbacks run on a pool of workers (groups, priorities 0..19, CPUs: see sim_host_options::scheduler),
 *                one at a time for each reader, timer and component, several of them in parallel
 *   simulation   the host takes part in lock-step (sim/step.h) with a rank of its own. All callbacks run in the thread
 *                that is in sim_host_run(); a writer's readers run inside sim_node_write() itself, in the order in
 *                which they were made (a reader that is re-created for the same node and channel keeps its place, as
 *                does a timer of the same name). Timers fire on simulated time. A run repeats bit for bit, whatever the
 *                number of CPUs. A running wall-driven source is refused
 *
 * The library chooses the delivery of each message, and `simctl node info` and `simctl info` show it: inside the
 * process, without a slot, if reader and writer share a host and no other program wants the message; else through
 * shared memory, without a copy.
 *
 * Thread:  a host, a node, a reader and a writer may be used from any thread; a writer by one at a time (-EBUSY).
 *          Create nodes, readers and writers before sim_host_start() or after it, in callbacks too. Destroy readers and
 *          writers before their node, nodes before their host. Callbacks may destroy them too, readers and timers even
 *          in their own callback, and in simulation a writer that is writing.
 * Errors:  negative errno; sim_why() then holds one sentence.
 */
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include <sim/clock_page.h>
#include <sim/introspect.h>
#include <sim/publisher.h>
#include <sim/service.h>
#include <sim/subscriber.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sim_host;
struct sim_node;
struct sim_node_reader;
struct sim_node_writer;
struct sim_node_timer;

/* ---- host ---- */

enum sim_run_mode {
	SIM_RUN_REALITY = 0,
	SIM_RUN_SIMULATION = 1,
};

enum sim_host_flag {
	/*
	 * Without simd: everything stays in this process, and sim_host_advance() moves time. Only in simulation: for
	 * unit tests of components. Services and parameters are not offered.
	 */
	SIM_HOST_OFFLINE = 1u << 0,
};

struct sim_host_options {
	size_t size; /* sizeof(struct sim_host_options) of the caller */
	/* name of its client, as sim_client_options::name; in lock-step give each host its own; borrows */
	const char *name;
	const char *socket; /* as sim_client_options::socket; borrows */
	enum sim_run_mode mode;
	/* simulation: its place in each step, 0 .. SIM_STEP_RANK_MAX; after the ranks whose output it reads */
	uint32_t rank;
	/*
	 * Reality: JSON text of the scheduler's configuration, see libsimcomponent(3); NULL: one group, a worker per
	 * CPU; borrows
	 */
	const char *scheduler;
	unsigned flags; /* enum sim_host_flag */
	int timeout_ms; /* bound on the connect; 0: 5000 */
	/*
	 * NULL: the host connects for itself. Else a client with a thread of its own, kept until sim_host_destroy();
	 * name, socket and timeout_ms are then ignored.
	 */
	struct sim_client *client;
};

/*
 * Returns: 0; -EINVAL a name, an option, or the scheduler's configuration (sim_why() names key and place); as
 * sim_connect().
 */
SIM_API SIM_MUST_CHECK int sim_host_create(const struct sim_host_options *o, struct sim_host **ret);
/* Call it after sim_host_stop(), when sim_host_run() has returned. NULL is fine. */
SIM_API void sim_host_destroy(struct sim_host *h);

/*
 * Starts the callbacks: workers start; in simulation the host joins lock-step. Messages that arrived earlier are kept,
 * as the readers' depths allow. In simulation, messages that this host's own writers write before the start, e.g. in an
 * init, are delivered inside the call as well.
 * Returns: 0; -EOPNOTSUPP simulation, and the time source is wall-driven and runs; -EBUSY already started; as
 * sim_step_join(); -EAGAIN no thread could be started.
 */
SIM_API SIM_MUST_CHECK int sim_host_start(struct sim_host *h);
/*
 * Reality: sleeps until sim_host_stop(). Simulation: takes the turns of lock-step until then. Starts the host if it was
 * not started.
 * Returns: 0 stopped; as sim_host_start(); -ENOTCONN simd refuses this client for good; the errno with which a
 * subscription was refused after a restart of simd or the data plane, because its reader would get no more messages
 * (sim_why() names it); -ECONNABORTED simulation: this host was late and was dropped (step.late), so the run is not
 * valid any more; -EOPNOTSUPP simulation: a wall-driven source was selected meanwhile, and it runs.
 */
SIM_API SIM_MUST_CHECK int sim_host_run(struct sim_host *h);
/*
 * Makes sim_host_run() return soon; a running callback is finished first. Any thread, also in a signal handler and in
 * callbacks.
 */
SIM_API void sim_host_stop(struct sim_host *h);

/*
 * SIM_HOST_OFFLINE: moves time forward to now_sim_ns, and fires the timers that are due by then, each at its own time.
 * Returns: 0; -EINVAL time would go back, or the host is not offline.
 */
SIM_API SIM_MUST_CHECK int sim_host_advance(struct sim_host *h, int64_t now_sim_ns);

/*
 * Writes what the scheduler's configuration asks for and does not get: entries that are ignored or clamped and, once
 * the host has been started, what this process lacks the permission for. One sentence a line, each begins with the key
 * or the group; "": everything applies. Cut at size - 1 bytes; 1024 are enough.
 */
SIM_API void sim_host_notes(const struct sim_host *h, char *ret, size_t size);
SIM_API enum sim_run_mode sim_host_mode(const struct sim_host *h);
/* Simulated time: in simulation that of the turn, unchanged during a callback; else sim_now(). */
SIM_API int64_t sim_host_now(const struct sim_host *h);
/* Its client, for calls that are not in this header; borrows until sim_host_destroy(). NULL: offline. */
SIM_API struct sim_client *sim_host_client(const struct sim_host *h);

/* ---- node ---- */

/*
 * Creates a node. name: 1..63 of [A-Za-z0-9_.~-] and single slashes inside; unique in this simd, as the node offers the
 * service NAME/node_info, by which `simctl node` finds it.
 * Returns: 0; -EINVAL name; -EEXIST a node has that name, in this host or in another process (sim_why() says which);
 * -ENOTCONN; -ENOMEM.
 */
SIM_API SIM_MUST_CHECK int sim_node_create(struct sim_host *h, const char *name, struct sim_node **ret);
SIM_API void sim_node_destroy(struct sim_node *n); /* NULL is fine */
SIM_API const char *sim_node_name(const struct sim_node *n);
SIM_API struct sim_host *sim_node_host(const struct sim_node *n);

/*
 * Calls fn(user, channel, written) with the full name of each channel that the node's readers read, then of each that
 * its writers write.
 */
typedef void (*sim_node_channel_fn)(void *user, const char *channel, bool written);
SIM_API void sim_node_channels(const struct sim_node *n, sim_node_channel_fn fn, void *user);

/* ---- messages ---- */

/*
 * Messages are handed out as const struct sim_message (sim/slot.h), read-only, valid until the callback returns or the
 * reader's next observe. To keep one longer, take a reference; any thread may release it. Only for messages of this
 * header. A slot that is held for long is unavailable to its publisher: beyond what a reader has asked for (depth +
 * pending), the library copies.
 */
SIM_API const struct sim_message *sim_node_message_ref(const struct sim_message *m);
SIM_API void sim_node_message_unref(const struct sim_message *m); /* NULL is fine */

/* ---- reader ---- */

typedef void (*sim_node_reader_fn)(void *user, const struct sim_message *m);

struct sim_node_reader_options {
	size_t size;    /* sizeof(struct sim_node_reader_options) of the caller */
	uint32_t depth; /* history: messages that observe shows, 1..256; 0: 1 (in Cyber's blocker, 0 keeps none) */
	/*
	 * unprocessed messages that wait for the callback, 1..256; 0: 1. When full, the callback continues with the
	 * newest
	 */
	uint32_t pending;
	/*
	 * Ask for the last message of latching writers. A host receives a channel only once, and the channel's first
	 * reader there decides for all of them. A reader that is created after the host has started, on a channel that
	 * the host already receives, begins with the next message.
	 */
	bool latched;
};

/*
 * Creates a reader; one per channel and node. type NULL: any. fn NULL: observed only. Reality: fn runs on a worker, for
 * each pending message in order; a reader that was overrun continues with the newest, and counts what it missed.
 * Simulation: fn runs inside the writer's call.
 * Returns: 0; -EEXIST the node already has a reader of that channel; -EINVAL; as sim_subscribe().
 */
SIM_API SIM_MUST_CHECK int sim_node_reader_create(struct sim_node *n, const char *channel, const struct sim_type *type,
						  const struct sim_node_reader_options *o, sim_node_reader_fn fn,
						  void *user, struct sim_node_reader **ret);
SIM_API void sim_node_reader_destroy(struct sim_node_reader *r); /* waits for its callback; NULL is fine */

/* Received messages, as in Cyber's Reader: observe takes a snapshot of the history, which count and get then read. */
SIM_API void sim_node_reader_observe(struct sim_node_reader *r);
SIM_API unsigned sim_node_reader_count(const struct sim_node_reader *r); /* observed */
/*
 * The i-th latest (0: newest) of the observed messages; NULL if there are fewer. Borrows until the next observe or
 * clear.
 */
SIM_API const struct sim_message *sim_node_reader_get(const struct sim_node_reader *r, unsigned i);
/* whether there is history, observed or not */
SIM_API bool sim_node_reader_has_received(const struct sim_node_reader *r);
SIM_API void sim_node_reader_clear(struct sim_node_reader *r); /* history and what was observed */
/* The longer of: time since the last message, time between the last two; simulated ns; -1: no message yet. */
SIM_API int64_t sim_node_reader_delay_ns(const struct sim_node_reader *r);

struct sim_node_reader_stats {
	uint64_t received;  /* messages that arrived */
	uint64_t processed; /* callbacks */
	uint64_t overrun;   /* messages that the callback missed because it continued with the newest */
	uint64_t lost;      /* gaps in the publishers' sequences: messages lost before this reader */
};
SIM_API void sim_node_reader_stats(const struct sim_node_reader *r, struct sim_node_reader_stats *ret);

/* ---- writer ---- */

enum sim_transport {
	/* chosen for each message: inside the process if that reaches all readers (see local), else shared memory */
	SIM_TRANSPORT_HYBRID = 0,
	SIM_TRANSPORT_INTRA = 1, /* only inside the process, even if other programs subscribe */
	SIM_TRANSPORT_SHM = 2,   /* always through shared memory, also to readers of this host */
	/*
	 * To other machines too (Cyber's RTPS): through shared memory, from which a bridge `link` sends it. Refused if
	 * the rig has no such bridge that carries the channel (-EOPNOTSUPP; sim_why() says what is missing).
	 */
	SIM_TRANSPORT_NETWORK = 3,
};

struct sim_node_writer_options {
	size_t size;          /* sizeof(struct sim_node_writer_options) of the caller */
	size_t max_body;      /* as sim_publisher_options::max_body */
	const char *frame_id; /* as sim_publisher_options::frame_id */
	enum sim_transport transport;
	bool latched; /* keep the last message for readers that come later; always through shared memory */
	/*
	 * For programs of this machine only; no bridge carries it (SIM_PUB_LOCAL): between components. Only such
	 * messages may stay inside the process; all others are in shared memory, where simd accounts for each.
	 */
	bool local;
};

/*
 * Creates a writer. o NULL: defaults. Returns: 0; -EINVAL; -EOPNOTSUPP see SIM_TRANSPORT_NETWORK; as sim_advertise().
 */
SIM_API SIM_MUST_CHECK int sim_node_writer_create(struct sim_node *n, const char *channel, const struct sim_type *type,
						  const struct sim_node_writer_options *o,
						  struct sim_node_writer **ret);
SIM_API void sim_node_writer_destroy(struct sim_node_writer *w); /* NULL is fine */

/*
 * Loans room for a message of body_size bytes, to be filled in place (sim_slot_body_mut()), and stamps it with the
 * present time. The room is in the process or in shared memory, as the message will be delivered. A writer does not
 * report its readers: a write without readers is no error, and costs a call (sim_publisher_has_subscribers(), for
 * publishers, may be false while another thread publishes).
 * Returns: as sim_loan().
 */
SIM_API SIM_MUST_CHECK int sim_node_loan(struct sim_node_writer *w, size_t body_size, struct sim_slot **ret);
/* for a message that is not written after all */
SIM_API void sim_node_unloan(struct sim_node_writer *w, struct sim_slot *slot);
/*
 * Writes the message; takes the slot in every case but -EINVAL. Readers of this host have it when this returns
 * (reality: in their queues).
 * Returns: 0; as sim_try_queue(): -ECANCELED time is paused, -EAGAIN or -ETIMEDOUT no credit, -ENOTCONN; -EDEADLK
 * simulation: a callback of this channel writes to it again.
 */
SIM_API SIM_MUST_CHECK int sim_node_write(struct sim_node_writer *w, struct sim_slot *slot);
/* The same, with a copy of body, which the caller may reuse at once. stamp_sim_ns 0: now. */
SIM_API SIM_MUST_CHECK int sim_node_write_copy(struct sim_node_writer *w, const void *body, size_t body_size,
					       int64_t stamp_sim_ns);

struct sim_node_writer_stats {
	uint64_t written; /* accepted */
	uint64_t refused;
	uint64_t intra; /* of those written: delivered inside the process, without a slot */
};
SIM_API void sim_node_writer_stats(const struct sim_node_writer *w, struct sim_node_writer_stats *ret);

/* ---- timer ---- */

/*
 * Creates a timer. fn runs every period_dur_ns (> 0) of simulated time, the first time one period from now, with its
 * phase kept (as sim/timer.h): on a worker, or in simulation between the messages, in the order of time. name: unique
 * in the host, in both modes; NULL: derived from the node's. To stop a timer, destroy it: create and destroy correspond
 * to Start and Stop of Cyber.
 * Returns: 0; -EINVAL; -EEXIST; -ENOMEM; as sim_timer_create().
 */
typedef void (*sim_node_timer_fn)(void *user, int64_t due_sim_ns, uint64_t missed);
SIM_API SIM_MUST_CHECK int sim_node_timer_create(struct sim_node *n, const char *name, int64_t period_dur_ns,
						 bool one_shot, sim_node_timer_fn fn, void *user,
						 struct sim_node_timer **ret);
SIM_API void sim_node_timer_destroy(struct sim_node_timer *t); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
