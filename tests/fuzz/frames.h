/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What fuzz_cyber and fuzz_lgsvl share: frames in pieces of any size, the first byte chooses which. However they are cut, the same
 * frames are found.
 */
#ifndef FUZZ_FRAMES_H
#define FUZZ_FRAMES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bridge/tcp/frame.h"

#define FRAMES_MAX 4096u /* bytes of a message */

struct frames {
	const struct frame_dialect *dialect;
	void (*read)(const uint8_t *message, size_t len);
};

/*
 * Reads the messages in the received bytes. Returns where the first incomplete frame begins; size + 1: nothing can
 * follow.
 */
static inline size_t frames_read(const struct frames *fs, const uint8_t *data, size_t size)
{
	struct frame f;
	size_t at = 0;
	char why[200];
	int r;

	while ((r = frame_parse(fs->dialect, data + at, size - at, FRAMES_MAX, &f, why, sizeof(why))) > 0) {
		if (f.total > size - at || f.topic_len > FRAME_TOPIC_MAX || (f.message && f.len > FRAMES_MAX))
			abort();
		if (f.message)
			fs->read(f.message, f.len);
		at += f.total;
	}
	return r < 0 ? size + 1 : at;
}

static inline int frames_fuzz(const struct frames *fs, const uint8_t *data, size_t size)
{
	size_t step = size ? data[0] + 1u : 1, have = 0, at = 0, n = 0, whole;
	uint8_t *copy = malloc(size ? size : 1);

	if (size && copy) {
		memcpy(copy, data + 1, --size);
		whole = frames_read(fs, copy, size);
		while (have < size && n <= have - at) {
			at += n;
			have = size - have < step ? size : have + step;
			n = frames_read(fs, copy + at, have - at);
		}
		if (n <= have - at ? at + n != whole : whole != size + 1)
			abort();
	}
	free(copy);
	return 0;
}

#endif
