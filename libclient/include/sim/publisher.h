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
 * The contract of sim_try_queue, whatever dies:
 *   - it takes the slot in every case; a refused slot reaches nobody;
 *   - the callback runs exactly once: on refusal with ok == false before the call returns, otherwise
 *     on the client's sim-io thread (or inside sim_process());
 *   - the token is free before the callback runs, so a callback may queue again; but not without end what was
 *     refused: a refusal's callback runs inside the call, so one that tries again there until it is accepted
 *     calls itself ever deeper (SIM_REASON_PAUSED, say, lasts); leave that to the next cycle;
 *   - refused:  -ECANCELED time is paused, -EBUSY the token is in use, -EAGAIN no credit (publisher
 *     created SIM_PUB_NO_WAIT), -ETIMEDOUT no credit within the configured wait (without bound while
 *     the channel waits for a lossless bridge that answers), -ESTALE the slot belongs to an earlier
 *     generation of the data plane, -ENOTCONN disconnected from simd, -EINVAL not a loan of this publisher (then
 *     nothing is taken and the callback does not run);
 *   - accepted (0) means "queued", not "sent": no bridge, or one that is not connected, gives
 *     ok == false with SIM_REASON_NO_BRIDGE / SIM_REASON_DISCONNECTED.
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
	SIM_PUB_NO_WAIT = 1u << 0, /* without a credit answer -EAGAIN at once */
	SIM_PUB_LATCH =
		1u
		<< 1, /* keep the last message for subscribers that come later, also after a restart; each is copied */
	SIM_PUB_LOCAL = 1u << 2, /* never dispatched: simd does not subscribe (sim_try_queue answers -EOPNOTSUPP) */
	/*
	 * Of bridges, for what they bring in from elsewhere: dispatched to nobody but bridges to other machines (link). Where none of
	 * these lists the channel it is as with SIM_PUB_LOCAL.
	 */
	SIM_PUB_INBOUND = 1u << 3,
};

struct sim_publisher_options {
	size_t size; /* sizeof(struct sim_publisher_options) of the caller */
	/*
	 * Bytes of the largest message: decides the size of the channel's slots and its window. 0: the type's fixed size, strings at
	 * their bounds (64 bytes where there is none), and 3 KiB if it has arrays. A message may be longer; see sim_loan().
	 */
	size_t max_body;
	const char *frame_id; /* default coordinate frame, up to SIM_FRAME_ID_MAX characters; copied; NULL: "" */
	unsigned flags;       /* enum sim_publisher_flag */
};

/* What max_body 0 stands for. */
SIM_API size_t sim_publisher_default_body(const struct sim_type *type);

/*
 * Create a publisher of `type`, which it keeps until it is destroyed, on `channel` (the rig's prefix is put before a name without a leading
 * slash). Returns: 0; -EINVAL bad name or option; -EPERM SIM_PUB_INBOUND, and the client is no bridge, or the name is
 * kept for others: /rosout, /parameter_events, /ros_discovery_info and all below /simd; -EMEDIUMTYPE the channel exists with another type;
 * -EMSGSIZE no pool holds max_body; -EMFILE no port left, or a limit of simd's; -ENOSPC no room left
 * in the pool of that size; -ENOTCONN; -EAGAIN the machine is overloaded, or channels are just being closed: it was tried for a minute,
 * try again. sim_why() names the numbers.
 */
SIM_API SIM_MUST_CHECK int sim_advertise(struct sim_client *c, const char *channel, const struct sim_type *type,
					 const struct sim_publisher_options *o, struct sim_publisher **ret);
/*
 * The same, of messages that come from another machine: `host` is its name, 1 to 39 printable characters, shown by `simctl list`. Copied.
 * For bridges that carry slots between machines. Also -EINVAL: no such name.
 */
#define SIM_HOST_NAME_MAX 39
SIM_API SIM_MUST_CHECK int sim_advertise_from(struct sim_client *c, const char *channel, const struct sim_type *type,
					      const struct sim_publisher_options *o, const char *host,
					      struct sim_publisher **ret);
/* Loans go back; messages that were accepted still complete. NULL is fine. */
SIM_API void sim_publisher_destroy(struct sim_publisher *p);

/*
 * Loan a slot with room for `body_size` bytes. Header filled: type, ids, frame_id, stamp_sim_ns = now
 * (the caller may set an earlier capture time). Body undefined: use the type's initialiser.
 * Longer than max_body: simd is asked for larger slots, which takes a moment (memory is made, and its subscribers' queues are of such
 * slots from now on); all that those slots hold is max_body then. Loans that are out stay as they are.
 * Returns: 0; -EMSGSIZE no slot can be that large; -ENOSPC no room for such slots; -ENOBUFS 8 loans are out (of slots from 384 MiB on 2, of 512 MiB 1); -ENOMEM the pool is empty; -EBUSY; -ESTALE; -ENOTCONN.
 */
