/* SPDX-License-Identifier: Apache-2.0 */
/* See ros_own.h. Converts the definition to our language, and lets schemas/gen parse it and lay it out. */
#include "ros_own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "own_type.h"
#include "ros/ros_generic.h"
#include "ros/ros_text.h"
#include "ros/ros_words.h"

#define HEADER "std_msgs/Header"

/* ---- the definition in our language ---- */

struct own {
	struct own_definition list[ROS_TEXT_TYPES + 1];
	unsigned n;
	bool ros1;
};

static const char *word_of(const char *ros, size_t len)
{
	static const struct {
		const char *ros, *ours;
	} words[] = { { "builtin_interfaces/Time", "time" },
		      { "builtin_interfaces/Duration", "duration" },
		      { "byte", "uint8" },
		      { "char", "uint8" } };

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i].ros) == len && memcmp(words[i].ros, ros, len) == 0)
			return words[i].ours;
	return NULL;
}

/* "type[..] name" or "type NAME=value", as rosdef writes them. */
static void put_line(FILE *f, const char *line, size_t len)
{
	static const char ours[] = "sim_msgs/";
	size_t type = strcspn(line, " [<\n");
	const char *word = word_of(line, type);
	bool negative = memmem(line, len, "=-", 2); /* a ROS 1 byte may be negative, a constant of a uint8 may not */

	if (word)
		fputs(negative ? "int8" : word, f);
	else if (strncmp(line, ours, sizeof(ours) - 1) == 0)
		fprintf(f, "sim/%.*s", (int)(type - sizeof(ours) + 1), line + sizeof(ours) - 1);
	else
		fprintf(f, "%.*s", (int)type, line);
	fprintf(f, "%.*s\n", (int)(len - type), line + type);
}

/* Writes one definition, up to a line of "=" or the end. Returns where the next one's name begins, or NULL. */
static const char *put_definition(FILE *f, const char *text, bool header, bool ros1)
{
	static const char head[] = "MSG: ", seq[] = "uint32 seq\n";

	if (header && strncmp(text, seq, sizeof(seq) - 1) == 0)
		text += sizeof(seq) - 1;
	ros_words_put(f, text, ros1);

	while (*text) {
		size_t len = strcspn(text, "\n");
		bool rule = *text == '=';

		if (!rule && len)
			put_line(f, text, len);
		text += len + (text[len] == '\n');
		if (rule)
			return strncmp(text, head, sizeof(head) - 1) == 0 ? text + sizeof(head) - 1 : NULL;
	}
	return NULL;
}

static int take_definition(struct own *o, const char *name, size_t len, const char **text)
{
	struct own_definition *d = &o->list[o->n];
	char ros[2 * SIM_TYPE_NAME_MAX];
	FILE *f;

	if (o->n > ROS_TEXT_TYPES)
		return -E2BIG;
	snprintf(ros, sizeof(ros), "%.*s", (int)len, name);
	if (len >= sizeof(ros) || ros_generic_sim_name(ros, d->name) < 0)
		return -ENAMETOOLONG;
	f = open_memstream(&d->text, &d->len);
	if (!f)
		return -ENOMEM;
	o->n++;
	*text = put_definition(f, *text, strcmp(d->name, HEADER) == 0, o->ros1);
	return fclose(f) == 0 ? 0 : -ENOMEM;
}

static int take_definitions(struct own *o, const struct ros_type *t)
{
	const char *text = t->definition;
	int r = take_definition(o, t->name, strlen(t->name), &text);

	while (r == 0 && text) {
		const char *name = text;
		size_t len = strcspn(name, "\n");

		text += len + (text[len] == '\n');
		r = take_definition(o, name, len, &text);
	}
	return r;
}

/* ---- the type ---- */

/* Whether each nested std_msgs/Header equals the known one, as which it will be read. */
static bool has_known_headers(const struct ros_type *t, const struct ros_type *known)
{
	const char *field;

	if (strcmp(t->name, HEADER) == 0)
		return known && ros_type_same(t, known, &field);
	for (uint32_t i = 0; i < t->n_fields; i++)
		if (t->fields[i].type && !has_known_headers(t->fields[i].type, known))
			return false;
	return true;
}

int ros_own_type(const struct ros_type *t, const struct ros_type *const *known, const struct sim_type **ret, char *why,
		 size_t why_size)
{
	struct own *o;
	int r;

	if (!has_known_headers(t, ros_type_find(known, HEADER))) {
		snprintf(why, why_size, "its " HEADER " is another one than here");
		return -ENOTSUP;
	}
	o = calloc(1, sizeof(*o));
	if (o)
		o->ros1 = known == ros1_types;
	r = o ? take_definitions(o, t) : -ENOMEM;
	snprintf(why, why_size, "%s",
		 r == -ENOMEM         ? "no memory"
		 : r == -ENAMETOOLONG ? "its name, or one that it nests, is not a type's name of at most 63 characters"
		 : r < 0              ? "it nests too many types"
				      : "it is over a limit of types");
	if (r == 0)
		r = own_type_make(o->list, o->n, ret, why, why_size);
	while (o && o->n)
		free(o->list[--o->n].text);
	free(o);
	return r == 0 || r == -ENOMEM ? r : -ENOTSUP;
}
