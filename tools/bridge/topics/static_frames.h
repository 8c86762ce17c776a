/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fixed frames of a topic: collects those of all sensors, so that one message gives all of them to a late
 * subscriber, as tf2's StaticTransformBroadcaster does. Thread: any; the lock keeps frames in the order in which they
 * are added and sent.
 */
#ifndef STATIC_FRAMES_H
#define STATIC_FRAMES_H

#include "map.h"

#define STATIC_FRAMES_MAX 1024u /* frames */

struct static_frames;

int static_frames_create(struct static_frames **ret);
struct static_frames *static_frames_ref(struct static_frames *t);
void static_frames_unref(struct static_frames *t); /* t may be NULL */

/*
 * Adds the frames of a sim/Transforms, keeping the newest of each child frame, and makes `in` the body with all. Locked
 * until static_frames_unlock(), also after an error: -EBADMSG malformed body, -E2BIG too many frames, -ENOMEM.
 */
int static_frames_lock_and_add(struct static_frames *t, struct map_message *in);
/* Changes whenever a frame is added or changed. The caller holds the lock. */
uint64_t static_frames_version(const struct static_frames *t);
void static_frames_unlock(struct static_frames *t);

#endif
