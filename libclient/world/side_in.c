/* SPDX-License-Identifier: Apache-2.0 */
/* side.h: receiving. */
#include <errno.h>
#include <string.h>

#include "err.h"
#include "side_private.h"

#define PROTOCOL 1u

int side_room(struct side *s, uint8_t **ret, size_t *ret_size)
{
	return frame_reader_room(&s->in, ret, ret_size) < 0 ? err_nomem() : 0;
}

void side_add(struct side *s, size_t n, int64_t now_mono_ns)
{
	frame_reader_add(&s->in, n);
	s->in_mono_ns = now_mono_ns;
}

static int bad(const char *what)
{
	return err_set(-EBADMSG, "the world's server sent %s", what);
}

/* ---- frames: return 1 an event, 0 none, or negative ---- */

static int on_welcome(struct side *s, const Sim__World__Welcome *m, struct side_event *ret)
{
	int r;

	if (s->state != SIDE_HELLO)
		return bad("a second Welcome");
	if (m->version != PROTOCOL || !m->connection || m->connection >> 24 || m->step_dur_ns <= 0 || !m->objects)
		return bad("a Welcome of another protocol, or one that makes no sense");
	s->learns = m->again && (!s->connection || s->learns);
	s->state = SIDE_IN;
	s->connection = m->connection;
	s->world = m->world;
	s->objects = m->objects;
	s->granted = (enum side_role)m->role;
	s->beat_mono_ns = 0;
	s->tick = (struct side_tick){ .tick = m->tick,
				      .time_sim_ns = m->time_sim_ns,
				      .step_dur_ns = m->step_dur_ns,
				      .pace_permille = 1000,
				      .role = (enum side_role)m->role };
	remotes_begin_again(s->remotes);
	r = side_udp_begin(s, m);
	if (r == 0 && !s->learns)
		r = side_own_again(s, m->again);
	if (r == 0)
		r = side_look_again(s);
	*ret = (struct side_event){ .kind = SIDE_WELCOME, .tick = s->tick, .again = m->again, .udp_port = s->udp.port };
	return r < 0 ? r : 1;
}

struct side_beat side_beat_of(const struct side *s, const Sim__World__Heartbeat *m, int64_t now_mono_ns)
{
	return (struct side_beat){ .tick = { .tick = m->tick,
					     .time_sim_ns = m->time_sim_ns,
					     .step_dur_ns = s->tick.step_dur_ns,
					     .pace_permille = m->pace_permille,
					     .waited_for = m->waited_for,
					     .step_advice_e6 = m->step_advice_e6,
					     .role = (enum side_role)m->role },
				   .sections = m->sections,
				   .sent_mono_ns = m->sent_mono_ns,
				   .arrived_mono_ns = now_mono_ns };
}

int side_take_tick(struct side *s, const struct side_beat *b, bool whole, struct side_event *ret)
{
	int r;

	s->tick = b->tick;
	s->beat_mono_ns = b->sent_mono_ns;
	s->arrived_mono_ns = b->arrived_mono_ns;
	*ret = (struct side_event){ .kind = SIDE_TICK, .tick = s->tick };
	r = whole ? remotes_tick_whole(s->remotes, s->tick.tick, &ret->changes, &ret->n_changes)
		  : remotes_tick(s->remotes, &ret->changes, &ret->n_changes);
	if (r == 0 && s->learns)
		r = side_own_learn(s);
	return r == -ENOMEM ? err_nomem() : r < 0 ? err_set(r, "the world's server sent too many objects") : 1;
}

static int on_heartbeat(struct side *s, const Sim__World__Heartbeat *m, struct side_event *ret)
{
	const struct side_beat b = side_beat_of(s, m, s->in_mono_ns);

	if (s->udp.d) {
		side_udp_beat(s, &b);
		return 0;
	}
	if (m->tick < s->tick.tick)
		return bad("a tick that is earlier than the one before it");
	return side_take_tick(s, &b, false, ret);
}

/* The local state differs from what the server has sent: requests the whole section. */
static int ask_again(struct side *s, struct section_key key)
{
	Sim__World__Again m = SIM__WORLD__AGAIN__INIT;

	m.x = key.x;
	m.y = key.y;
	m.level = key.level;
	return side_send(s, FRAME_AGAIN, &m.base);
}

int side_take_section(struct side *s, const void *body, size_t len, bool by_datagram)
{
	struct section_head head;
	int r = remotes_section(s->remotes, body, len);

	if (r == -ESTALE && by_datagram)
		return r;
	if (r == -ESTALE)
		return section_peek(body, len, &head) < 0 ? bad("a section that is malformed") : ask_again(s, head.key);
	if (r == -ENOMEM)
		return err_nomem();
	return r == -E2BIG ? err_set(r, "the world's server sent too many sections or objects")
	       : r < 0     ? bad("a section that is malformed")
			   : 0;
}

static int on_note(const Sim__World__Note *m, struct side_event *ret)
{
	*ret = (struct side_event){ .kind = SIDE_NOTE,
				    .from = m->from,
				    .to = m->to,
				    .time_sim_ns = m->time_sim_ns,
				    .payload = m->payload.data,
				    .len = m->payload.len };
	return 1;
}

static int on_ownership(struct side *s, uint8_t code, const Sim__World__Ownership *m, struct side_event *ret)
{
	int r = code == FRAME_GIVE && !m->refused ? side_own_moved(s, m->id, m->connection) : 0;

	*ret = (struct side_event){ .kind = code == FRAME_WANT ? SIDE_WANTED : SIDE_OWNER,
				    .id = m->id,
				    .connection = m->connection,
				    .refused = m->refused };
	return r < 0 ? r : 1;
}

