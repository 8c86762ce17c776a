/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How protobuf encodes the fields of a type that was made from a protobuf definition (pb_type.h): used by enc_pb.h and
 * dec_pb.h instead of the order of the definition. Constant: any thread.
 */
#ifndef PB_TABLE_H
#define PB_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pb_writer.h"

#define PB_TABLE_FIELDS 255u /* of a message; our type has one more, `present` */
#define PB_TABLE_WORDS  8u   /* in `present` */

struct pb_message;

struct pb_entry {
	uint32_t number;
	enum pb_wire wire; /* of a single value: PB_VARINT, PB_FIXED64, PB_FIXED32, PB_LENGTH */
	bool zigzag;       /* sint32, sint64 */
	bool list;         /* repeated */
	bool packed;
	int16_t bit;                      /* bit in `present`; -1: the field is present if it is not 0 or empty */
	const struct pb_message *message; /* nested message, an array in our type; NULL: none, or carried as bytes */
	const void *absent;               /* default value; NULL: 0 or empty */
	size_t absent_len;
};

struct pb_message {
	const struct pb_entry *entry; /* sorted by number, as our fields are */
	uint32_t n;
	uint32_t words; /* of `present`, our first field, uint32[words]; 0: no `present`, and every entry has bit -1 */
};

#endif
