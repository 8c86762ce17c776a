/* SPDX-License-Identifier: Apache-2.0 */
/* See record_match.h. */
#include "record_match.h"

#include <fnmatch.h>
#include <string.h>

#define CLOCK "/clock"

static bool is_everything(const char *pattern)
{
	return strspn(pattern, "/*") == strlen(pattern);
}

static bool name_matches(const char *pattern, const char *name)
{
	if (is_everything(pattern) && strcmp(name, CLOCK) == 0)
		return false;
	return fnmatch(pattern, name + (*pattern != '/' && *pattern != '*' && *name == '/'), 0) == 0;
}

static bool any_matches(const char *const *patterns, unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (name_matches(patterns[i], name))
			return true;
	return false;
}

static bool type_matches(const struct record_match *m, const char *type)
{
	for (unsigned i = 0; i < m->n_types; i++)
		if (*type && fnmatch(m->types[i], type, 0) == 0)
			return true;
	return m->n_types == 0;
}

bool record_wants(const struct record_match *m, const char *name, const char *type)
{
	bool included = m->n_include ? any_matches(m->include, m->n_include, name) : name_matches("*", name);

	return included && !any_matches(m->exclude, m->n_exclude, name) && type_matches(m, type);
}

bool record_pattern_matches(const char *pattern, const char *name)
{
	return name_matches(pattern, name);
}

int record_stem(const char *path)
{
	static const char *const suffixes[] = { ".mcap", ".record", ".bag" };
	size_t n = strlen(path);

	for (unsigned i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t k = strlen(suffixes[i]);

		if (n > k && path[n - k - 1] != '/' && strcmp(path + n - k, suffixes[i]) == 0)
			return (int)(n - k);
	}
	return (int)n;
}
