/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a .proto file. Nothing of it is trusted. Thread: one's; no memory. */
#ifndef PROTO_LEXER_H
#define PROTO_LEXER_H

#include <stdbool.h>
#include <stddef.h>

enum proto_token { PROTO_END, PROTO_NAME, PROTO_NUMBER, PROTO_STRING, PROTO_SYMBOL, PROTO_BAD };

struct proto_lexer {
	const char *at, *end;
	unsigned next_line; /* at `at` */
	/* the word that is looked at; of a string what is within the quotes, as it is written */
	enum proto_token token;
	const char *text;
	size_t len;
	unsigned line;
};

/* Borrows the text. The first word is looked at. */
void proto_lexer_begin(struct proto_lexer *l, const char *text, size_t len);
void proto_lexer_next(struct proto_lexer *l);
/* Whether the word is that: a name, or a symbol of one character. */
bool proto_lexer_is(const struct proto_lexer *l, const char *word);

#endif
