/* SPDX-License-Identifier: Apache-2.0 */
/* Members of simd's replies, which may be absent; printing messages as JSON. Thread: any. */
#include <errno.h>
#include <stdio.h>

#include "simctl.h"

const char *json_text(const json_t *obj, const char *key)
{
	const char *s = json_string_value(json_object_get(obj, key));

	return s ? s : "";
}

double json_num(const json_t *obj, const char *key)
{
	return json_number_value(json_object_get(obj, key));
}

bool json_yes(const json_t *obj, const char *key)
{
	return json_is_true(json_object_get(obj, key));
}

int json_to_file(void *file, const char *data, size_t len)
{
	return fwrite(data, 1, len, file) == len ? 0 : -EIO;
}
