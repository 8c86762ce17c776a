/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch: takes the slots that clients publish for bridges, hands them to the bridges over lanes, and
 * completes each accepted message exactly once. MESSAGE.md beside this file follows one message.
 *
 * Thread: a dispatch runs on one exec (`exec`, in simd the thread simd-work.0). Every function here is a
 *         thread-safe wrapper that copies its arguments and posts a command, so it may be called from any
 *         thread; commands of one thread run in the order of the calls. Answers and events run on `owner`
 *         (in simd the exec of simd-main), in order too. In the scenario tests both are one exec_sim.
 *         Exceptions, marked below: dispatch_create, dispatch_destroy, dispatch_outstanding.
 * Trust:  main passes what it has validated itself. What clients write into slots and pages, and what
 *         bridges send, is checked here; false data is logged (rate-limited), contained, and never ends simd.
 * Errors: 0, -EINVAL (number out of range: a bug of the caller), -ENOMEM. Errors that can only be
 *         detected on the dispatch thread (an unknown number) are logged and ignored: main and dispatch disagree.
 *
 * Numbers (client, channel, publisher, bridge) are main's. A channel's number is its index in the
 * dispatch page, 0 .. WIRE_CHANNELS_MAX - 1, and may be used again only after channel_free().
 * Publisher numbers are never 0 and never used twice in one run of simd.
 */
#ifndef DISPATCH_DISPATCH_H
#define DISPATCH_DISPATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <sim/clock_page.h>
#include <sim/types.h>

#include "exec.h"
#include "histogram.h"
#include "ipc.h"
#include "wire/pages.h"

struct dispatch;
struct fd_shared;

#define DISPATCH_BRIDGES_MAX 64   /* bridge numbers are 0 .. DISPATCH_BRIDGES_MAX - 1 */
#define DISPATCH_ROUTES_MAX  16   /* bridges of one channel */
#define DISPATCH_LANES_MAX   64   /* lanes of one bridge */
#define DISPATCH_QUEUE_MAX   4096 /* deliveries of one bridge, queued and out together */
#define DISPATCH_NAME_MAX    99
#define DISPATCH_TEXT_MAX    (160 * 1024) /* type and options of one channel, as JSON text */

/* Events that dispatch reports to main. All run on the owner's exec; any may be NULL. */
struct dispatch_events {
	/*
	 * A bridge's status or detail has changed. detail: a sentence, then one line for each other /clock; borrowed.
	 * After bridge_gone: DISCONNECTED, "".
	 */
	void (*bridge_status)(void *user, uint32_t bridge_id, enum sim_bridge_status status, const char *detail);
	/*
	 * The bridge's lane 0 was closed or broke the protocol: its process is of no further use; main ends it if simd
	 * started it.
	 */
	void (*bridge_broken)(void *user, uint32_t bridge_id, const char *why);
	/*
	 * The bridge has kept a delivery for longer than deadline + kill_after: main kills it if simd started it. Once
	 * a second.
	 */
	void (*bridge_stuck)(void *user, uint32_t bridge_id, int64_t late_dur_ns);
	/* The bridge has reported that it holds nothing of an earlier simd any more (LANE_IDLE). */
	void (*bridge_idle)(void *user, uint32_t bridge_id);
	/*
	 * A bridge reports on a channel. result 0: carried, as topic `name` of `type` on the other side ("": unknown).
	 * Negative: refused, `name` is the reason, and the bridge gets no message of the channel until it reports 0.
	 * Texts are borrowed.
	 */
	void (*bridge_carries)(void *user, uint32_t bridge_id, uint32_t channel_id, int result, const char *name,
			       const char *type);
	/* Another process has attached as this bridge: earlier reports about its channels are void. */
	void (*bridge_forgot)(void *user, uint32_t bridge_id);
	/* A deleted channel has no publishers and messages any more: its number may be used again. */
	void (*channel_free)(void *user, uint32_t channel_id);
	/*
	 * A publisher that was deleted, or whose client has gone, has come to rest: no slot of it is in its channel's
	 * queue, and all its messages are released. overflowed: a slot of it may be elsewhere, because the queue was
	 * full; or because other publishers of the channel push slots out of it; or because it has replaced another
	 * queue lately, into which the publisher may also have published.
	 */
	void (*publisher_reaped)(void *user, uint32_t publisher_id, bool overflowed);
	/*
	 * Dispatch holds no slot of this subscriber of that generation any more, and will not use it again: destroy it.
	 */
	void (*sub_free)(void *user, struct ipc_sub *sub, uint32_t iox_generation);
};

