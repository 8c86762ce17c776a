/* SPDX-License-Identifier: Apache-2.0 */
/* See cyber_types.h. */
#include "cyber_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES   256
#define SYMBOLS 4096
#define TEXT    256
#define DEPTH   8

struct file {
	char name[TEXT];
	uint8_t *blob;
	size_t n;
};

struct symbol {
	char name[TEXT];
	unsigned file;
};

struct cyber_types {
	struct file file[FILES];
	struct symbol symbol[SYMBOLS];
	unsigned n_files, n_symbols;
};

struct part { /* of a message, with its field; the wire's own reader, apart from ours */
	uint32_t field;
	const uint8_t *at;
	size_t n;
};

static bool varint(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
		uint8_t b = *(*at)++;

		*ret |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return true;
	}
	return false;
}

/* The next field of length-delimited kind; others are passed by. 1, 0 at the end, -1 malformed. */
static int next(const uint8_t **at, const uint8_t *end, struct part *ret)
{
	uint64_t tag, n;

	while (*at < end) {
		if (!varint(at, end, &tag))
			return -1;
		n = (tag & 7) == 1 ? 8 : (tag & 7) == 5 ? 4 : 0;
		if ((tag & 7) == 0 || (tag & 7) == 2) {
			if (!varint(at, end, &n))
				return -1;
		} else if (!n) {
			return -1;
		}
		if ((tag & 7) == 0)
			continue;
		if (n > (size_t)(end - *at))
			return -1;
		*ret = (struct part){ (uint32_t)(tag >> 3), *at, (size_t)n };
		*at += n;
		if ((tag & 7) == 2)
			return 1;
	}
	return 0;
}

static bool first(const uint8_t *at, size_t n, uint32_t field, char text[TEXT])
{
	const uint8_t *end = at + n;
	struct part p;

	while (next(&at, end, &p) > 0)
		if (p.field == field && p.n < TEXT) {
			memcpy(text, p.at, p.n);
			text[p.n] = '\0';
			return true;
		}
	return false;
}

static int find_file(const struct cyber_types *t, const char *name)
{
	for (unsigned i = 0; i < t->n_files; i++)
		if (strcmp(t->file[i].name, name) == 0)
			return (int)i;
	return -1;
}

static const struct symbol *find(const struct cyber_types *t, const char *name)
{
	for (unsigned i = 0; i < t->n_symbols; i++)
		if (strcmp(t->symbol[i].name, name) == 0)
			return &t->symbol[i];
	return NULL;
}

/* ---- adding ---- */

struct adding {
	struct cyber_types *t;
	unsigned had; /* symbols before this file */
	char *why;
	size_t why_size;
};

/* A message, with those in it (3) and its enums (4); or an enum. */
static int add_symbol(struct adding *a, const char *scope, const struct part *p, bool message, unsigned depth)
{
	const uint8_t *at = p->at, *end = p->at + p->n;
	char own[TEXT], name[2 * TEXT];
	const struct symbol *other;
	struct part in;
	int r = 0;

	if (depth > DEPTH || !first(p->at, p->n, 1, own) || a->t->n_symbols == SYMBOLS)
		return -1;
	snprintf(name, sizeof(name), "%s%s%s", scope, *scope ? "." : "", own);
	name[TEXT - 1] = '\0';
	other = find(a->t, name);
	if (other) {
		snprintf(a->why, a->why_size, "%s is already defined in %s", name, a->t->file[other->file].name);
		return -1;
	}
	memcpy(a->t->symbol[a->t->n_symbols].name, name, TEXT);
	a->t->symbol[a->t->n_symbols++].file = a->t->n_files;
	while (message && r >= 0 && next(&at, end, &in) > 0)
		if (in.field == 3 || in.field == 4)
			r = add_symbol(a, name, &in, in.field == 3, depth + 1);
	return r;
}

/* Every field's type_name (6) must be known: here, or from files before. */
static int check_fields(struct adding *a, const struct part *message, unsigned depth)
{
	const uint8_t *at = message->at, *end = message->at + message->n;
	char type[TEXT];
	struct part in;
	int r = 0;

	while (depth <= DEPTH && r >= 0 && next(&at, end, &in) > 0) {
		if (in.field == 3)
			r = check_fields(a, &in, depth + 1);
		if (in.field != 2 || !first(in.at, in.n, 6, type) || find(a->t, type + (*type == '.')))
			continue;
		snprintf(a->why, a->why_size, "%s is not known", type);
		r = -1;
	}
	return r;
}

static int add_all(struct adding *a, const uint8_t *blob, size_t n)
{
	const uint8_t *at = blob, *end = blob + n;
	char package[TEXT] = "", dependency[TEXT];
	struct part p;
	int r = 0, more;

	first(blob, n, 2, package);
	while (r >= 0 && (more = next(&at, end, &p)) != 0) {
		if (more < 0)
			return -1;
		if (p.field == 3 && p.n < TEXT) {
			snprintf(dependency, sizeof(dependency), "%.*s", (int)p.n, (const char *)p.at);
			if (find_file(a->t, dependency) < 0) {
				snprintf(a->why, a->why_size, "imports %s, which is not there", dependency);
				return -1;
			}
		}
		if (p.field == 4 || p.field == 5)
			r = add_symbol(a, package, &p, p.field == 4, 0);
	}
	for (at = blob; r >= 0 && next(&at, end, &p) > 0;)
		if (p.field == 4)
			r = check_fields(a, &p, 0);
	return r;
}

int cyber_types_add(struct cyber_types *t, const uint8_t *blob, size_t n, char *why, size_t why_size)
{
	char said[2 * TEXT + 64] = "is malformed";
	struct adding a = { t, t->n_symbols, said, sizeof(said) };
	struct file *f = &t->file[t->n_files];
	int had;

	if (t->n_files == FILES || !first(blob, n, 1, f->name)) {
		snprintf(why, why_size, "a file without a name, or too many");
		return -1;
	}
	had = find_file(t, f->name);
	if (had >= 0 && t->file[had].n == n && memcmp(t->file[had].blob, blob, n) == 0)
		return 0;
	if (had >= 0)
		snprintf(said, sizeof(said), "is there already, and is another one");
	if (had >= 0 || add_all(&a, blob, n) < 0) {
		t->n_symbols = a.had;
		snprintf(why, why_size, "%s %s", f->name, said);
		return -1;
	}
	f->blob = malloc(n);
	if (!f->blob)
		abort();
	memcpy(f->blob, blob, n);
	f->n = n;
	t->n_files++;
	return 0;
}

int cyber_types_add_set(struct cyber_types *t, const uint8_t *set, size_t n, char *why, size_t why_size)
{
	const uint8_t *at = set;
	struct part p;
	int r = 0;

	while (r == 0 && next(&at, set + n, &p) > 0)
		r = cyber_types_add(t, p.at, p.n, why, why_size);
	return r;
}

bool cyber_types_has(const struct cyber_types *t, const char *name)
{
	return find(t, name) != NULL;
}

bool cyber_types_has_file(const struct cyber_types *t, const char *name)
{
	return find_file(t, name) >= 0;
}

struct cyber_types *cyber_types_create(void)
{
	return calloc(1, sizeof(struct cyber_types));
}

void cyber_types_destroy(struct cyber_types *t)
{
	while (t && t->n_files)
		free(t->file[--t->n_files].blob);
	free(t);
}

const uint8_t *cyber_types_file(const struct cyber_types *t, const char *name, size_t *ret_n)
{
	int i = find_file(t, name);

	*ret_n = i < 0 ? 0 : t->file[i].n;
	return i < 0 ? NULL : t->file[i].blob;
}
