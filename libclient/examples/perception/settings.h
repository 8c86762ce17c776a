/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a component's configuration: a JSON object, by a table of its keys. Thread: any. */
#ifndef PERCEPTION_SETTINGS_H
#define PERCEPTION_SETTINGS_H

#include <stddef.h>

#define SETTING_TEXT_MAX 100 /* bytes of a text, with its NUL */

enum setting_kind { SETTING_NUMBER, SETTING_COUNT, SETTING_TEXT };

struct setting {
	const char *key;
	enum setting_kind kind;
	void *to; /* double, uint32_t, char[SETTING_TEXT_MAX]: unchanged if the key is absent */
};

/*
 * Returns: 0; -EINVAL not a JSON object, an unknown key, or a value of wrong type or size; why has the reason. *to may
 * have been written then.
 */
int settings_read(const char *json, const struct setting *s, size_t n, char *why, size_t cap);

#endif
