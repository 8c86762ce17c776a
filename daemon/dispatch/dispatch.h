/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch: takes the slots that clients publish for bridges, hands them to the bridges over lanes, and
 * completes each accepted message exactly once. MESSAGE.md beside this file follows one message.
 *
 * Thread: a dispatch runs on one exec (`exec`, in simd the thread simd-work.0). Every function here is a
 *         thread-safe wrapper that copies its arguments and posts a command, so it may be called from any
 *         thread; commands of one thread run in the order of the calls. Answers and events run on `owner`
 *         (in simd the exec of simd-main), in order too. In the scenario tests both are one exec_sim.
 *         Exceptions, said there: dispatch_create, dispatch_destroy, dispatch_outstanding.
 * Trust:  main passes what it has validated itself. What clients write into slots and pages, and what
 *         bridges send, is checked here; a lie is logged (rate-limited), contained, and never ends simd.
 * Errors: 0, -EINVAL (number out of range: a bug of the caller), -ENOMEM. What can only be found out on
 *         the dispatch thread (an unknown number) is logged and ignored: main and dispatch then disagree.
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

#define DISPATCH_BRIDGES_MAX 64   /* bridge numbers are 0 .. this - 1 */
#define DISPATCH_ROUTES_MAX  16   /* bridges of one channel */
#define DISPATCH_LANES_MAX   64   /* lanes of one bridge */
#define DISPATCH_QUEUE_MAX   4096 /* deliveries of one bridge, queued and with it */
#define DISPATCH_NAME_MAX    99
#define DISPATCH_TEXT_MAX    (160 * 1024) /* type and options of one channel, as JSON text */

/* What dispatch reports to main. All run on the owner's exec; any may be NULL. */
struct dispatch_events {
	/*
	 * A bridge changed its status, or its detail: a sentence, then a line for each other /clock. detail borrows.
	 * After bridge_gone: DISCONNECTED, "".
	 */
	void (*bridge_status)(void *user, uint32_t bridge_id, enum sim_bridge_status status, const char *detail);
	/* The bridge's lane 0 closed or broke the protocol: its process is of no use any more; end it if it is ours. */
	void (*bridge_broken)(void *user, uint32_t bridge_id, const char *why);
	/* The bridge has kept a delivery for longer than its deadline + kill_after: kill it if it is ours. Once a second. */
	void (*bridge_stuck)(void *user, uint32_t bridge_id, int64_t late_dur_ns);
	/* The bridge has reported that it holds nothing of an earlier simd any more (LANE_IDLE). */
	void (*bridge_idle)(void *user, uint32_t bridge_id);
	/*
	 * What a bridge reports of a channel. result 0: it carries it, as `name` of `type` over there ("": not known); below 0: it
	 * refuses it, name is the reason, and nothing goes there until it reports 0. Texts borrow.
	 */
	void (*bridge_carries)(void *user, uint32_t bridge_id, uint32_t channel_id, int result, const char *name,
			       const char *type);
	/* Another process has attached as this bridge: what the last one reported of its channels is void. */
	void (*bridge_forgot)(void *user, uint32_t bridge_id);
	/* A deleted channel has come to rest: its number may be used again. */
	void (*channel_free)(void *user, uint32_t channel_id);
	/*
	 * A publisher that was deleted, or whose client has gone, has come to rest: nothing of it lies in its channel's queue, and all its
	 * messages are released. overflowed: a slot of it may be elsewhere,
	 * as that queue has been full, or others publish into it, who push out each other's messages, or it has lately taken the
	 * place of another one, to which it may have published as well.
	 */
	void (*publisher_reaped)(void *user, uint32_t publisher_id, bool overflowed);
	/* Dispatch holds no slot of this subscriber, of that generation, any more and will not use it again: destroy it. */
	void (*sub_free)(void *user, struct ipc_sub *sub, uint32_t iox_generation);
};

