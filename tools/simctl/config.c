/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the effective values, one key per line, with their origins, and marks those that are not the default. Thread:
 * main.
 */
#include <stdio.h>
#include <stdlib.h>

#include "simctl.h"

#define PATH_SIZE 512

static void print_json(const json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(12));

	fputs(text ? text : "?", stdout);
	free(text);
}

/* A value that differs from the default is marked with a star, and followed by the default, if there is one. */
static void print_value(const char *path, const json_t *value, const json_t *reply)
{
	const char *origin = json_string_value(json_object_get(json_object_get(reply, "origins"), path));
	const json_t *def = json_object_get(json_object_get(reply, "changed"), path);

	printf("%c %s = ", def ? '*' : ' ', path);
	print_json(value);
	if (origin)
		printf("  (%s", origin);
	if (origin && def && !json_is_null(def)) {
		fputs("; default ", stdout);
		print_json(def);
	}
	puts(origin ? ")" : "");
}

/* Descends to the values that have an origin; everything below such a value has the same origin. */
static void print_below(const char *path, json_t *value, const json_t *reply)
{
	bool object = json_is_object(value) && json_object_size(value);
	const char *key;
	char sub[PATH_SIZE];
	json_t *v;
	size_t i;

	if (json_object_get(json_object_get(reply, "origins"), path) || (!object && !json_array_size(value))) {
		print_value(path, value, reply);
		return;
	}
	if (object) {
		json_object_foreach(value, key, v) {
			snprintf(sub, sizeof(sub), "%s%s%s", path, *path ? "." : "", key);
			print_below(sub, v, reply);
		}
		return;
	}
	json_array_foreach(value, i, v) {
		snprintf(sub, sizeof(sub), "%s[%zu]", path, i);
		print_below(sub, v, reply);
	}
}

static void print(const json_t *reply)
{
	print_below("", json_object_get(reply, "config"), reply);
}

/* In the syntax of simd.json. */
static void print_pools(const json_t *reply)
{
	const char *before = "\"pools\": [\n";
	json_t *p;
	size_t i;

	json_array_foreach(json_object_get(reply, "pools"), i, p) {
		printf("%s\t{ \"size\": %lld, \"count\": %lld }", before,
		       (long long)json_integer_value(json_object_get(p, "size")),
		       (long long)json_integer_value(json_object_get(p, "count")));
		before = ",\n";
	}
	puts("\n]");
}

int cmd_config(struct ctl *c)
{
	if (c->a.pools)
		return ctl_show(c, ctl_call(c, "io.simd.Control.GetInfo", NULL), print_pools);
	return ctl_show(c, ctl_call(c, "io.simd.Control.GetConfig", NULL), print);
}
