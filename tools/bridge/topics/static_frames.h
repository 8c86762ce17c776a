/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fixed frames of a topic: those of all sensors, kept together, so that one message has all of them for a late reader, as
 * tf2's StaticTransformBroadcaster does. Thread: any; what is added and sent is in one order, that of the lock.
 */
#ifndef STATIC_FRAMES_H
#define STATIC_FRAMES_H

#include "map.h"

#define STATIC_FRAMES_MAX 1024u /* frames */

struct static_frames;

int static_frames_create(struct static_frames **ret);
void static_frames_destroy(struct static_frames *t); /* NULL is fine */

/*
 * Add the frames of a sim/Transforms, the newest of each child frame, and make `in` the body with all. It is locked
 * until static_frames_unlock(), also where it fails: -EBADMSG the body does not hold together, -E2BIG too many frames, -ENOMEM.
 */
int static_frames_lock_and_add(struct static_frames *t, struct map_message *in);
void static_frames_unlock(struct static_frames *t);

#endif
