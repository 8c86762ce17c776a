/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bridge plug-in ABI. A plug-in is a shared object, bridge_<name>.so, that exports one symbol
 *
 *     const struct sim_bridge_ops *sim_bridge_plugin(void);
 *
 * simbridge loads exactly one bridge plug-in and owns one connection. The plug-in never links the host: everything it
 * needs comes in through struct sim_bridge_host. The host refuses a table whose abi differs; the error names both
 * numbers. Members beyond `size` do not exist.
 *
 * Order: ops->reg() once, after load; ops->create(); connect() / disconnect() as often as simd asks (both return at
 * once; progress is reported with host->status()); publish() from conversion threads, one per lane, concurrently.
 * Messages of one channel come one after the other and in their order, unless the rig sets "ordered": false or it is
 * lock-step (in_order()). destroy() when all publish() calls have returned and pending tasks completed.
 *
 * A lost connection: the host reconnects a plug-in that reports UNEXPECTEDLY_DISCONNECTED, after pauses that grow from
 * 0.1 s to 10 s; a plug-in that reconnects by itself reports CONNECTING instead. When it reports CONNECTED, the host
 * closes and opens every channel, names services again and calls listen() again for channels with subscribers; only
 * then messages flow.
 *
 * /clock bypasses dispatch: a bridge that lists it and carries sim/Clock gets it on a thread of its own, at the rate of
 * simd's clock thread, while it is connected. Only the newest stamp is sent, never 0; publish() has no task then (see
 * there). A plug-in that registered "*" and not "sim/Clock" gets it only if the rig names it.
 *
 * The ABI is frozen: numbers and members stay as they are. New ones are added at the end of a table, whose `size` shows
 * which members it has: plug-ins check with SIM_BRIDGE_HOST_HAS() and SIM_BRIDGE_REG_HAS(), the host with
 * SIM_BRIDGE_HAS().
 */
#ifndef SIM_BRIDGE_H
#define SIM_BRIDGE_H

#include <sim/clock_page.h>
#include <sim/converter.h>
#include <sim/introspect.h>
#include <sim/service.h>
#include <sim/slot.h>
#include <sim/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIM_BRIDGE_ABI    2u
#define SIM_BRIDGE_SYMBOL "sim_bridge_plugin"

struct sim_bridge;          /* the plug-in's instance: defined by the plug-in */
struct sim_bridge_registry; /* the host's list of what the plug-in can carry */
struct sim_bridge_topic;    /* the plug-in's side of one channel: defined by the plug-in */
struct sim_task;            /* one message to publish: owned by the host */

/* One channel as the host announces it. Borrowed for the lifetime of the topic. */
struct sim_bridge_channel {
	uint32_t id;
	const char *name;            /* full name, prefix included */
	const struct sim_type *type; /* never NULL; a type unknown to the plug-in still has its field table */
	const char *options;         /* the rig's JSON object for this channel, "{}" if none */
};

/* Properties of a message published on another machine that publish_from() keeps. */
struct sim_bridge_origin {
	uint64_t host, sequence; /* simd_id of its simd, and the message's sequence there: neither is 0 */
	int64_t stamp_sim_ns;
	const char *frame; /* NULL or "": no frame */
};

enum sim_bridge_offer {                                   /* flags of offer_from() */
			SIM_BRIDGE_OFFER_LATCH = 1u << 0, /* keep the last message for later subscribers */
};

struct sim_bridge_option {
	const char *name; /* key in the bridge's "options" */
	/* default as text; NULL: required. "{...}" or "[...]": takes an object or a list, as JSON text */
	const char *deflt;
	const char *help; /* one line */
};

/* A request of a service that the plug-in serves: borrowed until the call returns. Thread: that of ops->service(). */
typedef void (*sim_bridge_serve_fn)(void *user, const void *request, size_t size, struct sim_pending *p);

