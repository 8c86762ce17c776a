/* SPDX-License-Identifier: Apache-2.0 */
/* Names and globs. Thread: any. */
#include "names.h"

#include "err.h"
#include "jsonx.h"
#include "number.h"

#include <ctype.h>
#include <errno.h>
#include <sim/slot.h>
#include <sim/types.h>
#include <stdio.h>
#include <string.h>

_Static_assert(CHANNEL_NAME_MAX == SIM_CHANNEL_MAX, "one length of a channel's name");

bool names_plain_ok(const char *s)
{
	return channel_name_made_of(s, NAME_PLAIN_MAX, "_.-");
}

bool names_type_ok(const char *s)
{
	const char *slash = strchr(s, '/');

	return channel_name_made_of(s, SIM_TYPE_NAME_MAX, "_/") && slash && slash != s && slash[1];
}

int names_type_def(const json_t *def, const char **ret_name, const char **ret_hash)
{
	const char *name, *hash;
	uint64_t v;
	int r = jsonx_string(def, "name", SIM_TYPE_NAME_MAX, &name);

	if (r == 0)
		r = jsonx_string(def, "hash", 16, &hash);
	if (r < 0)
		return r;
	if (!names_type_ok(name))
		return err_set(-EINVAL, "\"%s\" is not a type name, package/Name", name);
	if (!number_hash(hash, &v))
		return err_set(-EINVAL, "hash \"%s\" is not 16 hexadecimal digits", hash);
	*ret_name = name;
	*ret_hash = hash;
	return 0;
}

bool names_token_ok(const char *s)
{
	size_t n = 0;

	for (; s[n]; n++) {
		if (n >= 63 || !isprint((unsigned char)s[n]))
			return false;
	}
	return n > 0;
}

/* Iterative with one backtrack point: linear in practice, quadratic at worst, no recursion. */
bool names_glob(const char *p, const char *s)
{
	const char *star = NULL, *mark = NULL;

	while (*s) {
		if (*p == '*') {
			star = p++;
			mark = s;
		} else if (*p == '?' || *p == *s) {
			p++;
			s++;
		} else if (star) {
			p = star + 1;
			s = ++mark;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return !*p;
}

bool names_is_star(const char *pattern)
{
	return !pattern[strspn(pattern, "*")];
}

/*
 * row[j]: whether the rest of p from i on and the rest of q from j on can match the same text. Computed from the ends:
 * a star matches nothing, or includes what the other pattern has next.
 */
bool names_globs_meet(const char *p, const char *q)
{
	size_t n = strlen(p), m = strlen(q);
	bool row[PATTERN_MAX + 1], below[PATTERN_MAX + 1] = { 0 };

	if (n > PATTERN_MAX || m > PATTERN_MAX)
		/* a valid configuration has no longer patterns; true is safe: it only puts two rigs into one shard */
		return true;
	for (size_t i = n + 1; i-- > 0;) {
		for (size_t j = m + 1; j-- > 0;) {
			bool star = (i < n && p[i] == '*') || (j < m && q[j] == '*');

			if (star)
				row[j] = (i < n && below[j]) || (j < m && row[j + 1]);
			else if (i < n && j < m)
				row[j] = (p[i] == '?' || q[j] == '?' || p[i] == q[j]) && below[j + 1];
			else
				row[j] = i == n && j == m;
		}
		memcpy(below, row, m + 1);
	}
	return row[0];
}

void names_pattern_full(const char *prefix, const char *pattern, char ret[PATTERN_MAX + 1])
{
	if (pattern[0] == '/')
		snprintf(ret, PATTERN_MAX + 1, "%s", pattern);
	else
		snprintf(ret, PATTERN_MAX + 1, "%s%s/%s", prefix[0] == '/' || !prefix[0] ? "" : "/", prefix, pattern);
}
