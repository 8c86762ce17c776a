/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setgen: converts protoc's FileDescriptorSet on stdin to one of plain files (plain_file.h) on stdout. Exit status 1:
 * the input is malformed.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "gen/plain_file.h"

#define SET_SIZE_MAX (1u << 20)

static uint8_t set[SET_SIZE_MAX], file[SET_SIZE_MAX];

/* Reads a varint; SIZE_MAX: the set ends within it. */
static size_t length_at(size_t *at, size_t size)
{
	size_t v = 0;

	for (unsigned shift = 0; *at < size && shift < 28; shift += 7) {
		uint8_t byte = set[(*at)++];

		v |= (size_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
	return SIZE_MAX;
}

static void put_file(size_t n)
{
	size_t rest = n;

	putchar(0x0a); /* field 1 */
	for (; rest >= 0x80; rest >>= 7)
		putchar((int)(rest & 0x7f) | 0x80);
	putchar((int)rest);
	fwrite(file, 1, n, stdout);
}

int main(void)
{
	size_t size = fread(set, 1, sizeof(set), stdin), at = 0;
	long n = 0;

	while (at < size && n >= 0) {
		bool is_file = set[at++] == 0x0a;
		size_t len = length_at(&at, size);

		n = is_file && len <= size - at ? plain_file(set + at, len, file) : -1;
		if (n >= 0)
			put_file((size_t)n);
		at += len;
	}
	if (n < 0 || !size || size == sizeof(set) || fflush(stdout) != 0) {
		fputs("setgen: stdin has no FileDescriptorSet of less than 1 MiB\n", stderr);
		return 1;
	}
	return 0;
}
