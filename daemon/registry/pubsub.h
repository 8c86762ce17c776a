/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishers and subscribers of channels: what Advertise and Subscribe do once the request is decoded. Their data is the
 * channel's (channel.h).
 *
 * Thread: simd-main.
 */
#ifndef REGISTRY_PUBSUB_H
#define REGISTRY_PUBSUB_H

#include <jansson.h>
#include <stdint.h>

struct client;
struct publisher;
struct subscriber;

/* A flag of Advertise that comes from libsimclient's public header. */
#define ADVERTISE_LATCH   (1 << 1)
#define ADVERTISE_LOCAL   (1 << 2)
#define ADVERTISE_INBOUND (1 << 3)

struct advertise {
	const char *channel; /* as the client wrote it */
	json_t *type;        /* {"name","hash",...} */
	int64_t max_body;
	int64_t flags;    /* enum sim_publisher_flag */
	const char *host; /* the machine that its messages come from; NULL: this one */
};

/*
 * Errors of both, with a sentence: -EINVAL, -EMEDIUMTYPE another type, -EMSGSIZE, -ENOSPC pool, -EMFILE a
 * limit, -EACCES a bridge writes a channel that the rig does not list, -ESTALE the data plane is restarting.
 */
/* ret_bell: the doorbell of the channel's shard, at the client's first publisher there, caller closes; else -1. */
int pubsub_advertise(struct client *cl, const struct advertise *asked, struct publisher **ret, int *ret_bell);
int pubsub_subscribe(struct client *cl, const char *channel, const char *type, const char *hash, int64_t depth,
		     struct subscriber **ret);
int pubsub_unadvertise(struct client *cl, uint32_t publisher_id); /* -ENOENT */
/*
 * Its messages may have up to max_body bytes from now on, or somewhat more: all that the slots of that class hold. Its channel grows with
 * it, and has the window that is usual for such messages. -ENOENT, -EMSGSIZE, -ENOSPC, -ESTALE.
 */
int pubsub_enlarge(struct client *cl, uint32_t publisher_id, uint64_t max_body, struct publisher **ret);
/* Its queue holds `depth` messages, and its client has no other one. Returns how many it is to hold; -ENOENT. */
int pubsub_requeue(struct client *cl, uint32_t subscriber_id, uint32_t depth, struct subscriber **ret);
/* fn runs once when dispatch takes such messages, too; not of a publisher for local subscribers only. -ENOMEM. */
int pubsub_when_enlarged(const struct publisher *p, void (*fn)(void *arg), void *arg);
int pubsub_unsubscribe(struct client *cl, uint32_t subscriber_id);
/* All that the client has; dispatch forgets its publishers by itself. */
void pubsub_close_all(struct client *cl);

#endif
