/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any data from an lgsvl_bridge: frames.h; messages in its positional form are read as the inbound commands. Thread:
 * one.
 */
#include "tools/bridge/convert/map_in.h"
#include "frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static _Alignas(64) uint8_t body[1 << 16];

static void read_all(const uint8_t *message, size_t len)
{
	for (const struct map_in *m = map_in_table; m->ros; m++) {
		struct message_in to = { .buf = body, .room = sizeof(body) };

		(void)map_in_read(m, WIRE_POSITIONAL, message, len, &to);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct frames frames = { &frame_lgsvl, read_all };

	return frames_fuzz(&frames, data, size);
}
