/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoder of protobuf, for messages that have no .proto of their own: fields are numbered from 1 in the order of
 * the definition, so that none is needed. pb_proto.h gives the peer a .proto, dec_pb.h reads such messages.
 *
 *   bool, int8 ... uint64, float32, float64   bool, int32, uint32, int64, uint64, float, double; always there
 *   string                                    string
 *   uint8[]                                   bytes
 *   other arrays of numbers                   repeated, packed
 *   time, duration                            message Time { int64 sec = 1; uint32 nanosec = 2; }, 0 <= nanosec < 1e9
 *   header                                    message Header { Time stamp = 1; string frame_id = 2; }, as in ROS 2
 *
 * Messages that have a .proto are encoded by its table (pb_table.h), which gives numbers and wire types; absent fields
 * are not written. The bytes are the same as those of protobuf's own code.
 */
#ifndef ENC_PB_H
#define ENC_PB_H

#include <sim/encode.h>

#include "pb_table.h"
#include "pb_writer.h"

#define ENC_PB_DEPTH (2 * PB_DEPTH_MAX) /* a list is a level, too */

struct enc_pb_level {
	uint32_t field; /* written last; with a table its index there, from 1; in a list: the list's own number */
	bool list;
	const struct pb_message *table; /* of the message; in a list, of its elements; NULL: none */
	bool asks;                      /* the `present` words come next */
	uint32_t present[PB_TABLE_WORDS];
};

struct enc_pb {
	struct sim_enc enc; /* first member; the interface for mappings */
	struct pb_writer w;
	struct enc_pb_level level[ENC_PB_DEPTH];
	unsigned depth;
	const struct pb_entry *entry; /* table entry of the current field; NULL: no table, or an element of a list */
	struct {                      /* numbers being filled in, to be written as varints */
		enum sim_kind kind;
		uint32_t n;
		uint8_t *to;
		const uint8_t *from;
		const struct pb_entry *entry;
	} late;
};

/* Starts a message after what is in out, which it borrows until enc_pb_finish(). */
void enc_pb_begin(struct enc_pb *e, struct iov_buf *out);
/* The same with a table, for generic_emit() of its type. Borrows the table as well. */
void enc_pb_begin_table(struct enc_pb *e, struct iov_buf *out, const struct pb_message *table);

/* Ends it. 0, or the first error: -ENOMEM, -E2BIG over a limit of pb_writer.h, or the mapping's. */
int enc_pb_finish(struct enc_pb *e);

#endif