struct dispatch_options {
	struct exec *exec;  /* borrowed until destroy */
	struct exec *owner; /* borrowed until destroy */
	/*
	 * borrowed until destroy; dispatch writes awake and turns of a shard, and bridges, freed, deferred and waited of a
	 * channel; main writes the rest
	 */
	struct wire_layout_page *layout;
	struct wire_dispatch_page *page;    /* borrowed until destroy */
	const struct sim_clock_page *clock; /* borrowed until destroy */
	uint32_t cycle_ms;                  /* dispatch.cycle_ms; 0: 10 */
	uint32_t idle_ms; /* dispatch.idle_ms: a further lane closes after that time without work; 0: 5000 */
	/*
	 * limit for the lanes of all bridges together, of which each has at least one; 0: number of bridges (no
	 * scaling)
	 */
	uint32_t lanes_max;
	uint32_t shard, n_shards; /* number of this shard, and of shards that share the pages; n_shards 0: 1 */
	/* lanes of all shards, limited by lanes_max; borrowed until destroy; NULL: the only shard */
	atomic_uint *lanes;
	const struct dispatch_events *events; /* copied; NULL: no events */
	void *user;                           /* of the events */
};

/* To be called before the exec runs, or on its thread. */
int dispatch_create(const struct dispatch_options *o, struct dispatch **ret);
/*
 * To be called after dispatch_shutdown() has answered, or when the exec does not run any more. Completes no message:
 * releases the slots that are still held, closes the sockets, and destroys the subscribers (without sub_free). NULL is
 * fine. Not from an event or an answer. Both execs must be destroyed later, preferably after they have run what was
 * posted to them.
 */
void dispatch_destroy(struct dispatch *d);

/* ---- data plane ---- */

/*
 * Sets the first generation, or the next one after restart_begin. ipc: borrowed until the sub_free of its last
 * subscriber, or destroy.
 */
int dispatch_set_ipc(struct dispatch *d, struct ipc *ipc, uint32_t iox_generation);

/*
 * RouDi has exited: queued deliveries complete with RESTART, deliveries at a bridge finish on their old slot, and the
 * subscribers are freed (sub_free) when no slot of them is held. Credits and tokens of messages that never arrived are
 * freed. No slot is taken until set_ipc and channel_sub have been called.
 */
int dispatch_restart_begin(struct dispatch *d);
/* Sets the subscriber of a channel in the new generation; owns it, also on failure. */
int dispatch_channel_sub(struct dispatch *d, uint32_t channel_id, struct ipc_sub *sub);
/*
 * Replaces the subscriber of a channel in the same generation, because its queue may be damaged: as soon as the
 * publishers are connected to the new one; no message is lost or taken twice. Owns sub, also on failure. While a
 * replacement is in progress, a further one is freed at once. sub_free follows for the subscriber that goes.
 */
int dispatch_channel_renew(struct dispatch *d, uint32_t channel_id, struct ipc_sub *sub);
/*
 * The bridge has attached to that generation: it may get deliveries of it. dispatch_bridge_attach() implies the present
 * one.
 */
int dispatch_bridge_generation(struct dispatch *d, uint32_t bridge_id, uint32_t iox_generation);

/* ---- clients, channels, publishers ---- */

