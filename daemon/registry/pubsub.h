/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishers and subscribers of channels: the work of Advertise and Subscribe after decoding. Their data is in
 * channel.h.
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

/* A flag of Advertise that is defined in libsimclient's public header. */
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
 * Errors of both, with err_why() set: -EINVAL, -EMEDIUMTYPE: another type; -EMSGSIZE; -ENOSPC: pool; -EMFILE: a limit;
 * -EACCES: a bridge publishes a channel that the rig does not list; -ESTALE: the data plane is restarting.
 */
/*
 * ret_bell: the doorbell of the channel's shard, for the client's first publisher there; the caller closes it; else -1.
 */
int pubsub_advertise(struct client *cl, const struct advertise *asked, struct publisher **ret, int *ret_bell);
int pubsub_subscribe(struct client *cl, const char *channel, const char *type, const char *hash, int64_t depth,
		     struct subscriber **ret);
int pubsub_unadvertise(struct client *cl, uint32_t publisher_id); /* -ENOENT */
/*
 * Raises the publisher's limit to bodies of max_body, or to the full size of the slots of that class. Its channel grows
 * with it, and gets the usual window for such messages. -ENOENT, -EMSGSIZE, -ENOSPC, -ESTALE.
 */
int pubsub_enlarge(struct client *cl, uint32_t publisher_id, uint64_t max_body, struct publisher **ret);
/*
 * The client reports that its queue now holds `depth` messages, and that the old queue is gone. Returns the depth that
 * it is to have; -ENOENT.
 */
int pubsub_requeue(struct client *cl, uint32_t subscriber_id, uint32_t depth, struct subscriber **ret);
/* fn runs once, when dispatch also accepts the larger messages; not for local-only publishers. -ENOMEM. */
int pubsub_when_enlarged(const struct publisher *p, void (*fn)(void *arg), void *arg);
int pubsub_unsubscribe(struct client *cl, uint32_t subscriber_id);
/* Removes all publishers and subscribers of the client; dispatch forgets the publishers by itself. */
void pubsub_close_all(struct client *cl);

#endif
