/* SPDX-License-Identifier: Apache-2.0 */
/* What proto_*.c share: the words of a file, the parts of its descriptor, options. */
#ifndef PROTO_PRIVATE_H
#define PROTO_PRIVATE_H

#include <stdint.h>

#include "proto_file.h"
#include "proto_lexer.h"

#define DEPTH_MAX 60u
#define PARTS     13u /* a field number of a descriptor each */

struct part {
	uint8_t *data;
	size_t n, room;
};

struct parser {
	struct proto_lexer l;
	const struct proto_ops *ops;
	void *arg;
	const char *name;
	char scope[PROTO_NAME_MAX + 1]; /* "apollo.common.Header" within it */
	bool proto3, failed;
	unsigned depth;
	int error;
	char *why;
	size_t why_size;
};

/* The first one stays, with the line of the word that is looked at. */
__attribute__((format(printf, 3, 4))) void proto_fail(struct parser *p, int error, const char *fmt, ...);

/* ---- writing ---- */

void proto_put(struct parser *p, struct part *o, const void *data, size_t n);
void proto_put_number(struct parser *p, struct part *o, unsigned field, int64_t v);
void proto_put_bytes(struct parser *p, struct part *o, unsigned field, const void *data, size_t n);
void proto_put_text(struct parser *p, struct part *o, unsigned field, const char *text);
/* All parts in their order, as a message of `to`; field 0: as they are. Frees them. */
void proto_put_parts(struct parser *p, struct part *to, unsigned field, struct part parts[PARTS]);

/* ---- words ---- */

void proto_next(struct parser *p);
bool proto_is(const struct parser *p, const char *word);
bool proto_take(struct parser *p, const char *word);
void proto_expect(struct parser *p, const char *word);
void proto_expect_name(struct parser *p, char *ret, size_t size);
/* "apollo.common.Header", ".apollo..." */
void proto_expect_path(struct parser *p, char ret[PROTO_NAME_MAX + 1]);
/* Texts side by side are one. free() its data. */
struct part proto_expect_text(struct parser *p);
/* A whole number, perhaps negative. */
int64_t proto_expect_number(struct parser *p, int64_t min, int64_t max);

/* ---- names ---- */

/* As protoc looks for it: from the innermost scope on, by its first part. ret: with the dot before it. */
bool proto_resolve(struct parser *p, const char *name, char ret[PROTO_NAME_MAX + 2], bool *ret_enum);
/* The path of a message; ret as there. */
void proto_expect_message(struct parser *p, char ret[PROTO_NAME_MAX + 2]);

/* SERVICE { ... }, from its name on, as one of a file. */
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

struct proto_options { /* that were given, by their numbers */
	unsigned number[PROTO_OPTIONS_MAX];
	struct part value[PROTO_OPTIONS_MAX];
	unsigned n;
};

/* option NAME = VALUE; from its name on */
void proto_option_line(struct parser *p, enum proto_options_of of, struct proto_options *o);
/* Its value is looked at. */
void proto_take_option(struct parser *p, const char *name, enum proto_options_of of, struct proto_options *o);
/* In the order of their numbers, as a field of `to`; frees them. None: nothing. */
void proto_put_options(struct parser *p, struct part *to, unsigned field, struct proto_options *o);

#endif