struct dispatch_options {
	struct exec *exec;  /* keeps until destroy */
	struct exec *owner; /* keeps until destroy */
	struct wire_layout_page
		*layout; /* keeps until destroy; all but awake, turns, bridges and what follows is main's to write */
	struct wire_dispatch_page *page;    /* keeps until destroy */
	const struct sim_clock_page *clock; /* keeps until destroy */
	uint32_t cycle_ms;                  /* dispatch.cycle_ms; 0: 10 */
	uint32_t idle_ms;         /* dispatch.idle_ms: a further lane without work closes after that; 0: 5000 */
	uint32_t lanes_max;       /* over all bridges, at least one each; 0: number of bridges (no scaling) */
	uint32_t shard, n_shards; /* which of how many that share the pages; n_shards 0: 1 */
	atomic_uint *lanes;       /* of all shards, which lanes_max bounds; keeps until destroy; NULL: it is alone */
	const struct dispatch_events *events; /* copied; NULL: none */
	void *user;                           /* of the events */
};

/* Before the exec runs, or on its thread. */
int dispatch_create(const struct dispatch_options *o, struct dispatch **ret);
/*
 * After dispatch_shutdown() has answered, or when the exec runs no more. Nothing is completed here: what is
 * still held is released, sockets are closed. Subscribers are destroyed too (sub_free does not come). NULL is fine.
 * Not from an event or an answer. Both execs must be destroyed later, best after they ran what was posted to them.
 */
void dispatch_destroy(struct dispatch *d);

/* ---- data plane ---- */

/* The first generation, or the next after restart_begin. ipc: keeps until the sub_free of its last subscriber, or destroy. */
int dispatch_set_ipc(struct dispatch *d, struct ipc *ipc, uint32_t iox_generation);

/*
 * RouDi is gone: queued deliveries complete with RESTART, those with a bridge finish on their old slot, the
 * subscribers are freed (sub_free) as soon as nothing of them is held. Credits and tokens of messages
 * that never arrived are freed. Nothing is taken until set_ipc and channel_sub have come.
 */
int dispatch_restart_begin(struct dispatch *d);
/* The subscriber of a channel in the new generation; takes it, also on failure. */
int dispatch_channel_sub(struct dispatch *d, uint32_t channel_id, struct ipc_sub *sub);
/*
 * Another subscriber of it in the same generation, as the queue of the present one may be damaged: replaces it when the
 * publishers reach it, and nothing is lost or taken twice. takes it, also on failure; while one is on its way a further one
 * is freed again. sub_free follows for the one that goes.
 */
int dispatch_channel_renew(struct dispatch *d, uint32_t channel_id, struct ipc_sub *sub);
/* The bridge has attached to that generation: deliveries of it may go out. dispatch_bridge_attach() implies the present one. */
int dispatch_bridge_generation(struct dispatch *d, uint32_t bridge_id, uint32_t iox_generation);

/* ---- clients, channels, publishers ---- */

/*
 * completion_fd: SEQPACKET, doorbell_fd: eventfd; takes both, also on failure. Made non-blocking here. counters: its counter
 * page, of which a reference is kept while it is looked at; NULL: it has none.
 */
int dispatch_client_add(struct dispatch *d, uint32_t client_id, const char *name, int completion_fd, int doorbell_fd,
			struct fd_shared *counters);
/* The client has died or closed. What it had published is still delivered; then its credits and tokens are freed. */
int dispatch_client_gone(struct dispatch *d, uint32_t client_id);

struct dispatch_channel {
	uint32_t id;
	const char *name; /* full name; copied */
	uint64_t type_hash;
	const char *type_json; /* the definition, a JSON object as text; copied */
	uint64_t max_body;     /* of its messages, as bridges are told; 0: unknown */
	uint32_t window;       /* 1 .. WIRE_WINDOW_MAX, as in the page */
	uint32_t cells;        /* the largest that it can have; less than window: that */
	uint32_t depth;        /* queue capacity of sub, 1 .. IPC_DEPTH_MAX: so many slots are held at most */
	bool ordered;          /* each bridge has those that are out on one lane, so in their order */
	struct ipc_sub *sub;   /* takes, also on failure */
};

int dispatch_channel_add(struct dispatch *d, const struct dispatch_channel *c);
/* Larger messages, or another number in flight, at most `cells`. Post this before its publishers are notified. */
int dispatch_channel_resize(struct dispatch *d, uint32_t channel_id, uint32_t window, uint64_t max_body);
/* No new messages; ends with channel_free() when the last one is done. Its publishers must have been deleted or gone. */
int dispatch_channel_del(struct dispatch *d, uint32_t channel_id);

/*
 * max_body: slots whose header claims more are INVALID. counters: its row of the client's counter page, by which lost
 * messages are found; NULL: they are not. Post this before the reply to Advertise is sent.
 */
