/* SPDX-License-Identifier: Apache-2.0 */
/* See names.h. */
#include "names.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "topic_options.h"

_Static_assert(NAMES_LEN == TOPIC_NAME_MAX, "a topic's name is as long as any");

__attribute__((format(printf, 3, 4))) static int bad(char *why, size_t why_size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, why_size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Appends s without slashes that ROS ignores: doubled ones, and the last one. */
static void add(char ret[NAMES_LEN + 1], size_t *n, const char *s)
{
	for (; *s && *n <= NAMES_LEN; s++)
		if (*s != '/' || !*n || ret[*n - 1] != '/')
			ret[(*n)++] = *s;
}

/* Expands a name to a global one, without remapping. */
static int expand(const struct names *n, const char *name, char ret[NAMES_LEN + 1], char *why, size_t why_size)
{
	size_t len = 0;

	if (*name == '~') {
		add(ret, &len, n->node);
		add(ret, &len, "/");
	} else if (*name != '/') {
		add(ret, &len, n->name_space);
		add(ret, &len, "/");
	}
	add(ret, &len, name + (*name == '~'));
	while (len > 1 && ret[len - 1] == '/' && len <= NAMES_LEN)
		len--;
	if (len <= NAMES_LEN) {
		ret[len] = '\0';
		if (*name && !(*name >= '0' && *name <= '9') && topic_name_fits(ret, TOPIC_ROS1))
			return 0;
	}
	return bad(
		why, why_size,
		"\"%.80s\" is not a name of ROS: \"/a/b\", \"a/b\" in the namespace or \"~a\" in the node's, of words of "
		"letters, digits and '_', %u bytes in all at most",
		name, NAMES_LEN);
}

int names_resolve(const struct names *n, const char *name, char ret[NAMES_LEN + 1], char *why, size_t why_size)
{
	int r = expand(n, name, ret, why, why_size);

	for (unsigned i = 0; r == 0 && i < n->n; i++)
		if (strcmp(n->map[i].from, ret) == 0) {
			strcpy(ret, n->map[i].to);
			break; /* only once: the result is not remapped again */
		}
	return r;
}

/* ---- the list ---- */

/* The value of a special key such as "__name" or "__ns", the last one if repeated; NULL: not given. */
static const char *special(json_t *list, const char *key)
{
	const char *found = NULL, *text;
	size_t i, n = strlen(key);
	json_t *v;

	json_array_foreach(list, i, v) {
		text = json_string_value(v);
		if (text && strncmp(text, key, n) == 0 && strncmp(text + n, ":=", 2) == 0)
			found = text + n + 2;
	}
	return found;
}

static int set_names(struct names *n, const char *node, const char *node_key, const char *space, const char *space_key,
		     char *why, size_t why_size)
{
	if (strlen(node) > 63 || !ros_name_ok(node, false))
		return bad(why, why_size, "options.%s: \"%.70s\" is not a ROS name: letters, digits and '_'", node_key,
			   node);
	if (strlen(space) > 150 || !ros_name_ok(space, true))
		return bad(why, why_size, "options.%s: \"%.70s\" is not a ROS name: '/' first, letters, digits and '_'",
			   space_key, space);
	snprintf(n->name_space, sizeof(n->name_space), "%.150s", space);
	snprintf(n->node, sizeof(n->node), "%.150s/%.63s", space[1] ? space : "", node);
	return 0;
}

static int add_one(struct names *n, const char *text, char *why, size_t why_size)
{
	const char *sep = text ? strstr(text, ":=") : NULL;
	char from[NAMES_LEN + 1];
	int r;

	if (!sep || (size_t)(sep - text) > NAMES_LEN)
		return bad(why, why_size, "\"%.80s\" is not of the form \"name:=other\"", text ? text : "");
	if (strncmp(text, "__name:=", 8) == 0 || strncmp(text, "__ns:=", 6) == 0)
		return 0;
	if (*text == '_')
		return bad(why, why_size, "\"%.80s\": of the special names only \"__name\" and \"__ns\" are supported",
			   text);
	if (n->n == NAMES_MAX)
		return bad(why, why_size, "more than %u names", NAMES_MAX);
	snprintf(from, sizeof(from), "%.*s", (int)(sep - text), text);
	r = expand(n, from, n->map[n->n].from, why, why_size);
	if (r == 0)
		r = expand(n, sep + 2, n->map[n->n].to, why, why_size);
	n->n += r == 0;
	return r;
}

static int read_list(struct names *n, json_t *list, const char *node, const char *space, char *why, size_t why_size)
{
	const char *new_node = special(list, "__name"), *new_space = special(list, "__ns");
	char global[NAMES_LEN + 2], text[200];
	size_t i;
	json_t *v;
	int r;

	snprintf(global, sizeof(global), "%s%.200s", new_space && *new_space != '/' ? "/" : "",
		 new_space ? new_space : space);
	r = set_names(n, new_node ? new_node : node, new_node ? "remap" : "node", global,
		      new_space ? "remap" : "namespace", why, why_size);
	if (r < 0)
		return r;
	json_array_foreach(list, i, v) {
		r = add_one(n, json_string_value(v), text, sizeof(text));
		if (r < 0)
			return bad(why, why_size, "options.remap[%zu]: %s", i, text);
	}
	return 0;
}

int names_init(struct names *n, const char *node, const char *name_space, const char *list, char *why, size_t why_size)
{
	json_t *j = json_loads(*list ? list : "[]", JSON_REJECT_DUPLICATES, NULL);
	int r;

	*n = (struct names){ .n = 0 };
	r = json_is_array(j) ? read_list(n, j, node, name_space, why, why_size)
			     : bad(why, why_size, "options.remap: a list is needed: [\"name:=other\"]");
	json_decref(j);
	return r;
}