/* Services of the host; valid from create() to destroy(). Thread: any. */
struct sim_bridge_host {
	uint32_t abi, size;
	void *ctx;
	/* level: 0 error, 1 warning, 2 info, 3 debug */
	void (*log)(void *ctx, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
	/* Value of an option of the plug-in's own list (its default when not set). Borrows until destroy(). */
	const char *(*option)(void *ctx, const char *name);
	/*
	 * Reports the connection's state with a sentence, of which 199 bytes are kept; wakes dispatch when it becomes
	 * CONNECTED. Text after "; but " says what a connected bridge does not reach: `simctl doctor` warns of it.
	 */
	void (*status)(void *ctx, enum sim_bridge_status status, const char *detail);
	/*
	 * Finishes a task for which publish() returned 1: exactly once, from any thread. result: 0 or negative errno.
	 */
	void (*complete)(void *ctx, struct sim_task *task, int result);
	/* Simulated time now, ns. */
	int64_t (*now)(void *ctx);
	/*
	 * Publishes an inbound message on a channel of the rig's "inbound" list; the host copies it. It goes to
	 * subscribers of this machine and, if a bridge to other machines (link) lists the channel, to those; never to
	 * other bridges here. -EACCES the rig does not list it, -ECANCELED paused (unless the rig sets
	 * inbound_while_paused), -EINVAL the message fails sim_msg_check() or the channel was offered with another
	 * type, -ENOBUFS, -EAGAIN the window of messages to other machines is full.
	 */
	int (*publish)(void *ctx, const char *channel, const struct sim_type *type, const void *body, size_t size);
	/*
	 * Offers an inbound channel before there is a message on it: ops->listen() then reports when the first
	 * subscriber comes and when the last one has left. Not before connect(). Errors as publish(); -EALREADY it is
	 * already offered.
	 */
	int (*offer)(void *ctx, const char *channel, const struct sim_type *type);
	/*
	 * Calls a service that ops->service() announced, on behalf of the far side; never blocks. Returns 0: fn runs
	 * exactly once, on the thread of ops->service(), or before disconnect() with -ECANCELED; results as of
	 * sim_service_call(). timeout_dur_ns: wall time, 0: the service's own. Otherwise fn does not run: -EBUSY 32
	 * calls are unanswered, -ENOTCONN, -EINVAL.
	 */
	int (*call)(void *ctx, const char *service, const struct sim_service_type *type, const void *request,
		    size_t size, int64_t timeout_dur_ns, sim_answer_fn fn, void *user);
	/*
	 * Returns the i-th of the converters that the rig lists for this bridge and that fit these names (NULL: any; a
	 * foreign name with or without "msg/"); NULL: there are no more. The first one that fits takes precedence over
	 * the plug-in's own mappings. Their tables are checked, but not their definition, nor what they emit: see
	 * sim/converter.h.
	 */
	const struct sim_converter *(*converter)(void *ctx, const char *sim_type, const char *foreign, unsigned i);
	/*
	 * Drives the time source `ros2` with a clock of the far side, which is at sim_ns now, above 0. Forward, time
	 * continues; back, or more than SIM_BRIDGE_FAR_DUR_NS forward at once, is a jump, announced to all. The first
	 * call takes the driver lease. SIM_BRIDGE_CLOCK_GONE: that clock no longer exists: driver lost, clock stopped,
	 * until the next call. Blocks while a lock-step round is open. Must never be called with the time that this
	 * simd itself sends out.
	 * Returns: 0; -EINVAL; -EOPNOTSUPP another source is active; -EBUSY another client drives it; -ENOTCONN
	 * disconnected from simd. The host logs each of these once; call again with the next time. Thread: any, one at
	 * a time.
	 */
	int (*drive)(void *ctx, int64_t sim_ns);
	/*
	 * random per run of simd, the same for all its bridges: to recognise this simd's own messages on the far side
	 */
	uint64_t simd_id;
	/*
	 * From open(): the channel's name and type on the far side, for people (`simctl bridge info`): its name
	 * ("/car/radar/n0") and its type; several are named in one text. Copied. Without this call: the channel's own
	 * name, and the type as it was registered.
	 */
	void (*carries)(void *ctx, const struct sim_bridge_channel *ch, const char *name, const char *type);
	/*
	 * Reports the other publishers of time on the far side while this bridge sends it: one line for each, in words
	 * for people; "": there are none (any more). `simctl clock status` names them. Cut to 220 bytes. Thread: any.
	 */
	void (*other_clocks)(void *ctx, const char *names);
	/*
	 * From publish(), after converting and before writing: blocks until everything that goes out earlier has been
	 * written, so that in lock-step each run writes the same, however many lanes convert in parallel. A plug-in
	 * that calls it sets SIM_BRIDGE_IN_ORDER; without that flag publish() itself is called in that order. Outside
	 * lock-step it returns at once, and for task NULL. Hold no lock that another publish() needs in order to get
	 * here. A message counts as written when its publish() returns, whatever the result. Thread: that of publish().
	 */
	void (*in_order)(void *ctx, struct sim_task *task);
	/*
	 * Offers a service of the far side to the clients of simd, from connect() to disconnect(): fn gets each
	 * request, one at a time for a service, must not block, and has it answered by answer(), exactly once, at the
	 * latest in destroy(). fn NULL: withdraws the service; fn is not called again. type is kept until then.
	 * ops->service() does not report such a service. Errors as sim_service_offer(). Thread: any but that of
	 * ops->service().
	 */
	int (*serve)(void *ctx, const char *service, const struct sim_service_type *type, sim_bridge_serve_fn fn,
		     void *user);
	/* As sim_service_answer(). Thread: any. */
	int (*answer)(void *ctx, struct sim_pending *p, int result, const char *why, const void *response, size_t size);
	/*
	 * Adds a remark on an open channel that was found after carries(), for people: shown in brackets after its type
	 * on the far side ("accepted"). Copied; cut to 100 bytes. Thread: any, without a lock that open() or close()
	 * takes.
	 */
	void (*remark)(void *ctx, uint32_t channel_id, const char *text);
	/*
	 * As offer(), with slots of max_body bytes from the beginning; 0: as offer(), which uses the type's default and
	 * gets larger slots for longer messages. Also -EMSGSIZE no pool has slots so large, -ENOSPC there is no room
	 * for them: the host logs which. A channel that is already offered keeps its size.
	 */
	int (*offer_large)(void *ctx, const char *channel, const struct sim_type *type, size_t max_body);
	/*
	 * Loans room for an inbound message in the slot in which it will be published: `room` bytes at *ret_body,
	 * aligned to 64. publish_loan() or unloan() ends the loan, in every case. Errors as publish(); -EMSGSIZE more
	 * than the largest slot holds, -ENOSPC no room for such slots, -ENOBUFS 8 loans are out (2 for slots from 384
	 * MiB on, 1 for slots of 512 MiB), -ENOMEM the pool is empty. Thread of all three: any.
	 */
	int (*loan)(void *ctx, const char *channel, const struct sim_type *type, size_t room, void **ret_body);
	/*
	 * Publishes a loan, of which `size` bytes are the message. stamp_sim_ns: time of measurement, 0: now. frame:
	 * NULL or "": no frame. -EINVAL it fails sim_msg_check(), it is not a loan of this channel, or the frame is
	 * longer than a slot has room for.
	 */
	int (*publish_loan)(void *ctx, const char *channel, void *body, size_t size, int64_t stamp_sim_ns,
			    const char *frame);
	void (*unloan)(void *ctx, const char *channel, void *body);
	/*
	 * The bridge's name in the rig; and simd's control socket, as sim_connect() takes it, for plug-ins that ask
	 * simd themselves.
	 */
	const char *bridge, *socket;
	/*
	 * As offer_large(), for a channel whose messages come in slots of another machine, whose name for people is
	 * `host` (`simctl list` shows it). The other bridges of the channel get the messages too, and count as
	 * subscribers. A channel that is already offered keeps its host. Use loan(), then publish_from() or unloan().
	 * Also -EINVAL: invalid host name.
	 */
	int (*offer_from)(void *ctx, const char *channel, const struct sim_type *type, size_t max_body,
			  const char *host, unsigned flags);
	/*
	 * Publishes a loan of such a channel with its header kept: `size` bytes, to local subscribers and, if other
	 * bridges carry the channel, to those. Never waits. Errors as publish_loan(); -EAGAIN no credit, -ECANCELED
	 * paused: the message is not delivered.
	 */
	int (*publish_from)(void *ctx, const char *channel, void *body, size_t size, const struct sim_bridge_origin *o);
	/*
	 * Withdraws an offer for good: the channel may be offered again, with another type too. Never while a loan of
	 * it is out.
	 */
	void (*withdraw)(void *ctx, const char *channel);
	/* From open(): bytes of the longest body announced for the channel so far, 0: unknown. */
	size_t (*max_body)(void *ctx, const struct sim_bridge_channel *ch);
	/* The clock as it was at a moment of CLOCK_MONOTONIC, such as publish_mono_ns of a message: as sim_clock_at(). */
	int (*clock_at)(void *ctx, int64_t mono_ns, struct sim_clock_sample *ret);
	/*
	 * The name and type on the far side of an inbound channel that is offered, for people, as carries() for the
	 * others. Call it once for each topic of a channel. Copied. Without this call nothing is shown of the far side.
	 * Thread: as offer().
	 */
	void (*brings)(void *ctx, const char *channel, const char *name, const char *type);
};

#define SIM_BRIDGE_CLOCK_GONE INT64_C(-1)
#define SIM_BRIDGE_FAR_DUR_NS INT64_C(60000000000)

enum sim_bridge_flag {
	/*
	 * The bridge keeps its messages (a log, a recording): producers wait for it while it answers, unless the rig
	 * sets otherwise.
	 */
	SIM_BRIDGE_KEEPS_DATA = 1u << 0,
	/* publish() calls host->in_order() between converting and writing. */
	SIM_BRIDGE_IN_ORDER = 1u << 1,
};

struct sim_bridge_ops {
	uint32_t abi;     /* SIM_BRIDGE_ABI the plug-in was built with */
	uint32_t size;    /* sizeof(struct sim_bridge_ops) at that time */
	const char *name; /* "logging" */
	const char *type; /* what it speaks, for people: "gzip text log" */
	/* ends with a NULL name; NULL: none. Other options in the rig are errors */
	const struct sim_bridge_option *options;

