/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which fields of Apollo's messages we write, and how a set of definitions describes them: to find what a user's
 * definitions lack. The set is untrusted. Pure functions: any thread.
 */
#ifndef APOLLO_SENT_H
#define APOLLO_SENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define APOLLO_SENT_MAX 24u

struct apollo_sent {
	const char *message;            /* "apollo.common.Header" */
	uint8_t field[APOLLO_SENT_MAX]; /* field numbers, of either family; terminated by 0 */
};

/* The i-th message; NULL: no further one. */
const struct apollo_sent *apollo_sent_at(unsigned i);

/* ---- in a set of definitions ---- */

struct apollo_file;

struct apollo_descriptor { /* a DescriptorProto; borrows */
	const void *data;
	size_t len;
};

struct apollo_field { /* a FieldDescriptorProto; borrows */
	const void *name, *type_name;
	size_t name_len, type_name_len;
	uint32_t number, label, type;
};

/* Finds the message with this full name, also a nested one. False: it does not exist. */
bool apollo_message_find(const struct apollo_file *files, size_t n, const char *name, struct apollo_descriptor *ret);
bool apollo_field_find(const struct apollo_descriptor *message, uint32_t number, struct apollo_field *ret);
/* Whether a field written by one definition can be read by the other: same name, form and message type. */
bool apollo_field_reads(const struct apollo_field *a, const struct apollo_field *b);

#endif