/*
 * completion_fd: SEQPACKET, doorbell_fd: eventfd; owns both, also on failure, and makes them non-blocking. counters:
 * the client's counter page, referenced while it is used; NULL: none.
 */
int dispatch_client_add(struct dispatch *d, uint32_t client_id, const char *name, int completion_fd, int doorbell_fd,
			struct fd_shared *counters);
/*
 * The client has exited or disconnected. Messages that it has published are still delivered; then its credits and
 * tokens are freed.
 */
int dispatch_client_gone(struct dispatch *d, uint32_t client_id);

struct dispatch_channel {
	uint32_t id;
	const char *name; /* full name; copied */
	uint64_t type_hash;
	const char *type_json; /* the type definition, a JSON object as text; copied */
	uint64_t max_body;     /* of its messages, for the bridges; 0: unknown */
	uint32_t window;       /* 1 .. WIRE_WINDOW_MAX, as in the page */
	uint32_t cells;        /* the largest window that it can get; smaller than window: as window */
	uint32_t depth;        /* queue capacity of sub, 1 .. IPC_DEPTH_MAX: at most so many slots are held */
	bool ordered;          /* at each bridge, its messages that are out are on one lane, so they stay in order */
	struct ipc_sub *sub;   /* owned, also on failure */
};

int dispatch_channel_add(struct dispatch *d, const struct dispatch_channel *c);
/*
 * Sets the limit of the channel's bodies and its window, which is at most `cells`. To be called before its publishers
 * are notified.
 */
int dispatch_channel_resize(struct dispatch *d, uint32_t channel_id, uint32_t window, uint64_t max_body);
/*
 * The channel takes no new messages; channel_free() follows when the last one is done. Its publishers must have been
 * deleted or gone.
 */
int dispatch_channel_del(struct dispatch *d, uint32_t channel_id);

/*
 * max_body: a slot whose header claims more is INVALID. counters: the publisher's row of its client's counter page,
 * needed to find lost messages; NULL: they are not found. To be called before the reply to Advertise is sent.
 */
int dispatch_publisher_add(struct dispatch *d, uint32_t publisher_id, uint32_t channel_id, uint32_t client_id,
			   uint64_t max_body, const struct wire_counters *counters);
/* Changes max_body: fn runs once when larger messages are accepted; until then they are refused. */
int dispatch_publisher_resize(struct dispatch *d, uint32_t publisher_id, uint64_t max_body, void (*fn)(void *arg),
			      void *arg);
/* Messages that it has published still complete. */
int dispatch_publisher_del(struct dispatch *d, uint32_t publisher_id);
/*
 * For a publisher that had come to rest while its process still lived, so that it may have published since; now it
 * cannot any more. publisher_reaped() comes once more, when no slot of it is in that channel's queue.
 */
int dispatch_publisher_again(struct dispatch *d, uint32_t publisher_id, uint32_t channel_id);

/* ---- bridges ---- */

/*
 * Whether producers wait for a bridge that is slower than they are, as long as it answers: the channel keeps the
 * messages that it has no room for, and shows that in its page word `waited`. A bridge that gives no answer for its
 * deadline is stalled, and skipped.
 */
enum dispatch_lossless {
	/* lossless if its plug-in keeps data; in lock-step and freewheel, all bridges are lossless */
	DISPATCH_LOSSLESS_AUTO = 0,
	DISPATCH_LOSSLESS_YES = 1,
	DISPATCH_LOSSLESS_NO = 2,
};

struct dispatch_bridge {
	uint32_t id;
	const char *name;          /* copied */
	uint32_t queue;            /* maximum of deliveries, queued and out together; 1 .. DISPATCH_QUEUE_MAX; 0: 256 */
	int64_t deadline_dur_ns;   /* from the time when simd takes the slot; 0: 1 s */
	int64_t kill_after_dur_ns; /* after the deadline; see bridge_stuck(); 0: 5 s */
	enum dispatch_lossless lossless;
	bool comes_back;    /* simd starts its process and restarts it: producers wait for it, up to its deadline */
	uint32_t lanes_max; /* of this bridge, 1 .. DISPATCH_LANES_MAX; 0: limited only by the total */
};

