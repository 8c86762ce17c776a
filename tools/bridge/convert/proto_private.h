/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by proto_*.c: tokens, the parts of a file's descriptor, options. */
#ifndef PROTO_PRIVATE_H
#define PROTO_PRIVATE_H

#include <stdint.h>

#include "proto_file.h"
#include "proto_lexer.h"

#define DEPTH_MAX 60u
#define PARTS     13u /* field numbers of a descriptor */

struct part {
	uint8_t *data;
	size_t n, room;
};

struct parser {
	struct proto_lexer l;
	const struct proto_ops *ops;
	void *arg;
	const char *name;
	char scope[PROTO_NAME_MAX + 1]; /* the full name of the enclosing message, "apollo.common.Header" */
	bool proto3, failed;
	unsigned depth;
	int error;
	char *why;
	size_t why_size;
};

/* Stores the first error, with the line of the current token. */
__attribute__((format(printf, 3, 4))) void proto_fail(struct parser *p, int error, const char *fmt, ...);

/* ---- writing ---- */

void proto_put(struct parser *p, struct part *o, const void *data, size_t n);
void proto_put_number(struct parser *p, struct part *o, unsigned field, int64_t v);
void proto_put_bytes(struct parser *p, struct part *o, unsigned field, const void *data, size_t n);
void proto_put_text(struct parser *p, struct part *o, unsigned field, const char *text);
/* Appends all parts in their order, as a message in field `field` of `to`; field 0: not as a message. Frees them. */
void proto_put_parts(struct parser *p, struct part *to, unsigned field, struct part parts[PARTS]);

/* ---- tokens ---- */

void proto_next(struct parser *p);
bool proto_is(const struct parser *p, const char *word);
bool proto_take(struct parser *p, const char *word);
void proto_expect(struct parser *p, const char *word);
void proto_expect_name(struct parser *p, char *ret, size_t size);
/* A path: "apollo.common.Header", ".apollo..." */
void proto_expect_path(struct parser *p, char ret[PROTO_NAME_MAX + 1]);
/* A string; adjacent ones are joined. The caller frees its data with free(). */
struct part proto_expect_text(struct parser *p);
/* A whole number, possibly negative. */
int64_t proto_expect_number(struct parser *p, int64_t min, int64_t max);

/* ---- names ---- */

/*
 * Resolves a name as protoc does: from the innermost scope outwards, by its first part. ret: the full name with a
 * leading dot.
 */
bool proto_resolve(struct parser *p, const char *name, char ret[PROTO_NAME_MAX + 2], bool *ret_enum);
/* Expects the path of a message; ret as in proto_resolve(). */
void proto_expect_message(struct parser *p, char ret[PROTO_NAME_MAX + 2]);

/* Parses SERVICE { ... }, from its name on, and appends it as a service of the file. */
void proto_service(struct parser *p, struct part *to);

/* ---- options ---- */

#define PROTO_OPTIONS_MAX 16u

enum proto_options_of {
	PROTO_OF_FILE,
	PROTO_OF_MESSAGE,
	PROTO_OF_FIELD,
	PROTO_OF_ENUM,
	PROTO_OF_VALUE,
	PROTO_OF_SERVICE,
	PROTO_OF_METHOD,
};

struct proto_options { /* options that were given, by number */
	unsigned number[PROTO_OPTIONS_MAX];
	struct part value[PROTO_OPTIONS_MAX];
	unsigned n;
};

/* Parses "option NAME = VALUE;" from NAME on. */
void proto_option_line(struct parser *p, enum proto_options_of of, struct proto_options *o);
/* Parses the value of an option; the current token is its first one. */
void proto_take_option(struct parser *p, const char *name, enum proto_options_of of, struct proto_options *o);
/* Appends them, sorted by number, as field `field` of `to`, if there are any; frees them. */
void proto_put_options(struct parser *p, struct part *to, unsigned field, struct proto_options *o);

#endif
