/* SPDX-License-Identifier: Apache-2.0 */
/* See proto_lexer.h. */
#include "proto_lexer.h"

#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool begins(const struct proto_lexer *l, const char *with)
{
	return (size_t)(l->end - l->at) >= 2 && memcmp(l->at, with, 2) == 0;
}

static void step(struct proto_lexer *l)
{
	l->next_line += *l->at == '\n';
	l->at++;
}

/* False: the comment is not closed. */
static bool skip_block(struct proto_lexer *l)
{
	l->at += 2;
	while (l->at < l->end && !begins(l, "*/"))
		step(l);
	if (l->at == l->end)
		return false;
	l->at += 2;
	return true;
}

/* Skips blanks and comments. False: a comment is not closed. */
static bool skip_blank(struct proto_lexer *l)
{
	while (l->at < l->end) {
		if (begins(l, "/*")) {
			if (!skip_block(l))
				return false;
		} else if (begins(l, "//")) {
			while (l->at < l->end && *l->at != '\n')
				l->at++;
		} else if (*l->at == ' ' || (*l->at >= '\t' && *l->at <= '\r')) {
			step(l);
		} else {
			break;
		}
	}
	return true;
}

static void take_string(struct proto_lexer *l)
{
	char quote = *l->at++;

	l->text = l->at;
	while (l->at < l->end && *l->at != quote && *l->at != '\n')
		l->at += *l->at == '\\' && l->at + 1 < l->end && l->at[1] != '\n' ? 2 : 1;
	l->len = (size_t)(l->at - l->text);
	l->token = l->at < l->end && *l->at == quote ? PROTO_STRING : PROTO_BAD;
	l->at += l->token == PROTO_STRING;
}

/* A number includes letters, as in 0x1f and 1e5f, and a sign after the exponent's e. */
static void take_number(struct proto_lexer *l)
{
	bool hex = begins(l, "0x") || begins(l, "0X");

	while (l->at < l->end && (is_digit(*l->at) || is_letter(*l->at) || *l->at == '.' ||
				  (!hex && (*l->at == '+' || *l->at == '-') && (l->at[-1] == 'e' || l->at[-1] == 'E'))))
		l->at++;
	l->token = PROTO_NUMBER;
}

void proto_lexer_next(struct proto_lexer *l)
{
	unsigned line = l->next_line;
	bool blank = skip_blank(l);

	l->line = blank ? l->next_line : line;
	l->text = l->at;
	l->token = !blank ? PROTO_BAD : PROTO_END;
	if (!blank || l->at == l->end) {
		l->len = 0;
		return;
	}
	if (*l->at == '"' || *l->at == '\'') {
		take_string(l);
		return;
	}
	if (is_digit(*l->at) || (*l->at == '.' && l->end - l->at > 1 && is_digit(l->at[1]))) {
		take_number(l);
	} else if (is_letter(*l->at)) {
		l->token = PROTO_NAME;
		while (l->at < l->end && (is_letter(*l->at) || is_digit(*l->at)))
			l->at++;
	} else {
		l->token = (unsigned char)*l->at < ' ' || (unsigned char)*l->at > '~' ? PROTO_BAD : PROTO_SYMBOL;
		l->at++;
	}
	l->len = (size_t)(l->at - l->text);
}

bool proto_lexer_is(const struct proto_lexer *l, const char *word)
{
	return (l->token == PROTO_NAME || l->token == PROTO_SYMBOL) && l->len == strlen(word) &&
	       memcmp(l->text, word, l->len) == 0;
}

void proto_lexer_begin(struct proto_lexer *l, const char *text, size_t len)
{
	*l = (struct proto_lexer){ .at = text, .end = text + len, .next_line = 1 };
	proto_lexer_next(l);
}