int dispatch_bridge_add(struct dispatch *d, const struct dispatch_bridge *b);
/*
 * The bridge carries the channel. options_json: the rig's object for the channel, as text; copied; NULL: "{}". Once per
 * pair.
 */
int dispatch_route(struct dispatch *d, uint32_t channel_id, uint32_t bridge_id, const char *options_json);

/*
 * A process has attached. lane0_fd: lane 0 (SEQPACKET, simd's end); owned, also on failure. Status starts as
 * DISCONNECTED.
 */
int dispatch_bridge_attach(struct dispatch *d, uint32_t bridge_id, int lane0_fd);
/*
 * The bridge's process has exited (pidfd): its deliveries complete with BRIDGE_DIED and are released. A closed socket
 * does not prove that.
 */
int dispatch_bridge_gone(struct dispatch *d, uint32_t bridge_id);
/*
 * Sets the string for LANE_CONNECT; NULL: disconnect. It is sent to each process that attaches; now: also to the
 * present one.
 */
int dispatch_bridge_connect(struct dispatch *d, uint32_t bridge_id, const char *connection, bool now);

/* ---- control ---- */

enum dispatch_hold {
	DISPATCH_FLOWS,
	DISPATCH_HELD,
	DISPATCH_PAUSED, /* messages flow, but lock-step continues, so bridges do not flush by wall time */
};

/*
 * Lock-step: while held, messages are taken but not queued. On release they are queued in the order (stamp, channel
 * name, client's name, publisher, sequence), and the next dispatch_step() also waits for them. SIM_CLOCK_LOCKSTEP of
 * the clock page holds too, from the time when it is written. A command to release that comes while the flag is set
 * does nothing: a command may be late.
 */
int dispatch_hold(struct dispatch *d, enum dispatch_hold hold);

/*
 * Whether the engine freewheels: see DISPATCH_LOSSLESS_AUTO. Messages accepted before the end of it are still waited
 * for.
 */
int dispatch_freewheel(struct dispatch *d, bool on);

typedef void (*dispatch_fn)(void *arg);

/*
 * While held: takes all that has been published, queues it in the order above, and continues to hold. fn runs on the
 * owner when all of it is completed.
 */
int dispatch_step(struct dispatch *d, dispatch_fn fn, void *arg);

/*
 * As dispatch_step(), without waiting: fn runs on the owner when all of it is queued. The next dispatch_step() also
 * waits for it.
 */
int dispatch_drain(struct dispatch *d, dispatch_fn fn, void *arg);

/* fn runs on the owner when nothing accepted is outstanding: no message in dispatch, no credit claimed. */
int dispatch_quiet(struct dispatch *d, dispatch_fn fn, void *arg);

/*
 * Completes all queued deliveries, and all messages that come from now on, with SHUTDOWN; waits for deliveries that are
 * out. now: completes these too. fn runs on the owner when all completions are sent or their clients are gone (or, with
 * now, cannot be sent at once). May be called first without and later with `now`; then each fn runs once.
 */
int dispatch_shutdown(struct dispatch *d, bool now, dispatch_fn fn, void *arg);

/* Messages in dispatch now. Any thread, no command; a snapshot. */
uint32_t dispatch_outstanding(const struct dispatch *d);
/* Publish time of the last accepted message, CLOCK_MONOTONIC; 0: none was accepted. Any thread; a snapshot. */
int64_t dispatch_accepted_mono_ns(const struct dispatch *d);

/* ---- statistics ---- */

