/* SPDX-License-Identifier: Apache-2.0 */
/* Queues what is sent to a client. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "world_private.h"

/* Being out of memory ends this session only. */
static void out_of_memory(struct session *s)
{
	s->out.failed = false;
	s->ends = true;
	session_not_silent(s);
	world_leave(s, false, 0);
	world_say(s, WORLD_LEFT, "out of memory for its output");
}

/* Removes what was sent, if that is most of the buffer. */
static void make_room(struct session *s)
{
	if (!s->sent || s->sent < s->out.len / 2)
		return;
	__builtin_memmove(s->out.data, s->out.data + s->sent, s->out.len - s->sent);
	s->out.len -= s->sent;
	s->sent = 0;
}

void session_put(struct session *s, enum frame_code code, const ProtobufCMessage *m)
{
	size_t len = protobuf_c_message_get_packed_size(m), begin;
	uint8_t *at;

	if (s->ends)
		return;
	make_room(s);
	begin = frame_begin(&s->out, (uint8_t)code);
	at = s->out.failed ? NULL : wire_room(&s->out, len);
	if (at) {
		protobuf_c_message_pack(m, at);
		s->out.len += len;
	}
	if (frame_end(&s->out, begin, FRAME_MAX_SERVER) < 0)
		out_of_memory(s);
}

void session_tell_end(struct session *s, Sim__World__Bye__Reason reason, const char *fmt, ...)
{
	Sim__World__Bye m = SIM__WORLD__BYE__INIT;
	bool took_part = s->info.connection != 0;
	char sentence[256];
	va_list ap;

	if (s->ends)
		return;
	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	m.reason = reason;
	m.sentence = sentence;
	if (s->greeted)
		session_put(s, took_part ? FRAME_BYE : FRAME_REFUSED, &m.base);
	s->ends = true;
	session_not_silent(s);
	world_leave(s, false, 0);
	world_say(s, took_part ? WORLD_LEFT : WORLD_REFUSED, "%s", sentence);
}

/* ---- a tick ---- */

bool session_put_section(struct session *s, const struct section *section, uint64_t base)
{
	const uint8_t *frame;
	size_t len;

	if (world_frame(s->w, section, base, &frame, &len) < 0)
		return false;
	make_room(s);
	wire_append(&s->out, frame, len);
	return !s->out.failed;
}

/* A section sent by datagram counts as received only when the client acknowledges it. */
static bool put_section(struct session *s, const struct view_step *step, uint32_t i, bool by_datagram)
{
	const struct view_section *v = &step->sections[i];
	const uint8_t *frame;
	size_t len;

	if (!by_datagram)
		return session_put_section(s, v->section, v->base);
	if (world_frame(s->w, v->section, v->base, &frame, &len) < 0)
		return false;
	if (!session_udp_put(s, v->index, FRAME_SECTION, frame + FRAME_HEAD, len - FRAME_HEAD))
		return session_put_section(s, v->section, v->base);
	view_unsure(&s->view, step, i);
	return true;
}

static void put_left(struct session *s, struct section_key key)
{
	Sim__World__Leave m = SIM__WORLD__LEAVE__INIT;

	m.x = key.x;
	m.y = key.y;
	m.level = key.level;
	m.tick = s->w->newest->tick;
	session_put(s, FRAME_LEAVE, &m.base);
}

static void put_gone(struct session *s)
{
	const struct snapshot *now = s->w->newest;
	/* clients that missed more are sent whole sections */
	uint64_t oldest = now->tick < RING ? 1 : now->tick - RING + 1;

	for (uint64_t tick = s->told_tick < oldest ? oldest : s->told_tick + 1; tick <= now->tick; tick++) {
		const struct snapshot *at = s->w->ring[tick % RING];
		Sim__World__Gone m = SIM__WORLD__GONE__INIT;

		if (!at || at->tick != tick)
			continue;
		m.tick = tick;
		for (uint32_t i = 0; i < at->n_gone; i++) {
			m.id = at->gone[i];
			session_put(s, FRAME_GONE_TOLD, &m.base);
		}
	}
}

static bool heartbeat_of(const struct session *s, int64_t now_mono_ns, Sim__World__Heartbeat *m)
{
	const struct world *w = s->w;
	struct barrier_client c;

	if (!barrier_client(w->barrier, s->m->connection, &c))
		return false;
	m->tick = w->newest->tick;
	m->time_sim_ns = w->newest->time_sim_ns;
	m->sent_mono_ns = now_mono_ns;
	m->pace_permille = barrier_pace(w->barrier);
	m->step_advice_e6 = c.step_advice_e6;
	m->waited_for = barrier_waited_for(w->barrier);
	m->role = (Sim__World__Role)c.role;
	m->sections = s->view.n;
	return true;
}

void session_put_heartbeat(struct session *s, int64_t now_mono_ns)
{
	Sim__World__Heartbeat m = SIM__WORLD__HEARTBEAT__INIT;

	if (heartbeat_of(s, now_mono_ns, &m))
		session_put(s, FRAME_HEARTBEAT, &m.base);
}

static void put_heartbeat(struct session *s, bool by_datagram, int64_t now_mono_ns)
{
	Sim__World__Heartbeat m = SIM__WORLD__HEARTBEAT__INIT;
	uint8_t body[128]; /* fields have at most 12 bytes */

	if (!heartbeat_of(s, now_mono_ns, &m))
		return;
	if (by_datagram &&
	    session_udp_put(s, SESSION_UDP_HEARTBEAT, FRAME_HEARTBEAT, body, sim__world__heartbeat__pack(&m, body)))
		return;
	session_put(s, FRAME_HEARTBEAT, &m.base);
}

void session_put_tick(struct session *s, bool surely, int64_t now_mono_ns)
{
	const struct view_centre *centres = s->n_said ? s->said : s->own; /* set by Interest, or at its own objects */
	unsigned n = s->n_said ? s->n_said : s->n_own;
	bool whole = true, by_datagram = !surely && session_udp_is_open(s, now_mono_ns);
	struct view_step step;

	session_share_tick(s);
	session_again_due(s, now_mono_ns);
	if (view_next(&s->view, s->w->newest, centres, n, &step) < 0) {
		out_of_memory(s);
		return;
	}
	for (uint32_t i = 0; whole && i < step.n_sections; i++)
		whole = put_section(s, &step, i, by_datagram);
	if (!whole)
		out_of_memory(s);
	/* with datagrams, a cell without section counts as left */
	for (uint32_t i = 0; !s->udp.d && i < step.n_left; i++)
		put_left(s, step.left[i]);
	put_gone(s);
	if (!s->ends)
		put_heartbeat(s, by_datagram, now_mono_ns);
	s->told_tick = s->w->newest->tick;
	s->info.ticks++;
	view_step_finish(&step);
}
