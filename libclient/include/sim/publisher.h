/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishing. A sensor loans a slot, fills it in place and hands it over; it is never copied
 * afterwards, so a 24 MiB image costs what a 64 B message costs.
 *
 *   sim_publish_local()  to local subscribers only
 *   sim_try_queue()      to local subscribers and, through simd, to the bridges of the channel
 *   ..._copy()           the same from a reused heap buffer: one deep copy, made only once accepted
 *   sim_publish_sync()   queue, and wait for the outcome
 *
 * The contract of sim_try_queue, whatever process dies:
 *   - it takes the slot in every case; a refused message is not delivered to any subscriber;
 *   - the callback runs exactly once: on refusal with ok == false before the call returns, otherwise on the client's
 *     sim-io thread (or inside sim_process());
 *   - the token is free before the callback runs, so a callback may queue again. It must not retry a refused message
 *     until it is accepted: a refusal's callback runs inside the call, so each retry nests deeper, and a reason such as
 *     SIM_REASON_PAUSED lasts. Retry in the next cycle instead;
 *   - refused:  -ECANCELED time is paused, -EBUSY the token is in use, -EAGAIN no credit (publisher created with
 *     SIM_PUB_NO_WAIT), -ETIMEDOUT no credit within the configured wait (which has no limit while the channel waits for
 *     a lossless bridge that answers), -ESTALE the slot belongs to an earlier generation of the data plane, -ENOTCONN
 *     disconnected from simd, -EINVAL not a loan of this publisher (then nothing is taken and the callback does not
 *     run);
 *   - accepted (0) means "queued", not "sent": no bridge, or one that is not connected, gives ok == false with
 *     SIM_REASON_NO_BRIDGE / SIM_REASON_DISCONNECTED.
 */
#ifndef SIM_PUBLISHER_H
#define SIM_PUBLISHER_H

#include <sim/client.h>
#include <sim/introspect.h>
#include <sim/slot.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sim_publisher;
struct sim_token;

enum sim_publisher_flag {
	SIM_PUB_NO_WAIT = 1u << 0, /* return -EAGAIN at once if there is no credit */
	/* keep the last message for later subscribers, also across a restart; each message is copied */
	SIM_PUB_LATCH = 1u << 1,
	SIM_PUB_LOCAL = 1u << 2, /* never dispatched: simd does not subscribe (sim_try_queue answers -EOPNOTSUPP) */
	/*
	 * For bridges that publish messages from elsewhere: dispatched only to bridges to other machines (link). If no
	 * such bridge lists the channel, as SIM_PUB_LOCAL.
	 */
	SIM_PUB_INBOUND = 1u << 3,
};

struct sim_publisher_options {
	size_t size; /* sizeof(struct sim_publisher_options) of the caller */
	/*
	 * Bytes of the largest message: decides the size of the channel's slots and its window. 0: the type's fixed
	 * size, its strings at their bounds (64 bytes for a string without a bound), and 3 KiB if it has arrays. A
	 * message may be longer; see sim_loan().
	 */
	size_t max_body;
	const char *frame_id; /* default coordinate frame, up to SIM_FRAME_ID_MAX characters; copied; NULL: "" */
	unsigned flags;       /* enum sim_publisher_flag */
};

/* Returns the bytes that max_body 0 stands for. */
SIM_API size_t sim_publisher_default_body(const struct sim_type *type);

/*
 * Creates a publisher of `type` on `channel`; a name without a leading slash gets the rig's prefix. The publisher keeps
 * `type` until it is destroyed.
 * Returns: 0; -EINVAL bad name or option; -EPERM SIM_PUB_INBOUND and the client is not a bridge, or the name is
 * reserved: /rosout, /parameter_events, /ros_discovery_info and all below /simd; -EMEDIUMTYPE the channel exists with
 * another type; -EMSGSIZE no pool has slots of max_body; -EMFILE no port left, or a limit of simd's; -ENOSPC no room
 * left in the pool of that size; -ENOTCONN; -ESTALE the data plane is being restarted: try in a moment; -EAGAIN the
 * machine is overloaded, or channels are just being closed, and a
 * minute of retries has failed: try again. sim_why() names the numbers.
 */
SIM_API SIM_MUST_CHECK int sim_advertise(struct sim_client *c, const char *channel, const struct sim_type *type,
					 const struct sim_publisher_options *o, struct sim_publisher **ret);
/*
 * The same for messages that come from another machine: `host` is its name, 1 to 39 printable characters, copied, and
 * shown by `simctl list`. For bridges that carry slots between machines. Also -EINVAL: invalid host name.
 */
#define SIM_HOST_NAME_MAX 39
SIM_API SIM_MUST_CHECK int sim_advertise_from(struct sim_client *c, const char *channel, const struct sim_type *type,
					      const struct sim_publisher_options *o, const char *host,
					      struct sim_publisher **ret);
/* Releases its loans; messages that were accepted still complete. NULL is fine. */
SIM_API void sim_publisher_destroy(struct sim_publisher *p);

/*
 * Loans a slot with room for `body_size` bytes. The header is filled: type, ids, frame_id, stamp_sim_ns = now (the
 * caller may set an earlier capture time). The body is undefined: use the type's initialiser.
 * If body_size exceeds max_body, simd is asked for larger slots, which takes a moment: it makes memory, and the
 * subscribers' queues are of such slots from then on. max_body becomes what those slots hold. Loans that are out are
 * not affected.
 * Returns: 0; -EMSGSIZE no slot can be that large; -ENOSPC no room for such slots; -ENOBUFS 8 loans are out (2 for
 * slots from 384 MiB on, 1 for slots of 512 MiB); -ENOMEM the pool is empty; -EBUSY; -ESTALE; -ENOTCONN.
 */
