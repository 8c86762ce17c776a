/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of keys, see keys.h. Thread: the owner's. */
#include "keys.h"

#include "err.h"
#include "jsonx.h"
#include "mem.h"
#include "near.h"
#include "number.h"
#include "timeutil.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define KEYS_MAX    64u  /* keys of one table: the size of seen_line */
#define CHOICES_MAX 160u /* bytes for the list of choices in a message */
#define DAY_MS      86400000.0

int notes_add(struct notes *n, const char *fmt, ...)
{
	char sentence[ERR_WHY_MAX], **more;
	va_list ap;

	if (n->n == NOTES_MAX) {
		n->unseen++;
		return 0;
	}
	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	more = mem_realloc(n->text, (n->n + 1) * sizeof(*more));
	if (!more)
		return err_nomem();
	n->text = more;
	n->text[n->n] = mem_strdup(sentence);
	if (!n->text[n->n])
		return err_nomem();
	n->n++;
	return 0;
}

void notes_finish(struct notes *n)
{
	for (unsigned i = 0; i < n->n; i++)
		mem_free(n->text[i]);
	mem_free(n->text);
	*n = (struct notes){ 0 };
}

int key_note(struct reading *x, const struct tree_node *n, const char *sentence)
{
	char path[200];

	tree_path(n, path, sizeof(path));
	return notes_add(x->notes, "%s:%u: %s: %s", x->tree->file, n->line, path, sentence);
}

/* ---- values ---- */

static int wrong_type(struct reading *x, const struct tree_node *n, const char *want)
{
	if (n->kind == TREE_SCALAR && !n->word)
		return tree_fail(x->tree, n, "a value of type %s where %s is wanted", jsonx_type_name(n->value), want);
	return tree_fail(x->tree, n, "%s where %s is wanted",
			 n->word                  ? "a word without quotes"
			 : n->kind == TREE_OBJECT ? "an object"
						  : "a list",
			 want);
}

static int read_string(struct reading *x, const struct tree_node *n, const char **ret)
{
	if (n->kind != TREE_SCALAR || !json_is_string(n->value) || n->word)
		return wrong_type(x, n, "a string");
	if (!json_string_length(n->value))
		return tree_fail(x->tree, n, "it is empty");
	*ret = json_string_value(n->value);
	return 0;
}

/* Accepts a string of digits as well: in XML every value is a string. */
static bool integer_of(const struct tree_node *n, int64_t *ret)
{
	const char *s = n->kind == TREE_SCALAR && !n->word ? json_string_value(n->value) : NULL;

	if (n->kind == TREE_SCALAR && json_is_integer(n->value)) {
		*ret = json_integer_value(n->value);
		return true;
	}
	return s && number_i64(s, NUMBER_DEC, INT64_MIN, INT64_MAX, ret) == 0;
}

static int read_uint(struct reading *x, const struct tree_node *n, const struct key *k, uint32_t *ret)
{
	char sentence[100];
	int64_t v;

	if (!integer_of(n, &v))
		return wrong_type(x, n, "an integer");
	if (v < k->min || (v > k->max && !x->foreign))
		return tree_fail(x->tree, n, "%lld is out of range, %u to %u", (long long)v, k->min, k->max);
	*ret = v > k->max ? k->max : (uint32_t)v;
	if (v <= k->max)
		return 0;
	snprintf(sentence, sizeof(sentence), "%lld is above the maximum; %u is used", (long long)v, k->max);
	return key_note(x, n, sentence);
}

static int read_ms(struct reading *x, const struct tree_node *n, int64_t *ret)
{
	double ms = json_number_value(n->value);

	if (n->kind != TREE_SCALAR || !json_is_number(n->value))
		return wrong_type(x, n, "a number of ms");
	if (!(ms * (double)NS_PER_MS >= 1 && ms <= DAY_MS))
		return tree_fail(x->tree, n, "%g ms is out of range, more than 0 to %.0f", ms, DAY_MS);
	*ret = (int64_t)llround(ms * (double)NS_PER_MS);
	return 0;
}

