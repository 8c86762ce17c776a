/* SPDX-License-Identifier: Apache-2.0 */
/* Our reader and protobuf-c's on the same bytes: for a test and a fuzz harness. Thread: one. */
#ifndef PB_COMPARE_H
#define PB_COMPARE_H

#include "tools/bridge/convert/pb_reader.h"
#include "unit/convert/pb_random.h"

enum pb_taken {
	PB_BOTH, /* and they have read the same */
	PB_NEITHER,
	PB_OURS, /* protobuf-c refuses groups, and known fields of another wire type */
	PB_THEIRS, /* protobuf-c takes fields whose number there is not and bools of any wire type, and goes as deep as its stack */
	PB_DIFFERENT, /* what never is */
};

/* As a pb_test.Every. */
enum pb_taken pb_compare(const void *data, size_t len);

#endif
