/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receiving. A subscriber queues up to `depth` messages and hands them out oldest first; a reader
 * keeps the latest N and is observed as a whole (as in Cyber). Both hand out messages whose body lies in
 * place, in shared memory: read-only, valid until released.
 */
#ifndef SIM_SUBSCRIBER_H
#define SIM_SUBSCRIBER_H

#include <sim/client.h>
#include <sim/introspect.h>
#include <sim/slot.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sim_subscriber;
struct sim_reader;

enum sim_subscriber_flag {
	SIM_SUB_LATCHED = 1u << 0, /* ask for the last message of latching publishers */
	SIM_SUB_FD = 1u << 1,      /* keep a descriptor to poll (one more wake-up, a helper thread) */
};

struct sim_subscriber_options {
	size_t size; /* sizeof(struct sim_subscriber_options) of the caller */
	/*
	 * queue capacity 1..256; 0: 16. When full, the oldest is dropped. Where memory is short the queue is smaller,
	 * and its size may change: sim_subscriber_depth()
	 */
	unsigned depth;
	unsigned flags;      /* enum sim_subscriber_flag */
	int64_t spin_dur_ns; /* sim_wait() polls that long before it sleeps, which keeps a core busy; 0: never */
};

/*
 * Subscribes to a channel, which need not exist yet. type NULL: any (see sim_slot.type_hash and sim_channel_type());
 * kept until the subscriber is destroyed.
 * Returns: 0; -EINVAL; -EMEDIUMTYPE the channel exists with another type; -EMFILE no port left; -ENOTCONN.
 */
SIM_API SIM_MUST_CHECK int sim_subscribe(struct sim_client *c, const char *channel, const struct sim_type *type,
					 const struct sim_subscriber_options *o, struct sim_subscriber **ret);
SIM_API void sim_subscriber_destroy(struct sim_subscriber *s); /* releases what is held; NULL is fine */

/*
 * Takes the oldest queued message; release it with sim_release(). Slots with a foreign magic, version, type or size are
 * released and counted, never handed out.
 * Returns: 0; -EAGAIN the queue is empty; -ENOBUFS 256 messages are held; -EBUSY; -ENOMEM; -ESTALE for a moment after a
 * restart.
 */
SIM_API SIM_MUST_CHECK int sim_take(struct sim_subscriber *s, const struct sim_message **ret);
SIM_API int sim_release(struct sim_subscriber *s, const struct sim_message *m);

/*
 * Waits until a message can be taken. Returns: 1; 0 timed out (timeout_dur_ns of wall time, < 0: for ever); -EBUSY;
 * -ENOTCONN once the client has failed for good.
 */
SIM_API SIM_MUST_CHECK int sim_wait(struct sim_subscriber *s, int64_t timeout_dur_ns);
/*
 * Makes the sim_wait() that is under way, or the next one, return 0 at once, unless a message can be taken. Any thread,
 * the subscriber's included; s must not be destroyed meanwhile.
 */
SIM_API void sim_wait_cancel(struct sim_subscriber *s);
/* Readable when a message can be taken (SIM_SUB_FD); poll only, and take until -EAGAIN. -EINVAL without the flag. */
SIM_API int sim_subscriber_fd(const struct sim_subscriber *s);
/* Messages that its queue holds: as many as were asked for, or as memory allowed. Any thread. */
SIM_API uint32_t sim_subscriber_depth(const struct sim_subscriber *s);

struct sim_subscriber_stats {
	uint64_t received; /* handed out */
	uint64_t lost;     /* gaps in the sequence numbers of the publishers */
	uint64_t invalid;  /* refused: foreign magic, version, type or size */
};
SIM_API void sim_subscriber_stats(const struct sim_subscriber *s, struct sim_subscriber_stats *ret);

/*
 * Returns a reference to the channel's type as simd knows it (sim_type_unref()). -ENOENT: the channel was never
 * advertised.
 */
SIM_API SIM_MUST_CHECK int sim_channel_type(struct sim_client *c, const char *channel, const struct sim_type **ret);

/* Reader: the latest `depth` messages, all of one clock generation: a jump (sim/clock.h) clears it. */
SIM_API SIM_MUST_CHECK int sim_reader_create(struct sim_client *c, const char *channel, const struct sim_type *type,
					     unsigned depth, struct sim_reader **ret);
SIM_API void sim_reader_destroy(struct sim_reader *r);
/* Receives what has arrived. Returns how many messages are new. */
SIM_API int sim_reader_observe(struct sim_reader *r);
/* i-th latest (0 = newest) of what was observed; NULL when there are fewer. Borrows until the next observe. */
SIM_API const struct sim_message *sim_reader_get(const struct sim_reader *r, unsigned i);
/* Waits for a new message, then observes. As sim_wait(). */
SIM_API SIM_MUST_CHECK int sim_reader_wait(struct sim_reader *r, int64_t timeout_dur_ns);

#ifdef __cplusplus
}
#endif
#endif
