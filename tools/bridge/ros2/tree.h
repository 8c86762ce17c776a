/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fixed frames of a topic: what every sensor said of its own, kept together, so that one message tells a late reader all, as
 * tf2's StaticTransformBroadcaster does. Thread: any; what is added and sent is in one order, that of the lock.
 */
#ifndef TREE_H
#define TREE_H

#include "map.h"

#define TREE_MAX 1024u /* frames */

struct tree;

int tree_create(struct tree **ret);
void tree_destroy(struct tree *t); /* NULL is fine */

/*
 * Add what a sim/Transforms says, the newest of each child frame, and make `in` the body that says all. The tree is locked
 * until tree_unlock(), also where it fails: -EBADMSG the body does not hold together, -E2BIG too many frames, -ENOMEM.
 */
int tree_lock_and_add(struct tree *t, struct map_in *in);
void tree_unlock(struct tree *t);

#endif
