/* SPDX-License-Identifier: Apache-2.0 */
/* A component's configuration: a JSON object against a table of its keys. Thread: any. */
#ifndef PERCEPTION_SETTINGS_H
#define PERCEPTION_SETTINGS_H

#include <stddef.h>

#define SETTING_TEXT_MAX 100 /* bytes of a text, its end included */

enum setting_kind { SETTING_NUMBER, SETTING_COUNT, SETTING_TEXT };

struct setting {
	const char *key;
	enum setting_kind kind;
	void *to; /* double, uint32_t, char[SETTING_TEXT_MAX]: keeps what it has where the key is absent */
};

/*
 * Returns: 0; -EINVAL no JSON object, an unknown key, a value of another type or size: with a sentence in why. What `to` points at may have
 * been written then.
 */
int settings_read(const char *json, const struct setting *s, size_t n, char *why, size_t cap);

#endif
