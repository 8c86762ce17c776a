/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How protobuf has the fields of a type of ours that was made of a definition of protobuf (pb_type.h): what enc_pb.h and dec_pb.h go by instead of
 * the order of the definition. Constant: any thread.
 */
#ifndef PB_TABLE_H
#define PB_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pb_writer.h"

#define PB_TABLE_FIELDS 255u /* of a message; the field of ours that says which are there is one more */
#define PB_TABLE_WORDS  8u   /* that it may have */

struct pb_message;

struct pb_entry {
	uint32_t number;
	enum pb_wire wire; /* of one value: PB_VARINT, PB_FIXED64, PB_FIXED32, PB_LENGTH */
	bool zigzag;       /* sint32, sint64 */
	bool list;         /* repeated */
	bool packed;
	int16_t bit; /* in the words that say which are there; -1: it is there where it is not 0 or empty */
	const struct pb_message
		*message;   /* what it nests, in an array of ours; NULL: it nests none, or is carried as its bytes */
	const void *absent; /* what it reads as where it is not there; NULL: 0 or empty */
	size_t absent_len;
};

struct pb_message {
	const struct pb_entry *entry; /* in the order of their numbers, as the fields of ours are */
	uint32_t n;
	uint32_t words; /* of the first field of ours, uint32[words]; 0: there is none, every entry has the bit -1 */
};

#endif
