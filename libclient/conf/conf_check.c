/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration: checks single values and writes messages about them. Thread: the owner's. */
#include "conf_private.h"
#include "err.h"
#include "near.h"
#include "jsonx.h"
#include "number.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static size_t path_add(struct conf_path *p, int n)
{
	size_t old = p->len;

	p->len = old + (size_t)n < sizeof(p->text) ? old + (size_t)n : sizeof(p->text) - 1;
	return old;
}

size_t conf_path_push(struct conf_path *p, const char *name)
{
	return path_add(p, snprintf(p->text + p->len, sizeof(p->text) - p->len, "%s%s", p->len ? "." : "", name));
}

size_t conf_path_push_index(struct conf_path *p, size_t i)
{
	return path_add(p, snprintf(p->text + p->len, sizeof(p->text) - p->len, "[%zu]", i));
}

void conf_path_cut(struct conf_path *p, size_t len)
{
	p->len = len;
	p->text[len] = '\0';
}

const struct conf_key *conf_key_find(const struct conf_key *keys, const char *name, size_t len)
{
	for (const struct conf_key *k = keys; k->name; k++)
		if (strlen(k->name) == len && !memcmp(k->name, name, len))
			return k;
	return NULL;
}

const struct conf_key *conf_key_id(const struct conf_key *keys)
{
	for (const struct conf_key *k = keys; k->name; k++)
		if (k->id)
			return k;
	return NULL;
}

int conf_wrong_type(const char *want, const json_t *v, const char *origin, const struct conf_path *path)
{
	return err_set(-EINVAL, "%s: %s: is of type %s, give %s", origin, path->len ? path->text : "the file",
		       jsonx_type_name(v), want);
}

int conf_unknown_key(const struct conf_key *keys, const char *name, const char *origin, const struct conf_path *path)
{
	struct near n = { .word = name };

	for (const struct conf_key *k = keys; k->name; k++)
		near_offer(&n, k->name);
	return err_set(-EINVAL, "%s: %s%s%.64s: unknown key%s%s%s", origin, path->text, path->len ? "." : "", name,
		       n.found ? "; did you mean " : "", n.found ? n.found : "", n.found ? "?" : "");
}

int conf_check_count(const struct conf_key *k, size_t n, const char *origin, const struct conf_path *path)
{
	size_t max = k->max ? (size_t)k->max : CONF_ITEMS_MAX;

	return n <= max
		       ? 0
		       : err_set(-EINVAL, "%s: %s: has %zu items, at most %zu are allowed", origin, path->text, n, max);
}

/* ---- values ---- */

int conf_word(const struct conf_key *k, const json_t *v)
{
	const char *s = json_string_value(v);

	for (int i = 0; s && k->choices && k->choices[i]; i++)
		if (!strcmp(s, k->choices[i]))
			return i;
	return -1;
}

static int check_choice(const struct conf_key *k, const json_t *v, const char *origin, const struct conf_path *path)
{
	const char *s = json_string_value(v);
	char list[256] = "";
	size_t n = 0;

	if (conf_word(k, v) >= 0)
		return 0;
	for (int i = 0; k->choices[i] && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", k->choices[i]);
	if (s)
		return err_set(-EINVAL, "%s: %s: \"%.64s\" is not one of %s", origin, path->text, s, list);
	return err_set(-EINVAL, "%s: %s: is of type %s, give one of %s", origin, path->text, jsonx_type_name(v), list);
}

int conf_size(const json_t *v, int64_t *ret)
{
	if (!json_is_integer(v))
		return size_parse(json_string_value(v), ret);
	*ret = json_integer_value(v);
	return 0;
}

static int check_size(const struct conf_key *k, const json_t *v, const char *origin, const struct conf_path *path)
{
	int64_t n, max = k->max ? k->max : INT64_MAX;

	if (!json_is_string(v) && !json_is_integer(v))
		return conf_wrong_type("a size such as \"16MiB\"", v, origin, path);
	if (conf_size(v, &n) < 0)
		return err_prefix(-EINVAL, "%s: %s", origin, path->text);
	if (n >= k->min && n <= max)
		return 0;
	return err_set(-EINVAL, "%s: %s: %" PRId64 " bytes is out of range, %" PRId64 " to %" PRId64, origin,
		       path->text, n, k->min, max);
}

static int check_number(const struct conf_key *k, const json_t *v, const char *origin, const struct conf_path *path)
{
	double x = json_number_value(v);

	if (k->choices && !json_is_integer(v))
		return conf_word(k, v) >= 0
			       ? 0
			       : err_set(-EINVAL,
					 "%s: %s: is neither \"%s\" nor a whole number, %" PRId64 " to %" PRId64,
					 origin, path->text, k->choices[0], k->min, k->max);
	if (k->type == CONF_INT ? !json_is_integer(v) : !json_is_number(v))
		return conf_wrong_type(k->type == CONF_INT ? "a whole number" : "a number", v, origin, path);
	if ((!k->min && !k->max) || (x >= (double)k->min && x <= (double)k->max))
		return 0;
	return err_set(-EINVAL, "%s: %s: %.15g is out of range, %" PRId64 " to %" PRId64, origin, path->text, x, k->min,
		       k->max);
}

static int check_string(const struct conf_key *k, const json_t *v, const char *origin, const struct conf_path *path)
{
	size_t max = k->type == CONF_STRING && k->max ? (size_t)k->max : 4095;

	if (!json_is_string(v))
		return conf_wrong_type("a string", v, origin, path);
	if (json_string_length(v) > max)
		return err_set(-EINVAL, "%s: %s: has %zu bytes, at most %zu are allowed", origin, path->text,
			       json_string_length(v), max);
	return 0;
}

static int check_strings(const struct conf_key *k, const json_t *v, const char *origin, const struct conf_path *path)
{
	struct conf_path at = *path;
	int r;

	if (!json_is_array(v))
		return conf_wrong_type("an array of strings", v, origin, path);
	r = conf_check_count(k, json_array_size(v), origin, path);
	for (size_t i = 0; i < json_array_size(v) && r == 0; i++) {
		size_t len = conf_path_push_index(&at, i);

		r = check_string(k, json_array_get(v, i), origin, &at);
		conf_path_cut(&at, len);
	}
	return r;
}

int conf_check_leaf(const struct conf_key *k, const json_t *v, const char *origin, const struct conf_path *path)
{
	switch (k->type) {
	case CONF_BOOL:
		return json_is_boolean(v) ? 0 : conf_wrong_type("true or false", v, origin, path);
	case CONF_INT:
	case CONF_REAL:
		return check_number(k, v, origin, path);
	case CONF_SIZE:
		return check_size(k, v, origin, path);
	case CONF_STRING:
		return check_string(k, v, origin, path);
	case CONF_CHOICE:
		return check_choice(k, v, origin, path);
	case CONF_STRINGS:
		return check_strings(k, v, origin, path);
	case CONF_OBJECT:
	case CONF_LIST:
	case CONF_ANY:
		break;
	}
	return 0;
}
