/* SPDX-License-Identifier: Apache-2.0 */
/* side.h: sending. Receiving: side_in.c; the client's objects: side_own.c */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "err.h"
#include "mem.h"
#include "printable.h"
#include "side_private.h"

static bool options_are_right(const struct side_options *o)
{
	return o->name && *o->name && strlen(o->name) <= SIDE_NAME_MAX && printable_is(o->name, strlen(o->name)) &&
	       o->role >= SIDE_REGULATING && o->role <= SIDE_OBSERVER && o->lookahead_dur_ns >= 0 &&
	       o->level < SECTION_LEVELS && o->radius >= 0 && isfinite(o->radius) && o->history >= 2;
}

int side_create(const struct side_options *o, struct side **ret)
{
	struct side *s;
	int r;

	if (!options_are_right(o))
		return err_set(-EINVAL,
			       "a client of a world: its name is 1 to %u printable characters, its level less than %u, "
			       "look-ahead and radius not negative",
			       SIDE_NAME_MAX, SECTION_LEVELS);
	s = MEM_NEW(struct side);
	if (!s)
		return err_nomem();
	s->o = *o;
	s->o.name = s->name = mem_strdup(o->name);
	s->o.token = s->token = mem_strdup(o->token);
	frame_reader_init(&s->in, FRAME_MAX_SERVER);
	r = s->name && (s->token || !o->token) ? remotes_create(o->history, &s->remotes) : -ENOMEM;
	if (r < 0) {
		side_destroy(s);
		return err_nomem();
	}
	*ret = s;
	return 0;
}

void side_destroy(struct side *s)
{
	if (!s)
		return;
	side_end(s);
	side_forget_types(s);
	side_own_finish(s);
	remotes_destroy(s->remotes);
	wire_buf_finish(&s->out);
	mem_free(s->name);
	mem_free(s->token);
	mem_free(s);
}

/* ---- object types of the operator ---- */

void side_forget_types(struct side *s)
{
	if (s->welcome)
		protobuf_c_message_free_unpacked(s->welcome, NULL);
	s->welcome = NULL;
}

bool side_type(const struct side *s, size_t i, struct side_type *ret)
{
	const Sim__World__Welcome *m = (const void *)s->welcome;

	if (!m || i >= m->n_types)
		return false;
	*ret = (struct side_type){ m->types[i]->code, m->types[i]->name, m->types[i]->proto };
	return true;
}

/* ---- output ---- */

size_t side_output(const struct side *s, const void **ret)
{
	*ret = s->out.data ? s->out.data + s->sent : NULL;
	return s->out.len - s->sent;
}

void side_sent(struct side *s, size_t n)
{
	s->sent += n;
	if (s->sent == s->out.len) {
		s->sent = s->out.len = 0;
	} else if (s->sent > s->out.len / 2) {
		s->out.len -= s->sent;
		memmove(s->out.data, s->out.data + s->sent, s->out.len);
		s->sent = 0;
	}
}

int side_may_send(const struct side *s)
{
	if (s->state != SIDE_IN)
		return err_set(-ENOTCONN, "the world's server is not connected");
	if (s->out.len - s->sent > SIDE_QUEUE_MAX)
		return err_set(-EAGAIN, "%u MiB wait for the world's server: it does not read them",
			       SIDE_QUEUE_MAX >> 20);
	return 0;
}

int side_send(struct side *s, enum frame_code code, const ProtobufCMessage *m)
{
	size_t len = protobuf_c_message_get_packed_size(m), begin = frame_begin(&s->out, (uint8_t)code);
	uint8_t *at = s->out.failed ? NULL : wire_room(&s->out, len);
	int r;

	if (at) {
		protobuf_c_message_pack(m, at);
		s->out.len += len;
	}
	r = frame_end(&s->out, begin, FRAME_MAX_CLIENT);
	s->out.failed = false;
	return r == -ENOMEM ? err_nomem() : r < 0 ? err_set(r, "a message for the world's server is too long") : 0;
}

static int send_if_in(struct side *s, enum frame_code code, const ProtobufCMessage *m)
{
	int r = side_may_send(s);

	return r < 0 ? r : side_send(s, code, m);
}

/* ---- a connection ---- */

static int say_hello(struct side *s)
{
	Sim__World__Hello m = SIM__WORLD__HELLO__INIT;
	uint32_t codes[128];

	m.version = 1;
	m.name = s->name;
	m.role = (Sim__World__Role)s->o.role;
	m.identity = (ProtobufCBinaryData){ SIDE_IDENTITY, s->o.identity };
	if (s->token)
		m.token = (ProtobufCBinaryData){ strlen(s->token), (uint8_t *)s->token };
	m.lookahead_ns = s->o.lookahead_dur_ns;
	m.section_level = s->o.level;
	m.radius = s->o.radius;
	m.udp = s->o.datagrams;
	m.own_codes = codes;
	for (uint32_t i = 0; i < 128; i++)
		if (s->o.own_codes[i / 8] & 1u << i % 8)
			codes[m.n_own_codes++] = FRAME_OWN + i;
	return side_send(s, FRAME_HELLO, &m.base);
}

