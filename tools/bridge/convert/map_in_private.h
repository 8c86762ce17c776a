/* SPDX-License-Identifier: Apache-2.0 */
/* What the map_in*.c files share. */
#ifndef MAP_IN_PRIVATE_H
#define MAP_IN_PRIVATE_H

#include <errno.h>

#include "map_in.h"

/* struct sim_T *m = START(T): a zeroed message at the start of to->buf, or -ENOBUFS is returned */
#define START(T) \
	struct sim_builder builder; \
	struct sim_##T *m = sim_##T##_init(to->buf, to->room, &builder); \
	if (!m) \
	return -ENOBUFS

/* The message's own header: stamp and frame go with the body. A frame that no slot has room for is -EMSGSIZE. */
int64_t map_in_header(struct sim_dec *d, struct message_in *to);
/* The same of a message that has a stamp alone. */
int64_t map_in_stamp(struct sim_dec *d, const char *name, struct message_in *to);

static inline int map_in_finish(const struct sim_builder *b, struct message_in *to)
{
	to->size = sim_builder_size(b);
	return sim_builder_error(b);
}

/* clang-format off */
/* X(name, what decodes its `data`): the types of std_msgs that are one number */
#define MAP_IN_STD(X) \
	X(Bool, bool) X(Int8, i8) X(Int16, i16) X(Int32, i32) X(Int64, i64) X(UInt8, u8) X(UInt16, u16) X(UInt32, u32) \
	X(UInt64, u64) X(Float32, f32) X(Float64, f64)
/* clang-format on */

#define X(name, suffix) int map_in_##name(struct sim_dec *d, struct message_in *to);
MAP_IN_STD(X)
#undef X
int map_in_String(struct sim_dec *d, struct message_in *to);

int map_in_detections_2d(struct sim_dec *d, struct message_in *to);
int map_in_detections_3d(struct sim_dec *d, struct message_in *to);
int map_in_detected_objects(struct sim_dec *d, struct message_in *to);

#endif
