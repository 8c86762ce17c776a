/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which fields of Apollo's messages are written, and how a set of definitions describes them: for what a user's definitions lack. Nothing of a set is
 * trusted. Pure functions: any thread.
 */
#ifndef APOLLO_SENT_H
#define APOLLO_SENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define APOLLO_SENT_MAX 24u

struct apollo_sent {
	const char *message;            /* "apollo.common.Header" */
	uint8_t field[APOLLO_SENT_MAX]; /* numbers, of either family; up to a 0 */
};

/* All of them, i from 0 on; NULL: no more. */
const struct apollo_sent *apollo_sent_at(unsigned i);

/* ---- in a set ---- */

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

/* The message with that full name, also one within another. False: it is not there. */
bool apollo_message_find(const struct apollo_file *files, size_t n, const char *name, struct apollo_descriptor *ret);
bool apollo_field_find(const struct apollo_descriptor *message, uint32_t number, struct apollo_field *ret);
/* Whether what is written as the one is read as the other: name, form and message are the same. */
bool apollo_field_reads(const struct apollo_field *a, const struct apollo_field *b);

#endif
