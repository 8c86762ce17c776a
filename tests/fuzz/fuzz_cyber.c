/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a cyber_bridge may send: frames, in pieces of any size, and messages of Apollo's in protobuf, read as all that may come in, of either
 * release. The first byte chooses the size of the pieces. Thread: one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bridge/convert/apollo.h"
#include "tools/bridge/tcp/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX 4096u

static _Alignas(64) uint8_t body[1 << 16];

static void read_all(const uint8_t *message, size_t len)
{
	const struct apollo_limits limits = { .now_sim_ns = 0 };
	const struct apollo_type *t;
	char why[200];
	size_t n;

	for (int r = APOLLO_5; r <= APOLLO_10; r++)
		for (unsigned i = 0; (t = apollo_type_at((enum apollo_release)r, true, i)); i++)
			if (apollo_decode(t, &limits, message, len, body, sizeof(body), &n, why, sizeof(why)) == 0 &&
			    n > sizeof(body))
				abort();
}

/* The frames of what has come: where the first that is not whole begins; size + 1: nothing can follow. */
static size_t frames(const uint8_t *data, size_t size)
{
	struct frame f;
	size_t at = 0;
	char why[200];
	int r;

	while ((r = frame_parse(&frame_cyber, data + at, size - at, MAX, &f, why, sizeof(why))) > 0) {
		if (f.total > size - at || f.topic_len > FRAME_TOPIC_MAX || (f.message && f.len > MAX))
			abort();
		if (f.message)
			read_all(f.message, f.len);
		at += f.total;
	}
	return r < 0 ? size + 1 : at;
}

/* However it is cut, the same frames are found. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t step = size ? data[0] + 1u : 1, have = 0, at = 0, n = 0, whole;
	uint8_t *copy = malloc(size ? size : 1);

	if (size && copy) {
		memcpy(copy, data + 1, --size);
		whole = frames(copy, size);
		while (have < size && n <= have - at) {
			at += n;
			have = size - have < step ? size : have + step;
			n = frames(copy + at, have - at);
		}
		if (n <= have - at ? at + n != whole : whole != size + 1)
			abort();
	}
	free(copy);
	return 0;
}
