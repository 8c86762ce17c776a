/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common part of the decoders of formats with names (JSON, CBOR), for <sim/decode.h>: fields are found by name, in any
 * order; a missing (or null) field reads as 0 or empty, a null number as NaN; fields that are not requested are ignored
 * and counted. A field that occurs twice is an error. An envelope is a message too: sim_dec_string(d, "op"),
 * sim_dec_begin(d, "msg"), conversion_in_take() ...
 *
 * Limits: 32 levels, 256 fields in a message and 1024 in all open messages together: -EMSGSIZE. Memory: values that
 * cannot be used in place (base64, numbers as text) are converted into memory that is reused for the next message.
 * Thread: one per reader.
 */
#ifndef NAMED_READER_H
#define NAMED_READER_H

#include <stdbool.h>

#include <sim/decode.h>

#define NAMED_DEPTH  32
#define NAMED_FIELDS 256u
#define NAMED_OPEN   1024u

struct named_field {
	const char *key;
	uint32_t key_len;
	bool taken;
	const uint8_t *at; /* the value */
};

struct named_level {
	const uint8_t *at; /* in a list: the next element; NULL: the message or list is missing */
	uint32_t left;     /* elements */
	unsigned first;    /* index of its first field */
	unsigned next;     /* the field after the one found last, since fields are usually in order */
	bool list;
};

struct named_reader {
	struct sim_dec dec; /* first member; the interface for reading; err also: -EMSGSIZE, over a limit */
	const struct named_format *format;
	const uint8_t *end; /* of the message */
	struct named_level level[NAMED_DEPTH];
	unsigned depth;
	struct named_field field[NAMED_OPEN];
	unsigned n_fields;
	uint32_t ignored;     /* unrequested fields of the messages read so far */
	char ignored_one[64]; /* name of the first of them; "": none */
	struct named_block *blocks;
};

/* Call after the last read of a message: counts the unrequested fields of the message itself, not of an envelope. */
void named_reader_end(struct named_reader *r);

/* Call before the first message, and after the last one. */
void named_reader_init(struct named_reader *r);
void named_reader_finish(struct named_reader *r);

#endif