int dispatch_publisher_add(struct dispatch *d, uint32_t publisher_id, uint32_t channel_id, uint32_t client_id,
			   uint64_t max_body, const struct wire_counters *counters);
/* Another max_body: fn runs once when it holds. Before that a larger message would be refused. */
int dispatch_publisher_resize(struct dispatch *d, uint32_t publisher_id, uint64_t max_body, void (*fn)(void *arg),
			      void *arg);
/* What it has published still completes. */
int dispatch_publisher_del(struct dispatch *d, uint32_t publisher_id);
/*
 * One that came to rest while its process lived on, which may have published since then, and cannot any more: publisher_reaped() once
 * more, when nothing of it lies in that channel's queue.
 */
int dispatch_publisher_again(struct dispatch *d, uint32_t publisher_id, uint32_t channel_id);

/* ---- bridges ---- */

/*
 * Whether producers wait for a bridge that has fallen behind, as long as it answers: the channel keeps what it has no
 * room for, and shows that in its page word `waited`. Silent for its deadline it is stalled, and passed by.
 */
enum dispatch_lossless {
	DISPATCH_LOSSLESS_AUTO = 0, /* if its plug-in keeps data; all, in lock-step and while the engine runs free */
	DISPATCH_LOSSLESS_YES = 1,
	DISPATCH_LOSSLESS_NO = 2,
};

struct dispatch_bridge {
	uint32_t id;
	const char *name;          /* copied */
	uint32_t queue;            /* deliveries at most, queued and with it; 1 .. DISPATCH_QUEUE_MAX; 0: 256 */
	int64_t deadline_dur_ns;   /* from the moment simd takes the slot; 0: 1 s */
	int64_t kill_after_dur_ns; /* after the deadline, see bridge_stuck(); 0: 5 s */
	enum dispatch_lossless lossless;
	bool comes_back;    /* its process is started, and again when it ends: worth waiting for, up to its deadline */
	uint32_t lanes_max; /* of this bridge, 1 .. DISPATCH_LANES_MAX; 0: as many as there may be over all */
};

int dispatch_bridge_add(struct dispatch *d, const struct dispatch_bridge *b);
/* The bridge carries the channel. options_json: the rig's object for it, as text; copied; NULL: "{}". Once per pair. */
int dispatch_route(struct dispatch *d, uint32_t channel_id, uint32_t bridge_id, const char *options_json);

/* A process has attached: lane 0 (SEQPACKET, simd's end); takes it, also on failure. Status starts as DISCONNECTED. */
int dispatch_bridge_attach(struct dispatch *d, uint32_t bridge_id, int lane0_fd);
/* Its process has ended (pidfd): what it had completes with BRIDGE_DIED and is released. A closed socket does not prove that. */
int dispatch_bridge_gone(struct dispatch *d, uint32_t bridge_id);
/* Send LANE_CONNECT with the string, NULL: disconnect. Kept, and sent to each process that attaches; now: also to the one that has. */
int dispatch_bridge_connect(struct dispatch *d, uint32_t bridge_id, const char *connection, bool now);

/* ---- control ---- */

enum dispatch_hold {
	DISPATCH_FLOWS,
	DISPATCH_HELD,
	DISPATCH_PAUSED, /* flows; but lock-step goes on, so that bridges do not flush by wall time */
};

/*
 * Lock-step: while held, messages are taken but not queued; letting go queues them in (stamp, channel name,
 * client's name, publisher, sequence) order, and what the next dispatch_step() waits for includes them. SIM_CLOCK_LOCKSTEP of the
 * clock page holds too, from when it is written. A command to let go that comes while it is there does nothing: a command may be late.
 */
int dispatch_hold(struct dispatch *d, enum dispatch_hold hold);

/* The engine runs as fast as it can, or no longer: see DISPATCH_LOSSLESS_AUTO. What is accepted by then is still waited for. */
int dispatch_freewheel(struct dispatch *d, bool on);

typedef void (*dispatch_fn)(void *arg);

/*
 * While held: take all that has been published, queue it in that order and go on holding. fn runs on the owner once
 * all of that is completed.
 */
int dispatch_step(struct dispatch *d, dispatch_fn fn, void *arg);

/*
 * The same without waiting: fn runs on the owner as soon as all of it is queued. What the next dispatch_step() waits for
 * includes it.
 */
int dispatch_drain(struct dispatch *d, dispatch_fn fn, void *arg);

