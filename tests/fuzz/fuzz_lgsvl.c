/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an lgsvl_bridge may send: frames, in pieces of any size, and messages in its positional form, read as the commands that may
 * come in. The first byte chooses the size of the pieces. Thread: one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bridge/convert/map_in.h"
#include "tools/bridge/tcp/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX 4096u

static _Alignas(64) uint8_t body[1 << 16];

static void read_all(const uint8_t *message, size_t len)
{
	for (const struct map_in *m = map_in_table; m->ros; m++) {
		size_t n;

		(void)map_in_read(m, WIRE_POSITIONAL, message, len, body, sizeof(body), &n);
	}
}

/* The frames of what has come: where the first that is not whole begins; size + 1: nothing can follow. */
static size_t frames(const uint8_t *data, size_t size)
{
	struct frame f;
	size_t at = 0;
	char why[200];
	int r;

	while ((r = frame_parse(&frame_lgsvl, data + at, size - at, MAX, &f, why, sizeof(why))) > 0) {
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
