/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a google.protobuf.FileDescriptorSet, and the messages and enums that they define, by full name. The set
 * is untrusted, and limited to PB_FILES_MAX files and PB_SYMBOLS_MAX names. Borrows the set. Thread: one; constant
 * afterwards.
 */
#ifndef PB_FILES_H
#define PB_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pb_reader.h"

#define PB_FILES_MAX   1024u
#define PB_SYMBOLS_MAX 16384u

struct arena;

struct pb_text { /* borrowed from the set */
	const void *at;
	size_t len;
};

struct pb_file {
	struct pb_text blob, name, package, syntax;
	bool needed, followed; /* pb_files_need() */
};

struct pb_symbol {
	const char *name;    /* "apollo.routing.RoutingRequest" */
	size_t package_len;  /* of its package */
	struct pb_text blob; /* its DescriptorProto or EnumDescriptorProto */
	unsigned file;
	bool is_enum;
	bool refused; /* pb_type_make() has found that no type can be made of it */
};

struct pb_files {
	struct arena *arena;
	struct pb_file *file;
	unsigned n;
	struct pb_symbol *symbol; /* sorted */
	unsigned n_symbols;
};

/* Allocates from the arena. 0, -EBADMSG, -E2BIG over a limit, -ENOMEM. */
int pb_files_read(struct pb_files *s, struct arena *arena, const void *set, size_t size);
/* name: with or without the leading dot. NULL: not found. */
const struct pb_symbol *pb_files_find(const struct pb_files *s, const void *name, size_t len);
/* Marks the file of a symbol, and all that it imports. */
void pb_files_need(struct pb_files *s, const struct pb_symbol *symbol);

/* The last field `field` of a descriptor's message; {NULL, 0}: there is none. */
struct pb_text pb_text_of(struct pb_text message, uint32_t field);
bool pb_text_is(struct pb_text a, const char *s);
/* A reader at its beginning. *error must be 0, see pb_reader.h. */
struct pb_reader pb_text_reader(struct pb_text message, int *error);

#endif
