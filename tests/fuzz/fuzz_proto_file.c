/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's .proto file. The result is a plain file, and the same the next time; a rejection names the line. Thread:
 * one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gen/plain_file.h"
#include "tools/bridge/convert/proto_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Some names are there, some enums. */
static bool find(void *arg, const char *name, bool *ret_enum)
{
	size_t n = strlen(name);

	(void)arg;
	*ret_enum = n % 3 == 0;
	return n % 4 != 1;
}

static void declare(void *arg, const char *name, bool is_enum, unsigned line)
{
	(void)arg;
	(void)is_enum;
	if (!*name || strlen(name) > PROTO_NAME_MAX || !line)
		abort();
}

static void import(void *arg, const char *file, unsigned line)
{
	(void)arg;
	if (strlen(file) > PROTO_NAME_MAX || !line)
		abort();
}

static void describe(const uint8_t *data, size_t size, const struct proto_ops *ops)
{
	struct iovec iov[IOV_BUF_PIECES];
	struct iov_buf o;
	uint8_t *copy;
	char why[200] = "";

	iov_buf_init(&o);
	if (proto_file_describe("f", (const char *)data, size, ops, NULL, &o, why, sizeof(why)) == 0) {
		if (iov_buf_iov(&o, iov) != 1 || !(copy = malloc(iov[0].iov_len)))
			abort();
		if (plain_file(iov[0].iov_base, iov[0].iov_len, copy) != (long)iov[0].iov_len ||
		    memcmp(copy, iov[0].iov_base, iov[0].iov_len) != 0)
			abort();
		free(copy);
	} else if (strncmp(why, "f:", 2) != 0) {
		abort();
	}
	iov_buf_finish(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct proto_ops first = { .import = import, .declare = declare }, then = { .find = find };

	describe(data, size, &first);
	describe(data, size, &then);
	return 0;
}
