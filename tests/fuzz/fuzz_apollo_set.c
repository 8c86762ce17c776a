/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's set of definitions. The accepted part is read once more, and is then accepted as a whole, without an error
 * text. Thread: one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bridge/convert/apollo_set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned sentences;

static void say(void *arg, bool fatal, const char *sentence)
{
	(void)arg;
	(void)fatal;
	if (!*sentence)
		abort();
	sentences++;
}

static const struct apollo_set_log says = { say, NULL };

static size_t put_file(uint8_t *to, const struct iovec *file)
{
	size_t n = 1, len = file->iov_len;

	to[0] = 0x0a;
	for (; len >= 0x80; len >>= 7)
		to[n++] = (uint8_t)(len | 0x80);
	to[n++] = (uint8_t)len;
	memcpy(to + n, file->iov_base, file->iov_len);
	return n + file->iov_len;
}

static void again(const struct apollo_set *s, const char *name)
{
	struct iovec files[APOLLO_FILES_MAX];
	size_t n = apollo_set_files(s, name, files), size = 0;
	struct apollo_set *copy = NULL;
	uint8_t *set;

	for (size_t i = 0; i < n; i++)
		size += files[i].iov_len + 11;
	set = n ? malloc(size) : NULL;
	if (!set)
		return;
	size = 0;
	for (size_t i = 0; i < n; i++)
		size += put_file(set + size, &files[i]);
	sentences = 0;
	if (apollo_set_read("again", set, size, &says, &copy) < 0 || sentences ||
	    apollo_set_files(copy, name, files) != n)
		abort();
	apollo_set_destroy(copy);
	free(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct apollo_set *s = NULL;

	if (apollo_set_read("fuzz", data, size, &says, &s) == 0) {
		apollo_set_say_missing(s, APOLLO_10, &says);
		again(s, "p.q.C");
		again(s, "apollo.common.Header");
	}
	apollo_set_destroy(s);
	return 0;
}
