/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a type that a peer describes: refused, or a type that survives the way there and back and prints. */
#include <stdlib.h>
#include <string.h>

#include "sim/introspect.h"

/* A broken promise stops the run, in the fuzzer and in the replay. */
#define FUZZ_CHECK(cond) \
	do { \
		if (!(cond)) \
			__builtin_trap(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int ignore(void *user, const char *data, size_t len)
{
	(void)user, (void)data, (void)len;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sim_type *t, *u;
	char *json;
	void *body;

	if (sim_type_from_json((const char *)data, size, &t) < 0)
		return 0;
	FUZZ_CHECK(t->fixed_size >= 1 && t->fixed_size <= SIM_TYPE_FIXED_MAX && t->align >= 1 && t->align <= 8);
	if (sim_type_to_json(t, &json) == 0) {
		FUZZ_CHECK(sim_type_from_json(json, strlen(json), &u) == 0);
		FUZZ_CHECK(sim_type_equal(t, u));
		sim_type_unref(u);
		free(json);
	}
	body = calloc(1, t->fixed_size);
	if (body) {
		FUZZ_CHECK(sim_msg_check(t, body, t->fixed_size) == 0);
		FUZZ_CHECK(sim_msg_to_json(t, body, t->fixed_size, NULL, ignore, NULL) == 0);
	}
	free(body);
	sim_type_unref(t);
	return 0;
}