struct dispatch_channel_stats {
	uint32_t id;
	uint32_t in_flight;
	uint64_t accepted, completed;      /* completed: with success */
	uint64_t failed[SIM_REASON_COUNT]; /* completed with false, by reason */
	/* part of failed: the client had disconnected before it could be notified */
	uint64_t unreported[SIM_REASON_COUNT];
	uint64_t local, probes; /* slots that were not for dispatch */
};

struct dispatch_bridge_stats {
	uint32_t id;
	enum sim_bridge_status status;
	uint32_t lanes, queued, held; /* held: at the bridge, including late ones */
	uint32_t late;                /* at the bridge, and counted as failed already */
	uint64_t attempted;           /* requested deliveries: sent + failed + dropped + queued + held - late */
	uint64_t sent, failed,
		/*
		 * sent: answered 0; failed: answered with an error, late, or its process exited; dropped: never sent to
		 * it
		 */
		dropped;
	uint64_t reported_sent, reported_failed, reported_dropped, reported_bytes; /* as counted by the plug-in host */
	uint64_t violations;    /* packets and answers that broke the protocol */
	uint64_t restarts;      /* processes that attached, less one */
	int64_t service_dur_ns; /* mean time of one publish(), as reported */
	bool lossless;          /* lossless mode is in force now */
	bool stalled;           /* lossless, and without an answer for its deadline */
};

/* Messages of a channel that a bridge missed because it was slow: SIM_REASON_BRIDGE_SLOW. */
struct dispatch_slow_stats {
	uint32_t channel_id, bridge_id;
	uint64_t messages;
};

struct dispatch_shard_stats {
	uint32_t shard, n_channels, n_bridges;
	uint64_t turns;
};

struct dispatch_stats {
	uint32_t n_channels, n_bridges, n_slow, n_shards, lanes, lanes_max;
	const struct dispatch_channel_stats *channels;
	const struct dispatch_bridge_stats *bridges;
	const struct dispatch_slow_stats *slow; /* only pairs that missed messages */
	const struct dispatch_shard_stats *shards;
	/* source of the quantiles: live histograms of the dispatch, or those of the sum */
	const struct histogram *queue_hist, *publish_hist;
	uint64_t wakeups;                               /* doorbells answered */
	uint64_t packets_out, packets_in;               /* on lanes */
	uint64_t invalid;                               /* slots that failed the checks */
	uint64_t strange_claims;                        /* claims of credits and tokens that belong to no publisher */
	int64_t queue_p50_dur_ns, queue_p99_dur_ns;     /* publish -> handed to a lane */
	int64_t publish_p50_dur_ns, publish_p99_dur_ns; /* handed to a lane -> DONE */
};

typedef void (*dispatch_stats_fn)(void *arg, const struct dispatch_stats *s); /* s is borrowed; NULL: no memory */
int dispatch_stats(struct dispatch *d, dispatch_stats_fn fn, void *arg);

/*
 * For one bridge that carries the channel: times from taking a message to sending it on a lane, and to the bridge's
 * answer.
 */
struct dispatch_bridge_stages {
	uint32_t id;
	struct histogram lane, answer;
};

/*
 * Times of a channel's messages, counted from the first request on; those of a bridge that carries the channel later,
 * from the next request on. take: from publishing to taking the slot. Counts only grow: the difference of two answers
 * shows the time between them.
 */
struct dispatch_stages {
	struct histogram take;
	uint32_t n_bridges;
	struct dispatch_bridge_stages bridges[];
};

typedef void (*dispatch_stages_fn)(void *arg,
				   /* s is borrowed; NULL: no memory, or no such channel */
				   const struct dispatch_stages *s);
int dispatch_stages(struct dispatch *d, uint32_t channel_id, dispatch_stages_fn fn, void *arg);

/* The sum of a (may be NULL) and b over shards: mem_free(); NULL: no memory. Any thread. */
struct dispatch_stats *dispatch_stats_add(const struct dispatch_stats *a, const struct dispatch_stats *b);

#endif