static bool is_worth_another_try(Sim__World__Bye__Reason reason)
{
	return reason == SIM__WORLD__BYE__REASON__STOPPED || reason == SIM__WORLD__BYE__REASON__SLOW ||
	       reason == SIM__WORLD__BYE__REASON__FULL;
}

static int error_of(Sim__World__Bye__Reason reason)
{
	switch ((int)reason) {
	case SIM__WORLD__BYE__REASON__VERSION:
	case SIM__WORLD__BYE__REASON__MALFORMED:
		return -EPROTO;
	case SIM__WORLD__BYE__REASON__REFUSED:
	case SIM__WORLD__BYE__REASON__KICKED:
		return -EACCES;
	case SIM__WORLD__BYE__REASON__FULL:
		return -ENOSPC;
	case SIM__WORLD__BYE__REASON__REPLACED:
		return -EALREADY;
	default:
		return -ECONNRESET;
	}
}

static int on_bye(struct side *s, const Sim__World__Bye *m, struct side_event *ret)
{
	s->state = SIDE_OUT;
	*ret = (struct side_event){ .kind = SIDE_ENDED,
				    .sentence = m->sentence && *m->sentence ? m->sentence : "the server said Bye",
				    .error = error_of(m->reason),
				    .slow = m->reason == SIM__WORLD__BYE__REASON__SLOW,
				    .again = is_worth_another_try(m->reason) };
	return 1;
}

/* With datagrams it may be late, and is ignored: there a cell without a section in a tick has left. */
static int on_leave(struct side *s, const Sim__World__Leave *m)
{
	if (s->udp.d)
		return 0;
	return remotes_leave(s->remotes, (struct section_key){ m->x, m->y, m->level }) < 0
		       ? bad("a Leave of a section that it never sent")
		       : 0;
}

static int on_message(struct side *s, uint8_t code, const void *m, struct side_event *ret)
{
	switch (code) {
	case FRAME_WELCOME:
		return on_welcome(s, m, ret);
	case FRAME_HEARTBEAT:
		return on_heartbeat(s, m, ret);
	case FRAME_NOTE:
		return on_note(m, ret);
	case FRAME_GONE_TOLD:
		side_own_gone(s, ((const Sim__World__Gone *)m)->id);
		*ret = (struct side_event){ .kind = SIDE_GONE, .id = ((const Sim__World__Gone *)m)->id };
		return 1;
	case FRAME_WANT:
	case FRAME_GIVE:
		return on_ownership(s, code, m, ret);
	case FRAME_LEAVE:
		return on_leave(s, m);
	default:
		return on_bye(s, m, ret);
	}
}

static const ProtobufCMessageDescriptor *descriptor_of(uint8_t code)
{
	static const ProtobufCMessageDescriptor *const messages[] = {
		[FRAME_BYE] = &sim__world__bye__descriptor,
		[FRAME_HEARTBEAT] = &sim__world__heartbeat__descriptor,
		[FRAME_NOTE] = &sim__world__note__descriptor,
		[FRAME_WELCOME] = &sim__world__welcome__descriptor,
		[FRAME_REFUSED] = &sim__world__bye__descriptor,
		[FRAME_GONE_TOLD] = &sim__world__gone__descriptor,
		[FRAME_WANT] = &sim__world__ownership__descriptor,
		[FRAME_GIVE] = &sim__world__ownership__descriptor,
		[FRAME_LEAVE] = &sim__world__leave__descriptor,
	};

	return code < sizeof(messages) / sizeof(messages[0]) ? messages[code] : NULL;
}

static int on_frame(struct side *s, const struct frame *f, struct side_event *ret)
{
	const ProtobufCMessageDescriptor *d = descriptor_of(f->code);
	int r;

	if (s->state == SIDE_HELLO && f->code != FRAME_WELCOME && f->code != FRAME_REFUSED)
		return err_set(-EBADMSG, "the peer is not a world server of version %u", PROTOCOL);
	if (f->code == FRAME_SECTION)
		return side_take_section(s, f->body, f->len, false);
	if (!d)
		return 0; /* sent by a later version */
	s->message = protobuf_c_message_unpack(d, NULL, f->len, f->body);
	if (!s->message)
		return bad("a frame that is no protobuf");
	r = on_message(s, f->code, s->message, ret);
	if (r == 1 && f->code == FRAME_WELCOME) {
		side_forget_types(s);
		s->welcome = s->message;
		s->message = NULL;
	}
	return r;
}

int side_next(struct side *s, struct side_event *ret)
{
	struct frame f;
	int r = 0, e = 0;

	if (s->state == SIDE_IN && s->udp.d)
		r = side_udp_tick(s, ret);
	while (r == 0 && s->state != SIDE_OUT && (e = frame_next(&s->in, &f)) == 1) {
		if (s->message)
			protobuf_c_message_free_unpacked(s->message, NULL);
		s->message = NULL;
		r = on_frame(s, &f, ret);
		if (r == 0 && s->udp.d)
			r = side_udp_tick(s, ret);
	}
	if (e < 0)
		return s->state == SIDE_HELLO ? err_set(-EBADMSG, "the peer is not a world server")
					      : bad("a frame with an invalid length");
	return r;
}
