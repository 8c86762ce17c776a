/* SPDX-License-Identifier: Apache-2.0 */
/* See cbor_tree.h. */
#include "cbor_tree.h"

#include <string.h>

static uint8_t *put(uint8_t *at, unsigned head, uint64_t v)
{
	*at++ = (uint8_t)(head << 5 | 27);
	for (int shift = 56; shift >= 0; shift -= 8)
		*at++ = (uint8_t)(v >> shift);
	return at;
}

static uint8_t *put_text(uint8_t *at, const char *s)
{
	size_t len = strlen(s);

	memcpy(put(at, 3, len), s, len);
	return at + 9 + len;
}

static uint8_t *put_item(uint8_t *at, json_t *j)
{
	const char *key;
	json_t *value;
	uint64_t bits;
	double real;
	size_t i;

	switch (json_typeof(j)) {
	case JSON_OBJECT:
		at = put(at, 5, json_object_size(j));
		json_object_foreach(j, key, value)
			at = put_item(put_text(at, key), value);
		return at;
	case JSON_ARRAY:
		at = put(at, 4, json_array_size(j));
		json_array_foreach(j, i, value)
			at = put_item(at, value);
		return at;
	case JSON_STRING:
		return put_text(at, json_string_value(j));
	case JSON_INTEGER:
		bits = (uint64_t)json_integer_value(j);
		return bits >> 63 ? put(at, 1, ~bits) : put(at, 0, bits);
	case JSON_REAL:
		real = json_real_value(j);
		memcpy(&bits, &real, sizeof(bits));
		return put(at, 7, bits);
	default:
		*at++ = json_is_true(j) ? 0xf5 : json_is_false(j) ? 0xf4 : 0xf6;
		return at;
	}
}

size_t cbor_tree_write(json_t *tree, uint8_t *cbor)
{
	return (size_t)(put_item(cbor, tree) - cbor);
}
