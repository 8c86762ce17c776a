/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing byte buffer with a bound; always NUL-terminated behind its length. Errors stick: after one
 * failed append all later ones fail too, so a builder checks once, at the end (strbuf_error).
 *
 * Thread: the owner's. Lifetime: init / finish in the caller's memory.
 */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include <stdarg.h>
#include <stddef.h>

struct strbuf {
	char *data; /* never NULL after init; "" while empty */
	size_t len;
	size_t cap; /* allocated bytes; 0 while data is the static empty string */
	size_t max; /* bound on len */
	int err;    /* 0, -ENOMEM or -EMSGSIZE (bound reached) */
};

#define STRBUF_MAX_DEFAULT ((size_t)64 << 20)

void strbuf_init(struct strbuf *b, size_t max); /* max 0: STRBUF_MAX_DEFAULT */
void strbuf_finish(struct strbuf *b);           /* tolerates zeroed memory */
void strbuf_clear(struct strbuf *b);            /* keeps the memory, forgets the error */

/* All return 0 or the sticking error. */
int strbuf_add(struct strbuf *b, const void *data, size_t len);
int strbuf_puts(struct strbuf *b, const char *s);
int strbuf_putc(struct strbuf *b, char c);
int strbuf_printf(struct strbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int strbuf_vprintf(struct strbuf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
int strbuf_json_string(struct strbuf *b, const char *s, size_t len); /* quoted and escaped; bad UTF-8 becomes U+FFFD */

/* Room for n more bytes at data + len; the caller then calls strbuf_commit with what it wrote. */
int strbuf_reserve(struct strbuf *b, size_t n);
void strbuf_commit(struct strbuf *b, size_t n);
void strbuf_consume(struct strbuf *b, size_t n); /* drop n bytes from the front */

int strbuf_error(const struct strbuf *b);
char *strbuf_steal(struct strbuf *b); /* returns: mem_free; NULL after an error; b is empty again */

#endif
