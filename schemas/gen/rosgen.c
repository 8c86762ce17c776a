/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rosgen ROOT OUT FILE...: writes the definitions below ROOT (<package>/{msg,srv,action}/<Name>.msg) as text,
 * OUT/definitions.c of ros/ros_definition.h, and those listed in ROOT/tables as the tables of ros/ros_type.h,
 * OUT/ros1_types.c and OUT/ros2_types.c. A definition that differs in ROS 1, or exists only there, is in ROOT/ros1/.
 * Errors: one line "file:line: reason" on stderr, exit status 1, nothing is written.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gen/emit.h"
#include "gen/rosdef.h"
#include "gen/rostexts.h"
#include "msg/typedesc.h"

struct table {
	enum rosdef_flavour flavour;
	const char *list; /* its contents, one per line */
	struct typeset *set;
	const struct typeset_entry **sorted;
	unsigned n;
	FILE *f;
};

/* ---- input ---- */

static bool listed(const char *list, const char *rel)
{
	size_t n = strlen(rel);

	for (const char *at = list; (at = strstr(at, rel)); at += n)
		if ((at == list || at[-1] == '\n') && at[n] == '\n')
			return true;
	return false;
}

/* For ROS 1 the file in ROOT/ros1/ replaces the one of the same name. */
static int add_file(struct table *t, const char *root, const char *file)
{
	const char *rel = file + strlen(root) + 1;
	bool ros1 = strncmp(rel, "ros1/", 5) == 0;
	char own[4096], package[TYPEDESC_IDENT_MAX + 1];

	rel += ros1 ? 5 : 0;
	snprintf(own, sizeof(own), "%s/ros1/%s", root, rel);
	snprintf(package, sizeof(package), "%.*s", (int)strcspn(rel, "/"), rel);
	if (!listed(t->list, rel) || (ros1 && t->flavour != ROSDEF_ROS1))
		return 0;
	if (!ros1 && t->flavour == ROSDEF_ROS1 && access(own, R_OK) == 0)
		return 0;
	return typeset_add(t->set, package, file, NULL);
}

static int by_name(const void *a, const void *b)
{
	const struct typeset_entry *const *x = a, *const *y = b;

	return strcmp((*x)->type.name, (*y)->type.name);
}

static int read_all(struct table *t, const char *root, char **files)
{
	char own[4096];
	int r = 0;

	snprintf(own, sizeof(own), "%s/ros1", root);
	if (t->flavour == ROSDEF_ROS1)
		r = typeset_search(t->set, own);
	if (r == 0)
		r = typeset_search(t->set, root);
	for (; r == 0 && *files; files++)
		r = add_file(t, root, *files);
	if (r < 0) {
		fprintf(stderr, "%s\n", typeset_why(t->set));
		return r;
	}
	t->n = typeset_count(t->set);
	t->sorted = calloc(t->n + 1, sizeof(t->sorted[0]));
	if (!t->sorted)
		return -ENOMEM;
	for (unsigned i = 0; i < t->n; i++)
		t->sorted[i] = typeset_entry(t->set, i);
	qsort(t->sorted, t->n, sizeof(t->sorted[0]), by_name);
	return 0;
}

/* ---- output ---- */

static const char *prefix(const struct table *t)
{
	return t->flavour == ROSDEF_ROS1 ? "ros1" : "ros2";
}

static void put_upper(FILE *f, const char *s)
{
	for (; *s; s++)
		fputc(toupper((unsigned char)*s), f);
}

static void write_fields(struct table *t, const struct typeset_entry *e)
{
	const struct msgdef *d = e->def;

	if (!d->n_fields)
		return;
	fprintf(t->f, "static const struct ros_field f_%s_%s[] = {\n", d->package, d->name);
	for (uint32_t i = 0; i < d->n_fields; i++) {
		const struct msgdef_type *m = &d->fields[i].type;
		enum msgdef_prim prim = rosdef_time(d, m);

		fprintf(t->f, "\t{ \"%s\", ", d->fields[i].name);
		if (prim == MSGDEF_NESTED) {
			const struct msgdef *n = rosdef_nested(t->set, e, m)->def;

			fprintf(t->f, "&t_%s_%s", n->package, n->name);
		} else {
			fputs("NULL", t->f);
		}
		fprintf(t->f, ", %u, %u, ROS_", m->count, m->string_max);
		put_upper(t->f, msgdef_prim_name(prim));
		fprintf(t->f, ", %u },\n", (unsigned)m->array);
	}
	fputs("};\n", t->f);
}