	/* Registers types and creators (sim_bridge_reg_*()). 0 or negative errno. */
	int (*reg)(struct sim_bridge_registry *r);
	int (*create)(const struct sim_bridge_host *host, struct sim_bridge **ret);
	/*
	 * Validates the string (passed unmodified) and begins to connect. Does not block. -EINVAL: can never succeed.
	 */
	int (*connect)(struct sim_bridge *b, const char *connection);
	void (*disconnect)(struct sim_bridge *b);
	enum sim_bridge_status (*status)(const struct sim_bridge *b);
	/*
	 * Publisher creator: announces a channel; called again for every channel after each reconnect, of simd or of
	 * the far side (then after close()). -ENOTSUP: type has no mapping. On any error simd sends no messages of that
	 * channel to this bridge, and their completion does not depend on it, until open() succeeds; the last error or
	 * warning logged is shown as the reason.
	 */
	int (*open)(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret);
	void (*close)(struct sim_bridge *b, struct sim_bridge_topic *t);
	/*
	 * Converts and sends one message, reading its body in place. Returns 0 done, 1 pending (m and the slot stay
	 * until host->complete()), or negative errno. Thread: a conversion thread; several at once for different topics
	 * or messages. task NULL: /clock, which has no completion: a return of 1 is a failure then, so copy what is
	 * needed after the return.
	 */
	int (*publish)(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m,
		       struct sim_task *task);
	void (*destroy)(struct sim_bridge *b);
	/*
	 * Optional: flushes buffered output; called every 750 ms of wall time, but in lock-step once a second of
	 * simulated time, and then in the order of host->in_order(); and before disconnect.
	 */
	int (*flush)(struct sim_bridge *b);
	/*
	 * Optional: a channel that was offered has subscribers (on: subscribe at the far side, and publish), or has
	 * none any more (stop). channel: the name as it was offered. Thread: the host's main thread; must not block.
	 */
	void (*listen)(struct sim_bridge *b, const char *channel, int on);
	/*
	 * Optional: a service of a registered type is available (type, with the field tables of both halves), or no
	 * longer (NULL). All present services are reported after connect(), all are withdrawn before disconnect(), and
	 * both when a lost connection is back. type is valid until the service is withdrawn. Thread: one of the host's,
	 * the one on which answers come, or the one that disconnects; must not block.
	 */
	void (*service)(struct sim_bridge *b, const char *name, const struct sim_service_type *type);
	uint32_t flags; /* enum sim_bridge_flag */
	uint32_t reserved;
	/*
	 * Optional: checks what create() and connect() would refuse for good, without calling either (`simd
	 * --check-config`). Only log and option of the host exist; each finding is logged as an error that begins with
	 * the key ("options.node: ...", "connection: ..."). 0 or negative errno.
	 */
	int (*check)(const struct sim_bridge_host *host, const char *connection);
};

#define SIM_BRIDGE_HAS(ops, f) ((ops)->size >= offsetof(struct sim_bridge_ops, f) + sizeof((ops)->f) && (ops)->f)

/* The same for the host's table, and for the registry: an older simbridge has fewer members. */
#define SIM_BRIDGE_HOST_HAS(host, f) \
	((host)->size >= offsetof(struct sim_bridge_host, f) + sizeof((host)->f) && (host)->f)
#define SIM_BRIDGE_REG_HAS(r, f) ((r)->size >= offsetof(struct sim_bridge_registry, f) + sizeof((r)->f) && (r)->f)

typedef const struct sim_bridge_ops *(*sim_bridge_plugin_fn)(void);

/* Registration, called by reg() through the registry that the host hands in. */
struct sim_bridge_registry {
	uint32_t abi, size;
	void *ctx;
	/*
	 * The plug-in carries `type_name` ("sim/Imu", or "*": everything that has a field table) as `foreign`
	 * ("sensor_msgs/msg/Imu").
	 */
	int (*add_publisher)(void *ctx, const char *type_name, const char *foreign);
	int (*add_subscriber)(void *ctx, const char *type_name, const char *foreign);
	/*
	 * The plug-in offers services of that type ("sim/SetBool", or "*": any) to the far side, as `foreign`
	 * ("std_srvs/srv/SetBool").
	 */
	int (*add_service)(void *ctx, const char *type_name, const char *foreign);
};

#ifdef __cplusplus
}
#endif
#endif