SIM_API SIM_MUST_CHECK int sim_loan(struct sim_publisher *p, size_t body_size, struct sim_slot **ret);
/* Returns a loan unpublished. -EINVAL: not a loan of this publisher. */
SIM_API int sim_unloan(struct sim_publisher *p, struct sim_slot *slot);
/* Shrinks (never grows) the valid body of a loan before it is published. */
SIM_API int sim_slot_set_size(struct sim_slot *slot, size_t body_size);

/* Runs exactly once. ok: every bridge took it (message converted and handed over). reason: why not. */
typedef void (*sim_done_fn)(void *user, bool ok, enum sim_reason reason);

/* token, cb may be NULL. See the contract above. */
SIM_API SIM_MUST_CHECK int sim_try_queue(struct sim_publisher *p, struct sim_slot *slot, struct sim_token *token,
					 sim_done_fn cb, void *user);

/*
 * Publishes a deep copy of `body` (a reused buffer: the caller may change it as soon as this returns) in a slot of its
 * size class, made only after pause, token and credit have passed. stamp_sim_ns 0: now. Errors as sim_loan() and
 * sim_try_queue(); the callback runs in every case but -EINVAL.
 */
SIM_API SIM_MUST_CHECK int sim_try_queue_copy(struct sim_publisher *p, const void *body, size_t body_size,
					      int64_t stamp_sim_ns, struct sim_token *token, sim_done_fn cb,
					      void *user);

/*
 * Queues and waits for the outcome: 0 delivered, -EIO it was accepted but not delivered (*ret_reason is why), or a
 * refusal. Not from a callback.
 */
SIM_API SIM_MUST_CHECK int sim_publish_sync(struct sim_publisher *p, struct sim_slot *slot, struct sim_token *token,
					    enum sim_reason *ret_reason);

/*
 * Publishes to local subscribers only: no pause check, no token, no callback. Takes the slot in every case but -EINVAL.
 * On a channel that is dispatched such a message uses a credit of the window for a moment, so that simd's queue cannot
 * overflow: -EAGAIN and -ETIMEDOUT as in sim_try_queue(), never with SIM_PUB_LOCAL. Works while disconnected from simd.
 */
SIM_API SIM_MUST_CHECK int sim_publish_local(struct sim_publisher *p, struct sim_slot *slot);
SIM_API SIM_MUST_CHECK int sim_publish_local_copy(struct sim_publisher *p, const void *body, size_t body_size,
						  int64_t stamp_sim_ns);

/*
 * How many bridges the channel has, and how many of them are connected; read from shared memory: no lock, no round
 * trip.
 */
struct sim_bridges {
	uint32_t total, connected;
};
SIM_API struct sim_bridges sim_publisher_bridges(const struct sim_publisher *p);
/*
 * Waits until these numbers differ from *known, for at most timeout_dur_ns (negative: for ever). A disconnection from
 * simd is a change too: then there are no bridges. Any thread; the publisher may be used meanwhile, and must not be
 * destroyed.
 * Returns: 1, *known holds the new numbers; 0 timed out; -EINVAL; -EPERM after a fork.
 */
SIM_API SIM_MUST_CHECK int sim_publisher_bridges_wait(const struct sim_publisher *p, struct sim_bridges *known,
						      int64_t timeout_dur_ns);
/*
 * Whether the channel has a subscriber on this machine, simd included if the channel is dispatched. Also false while
 * another thread is in a call of this publisher: to wait for a subscriber, ask in the thread that publishes.
 */
SIM_API bool sim_publisher_has_subscribers(const struct sim_publisher *p);
/*
 * How many subscriptions of the channel belong to clients other than the publisher's; simd's own, for bridges, are not
 * counted. Read from shared memory: no round trip. A subscription is counted before its sim_subscribe() returns: if
 * this returns 0 and the next message is not published, no other client misses it. UINT32_MAX: unknown, so there may be
 * some: disconnected from simd, or in the seconds after that, when some clients may not be back yet; another thread is
 * in a call of this publisher; or simd is of a version that does not report it.
 */
SIM_API uint32_t sim_publisher_subscribers_elsewhere(const struct sim_publisher *p);
/*
 * Counts a message that the program hands over inside itself, without a slot because no other client subscribes, as
 * sim_publish_local() would: by body_size and stamp_sim_ns of its header. Writes the next sequence number into the
 * header, so that one publisher may switch between the two ways, and the time of publishing if publish_mono_ns is 0 (a
 * caller that has just read the clock sets it). Only with SIM_PUB_LOCAL.
 * Returns: 0; -EOPNOTSUPP without SIM_PUB_LOCAL; -EINVAL; -EBUSY.
 */
SIM_API SIM_MUST_CHECK int sim_publisher_count_local(struct sim_publisher *p, struct sim_slot *header);

/*
 * An exclusive token, shared by name between processes (1..63 characters). Close it when no message uses it any more.
 */
SIM_API SIM_MUST_CHECK int sim_token_open(struct sim_client *c, const char *name, struct sim_token **ret);
SIM_API void sim_token_close(struct sim_token *t);

#ifdef __cplusplus
}
#endif
#endif
