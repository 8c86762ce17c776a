/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the decoders of formats with names have in common (JSON, CBOR), in the words of <sim/decode.h>: a field is found by its
 * name, in any order; one that is missing (or null) reads as 0 and empty, a number that is null as NaN; one that nobody asked
 * for is ignored and counted. A field that occurs twice is an error. An envelope is a message too: sim_dec_string(d, "op"),
 * sim_dec_begin(d, "msg"), conversion_in_take() ...
 *
 * Bounds: 32 levels deep, 256 fields a message and 1024 in all messages that are open at once: -EMSGSIZE. Memory: what is not
 * in the message as it must lie in memory (base64, numbers as text) is converted into memory that stays for the next message.
 * Thread: one's.
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
	const uint8_t *at; /* of a list: the next element; NULL: the message or list is not there */
	uint32_t left;     /* elements */
	unsigned first;    /* of its fields */
	unsigned next;     /* field behind the one found last: fields come in order, most often */
	bool list;
};

struct named_reader {
	struct sim_dec dec; /* first: what is read from; err: also -EMSGSIZE, over a bound */
	const struct named_format *format;
	const uint8_t *end; /* of the message */
	struct named_level level[NAMED_DEPTH];
	unsigned depth;
	struct named_field field[NAMED_OPEN];
	unsigned n_fields;
	uint32_t ignored;     /* fields that nobody asked for, of the messages that were read */
	char ignored_one[64]; /* name of the first of them, "" for none */
	struct named_block *blocks;
};

/* After the last read of a message: counts the fields of itself, not of an envelope, that nobody asked for. */
void named_reader_end(struct named_reader *r);

/* Before the first message, and after the last. */
void named_reader_init(struct named_reader *r);
void named_reader_finish(struct named_reader *r);

#endif
