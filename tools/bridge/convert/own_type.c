/* SPDX-License-Identifier: Apache-2.0 */
/* See own_type.h. */
#include "own_type.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/introspect.h>

#include "gen/typeset.h"

struct set {
	const struct own_definition *list;
	unsigned n;
};

static const char *source(void *arg, const char *package, const char *name, size_t *ret_len)
{
	const struct set *s = arg;
	size_t len = strlen(package);

	for (unsigned i = 0; i < s->n; i++) {
		const char *have = s->list[i].name;

		if (strncmp(have, package, len) == 0 && have[len] == '/' && strcmp(have + len + 1, name) == 0) {
			*ret_len = s->list[i].len;
			return s->list[i].text;
		}
	}
	return NULL;
}

int own_type_counted(const struct sim_type *t, size_t most, const struct sim_type **ret)
{
	char *json = NULL;
	int r = sim_type_to_json(t, &json);

	if (r >= 0 && strlen(json) > most)
		r = -E2BIG;
	if (r >= 0)
		r = sim_type_from_json(json, strlen(json), ret);
	free(json);
	return r;
}

int own_type_make(const struct own_definition *list, unsigned n, const struct sim_type **ret, char *why,
		  size_t why_size)
{
	struct set s = { .list = list, .n = n };
	struct typeset *set = typeset_create();
	const struct typeset_entry *e = NULL;
	char package[SIM_TYPE_NAME_MAX + 1];
	size_t len = strcspn(list[0].name, "/");
	int r = -ENOMEM;

	if (set) {
		typeset_source(set, source, &s, false);
		snprintf(package, sizeof(package), "%.*s", (int)len, list[0].name);
		r = typeset_take(set, package, list[0].name + len + 1, &e);
	}
	if (r < 0 && set && *typeset_why(set))
		snprintf(why, why_size, "%s", typeset_why(set));
	if (r == 0)
		r = own_type_counted(&e->type, SIM_TYPE_JSON_MAX, ret);
	typeset_destroy(set);
	return r;
}
