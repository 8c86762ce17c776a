/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of each limited resource that the clients of one user may have together: limits.per_user_percent. Root and
 * simd's own user are not limited. -EMFILE, for slots -ENOSPC, with err_why() set.
 *
 * Thread: simd-main.
 */
#ifndef REGISTRY_PARTS_H
#define REGISTRY_PARTS_H

#include <stdbool.h>
#include <stdint.h>

struct channel;
struct client;

/*
 * Whether the user may have one more publisher, or subscriber, on the channel. If the channel has none yet, it must fit
 * into the user's part of the channels too.
 */
int parts_publisher_ok(const struct client *cl, const struct channel *ch);
int parts_subscriber_ok(const struct client *cl, const struct channel *ch);

/*
 * Whether the user may have the slots for a publisher of bodies of max_body. A user's slots are those of its publishers
 * and subscribers, and the windows of the channels that it publishes on; those of its subscribers that move to another
 * class with the channel count too. local: the channel needs no window. *ret_window: the widest window that the channel
 * may then have; 0: not limited.
 */
int parts_publish_ok(const struct client *cl, const struct channel *ch, uint64_t max_body, bool local,
		     uint32_t *ret_window);
/* How many more slots of a class its user may have. */
uint32_t parts_slots_left(const struct client *cl, int cls);
int parts_slots_ok(const struct client *cl, const struct channel *ch, int cls, uint32_t more);

#endif