/* fn runs on the owner once nothing accepted is outstanding: no message in dispatch, no credit claimed. */
int dispatch_quiet(struct dispatch *d, dispatch_fn fn, void *arg);

/*
 * Complete all queued deliveries with SHUTDOWN, and so all that come from now on; wait for those with bridges.
 * now: complete these too. fn runs on the owner when all completions are out or their clients gone (or, with
 * now, cannot be sent at once). May be called first without and later with `now`; then each fn runs once.
 */
int dispatch_shutdown(struct dispatch *d, bool now, dispatch_fn fn, void *arg);

/* Messages in dispatch now. Any thread, no command; a snapshot. */
uint32_t dispatch_outstanding(const struct dispatch *d);
/* When the last message that was accepted was published, CLOCK_MONOTONIC; 0: none was. Any thread; a snapshot. */
int64_t dispatch_accepted_mono_ns(const struct dispatch *d);

/* ---- statistics ---- */

struct dispatch_channel_stats {
	uint32_t id;
	uint32_t in_flight;
	uint64_t accepted, completed;          /* completed: with success */
	uint64_t failed[SIM_REASON_COUNT];     /* false, by reason */
	uint64_t unreported[SIM_REASON_COUNT]; /* of these: the client had disconnected before it could be notified */
	uint64_t local, probes;                /* slots that were not for dispatch */
};

struct dispatch_bridge_stats {
	uint32_t id;
	enum sim_bridge_status status;
	uint32_t lanes, queued, held; /* held: with the bridge, late ones too */
	uint32_t late;                /* with the bridge, and counted as failed already */
	uint64_t attempted;           /* deliveries asked for: sent + failed + dropped + queued + held - late */
	uint64_t sent, failed,
		dropped; /* sent: answered 0; failed: answered with an error, late, or died with it; dropped: never reached it */
	uint64_t reported_sent, reported_failed, reported_dropped, reported_bytes; /* as the plug-in host counts */
	uint64_t violations;    /* packets and answers that broke the protocol */
	uint64_t restarts;      /* processes that attached, less one */
	int64_t service_dur_ns; /* mean time of one publish(), as reported */
	bool lossless;          /* in force now */
	bool stalled;           /* lossless, and silent for its deadline */
};

/* Messages of a channel that a bridge missed because it had fallen behind: SIM_REASON_BRIDGE_SLOW. */
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
	const struct dispatch_slow_stats *slow; /* pairs with more than none */
	const struct dispatch_shard_stats *shards;
	/* from which the quantiles are: live ones of the dispatch, or the sum's own */
	const struct histogram *queue_hist, *publish_hist;
	uint64_t wakeups;                               /* doorbells answered */
	uint64_t packets_out, packets_in;               /* on lanes */
	uint64_t invalid;                               /* slots that failed the checks */
	uint64_t strange_claims;                        /* of credits and tokens, in the name of no publisher */
	int64_t queue_p50_dur_ns, queue_p99_dur_ns;     /* publish -> handed to a lane */
	int64_t publish_p50_dur_ns, publish_p99_dur_ns; /* handed to a lane -> DONE */
};

typedef void (*dispatch_stats_fn)(void *arg, const struct dispatch_stats *s); /* s borrows; NULL: no memory */
int dispatch_stats(struct dispatch *d, dispatch_stats_fn fn, void *arg);

/* Of one bridge that carries the channel: from taking a message to handing it over to a lane, and to the bridge's answer. */
struct dispatch_bridge_stages {
	uint32_t id;
	struct histogram lane, answer;
};

/*
 * How long messages of a channel take, from the first question on; with each bridge from the first one on that found it. take: from
 * publishing to taking the slot. Counts only grow: what lies between two answers is their difference.
 */
struct dispatch_stages {
	struct histogram take;
	uint32_t n_bridges;
	struct dispatch_bridge_stages bridges[];
};

typedef void (*dispatch_stages_fn)(void *arg,
				   const struct dispatch_stages *s); /* s borrows; NULL: no memory, no such channel */
int dispatch_stages(struct dispatch *d, uint32_t channel_id, dispatch_stages_fn fn, void *arg);

/* The sum of both (a NULL: of b alone) over shards: free with mem_free(), NULL: no memory. Any thread. */
struct dispatch_stats *dispatch_stats_add(const struct dispatch_stats *a, const struct dispatch_stats *b);

#endif
