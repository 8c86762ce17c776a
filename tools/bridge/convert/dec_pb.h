/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder of what enc_pb.h writes, or a peer by the .proto of pb_proto.h: fields by number, which is their order in
 * the definition, in any order on the wire. A missing field reads as 0 or empty; fields that are not requested, or have
 * another wire type, are skipped; if a field occurs twice, the last one counts. Arrays of numbers may be packed or not.
 *
 * For messages with a .proto of their own, by its table (pb_table.h): as protobuf reads them, except that of a singular
 * message that occurs twice the last one counts, and that unknown fields are dropped, and the first of them is
 * reported.
 *
 * Limits: DEC_PB_DEPTH levels; fields above DEC_PB_FIELDS are skipped. err also: -E2BIG, -ENOMEM. Memory: arrays that
 * cannot be used in place are converted into memory that is valid until the next message. Thread: one per decoder. It
 * is large: allocate it on the heap.
 */
#ifndef DEC_PB_H
#define DEC_PB_H

#include <sim/decode.h>

#include "pb_reader.h"
#include "pb_table.h"

#define DEC_PB_DEPTH  16u
#define DEC_PB_FIELDS 256u

struct dec_pb_field {
	const uint8_t *first, *last; /* its first and last occurrence in the message */
	uint64_t made;               /* `made` of the message that it belongs to; an entry with another is stale */
};

struct dec_pb_level {
	struct pb_reader r; /* in the message; in a list: after the element read last */
	uint32_t number;    /* of the field read last; with a table its index there, from 1 */
	uint32_t tag;       /* its field number */
	bool list;
	bool asks;                      /* the `present` words are read next */
	const struct pb_message *table; /* of the message; in a list, of its elements; NULL: none */
	uint32_t present[PB_TABLE_WORDS];
	uint64_t made;
	struct dec_pb_field field[DEC_PB_FIELDS + 1];
};

struct dec_pb {
	struct sim_dec dec; /* first member; the interface for reading */
	int error;          /* set by the readers */
	/*
	 * with a table, of the current message: number of the first field that the table lacks, or has with another
	 * type; 0: none
	 */
	uint32_t unknown;
	uint64_t made; /* counts opened messages */
	unsigned depth;
	struct dec_pb_block *blocks;
	struct dec_pb_level level[DEC_PB_DEPTH];
};

/* Call before the first message, and after the last one. */
void dec_pb_init(struct dec_pb *d);
void dec_pb_finish(struct dec_pb *d);

/* Starts reading a message. Borrows data until the last read. Errors are set in dec.err, here or later. */
void dec_pb_begin(struct dec_pb *d, const void *data, size_t len);
/* The same with a table, for generic_read() of its type. Borrows the table as well. */
void dec_pb_begin_table(struct dec_pb *d, const void *data, size_t len, const struct pb_message *table);

#endif
