/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of pb_every.proto with random content, as protobuf-c has them. Thread: the test's. */
#ifndef PB_RANDOM_H
#define PB_RANDOM_H

#include <stddef.h>

#include "unit/convert/pb_every.pb-c.h"

/* depth: how many messages may be nested in it. Returns; freed by pb_random_free(). */
PbTest__Every *pb_random(uint64_t *seed, unsigned depth);
void pb_random_free(PbTest__Every *m);

#endif
