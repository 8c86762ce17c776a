/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the body of a message: the first byte picks the type, the rest is the peer's data. */
#include <stdlib.h>
#include <string.h>

#include "probe/msg/Every.h"
#include "sim/introspect.h"

/* A broken promise stops the run, in the fuzzer and in the replay. */
#define FUZZ_CHECK(cond) \
	do { \
		if (!(cond)) \
			__builtin_trap(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int add(void *user, const char *data, size_t len)
{
	(void)data;
	*(size_t *)user += len;
	return 0;
}

static const struct sim_type *pick(uint8_t n)
{
	const struct sim_type *const *t = sim_type_builtins();

	if (n & 1)
		return &probe_Every_type;
	for (n >>= 1; n && t[1]; n--)
		t++;
	return *t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sim_type *t = size ? pick(data[0]) : NULL;
	size_t len = 0;
	uint8_t *body;
	int r;

	if (!t || size - 1 < t->fixed_size)
		return 0;
	size--;
	body = malloc(size); /* aligned, and exactly as long as it says */
	if (!body)
		return 0;
	memcpy(body, data + 1, size);
	r = sim_msg_check(t, body, size);
	FUZZ_CHECK(sim_msg_to_json(t, body, size, NULL, add, &len) == r);
	FUZZ_CHECK(len <= size * 64 + 65536);
	FUZZ_CHECK(sim_msg_size(t, body, size) <= size);
	free(body);
	return 0;
}
