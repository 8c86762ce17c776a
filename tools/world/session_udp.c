/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams of a session ("Datagrams" in schemas/wire/world.md): ticks are sent by datagram once both sides have
 * received from each other. What gets lost of the newest tick is resent by TCP; of older ticks it is obsolete. On a bad
 * connection, a tick is sent by TCP if no tick was complete for a while.
 */
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "world_private.h"

#define SILENT_DUR_NS INT64_C(1000000000) /* without input for this long, all is sent by TCP */
#define WHOLE_DUR_NS  INT64_C(250000000)  /* without a complete tick for this long, the next one is sent by TCP */
#define IN_FLIGHT_MAX 512u
#define RATE          4000u /* limit of one client's datagrams a second */
#define BURST         2000u /* and at once */
#define MAKING_MAX    (FRAME_MAX_CLIENT * 4)
#define INDEX_BITS    24u

/* ---- tags: a tick and a part of it ---- */

static uint64_t tag_of(uint64_t tick, uint32_t index)
{
	return tick << INDEX_BITS | (index == SESSION_UDP_HEARTBEAT ? 0 : index + 1);
}

static const struct section *section_of(const struct snapshot *at, uint64_t tag)
{
	uint64_t part = tag & ((1u << INDEX_BITS) - 1);

	return part && part <= at->n_sections ? at->sections[part - 1] : NULL;
}

static void count_part(struct session *s, uint64_t tick, bool lost)
{
	struct session_udp *u = &s->udp;
	uint32_t i = tick % RING;

	if (u->ticks[i].tick != tick)
		return;
	u->ticks[i].left--;
	u->ticks[i].lost |= lost;
	if (!u->ticks[i].left && !u->ticks[i].lost)
		u->whole_mono_ns = u->now_mono_ns;
}

/* ---- acknowledgements and losses ---- */

static int on_frame(void *user, uint8_t code, const void *body, size_t len)
{
	struct session *s = user;
	const struct frame f = { code, body, len };

	return s->m && !s->ends ? session_take_datagram(s, &f, s->udp.now_mono_ns) : 0;
}

static void on_acked(void *user, uint64_t tag)
{
	struct session *s = user;
	uint64_t tick = tag >> INDEX_BITS;
	const struct snapshot *at = s->w->ring[tick % RING];
	const struct section *section = at && at->tick == tick ? section_of(at, tag) : NULL;

	count_part(s, tick, false);
	if (section)
		view_acked(&s->view, section->key, tick);
}

static void on_lost(void *user, uint64_t tag)
{
	struct session *s = user;
	uint64_t tick = tag >> INDEX_BITS;
	const struct snapshot *newest = s->w->newest;
	const struct section *section;
	uint64_t has;

	count_part(s, tick, true);
	if (!s->m || s->ends || s->told_tick != tick || newest->tick != tick)
		return;
	section = section_of(newest, tag);
	has = section ? view_has(&s->view, section->key) : 0;
	if (!section)
		session_put_heartbeat(s, s->udp.now_mono_ns);
	else if (has < tick && session_put_section(s, section, has)) /* otherwise it was sent by TCP since */
		view_acked(&s->view, section->key, tick);
}

/* ---- start and end ---- */

static const struct datagram_ops OPS = { .frame = on_frame, .acked = on_acked, .lost = on_lost };

bool session_udp_begin(struct session *s, uint8_t keys[2][PACKET_KEY], int64_t now_mono_ns)
{
	const struct datagram_options o = { .connection = s->m->connection,
					    .key_in = keys[0],
					    .key_out = keys[1],
					    .server = true,
					    .frame_in_max = FRAME_MAX_CLIENT,
					    .making_max = MAKING_MAX,
					    .ops = &OPS,
					    .user = s };

	if (!s->wants_udp || !s->w->udp_port || sodium_init() < 0)
		return false;
	randombytes_buf(keys, 2 * (size_t)PACKET_KEY);
	s->udp.now_mono_ns = s->udp.whole_mono_ns = now_mono_ns;
	return datagram_create(&o, &s->udp.d) == 0;
}

void session_udp_end(struct session *s)
{
	datagram_destroy(s->udp.d);
	s->udp.d = NULL;
}

/* ---- output ---- */

bool session_udp_is_open(struct session *s, int64_t now_mono_ns)
{
	struct session_udp *u = &s->udp;

	if (!session_udp_mends(s, now_mono_ns))
		return false;
	if (now_mono_ns - u->whole_mono_ns < WHOLE_DUR_NS)
		return true;
	u->whole_mono_ns = now_mono_ns;
	return false;
}

bool session_udp_mends(const struct session *s, int64_t now_mono_ns)
{
	return s->udp.d && datagram_is_confirmed(s->udp.d) && now_mono_ns - s->udp.in_mono_ns < SILENT_DUR_NS;
}

bool session_udp_is_full(const struct session *s)
{
	return s->udp.d && datagram_in_flight(s->udp.d) > IN_FLIGHT_MAX;
}

bool session_udp_put(struct session *s, uint32_t index, uint8_t code, const void *body, size_t len)
{
	uint64_t tick = s->w->newest->tick;
	struct session_udp *u = &s->udp;
	uint32_t i = tick % RING;

	if ((index >> INDEX_BITS && index != SESSION_UDP_HEARTBEAT) ||
	    datagram_send(u->d, tag_of(tick, index), code, body, len) < 0)
		return false;
	if (u->ticks[i].tick != tick) {
		u->ticks[i].tick = tick;
		u->ticks[i].left = 0;
		u->ticks[i].lost = false;
	}
	u->ticks[i].left++;
	return true;
}

bool session_datagrams(struct session *s, int64_t now_mono_ns, struct datagram_out *ret,
		       const struct session_address **ret_to)
{
	struct session_udp *u = &s->udp;

	if (!u->d || !u->bound || !s->m || s->ends || datagram_turn(u->d, now_mono_ns) > now_mono_ns)
		return false;
	u->now_mono_ns = now_mono_ns;
	*ret = (struct datagram_out){ 0 };
	*ret_to = &u->address;
	return datagram_output(u->d, now_mono_ns, ret) == 0 && ret->len;
}

int64_t session_udp_turn(struct session *s, int64_t now_mono_ns)
{
	if (!s->udp.d || !s->m || s->ends)
		return INT64_MAX;
	s->udp.now_mono_ns = now_mono_ns;
	return datagram_turn(s->udp.d, now_mono_ns);
}

/* ---- input ---- */

static bool is_from(const struct session_udp *u, const struct session_address *from)
{
	return !u->bound || (u->address.len == from->len && !memcmp(u->address.bytes, from->bytes, from->len));
}

int world_datagram(struct world *w, const void *data, size_t len, const struct session_address *from,
		   int64_t now_mono_ns)
{
	struct session *s = world_session(w, packet_connection(data, len));
	struct session_udp *u = s ? &s->udp : NULL;
	int r;

	if (!s || !u->d || s->ends || !is_from(u, from))
		return -ENXIO;
	if (!bucket_take(&u->bucket, RATE, BURST, now_mono_ns))
		return -EAGAIN;
	u->now_mono_ns = now_mono_ns;
	r = datagram_input(u->d, data, len, now_mono_ns);
	if (r < 0 && r != -EPROTO)
		return r;
	u->in_mono_ns = now_mono_ns;
	s->info.bytes_in += len;
	if (!u->bound)
		u->address = *from;
	u->bound = true;
	return r;
}
