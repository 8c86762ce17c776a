/* SPDX-License-Identifier: Apache-2.0 */
/* See access.h. */
#include "access.h"

#include <string.h>

bool access_token_is(const char *token, const void *said, size_t len)
{
	const uint8_t *at = said;
	size_t n = strlen(token);
	unsigned differ = len != n;

	for (size_t i = 0; i < n; i++)
		differ |= (unsigned)(len == n ? at[i] : 0) ^ (uint8_t)token[i];
	return !differ;
}

/*
 * On a mismatch after a star, the star matches one character more. Not recursive, so the cost is at most the product of
 * both lengths.
 */
static bool glob(const char *p, const char *s)
{
	const char *star = NULL, *from = NULL;

	while (*s) {
		if (*p == '*') {
			star = p++;
			from = s;
		} else if (*p == *s) {
			p++;
			s++;
		} else if (star) {
			p = star + 1;
			s = ++from;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return !*p;
}

/* A client without certificate has no name, so it does not even match "*". */
static bool fits(const struct access_entry *e, const char *certificate, const void *token, size_t len)
{
	if (!e->certificate && !e->token)
		return false;
	if (e->certificate && (!*certificate || !glob(e->certificate, certificate)))
		return false;
	return !e->token || access_token_is(e->token, token, len);
}

const struct access_entry *access_find(const struct access *a, const char *certificate, const void *token,
				       size_t token_len)
{
	for (unsigned i = 0; i < a->n_entries; i++)
		if (fits(&a->entries[i], certificate, token, token_len))
			return &a->entries[i];
	return NULL;
}

/* A role is lowered to the entry's, never raised. */
enum barrier_role access_role(const struct access_entry *e, enum barrier_role asked)
{
	return e && e->role > asked ? e->role : asked;
}

bool access_may_own(const struct access_entry *e, uint32_t code)
{
	return !e || (code < 256 && (e->codes[code / 8] & 1u << code % 8));
}

bool access_has_type(const struct access *a, uint32_t code)
{
	for (unsigned i = 0; i < a->n_types; i++)
		if (a->types[i].code == code)
			return true;
	return !a->n_types;
}