int side_begin(struct side *s)
{
	side_end(s);
	s->state = SIDE_HELLO;
	return say_hello(s);
}

void side_end(struct side *s)
{
	if (s->message)
		protobuf_c_message_free_unpacked(s->message, NULL);
	s->message = NULL;
	side_udp_end(s);
	s->state = SIDE_OUT;
	s->sent = s->out.len = 0;
	frame_reader_finish(&s->in);
	frame_reader_init(&s->in, FRAME_MAX_SERVER);
}

bool side_is_in(const struct side *s)
{
	return s->state == SIDE_IN;
}

/* ---- other messages ---- */

int side_done(struct side *s, uint64_t tick, int64_t now_mono_ns)
{
	Sim__World__Done m = SIM__WORLD__DONE__INIT;

	m.tick = tick;
	m.echo_mono_ns = s->beat_mono_ns;
	m.held_dur_ns = s->beat_mono_ns ? now_mono_ns - s->arrived_mono_ns : 0;
	m.sent_mono_ns = now_mono_ns;
	return send_if_in(s, FRAME_DONE, &m.base);
}

int side_pause(struct side *s)
{
	Sim__World__Done m = SIM__WORLD__DONE__INIT;

	m.paused = true;
	return send_if_in(s, FRAME_DONE, &m.base);
}

int side_note(struct side *s, uint64_t from, uint64_t to, bool all, int64_t time_sim_ns, const void *payload,
	      size_t len)
{
	Sim__World__Note m = SIM__WORLD__NOTE__INIT;
	int r;

	if (len > SIDE_NOTE_MAX)
		return err_set(-EMSGSIZE, "a message of %zu bytes: %u at most", len, SIDE_NOTE_MAX);
	m.from = side_id(s, from);
	m.to = to;
	m.all = all;
	m.number = s->notes + 1;
	m.time_sim_ns = time_sim_ns;
	m.payload = (ProtobufCBinaryData){ len, (uint8_t *)(uintptr_t)payload };
	r = send_if_in(s, FRAME_NOTE, &m.base);
	s->notes += r == 0;
	return r;
}

int side_ownership(struct side *s, uint64_t id, bool give, uint32_t connection, bool refused)
{
	Sim__World__Ownership m = SIM__WORLD__OWNERSHIP__INIT;

	m.id = side_id(s, id);
	m.connection = connection;
	m.refused = refused;
	return send_if_in(s, give ? FRAME_GIVE : FRAME_WANT, &m.base);
}

int side_look_again(struct side *s)
{
	Sim__World__Interest m = SIM__WORLD__INTEREST__INIT;
	Sim__World__Vector at[SIDE_PLACES], *centre[SIDE_PLACES];

	if (!s->looks)
		return 0;
	for (unsigned i = 0; i < s->n_places; i++) {
		sim__world__vector__init(&at[i]);
		at[i].x = s->places[i][0];
		at[i].y = s->places[i][1];
		at[i].z = s->places[i][2];
		centre[i] = &at[i];
	}
	m.centre = centre;
	m.n_centre = s->n_places;
	m.radius = s->look_radius;
	return send_if_in(s, FRAME_INTEREST, &m.base);
}

static bool is_place(const double at[3])
{
	return isfinite(at[0]) && isfinite(at[1]) && isfinite(at[2]);
}

int side_interest(struct side *s, const double (*places)[3], unsigned n, double radius)
{
	bool right = n <= SIDE_PLACES && radius >= 0 && isfinite(radius);

	for (unsigned i = 0; right && i < n; i++)
		right = is_place(places[i]);
	if (!right)
		return err_set(-EINVAL,
			       "interest: up to %u places of finite numbers, and a radius that is not negative",
			       SIDE_PLACES);
	if (n)
		memcpy(s->places, places, n * sizeof(*places));
	s->n_places = n;
	s->look_radius = radius;
	s->looks = true;
	return s->state == SIDE_IN ? side_look_again(s) : 0;
}

int side_bye(struct side *s)
{
	Sim__World__Bye m = SIM__WORLD__BYE__INIT;

	return send_if_in(s, FRAME_BYE, &m.base);
}

/* ---- state ---- */

uint32_t side_connection(const struct side *s)
{
	return s->connection;
}

uint32_t side_objects(const struct side *s)
{
	return s->objects;
}

uint64_t side_world(const struct side *s)
{
	return s->world;
}

const struct side_tick *side_tick(const struct side *s)
{
	return &s->tick;
}

const struct remotes *side_remotes(const struct side *s)
{
	return s->remotes;
}
