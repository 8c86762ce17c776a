/* SPDX-License-Identifier: Apache-2.0 */
/* The tokens of a .proto file, which is untrusted. Thread: one per lexer; allocates no memory. */
#ifndef PROTO_LEXER_H
#define PROTO_LEXER_H

#include <stdbool.h>
#include <stddef.h>

enum proto_token { PROTO_END, PROTO_NAME, PROTO_NUMBER, PROTO_STRING, PROTO_SYMBOL, PROTO_BAD };

struct proto_lexer {
	const char *at, *end;
	unsigned next_line; /* line of `at` */
	/* the current token; of a string the text within the quotes, with its escapes */
	enum proto_token token;
	const char *text;
	size_t len;
	unsigned line;
};

/* Borrows the text. Makes its first token the current one. */
void proto_lexer_begin(struct proto_lexer *l, const char *text, size_t len);
void proto_lexer_next(struct proto_lexer *l);
/* Whether the current token is `word`: a name, or a symbol of one character. */
bool proto_lexer_is(const struct proto_lexer *l, const char *word);

#endif
