/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which channels of the logs are latched, and which of their messages replace each other: all messages of a channel,
 * but for transforms only those of the same set of frames, as several publishers may send on /tf_static. Thread: the
 * player's producer.
 */
#include "player_simd_private.h"

#include "mem.h"
#include "rnd.h"

#include <sim/msg/Transforms.h>

#include <string.h>

static bool is_latched(const struct route *rt)
{
	return rt && rt->codec && rt->latched && !rt->shown;
}

/* Selects the latched channels; returns whether there are any. If selecting fails, messages are filtered one by one. */
static bool select_latched(struct player_simd *s, unsigned input)
{
	struct input *in = &s->inputs[input];
	bool *want = mem_calloc(in->n_want + 1, sizeof(*want)), any = false;

	if (!want)
		return true;
	for (uint32_t i = 0; i < in->n_want; i++) {
		want[i] = in->want[i] && is_latched(route_of(s, input, i));
		any |= want[i];
	}
	(void)!log_reader_select(in->reader, want, in->n_want);
	mem_free(want);
	return any;
}

bool routes_only_latched(struct player_simd *s, bool only)
{
	bool any = false;

	for (unsigned i = 0; i < s->n; i++) {
		struct input *in = &s->inputs[i];

		if (only)
			any |= select_latched(s, i);
		else
			(void)!log_reader_select(in->reader, in->want, in->n_want);
	}
	if (only && !any)
		routes_only_latched(s, false);
	return any;
}

/* Key of the set of frames in a message, independent of their order. */
static uint64_t frames_key(struct player_simd *s, struct codec_in *codec, const struct log_message *m)
{
	const struct sim_Transform *t;
	struct message_in in;
	uint64_t key = 0;
	uint32_t n;

	if (codec_in_decode_room(codec, m, &s->ahead, &in) != 0)
		return 0;
	t = sim_Transforms_transforms(in.buf, in.size, &n);
	for (uint32_t i = 0; i < n; i++) {
		const char *frame = sim_Transform_child_frame_in(in.buf, in.size, &t[i]);

		key += hash64(HASH64_INIT, frame, strlen(frame));
	}
	return key;
}

bool route_is_latched(struct player_simd *s, unsigned input, const struct log_message *m, uint64_t *ret_key)
{
	const struct route *rt;

	if (!route_arrives(s, input, m->channel))
		return false;
	rt = route_of(s, input, m->channel);
	if (!is_latched(rt))
		return false;
	*ret_key = rt->ahead ? frames_key(s, rt->ahead, m) : 0;
	return true;
}