SIM_API SIM_MUST_CHECK int sim_loan(struct sim_publisher *p, size_t body_size, struct sim_slot **ret);
/* Give a loan back. -EINVAL: not a loan of this publisher. */
SIM_API int sim_unloan(struct sim_publisher *p, struct sim_slot *slot);
/* Shrink (never grow) the valid body of a loan before it is published. */
SIM_API int sim_slot_set_size(struct sim_slot *slot, size_t body_size);

/* Runs exactly once. ok: every bridge took it (message converted and handed over). reason: why not. */
typedef void (*sim_done_fn)(void *user, bool ok, enum sim_reason reason);

/* token, cb may be NULL. See the contract above. */
SIM_API SIM_MUST_CHECK int sim_try_queue(struct sim_publisher *p, struct sim_slot *slot, struct sim_token *token,
					 sim_done_fn cb, void *user);

/*
 * Deep copy of `body` (a reused buffer: the caller may change it as soon as this returns) into a slot of
 * its size class, made only after pause, token and credit have passed. stamp_sim_ns 0: now. Errors as
 * sim_loan() and sim_try_queue(); the callback runs in every case but -EINVAL.
 */
SIM_API SIM_MUST_CHECK int sim_try_queue_copy(struct sim_publisher *p, const void *body, size_t body_size,
					      int64_t stamp_sim_ns, struct sim_token *token, sim_done_fn cb,
					      void *user);

/*
 * Queue and wait for the outcome: 0 delivered, -EIO it was accepted but not delivered (*ret_reason is why), or a
 * refusal. Not from a callback.
 */
SIM_API SIM_MUST_CHECK int sim_publish_sync(struct sim_publisher *p, struct sim_slot *slot, struct sim_token *token,
					    enum sim_reason *ret_reason);

/*
 * To local subscribers only: no pause check, no token, no callback. Takes the slot in every case but -EINVAL. On a
 * channel that is dispatched such a message shares the window for a moment, so that simd's queue cannot
 * overflow: -EAGAIN and -ETIMEDOUT as in sim_try_queue(), never with SIM_PUB_LOCAL. Works while disconnected from simd.
 */
SIM_API SIM_MUST_CHECK int sim_publish_local(struct sim_publisher *p, struct sim_slot *slot);
SIM_API SIM_MUST_CHECK int sim_publish_local_copy(struct sim_publisher *p, const void *body, size_t body_size,
						  int64_t stamp_sim_ns);

/* How the bridges of the channel stand, read from shared memory: no lock, no round trip. */
struct sim_bridges {
	uint32_t total, connected;
};
SIM_API struct sim_bridges sim_publisher_bridges(const struct sim_publisher *p);
/*
 * Wait until they stand otherwise than *known, for at most that long (negative: for ever). A disconnection from simd is a
 * change too: then there are none. Any thread; the publisher may be used meanwhile, and must not be destroyed.
 * Returns: 1, *known is how they stand now; 0 the time is over; -EINVAL; -EPERM in a fork.
 */
SIM_API SIM_MUST_CHECK int sim_publisher_bridges_wait(const struct sim_publisher *p, struct sim_bridges *known,
						      int64_t timeout_dur_ns);
/*
 * Anybody on this machine, simd included where the channel is dispatched. Also false while another thread is in a call of this publisher:
 * who waits for a subscriber asks in the thread that publishes.
 */
SIM_API bool sim_publisher_has_subscribers(const struct sim_publisher *p);
/*
 * How many subscriptions of the channel are other clients' than the publisher's; simd's own, for bridges, are not counted. Read from shared
 * memory: no round trip. Whoever has subscribed is counted before it is told so: for 0 nobody else misses the next message,
 * if that does not go out. UINT32_MAX: unknown, so there may be some: disconnected from simd, in the seconds after that, when not
 * everybody may have come back, another thread is inside, or simd is of a version that does not say.
 */
SIM_API uint32_t sim_publisher_subscribers_elsewhere(const struct sim_publisher *p);
/*
 * A message that the program hands over inside itself, without a slot, because nobody else subscribes: counts it as sim_publish_local()
 * would, by body_size and stamp_sim_ns of its header, where it puts the next sequence number, so that one publisher may change between
 * the two, and the time of publishing, if publish_mono_ns is 0: who has just looked at the clock says it. Only with SIM_PUB_LOCAL.
 * Returns: 0; -EOPNOTSUPP without that; -EINVAL; -EBUSY.
 */
SIM_API SIM_MUST_CHECK int sim_publisher_count_local(struct sim_publisher *p, struct sim_slot *header);

/* An exclusive token, shared by name between processes (1..63 characters). Close when no message uses it any more. */
SIM_API SIM_MUST_CHECK int sim_token_open(struct sim_client *c, const char *name, struct sim_token **ret);
SIM_API void sim_token_close(struct sim_token *t);

#ifdef __cplusplus
}
#endif
#endif