static int read_choice(struct reading *x, const struct tree_node *n, const struct key *k, int *ret)
{
	const char *s = n->kind == TREE_SCALAR ? json_string_value(n->value) : NULL;
	char all[CHOICES_MAX] = "";

	if (!s)
		return wrong_type(x, n, "a word");
	for (int i = 0; k->choices[i]; i++) {
		size_t len = strlen(all);

		if (!strcmp(k->choices[i], s)) {
			*ret = i;
			return 0;
		}
		snprintf(all + len, sizeof(all) - len, "%s\"%s\"", i ? ", " : "", k->choices[i]);
	}
	return tree_fail(x->tree, n, "\"%.64s\" is none of %s", s, all);
}

static int read_json(struct reading *x, const struct tree_node *n, char **ret)
{
	char *text;

	if (n->kind != TREE_OBJECT)
		return wrong_type(x, n, "an object");
	text = jsonx_text(n->value);
	if (!text)
		return err_nomem();
	*ret = text;
	return 0;
}

int key_each(struct reading *x, const struct tree_node *n, key_fn fn, void *to)
{
	int r = 0;

	if (n->kind != TREE_LIST)
		return x->foreign ? fn(x, n, to) : wrong_type(x, n, "a list");
	for (const struct tree_node *item = n->first; item && r == 0; item = item->next)
		r = fn(x, item, to);
	return r;
}

static int read_value(struct reading *x, const struct tree_node *n, const struct key *k, void *to)
{
	void *at = (char *)to + k->off;

	if (k->line_off)
		*(unsigned *)(void *)((char *)to + k->line_off) = n->line;
	switch (k->type) {
	case KEY_STRING:
		return read_string(x, n, at);
	case KEY_UINT:
		return read_uint(x, n, k, at);
	case KEY_MS:
		return read_ms(x, n, at);
	case KEY_CHOICE:
		return read_choice(x, n, k, at);
	case KEY_JSON:
		return read_json(x, n, at);
	case KEY_CALL:
		return k->read(x, n, to);
	case KEY_EACH:
		return key_each(x, n, k->read, to);
	case KEY_NOTE:
		break;
	}
	return key_note(x, n, k->note);
}

/* ---- objects ---- */

static int unknown(struct reading *x, const struct tree_node *n, const struct key *table)
{
	struct near near = { .word = n->name };

	for (const struct key *k = table; k->name; k++)
		(void)near_offer(&near, k->name);
	if (x->foreign)
		return key_note(x, n, "an unknown key, ignored");
	if (near.found)
		return tree_fail(x->tree, n, "an unknown key; did you mean %s?", near.found);
	return tree_fail(x->tree, n, "an unknown key");
}

static const struct key *find(const struct key *table, const char *name)
{
	for (; table->name; table++)
		if (!strcmp(table->name, name))
			return table;
	return NULL;
}

/* In Apollo's files an empty text means that the key is not given. */
static bool is_absent(const struct reading *x, const struct tree_node *n, const struct key *k)
{
	bool value = k->type == KEY_STRING || k->type == KEY_UINT || k->type == KEY_CHOICE;

	return x->foreign && value && n->kind == TREE_SCALAR && json_is_string(n->value) &&
	       !json_string_length(n->value);
}

/* In XML an object without members looks the same as an empty text. */
static bool is_object(const struct tree_node *n)
{
	return n->kind == TREE_OBJECT ||
	       (n->kind == TREE_SCALAR && json_is_string(n->value) && !json_string_length(n->value));
}

int keys_read(struct reading *x, const struct tree_node *n, const struct key *table, void *to)
{
	unsigned seen_line[KEYS_MAX] = { 0 };
	int r = 0;

	if (!is_object(n))
		return wrong_type(x, n, "an object");
	for (const struct tree_node *c = n->first; c && r == 0; c = c->next) {
		const struct key *k = find(table, c->name);
		unsigned *line = k ? &seen_line[k - table] : NULL;

		if (!k)
			r = unknown(x, c, table);
		else if (is_absent(x, c, k))
			continue;
		else if (*line && k->type != KEY_EACH && k->type != KEY_NOTE)
			r = tree_fail(x->tree, c, "given twice, first in line %u", *line);
		else
			r = read_value(x, c, k, to);
		if (k)
			*line = c->line;
	}
	for (const struct key *k = table; k->name && r == 0; k++)
		if (k->required && !seen_line[k - table])
			r = tree_fail(x->tree, n, "\"%s\" is missing", k->name);
	return r;
}
