/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder of what enc_pb.h writes, or a peer by the .proto of pb_proto.h: fields by number, which is their order in the
 * definition, in any order on the wire. One that is missing reads as 0 and empty, one that nobody asks for is passed over, as
 * one of another wire type is; of one that comes twice the last counts. Arrays of numbers may be packed or not.
 *
 * Of messages that have a .proto by its table instead (pb_table.h): as protobuf reads them, but for a singular message that comes twice, whose last
 * one counts, and the fields that nobody knows: they are left out, and the first of them is named.
 *
 * Bounds: DEC_PB_DEPTH levels; fields above DEC_PB_FIELDS are passed over. err also: -E2BIG, -ENOMEM. Memory: arrays that do
 * not lie in the message as they must in memory are converted into memory that stays until the next message.
 * Thread: one's. It is large: keep it on the heap.
 */
#ifndef DEC_PB_H
#define DEC_PB_H

#include <sim/decode.h>

#include "pb_reader.h"
#include "pb_table.h"

#define DEC_PB_DEPTH  16u
#define DEC_PB_FIELDS 256u

struct dec_pb_field {
	const uint8_t *first, *last; /* where it stands */
	uint64_t made;               /* of the message it belongs to: a stale entry has another */
};

struct dec_pb_level {
	struct pb_reader r; /* the message; of a list: behind the element that was read */
	uint32_t number;    /* of the field that was read last; with a table its place there, from 1 */
	uint32_t tag;       /* its number on the wire */
	bool list;
	bool asks;                      /* the words of the table come next */
	const struct pb_message *table; /* of the message, of a list: of its elements; NULL: none */
	uint32_t present[PB_TABLE_WORDS];
	uint64_t made;
	struct dec_pb_field field[DEC_PB_FIELDS + 1];
};

struct dec_pb {
	struct sim_dec dec; /* first: what is read from */
	int error;          /* of the readers */
	uint32_t unknown; /* with a table, of the message so far: the number of the first field that it lacks, or has otherwise; 0: none */
	uint64_t made; /* messages that were opened */
	unsigned depth;
	struct dec_pb_block *blocks;
	struct dec_pb_level level[DEC_PB_DEPTH];
};

/* Before the first message, and after the last. */
void dec_pb_init(struct dec_pb *d);
void dec_pb_finish(struct dec_pb *d);

/* One message. Borrows data until the last read. What is wrong is found in dec.err, here or later. */
void dec_pb_begin(struct dec_pb *d, const void *data, size_t len);
/* The same by a table, for generic_read() of the type that it belongs to. Borrows the table as well. */
void dec_pb_begin_table(struct dec_pb *d, const void *data, size_t len, const struct pb_message *table);

#endif
