/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See rostexts.h. The object is a struct with one character array per definition, "package/Name\0kind\0text\0"; two
 * sorted arrays of offsets are the indexes of ROS 1 and ROS 2. So it contains no pointers, and does not delay the start
 * of programs that link it.
 */
#include "gen/rostexts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/emit.h"
#include "gen/rosdef.h"
#include "msg/typedesc.h"

struct text {
	char name[2 * TYPEDESC_IDENT_MAX + 2];
	bool ros1; /* the form, or the type, exists only in ROS 1 */
	char *c;   /* the struct member's value as C text */
	size_t len, size;
};

/* ---- reading ---- */

static int quote(const struct typeset_entry *e, struct text *t)
{
	char *own = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&own, &len);
	int r = f ? 0 : -ENOMEM;

	if (f) {
		rosdef_own_text(e, f);
		r = fclose(f) == 0 ? 0 : -ENOMEM;
	}
	f = r == 0 ? open_memstream(&t->c, &t->len) : NULL;
	if (f) {
		fprintf(f, "\"%s\\0%s\\0\" ", t->name, rosdef_kind(e));
		emit_string(f, own);
		t->size = strlen(t->name) + strlen(rosdef_kind(e)) + len + 3;
		r = fclose(f) == 0 ? 0 : -ENOMEM;
	}
	free(own);
	return f ? r : -ENOMEM;
}

static int read_text(const char *root, const char *file, struct text *t)
{
	const char *rel = file + strlen(root) + 1;
	const struct typeset_entry *e = NULL;
	struct typeset *set = typeset_create();
	char package[TYPEDESC_IDENT_MAX + 1], own[4096];
	int r = set ? 0 : -ENOMEM;

	t->ros1 = strncmp(rel, "ros1/", 5) == 0;
	rel += t->ros1 ? 5 : 0;
	snprintf(package, sizeof(package), "%.*s", (int)strcspn(rel, "/"), rel);
	snprintf(own, sizeof(own), "%s/ros1", root);
	if (r == 0)
		typeset_source(set, NULL, NULL, true);
	if (r == 0 && t->ros1)
		r = typeset_search(set, own);
	if (r == 0)
		r = typeset_search(set, root);
	if (r == 0)
		r = typeset_add(set, package, file, &e);
	if (r == 0) {
		snprintf(t->name, sizeof(t->name), "%s", e->type.name);
		r = quote(e, t);
	}
	if (r < 0)
		fprintf(stderr, "%s\n", set && *typeset_why(set) ? typeset_why(set) : "rosgen: no memory");
	typeset_destroy(set);
	return r;
}

/* Of two definitions with one name that of ROS 1 comes second. */
static int by_name(const void *a, const void *b)
{
	const struct text *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : (int)x->ros1 - (int)y->ros1;
}

/* ---- writing ---- */

static void write_index(FILE *f, const struct text *texts, unsigned n, bool ros1)
{
	unsigned k = 0;

	fprintf(f, "const uint32_t ros%d_definitions[] = {\n", ros1 ? 1 : 2);
	for (unsigned i = 0; i < n; i++) {
		bool hidden = i + 1 < n && strcmp(texts[i].name, texts[i + 1].name) == 0;

		if (ros1 ? hidden : texts[i].ros1)
			continue;
		fprintf(f, "\toffsetof(struct texts, t%u),\n", i);
		k++;
	}
	fprintf(f, "};\nconst unsigned ros%d_n_definitions = %u;\n\n", ros1 ? 1 : 2, k);
}

static void write_all(FILE *f, const struct text *texts, unsigned n)
{
	fputs("/* SPDX-License-Identifier: Apache-2.0 */\n/* Written by rosgen: change the definitions, not this. */\n"
	      "#include \"ros/ros_definition_data.h\"\n\n#include <stddef.h>\n\nstatic const struct texts {\n",
	      f);
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "\tchar t%u[%zu];\n", i, texts[i].size);
	fputs("} texts = {\n", f);
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "\t%s,\n", texts[i].c);
	fputs("};\n\nconst char *ros_definition_at(uint32_t offset)\n{\n\treturn (const char *)&texts + offset;\n}\n\n",
	      f);
	write_index(f, texts, n, true);
	write_index(f, texts, n, false);
}

static int write_file(const char *out, const struct text *texts, unsigned n)
{
	char path[4096];
	FILE *f;
	int r = 0;

	snprintf(path, sizeof(path), "%s/definitions.c", out);
	f = fopen(path, "we");
	if (f)
		write_all(f, texts, n);
	if (!f || fclose(f) != 0)
		r = -errno;
	if (r < 0)
		fprintf(stderr, "rosgen: %s is not written: %s\n", path, strerror(-r));
	return r;
}

int rostexts_write(const char *root, const char *out, char **files)
{
	struct text *texts;
	unsigned n = 0;
	int r = 0;

	while (files[n])
		n++;
	texts = calloc(n + 1, sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = read_text(root, files[i], &texts[i]);
	if (r == 0) {
		qsort(texts, n, sizeof(*texts), by_name);
		r = write_file(out, texts, n);
	}
	for (unsigned i = 0; i < n; i++)
		free(texts[i].c);
	free(texts);
	return r;
}
