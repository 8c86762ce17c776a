/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of what is there for all the clients of one user may have together: limits.per_user_percent, of which root and simd's own
 * user have no such bound. -EMFILE, for slots -ENOSPC, with a sentence.
 *
 * Thread: simd-main.
 */
#ifndef REGISTRY_PARTS_H
#define REGISTRY_PARTS_H

#include <stdbool.h>
#include <stdint.h>

struct channel;
struct client;

/* One more publisher, or subscriber, on the channel, which counts as well. */
int parts_publisher_ok(const struct client *cl, const struct channel *ch);
int parts_subscriber_ok(const struct client *cl, const struct channel *ch);

/*
 * Slots. A user has those of its publishers and subscribers, and the windows of the channels that it publishes on. Of a publisher for
 * bodies of max_body: also what its user's subscribers move to another class with the channel. local: there is no window.
 * *ret_window: no wider than that the channel's may be then; 0: as it would be anyway.
 */
int parts_publish_ok(const struct client *cl, const struct channel *ch, uint64_t max_body, bool local,
		     uint32_t *ret_window);
/* How many more of a class its user may have. */
uint32_t parts_slots_left(const struct client *cl, int cls);
int parts_slots_ok(const struct client *cl, const struct channel *ch, int cls, uint32_t more);

#endif
