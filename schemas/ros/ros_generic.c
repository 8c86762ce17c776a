/* SPDX-License-Identifier: Apache-2.0 */
/* See ros_generic.h. */
#include "ros/ros_generic.h"

#include "msg/typedesc.h"
#include "ros/ros_words.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPES_MAX 64 /* the bound of a closure in sim/introspect.h */

struct closure { /* the types nested in a type, each once */
	const struct sim_type *type[TYPES_MAX];
	unsigned n;
};

/* ---- names ---- */

static size_t package_len(const char *name)
{
	return strcspn(name, "/");
}

static bool is_ours(const char *name)
{
	return strncmp(name, "sim/", 4) == 0;
}

void ros_generic_name(const char *sim, char out[ROS_GENERIC_NAME_MAX])
{
	size_t n = package_len(sim);

	snprintf(out, ROS_GENERIC_NAME_MAX, "%.*s%s/msg/%s", (int)n, sim, is_ours(sim) ? "_msgs" : "",
		 sim[n] ? sim + n + 1 : "");
}

int ros_generic_sim_name(const char *ros, char out[SIM_TYPE_NAME_MAX + 1])
{
	size_t n = package_len(ros);
	const char *name = ros[n] ? ros + n + 1 : "";
	bool ours = n == 8 && strncmp(ros, "sim_msgs", n) == 0;
	int len;

	name += strncmp(name, "msg/", 4) ? 0 : 4;
	len = snprintf(out, SIM_TYPE_NAME_MAX + 1, "%.*s/%s", ours ? 3 : (int)n, ros, name);
	return n && *name && !strchr(name, '/') && len <= SIM_TYPE_NAME_MAX ? 0 : -EINVAL;
}

/* ---- the text ---- */

static void collect(const struct sim_type *t, struct closure *c)
{
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_type *n = t->fields[i].type;
		unsigned k = 0;

		while (n && k < c->n && strcmp(c->type[k]->name, n->name) != 0)
			k++;
		if (!n || k < c->n || c->n == TYPES_MAX)
			continue;
		c->type[c->n++] = n;
		collect(n, c);
	}
}

static void put_comment(FILE *f, const char *s, const char *before)
{
	if (!*s)
		return;
	fputs(before, f);
	for (; *s; s++)
		fputc(*s == '\n' || *s == '\r' ? ' ' : *s, f);
}

static const char *kind_name(unsigned kind, const char *time, const char *duration)
{
	return kind == SIM_KIND_TIME       ? time
	       : kind == SIM_KIND_DURATION ? duration
					   : typedesc_kind_name((enum sim_kind)kind);
}

/* "sim_msgs/Pose": nested types without "msg/", as in bags. */
static void put_name(FILE *f, const struct sim_type *t, enum ros_generic_words words)
{
	if (words != ROS_GENERIC_OURS && is_ours(t->name))
		fprintf(f, "sim_msgs/%s", t->name + 4);
	else
		fputs(t->name, f);
}

/* word: "byte" if the definition that the type was made from uses it, else "". */
static void put_kind(FILE *f, const struct sim_field *a, const char *word, enum ros_generic_words words)
{
	bool ros1 = words == ROS_GENERIC_ROS1, ros2 = words == ROS_GENERIC_ROS2;

	if (*word && a->kind == SIM_KIND_UINT8)
		fputs(word, f);
	else if (a->kind == SIM_KIND_MESSAGE)
		put_name(f, a->type, words);
	else
		fputs(kind_name(a->kind, ros2 ? "builtin_interfaces/Time" : "time",
				ros2 ? "builtin_interfaces/Duration" : "duration"),
		      f);
	if (a->string_max && !ros1)
		fprintf(f, "<=%u", a->string_max);
	if (a->array == SIM_ARRAY_FIXED)
		fprintf(f, "[%u]", a->count);
	else if (a->array == SIM_ARRAY_BOUNDED && !ros1)
		fprintf(f, "[<=%u]", a->count);
	else if (a->array != SIM_ARRAY_NONE)
		fputs("[]", f);
}

/* Constants of time are integers in ROS. In ROS 2 a string is quoted; its quotes and backslashes are then escaped. */
static void put_constant(FILE *f, const struct sim_constant *c, const struct ros_words *as,
			 enum ros_generic_words words)
{
	const char *word = words == ROS_GENERIC_ROS2 && *c->value == '-' ? "" : as->word; /* ROS 2's byte is unsigned */
	bool ours = words == ROS_GENERIC_OURS, quoted = c->kind == SIM_KIND_STRING && words != ROS_GENERIC_ROS1;

