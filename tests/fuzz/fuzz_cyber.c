/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any data from a cyber_bridge: frames.h; messages of Apollo's in protobuf are read as all inbound types, of either
 * release. Thread: one.
 */
#include "tools/bridge/convert/apollo_in.h"
#include "frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static _Alignas(64) uint8_t body[1 << 16];

static void read_all(const uint8_t *message, size_t len)
{
	const struct apollo_limits limits = { .now_sim_ns = 0 };
	const struct apollo_type *t;
	struct message_in ret = { .buf = body, .room = sizeof(body) };
	char why[200];

	for (int r = APOLLO_5; r <= APOLLO_10; r++)
		for (unsigned i = 0; (t = apollo_type_at((enum apollo_release)r, true, i)); i++)
			if (apollo_decode(t, &limits, NULL, message, len, &ret, why, sizeof(why)) == 0 &&
			    (ret.size > sizeof(body) || strlen(ret.frame) > SIM_FRAME_ID_MAX))
				abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct frames frames = { &frame_cyber, read_all };

	return frames_fuzz(&frames, data, size);
}
