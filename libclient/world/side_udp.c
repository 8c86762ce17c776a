/* SPDX-License-Identifier: Apache-2.0 */
/*
 * side.h: datagrams, beside the connection ("Datagrams" in schemas/wire/world.md). A tick counts when its Heartbeat and
 * as many Sections as that announces have come, in any order and by either way.
 */
#include <errno.h>

#include "err.h"
#include "mem.h"
#include "side_private.h"

#define SILENT_DUR_NS INT64_C(1000000000) /* after so long without a datagram everything goes over TCP */
#define PING_DUR_NS   INT64_C(250000000)
#define MAKING_MAX    (8u << 20) /* bytes of incomplete frames */

/* ---- received frames ---- */

static int on_beat(struct side *s, const void *body, size_t len)
{
	Sim__World__Heartbeat *m = sim__world__heartbeat__unpack(NULL, len, body);
	struct side_beat b;

	if (!m)
		return -EBADMSG;
	b = side_beat_of(s, m, s->udp.now_mono_ns);
	side_udp_beat(s, &b);
	sim__world__heartbeat__free_unpacked(m, NULL);
	return 0;
}

static int on_frame(void *user, uint8_t code, const void *body, size_t len)
{
	struct side *s = user;

	if (code == FRAME_SECTION)
		return side_take_section(s, body, len, true);
	return code == FRAME_HEARTBEAT ? on_beat(s, body, len) : 0;
}

static void on_acked(void *user, uint64_t tag)
{
	struct side *s = user;
	uint32_t i = tag % SIDE_BODIES;

	if (s->udp.bodies[i].tag == tag)
		side_own_sure(s, s->udp.bodies[i].id, s->udp.bodies[i].bodies);
}

static void on_lost(void *user, uint64_t tag)
{
	(void)user; /* the next put contains the body again */
	(void)tag;
}

/* ---- ticks ---- */

void side_udp_beat(struct side *s, const struct side_beat *b)
{
	struct side_beat *at = &s->udp.beats[b->tick.tick % REMOTE_TICKS_MAX];

	if (b->tick.tick > s->tick.tick && at->tick.tick < b->tick.tick)
		*at = *b;
}

/* In the order of ticks; a late one is skipped. */
int side_udp_tick(struct side *s, struct side_event *ret)
{
	const struct side_beat *first = NULL;

	for (uint32_t i = 0; i < REMOTE_TICKS_MAX; i++) {
		const struct side_beat *b = &s->udp.beats[i];

		if (b->tick.tick > s->tick.tick && (!first || b->tick.tick < first->tick.tick) &&
		    remotes_sections(s->remotes, b->tick.tick) >= b->sections)
			first = b;
	}
	return first ? side_take_tick(s, first, true, ret) : 0;
}

/* ---- a connection ---- */

static const struct datagram_ops OPS = { .frame = on_frame, .acked = on_acked, .lost = on_lost };

int side_udp_begin(struct side *s, const Sim__World__Welcome *m)
{
	struct datagram_options o = { .connection = m->connection,
				      .key_out = m->udp_key_to_server.data,
				      .key_in = m->udp_key_to_client.data,
				      .frame_in_max = DATAGRAM_FRAME_MAX,
				      .making_max = MAKING_MAX,
				      .ops = &OPS,
				      .user = s };
	int r;

	if (!s->o.datagrams || !m->udp_port)
		return 0;
	if (m->udp_port > 65535 || m->udp_key_to_server.len != PACKET_KEY || m->udp_key_to_client.len != PACKET_KEY)
		return err_set(-EBADMSG, "the world's server sent a Welcome with invalid datagram keys or port");
	r = datagram_create(&o, &s->udp.d);
	if (r < 0)
		return err_set(r, "datagrams: %s", r == -ENOMEM ? "no memory" : "libsodium does not start");
	s->udp.port = (uint16_t)m->udp_port;
	for (uint32_t i = 0; i < s->n_own; i++)
		s->own[i].body_sure = false;
	return 0;
}

void side_udp_end(struct side *s)
{
	uint64_t tag = s->udp.tag;

	datagram_destroy(s->udp.d);
	s->udp = (struct side_udp){ .tag = tag };
}

int side_datagram(struct side *s, const void *data, size_t len, int64_t now_mono_ns)
{
	int r;

	if (!s->udp.d)
		return -ENXIO;
	s->udp.now_mono_ns = now_mono_ns;
	r = datagram_input(s->udp.d, data, len, now_mono_ns);
	if (r == 0)
		s->udp.in_mono_ns = now_mono_ns;
	return r;
}

int side_datagrams(struct side *s, int64_t now_mono_ns, struct datagram_out *ret)
{
	*ret = (struct datagram_out){ 0 };
	s->udp.now_mono_ns = now_mono_ns;
	return s->udp.d ? datagram_output(s->udp.d, now_mono_ns, ret) : 0;
}

/* A regular ping keeps the network path open, and tells the server so. */
int64_t side_turn(struct side *s, int64_t now_mono_ns)
{
	int64_t next;

	if (!s->udp.d)
		return INT64_MAX;
	s->udp.now_mono_ns = now_mono_ns;
	if (now_mono_ns - s->udp.ping_mono_ns >= PING_DUR_NS) {
		datagram_ping(s->udp.d);
		s->udp.ping_mono_ns = now_mono_ns;
	}
	next = datagram_turn(s->udp.d, now_mono_ns);
	return next < s->udp.ping_mono_ns + PING_DUR_NS ? next : s->udp.ping_mono_ns + PING_DUR_NS;
}

bool side_has_datagrams(const struct side *s)
{
	return s->udp.d && datagram_is_confirmed(s->udp.d) && s->udp.now_mono_ns - s->udp.in_mono_ns < SILENT_DUR_NS;
}

bool side_udp_send(struct side *s, uint8_t code, const void *body, size_t len, const struct own *with_body)
{
	uint64_t tag = with_body ? s->udp.tag + 1 : 0;

	if (datagram_send(s->udp.d, tag, code, body, len) < 0)
		return false;
	if (!tag)
		return true;
	s->udp.tag = tag;
	s->udp.bodies[tag % SIDE_BODIES].tag = tag;
	s->udp.bodies[tag % SIDE_BODIES].id = with_body->id;
	s->udp.bodies[tag % SIDE_BODIES].bodies = with_body->bodies;
	return true;
}