	fprintf(f, "%s %s=%s", *word ? word : kind_name(c->kind, ours ? "time" : "int64", ours ? "duration" : "int64"),
		c->name, quoted ? "\"" : "");
	if (*as->value) {
		fprintf(f, "%s\n", as->value);
		return;
	}
	for (const char *s = c->value; *s; s++)
		fprintf(f, "%s%c", quoted && (*s == '"' || *s == '\\') ? "\\" : "",
			*s == '\n' || *s == '\r' ? ' ' : *s);
	fputs(quoted ? "\"\n" : "\n", f);
}

/* Finds where the ROS definition uses other words than simd; values only if they count, for ROS 1's sum. */
static void find_words(const struct sim_type *t, const char *name, enum ros_generic_words words, struct ros_words *ret)
{
	*ret = (struct ros_words){ .word = "" };
	if (words != ROS_GENERIC_OURS)
		ros_words_find(t, name, ret);
	if (words != ROS_GENERIC_ROS1)
		ret->value[0] = '\0';
}

/* Only the first line: the rest is for programs, such as a protobuf definition. */
static void put_head(FILE *f, const char *comment)
{
	if (*comment)
		fprintf(f, "# %.*s\n\n", (int)strcspn(comment, "\r\n"), comment);
}

static void put_type(FILE *f, const struct sim_type *t, enum ros_generic_words words)
{
	struct ros_words as;

	if (words == ROS_GENERIC_OURS || !ros_words_has(t))
		put_head(f, t->comment);
	for (uint32_t i = 0; i < t->n_constants; i++) {
		find_words(t, t->constants[i].name, words, &as);
		put_constant(f, &t->constants[i], &as, words);
	}
	if (words == ROS_GENERIC_ROS1 && strcmp(t->name, "std_msgs/Header") == 0 && t->n_fields == 2)
		fputs("uint32 seq\n", f);
	for (uint32_t i = 0; i < t->n_fields; i++) {
		find_words(t, t->fields[i].name, words, &as);
		put_kind(f, &t->fields[i], as.word, words);
		fprintf(f, " %s", t->fields[i].name);
		put_comment(f, t->fields[i].comment, "  # ");
		fputc('\n', f);
	}
}

char *ros_generic_text(const struct sim_type *t, enum ros_generic_words words)
{
	struct closure c = { .n = 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	collect(t, &c);
	put_type(f, t, words);
	for (unsigned i = 0; i < c.n; i++) {
		for (unsigned k = 0; k < 80; k++)
			fputc('=', f);
		fputs("\nMSG: ", f);
		put_name(f, c.type[i], words);
		fputc('\n', f);
		put_type(f, c.type[i], words);
	}
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

/* ---- names that ROS 2 accepts ---- */

/* First a letter accepted by letter(), then such letters, digits and '_', no two '_' in a row and none at the end. */
static bool name_ok(const char *s, size_t n, int (*letter)(int c))
{
	for (size_t i = 0; i < n; i++) {
		bool last = i + 1 == n || s[i + 1] == '_';

		int c = (unsigned char)s[i];

		if (!letter(c) && (i == 0 || !(isdigit(c) || (c == '_' && !last))))
			return false;
	}
	return n > 0;
}

static const char *odd_in(const struct sim_type *t)
{
	size_t n = package_len(t->name);

	if (!name_ok(t->name, n, islower) || !isupper((unsigned char)t->name[n + 1]) || strchr(t->name + n, '_'))
		return t->name;
	for (uint32_t i = 0; i < t->n_constants; i++)
		if (!name_ok(t->constants[i].name, strlen(t->constants[i].name), isupper))
			return t->constants[i].name;
	for (uint32_t i = 0; i < t->n_fields; i++)
		if (!name_ok(t->fields[i].name, strlen(t->fields[i].name), islower))
			return t->fields[i].name;
	return NULL;
}

const char *ros_generic_odd_name(const struct sim_type *t)
{
	struct closure c = { .n = 0 };
	const char *odd = odd_in(t);

	collect(t, &c);
	for (unsigned i = 0; !odd && i < c.n; i++)
		odd = odd_in(c.type[i]);
	return odd;
}
