/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the Object of a client's frame in place, for speed. Pure, any thread. */
#ifndef WORLD_OBJECT_IN_H
#define WORLD_OBJECT_IN_H

#include "store.h"

/*
 * code: the frame's. ret->body: the caller owns a reference. -EBADMSG: malformed protobuf or body; -E2BIG: the body is
 * too long; -ENOMEM.
 */
int object_decode(uint8_t code, const uint8_t *data, size_t len, struct store_update *ret)
	__attribute__((warn_unused_result));

#endif
