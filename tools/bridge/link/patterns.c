/* SPDX-License-Identifier: Apache-2.0 */
/* See patterns.h. */
#include "patterns.h"

#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"

static int add(struct patterns *l, const char *text)
{
	bool out = *text == '!';
	const char *name = text + out, *slash = *name == '/' || *name == '*' ? "" : "/";
	size_t size = strlen(text) + 3; /* '!' or '+', a slash, and the NUL */
	char *p = malloc(size);

	if (!p)
		return -ENOMEM;
	snprintf(p, size, "%c%s%s", out ? '!' : '+', slash, name);
	l->p[l->n++] = p;
	return 0;
}

int patterns_read(const struct sim_bridge_host *host, const char *option, struct patterns *ret)
{
	const struct {
		const struct sim_bridge_host *host;
	} at = { host };
	json_t *list = json_loads(bridge_option(host, option), JSON_REJECT_DUPLICATES, NULL), *v;
	int r = json_is_array(list) && json_array_size(list) <= PATTERNS_MAX ? 0 : -EINVAL;
	size_t i;

	*ret = (struct patterns){ .p = calloc(PATTERNS_MAX, sizeof(char *)) };
	if (!ret->p)
		r = -ENOMEM;
	json_array_foreach(list, i, v)
		if (r == 0)
			r = json_is_string(v) && json_string_length(v) && json_string_length(v) < 200
				    ? add(ret, json_string_value(v))
				    : -EINVAL;
	json_decref(list);
	if (r == -EINVAL)
		log_error(&at, "options.%s: \"%.60s\" is not a list of at most %u patterns, as [\"/camera/*\"]", option,
			  bridge_option(host, option), PATTERNS_MAX);
	return r;
}

void patterns_finish(struct patterns *l)
{
	for (unsigned i = 0; l->p && i < l->n; i++)
		free(l->p[i]);
	free((void *)l->p);
	l->p = NULL;
}

bool patterns_match(const struct patterns *l, const char *name)
{
	bool in = false;

	for (unsigned i = 0; i < l->n; i++)
		if (fnmatch(l->p[i] + 1, name, FNM_NOESCAPE) == 0)
			in = l->p[i][0] == '+';
	return in;
}
