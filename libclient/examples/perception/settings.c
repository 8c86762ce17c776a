/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a table of keys with jansson. See settings.h. */
#include "settings.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int read_one(const struct setting *s, const json_t *v, char *why, size_t cap)
{
	switch (s->kind) {
	case SETTING_NUMBER:
		if (!json_is_number(v))
			break;
		*(double *)s->to = json_number_value(v);
		return 0;
	case SETTING_COUNT:
		if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > UINT32_MAX)
			break;
		*(uint32_t *)s->to = (uint32_t)json_integer_value(v);
		return 0;
	case SETTING_TEXT:
		if (!json_is_string(v) || json_string_length(v) >= SETTING_TEXT_MAX)
			break;
		memcpy(s->to, json_string_value(v), json_string_length(v) + 1);
		return 0;
	}
	snprintf(why, cap, "\"%s\": %s", s->key,
		 s->kind == SETTING_NUMBER  ? "not a number"
		 : s->kind == SETTING_COUNT ? "not a whole number, 0 or more"
					    : "not a text of at most 99 bytes");
	return -EINVAL;
}

static int no_such(const char *key, const struct setting *s, size_t n, char *why, size_t cap)
{
	int at = snprintf(why, cap, "\"%.60s\": no such key; there are", key);

	for (size_t i = 0; i < n && at >= 0 && (size_t)at < cap; i++)
		at += snprintf(why + at, cap - (size_t)at, "%s %s", i ? "," : "", s[i].key);
	return -EINVAL;
}

static int read_all(json_t *all, const struct setting *s, size_t n, char *why, size_t cap)
{
	const char *key;
	json_t *v;
	int r = 0;

	json_object_foreach(all, key, v) {
		size_t i = 0;

		while (i < n && strcmp(s[i].key, key) != 0)
			i++;
		r = i < n ? read_one(&s[i], v, why, cap) : no_such(key, s, n, why, cap);
		if (r < 0)
			break;
	}
	return r;
}

int settings_read(const char *json, const struct setting *s, size_t n, char *why, size_t cap)
{
	json_error_t e;
	json_t *all = json_loads(json, JSON_REJECT_DUPLICATES, &e);
	int r;

	if (!all) {
		snprintf(why, cap, "line %d: %s", e.line, e.text);
		return -EINVAL;
	}
	if (json_is_object(all)) {
		r = read_all(all, s, n, why, cap);
	} else {
		snprintf(why, cap, "not an object");
		r = -EINVAL;
	}
	json_decref(all);
	return r;
}
