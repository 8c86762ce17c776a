/* SPDX-License-Identifier: Apache-2.0 */
/* The values in force, a key a line, and where each came from. Thread: main. */
#include <stdio.h>
#include <stdlib.h>

#include "simctl.h"

#define PATH_SIZE 512

static void print_value(const char *path, const json_t *value, const char *origin)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(12));

	printf("%s = %s", path, text ? text : "?");
	if (origin)
		printf("  (%s)", origin);
	putchar('\n');
	free(text);
}

/* Down to what has an origin: below that everything is of the same one. */
static void print_below(const char *path, json_t *value, const json_t *origins)
{
	const char *origin = json_string_value(json_object_get(origins, path)), *key;
	bool object = json_is_object(value) && json_object_size(value);
	char sub[PATH_SIZE];
	json_t *v;
	size_t i;

	if (origin || (!object && !json_array_size(value))) {
		print_value(path, value, origin);
		return;
	}
	if (object) {
		json_object_foreach(value, key, v) {
			snprintf(sub, sizeof(sub), "%s%s%s", path, *path ? "." : "", key);
			print_below(sub, v, origins);
		}
		return;
	}
	json_array_foreach(value, i, v) {
		snprintf(sub, sizeof(sub), "%s[%zu]", path, i);
		print_below(sub, v, origins);
	}
}

int cmd_config(struct ctl *c)
{
	json_t *reply = ctl_call(c, "io.simd.Control.GetConfig", NULL);

	if (!reply || c->a.json)
		return ctl_put(c, reply);
	print_below("", json_object_get(reply, "config"), json_object_get(reply, "origins"));
	json_decref(reply);
	return 0;
}
