/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as foreign text: the result is printable, also within JSON, which reads back; the first byte is the size of
 * the buffer. Thread: one.
 */
#include "printable.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ_CHECK(cond) \
	do { \
		if (!(cond)) \
			__builtin_trap(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_json(const char *s, size_t len)
{
	size_t room = len * PRINTABLE_ESCAPE_MAX + 3;
	char *text = malloc(room);
	json_t *j;

	if (!text)
		return;
	text[0] = '"';
	strcat(text + 1 + printable_json(text + 1, room - 2, s, len), "\"");
	FUZZ_CHECK(printable_is(text, strlen(text)));
	j = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	FUZZ_CHECK(j);
	if (printable_is(s, len))
		FUZZ_CHECK(json_string_length(j) == len && memcmp(json_string_value(j), s, len) == 0);
	json_decref(j);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *s = (const char *)data + 1;
	char once[256], twice[256];
	size_t room, n;

	if (!size--)
		return 0;
	room = data[0] + 1;
	n = printable(once, room, s, size);
	FUZZ_CHECK(n < room && once[n] == '\0' && printable_is(once, n));
	FUZZ_CHECK(printable(twice, sizeof(twice), once, n) == n && memcmp(once, twice, n) == 0);
	if (printable_is(s, size) && size < room)
		FUZZ_CHECK(n == size && memcmp(once, s, n) == 0);
	check_json(s, size);
	return 0;
}
