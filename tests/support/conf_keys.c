/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simd's configuration table for the checks:  conf-keys          every key path, a line each
 *                                             conf-keys sample   config/simd.json: every key at its default
 *                                             conf-keys page     the entries of simd.json(5)
 * Thread: one.
 */
#include "conf.h"
#include "config/config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Text for scdoc: what it would take for a mark is escaped. */
static void put(const char *s)
{
	for (; *s; s++) {
		if (strchr("_*\\#<[~", *s))
			putchar('\\');
		putchar(*s);
	}
}

static void put_range(const struct conf_key *k)
{
	if (!k->min && !k->max)
		return;
	switch (k->type) {
	case CONF_INT:
	case CONF_REAL:
	case CONF_SIZE:
		printf(", %" PRId64 " to %" PRId64, k->min, k->max);
		break;
	case CONF_STRING:
		printf(" of at most %" PRId64 " bytes", k->max);
		break;
	default:
		printf(", at most %" PRId64, k->max);
		break;
	}
}

static void put_entry(const struct conf_key *k, const char *path)
{
	static const char *const types[] = {
		[CONF_BOOL] = "true or false", [CONF_INT] = "whole number", [CONF_REAL] = "number",
		[CONF_SIZE] = "size",          [CONF_STRING] = "string",    [CONF_CHOICE] = "one of",
		[CONF_STRINGS] = "strings",    [CONF_ANY] = "any JSON",
	};

	putchar('*');
	put(path);
	printf("* (%s", types[k->type]);
	for (int i = 0; k->type == CONF_CHOICE && k->choices[i]; i++) {
		fputs(i ? ", " : " ", stdout);
		put(k->choices[i]);
	}
	put_range(k);
	for (int i = 0; k->type == CONF_INT && k->choices && k->choices[i]; i++)
		printf(", or \"%s\"", k->choices[i]);
	if (k->required) {
		printf("; required");
	} else if (k->def) {
		printf("; default ");
		put(k->def);
	}
	printf(")\n\t");
	put(k->doc ? k->doc : "");
	printf("\n\n");
}

static void path_of(const struct conf_key *k, const char *base, char path[256])
{
	const char *tail = k->type == CONF_LIST ? "[]" : "";

	snprintf(path, 256, "%s%s%s%s", base, *base ? "." : "", k->name, tail);
}

/* The keys of an object first, then a section for each object in it. */
static void put_page(const struct conf_key *keys, const char *base)
{
	char path[256];

	for (const struct conf_key *k = keys; k->name; k++) {
		path_of(k, base, path);
		if (!k->sub)
			put_entry(k, path);
	}
	for (const struct conf_key *k = keys; k->name; k++) {
		if (!k->sub)
			continue;
		path_of(k, base, path);
		printf("## %s\n\n", path); /* scdoc takes a heading as it is */
		put(k->doc ? k->doc : "");
		printf("\n\n");
		put_page(k->sub, path);
	}
}

static void put_keys(const struct conf_key *keys, const char *base)
{
	char path[256];

	for (const struct conf_key *k = keys; k->name; k++) {
		path_of(k, base, path);
		if (k->sub)
			put_keys(k->sub, path);
		else
			puts(path);
	}
}

/* What is in force when nothing is configured. */
static int put_sample(void)
{
	struct conf *c;
	int r = conf_create(config_keys, &c);

	if (r == 0)
		r = conf_finish(c);
	if (r == 0)
		r = json_dumpf(conf_root(c).obj, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	conf_destroy(c);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "page")) {
		put_page(config_keys, "");
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "sample"))
		return put_sample();
	put_keys(config_keys, "");
	return 0;
}
