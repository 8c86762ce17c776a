/* SPDX-License-Identifier: Apache-2.0 */
/* The Object of a client's frame, read in place: there are many of them. Pure, any thread. */
#ifndef WORLD_OBJECT_IN_H
#define WORLD_OBJECT_IN_H

#include "store.h"

/* code: the frame's. Body: a reference of the caller's. -EBADMSG no protobuf, or its body is none; -E2BIG the body; -ENOMEM. */
int object_decode(uint8_t code, const uint8_t *data, size_t len, struct store_update *ret)
	__attribute__((warn_unused_result));

#endif