static int hash_of(struct table *t, const struct typeset_entry *e, char ret[ROSDEF_RIHS_MAX])
{
	int r = t->flavour == ROSDEF_ROS1 ? rosdef_md5(t->set, e, ret) : rosdef_rihs01(t->set, e, ret);

	if (r == -ENOTSUP)
		ret[0] = '\0';
	return r == -ENOTSUP ? 0 : r;
}

static int write_type(struct table *t, const struct typeset_entry *e)
{
	const struct msgdef *d = e->def;
	char hash[ROSDEF_RIHS_MAX];
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int r = f ? hash_of(t, e, hash) : -ENOMEM;

	if (f) {
		rosdef_text(t->set, e, t->flavour, f);
		if (fclose(f) != 0)
			r = -ENOMEM;
	}
	if (r == 0) {
		write_fields(t, e);
		fprintf(t->f, "static const struct ros_type t_%s_%s = {\n\t\"%s\", \"%s\", \"%s\",\n\t", d->package,
			d->name, e->type.name, rosdef_kind(e), hash);
		emit_string(t->f, text);
		if (d->n_fields)
			fprintf(t->f, ",\n\tf_%s_%s, %u\n};\n", d->package, d->name, d->n_fields);
		else
			fputs(",\n\tNULL, 0\n};\n", t->f);
	}
	free(text);
	return r;
}

static int write_services(struct table *t)
{
	char sum[MD5_DIGEST_STRING_LENGTH] = "";
	int r = 0;

	fprintf(t->f, "const struct ros_service %s_services[] = {\n", prefix(t));
	for (unsigned i = 0; r == 0 && i + 1 < t->n; i++) {
		const struct typeset_entry *q = t->sorted[i], *a = t->sorted[i + 1];
		size_t len = strlen(q->type.name);

		if (len < 8 || strcmp(q->type.name + len - 8, "_Request") != 0)
			continue;
		if (t->flavour == ROSDEF_ROS1)
			r = rosdef_service_md5(t->set, q, t->set, a, sum);
		fprintf(t->f, "\t{ \"%.*s\", \"%s\", &t_%s_%s, &t_%s_%s },\n", (int)len - 8, q->type.name, sum,
			q->def->package, q->def->name, a->def->package, a->def->name);
	}
	fputs("\t{ NULL, NULL, NULL, NULL },\n};\n", t->f);
	return r;
}

static int write_table(struct table *t)
{
	int r = 0;

	fputs("/* SPDX-License-Identifier: Apache-2.0 */\n/* Written by rosgen: change the definitions, not this. */\n"
	      "#include \"ros/ros_type.h\"\n\n",
	      t->f);
	for (unsigned i = 0; r == 0 && i < t->n; i++) /* in the set's order: nested types first */
		r = write_type(t, typeset_entry(t->set, i));
	fprintf(t->f, "\nconst struct ros_type *const %s_types[] = {\n", prefix(t));
	for (unsigned i = 0; i < t->n; i++)
		fprintf(t->f, "\t&t_%s_%s,\n", t->sorted[i]->def->package, t->sorted[i]->def->name);
	fputs("\tNULL,\n};\n\n", t->f);
	return r == 0 ? write_services(t) : r;
}

static int make_table(enum rosdef_flavour flavour, const char *list, const char *root, const char *out, char **files)
{
	struct table t = { .flavour = flavour, .list = list, .set = typeset_create() };
	char path[4096];
	int r = t.set ? read_all(&t, root, files) : -ENOMEM;

	snprintf(path, sizeof(path), "%s/%s_types.c", out, prefix(&t));
	if (r == 0 && !(t.f = fopen(path, "we")))
		r = -errno;
	if (r == 0)
		r = write_table(&t);
	if (t.f && fclose(t.f) != 0 && r == 0)
		r = -errno;
	if (r < 0)
		fprintf(stderr, "rosgen: %s is not written: %s\n", path, strerror(-r));
	free(t.sorted);
	typeset_destroy(t.set);
	return r;
}

static char *read_list(const char *root)
{
	char path[4096], *text = NULL;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tables", root);
	f = fopen(path, "re");
	if (!f || getdelim(&text, &room, '\0', f) < 0)
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
	if (f)
		fclose(f);
	return text;
}

int main(int argc, char **argv)
{
	char *list;
	int r;

	if (argc < 4) {
		fputs("usage: rosgen ROOT OUT FILE...\n", stderr);
		return 2;
	}
	list = read_list(argv[1]);
	if (!list)
		return 1;
	r = make_table(ROSDEF_ROS1, list, argv[1], argv[2], argv + 3);
	if (r == 0)
		r = make_table(ROSDEF_ROS2, list, argv[1], argv[2], argv + 3);
	if (r == 0)
		r = rostexts_write(argv[1], argv[2], argv + 3);
	free(list);
	return r < 0 ? 1 : 0;
}
