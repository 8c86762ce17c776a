/* SPDX-License-Identifier: Apache-2.0 */
/* See world.h: handles what a client sends. Input is not trusted; malformed input ends its session only. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "mem.h"
#include "object_in.h"
#include "printable.h"
#include "world_private.h"

#define MM_MAX   1e12
#define NS_PER_S INT64_C(1000000000)

int session_open(struct world *w, int64_t now_mono_ns, struct session **ret)
{
	struct session *s;

	if (w->n_sessions - w->n_strangers >= w->o.sessions_max)
		return -ENOSPC;
	s = MEM_NEW(struct session);
	if (!s)
		return -ENOMEM;
	s->w = w;
	s->hello_mono_ns = now_mono_ns + w->o.hello_dur_ns;
	s->full_mono_ns = INT64_MAX;
	s->samples[0].mono_ns = s->samples[1].mono_ns = now_mono_ns;
	frame_reader_init(&s->in, FRAME_MAX_STRANGER);
	session_share_init(s, now_mono_ns);
	list_init(&s->link);
	list_append(&w->sessions, &s->link);
	w->n_sessions++;
	w->n_strangers++;
	w->n_silent++;
	world_bound_silent(w);
	*ret = s;
	return 0;
}

void session_set_certificate(struct session *s, const char *name)
{
	snprintf(s->certificate, sizeof(s->certificate), "%s", name);
}

void session_close(struct session *s, int64_t now_mono_ns)
{
	if (!s)
		return;
	s->w->now_mono_ns = now_mono_ns;
	if (s->m)
		world_say(s, WORLD_LEFT, "its connection is lost");
	world_leave(s, true, now_mono_ns);
	session_not_silent(s);
	s->w->n_strangers -= !s->info.connection;
	list_remove(&s->link);
	s->w->n_sessions--;
	session_udp_end(s);
	view_finish(&s->view);
	frame_reader_finish(&s->in);
	wire_buf_finish(&s->out);
	mem_free(s);
}

size_t session_output(const struct session *s, const void **ret)
{
	*ret = s->out.data ? s->out.data + s->sent : NULL;
	return s->out.len - s->sent;
}

void session_sent(struct session *s, size_t n)
{
	s->sent += n;
	s->info.bytes_out += n;
	if (s->sent == s->out.len)
		s->sent = s->out.len = 0;
}

bool session_ends(const struct session *s)
{
	return s->ends;
}

void session_info(const struct session *s, struct session_info *ret)
{
	uint64_t newest = s->w->newest ? s->w->newest->tick : 0, at;

	*ret = s->info;
	ret->name = s->name;
	ret->role = s->role;
	ret->queued = s->out.len - s->sent;
	if (s->udp.d) {
		struct datagram_stats d;

		datagram_stats(s->udp.d, &d);
		ret->udp = datagram_is_confirmed(s->udp.d);
		ret->datagrams_in = d.in;
		ret->datagrams_out = d.out;
		ret->datagrams_lost = d.lost;
	}
	if (!s->m)
		return;
	(void)barrier_client(s->w->barrier, s->m->connection, &ret->barrier);
	ret->objects = store_owned(s->w->store, s->m->connection);
	at = s->role == BARRIER_OBSERVER ? s->told_tick : ret->barrier.promised;
	ret->lag = at < newest ? newest - at : 0;
}

/* ---- rates ---- */

static struct sample sample_of(const struct session *s, int64_t now_mono_ns)
{
	return (struct sample){ now_mono_ns, s->info.ticks, s->info.bytes_in, s->info.bytes_out };
}

void session_sample(struct session *s, int64_t now_mono_ns)
{
	if (now_mono_ns - s->samples[1].mono_ns < NS_PER_S)
		return;
	s->samples[0] = s->samples[1];
	s->samples[1] = sample_of(s, now_mono_ns);
}

void session_rates(const struct session *s, int64_t now_mono_ns, struct session_rates *ret)
{
	struct sample now = sample_of(s, now_mono_ns), old = s->samples[0];
	double seconds = (double)(now.mono_ns - old.mono_ns) / 1e9;

	*ret = (struct session_rates){ 0 };
	if (seconds <= 0)
		return;
	ret->ticks_per_s = (double)(now.ticks - old.ticks) / seconds;
	ret->bytes_in_per_s = (double)(now.bytes_in - old.bytes_in) / seconds;
	ret->bytes_out_per_s = (double)(now.bytes_out - old.bytes_out) / seconds;
}

static void malformed(struct session *s, const char *what)
{
	session_tell_end(s, SIM__WORLD__BYE__REASON__MALFORMED, "%s", what);
}

/* ---- Hello ---- */

/* NULL: no error. */
static const char *wrong_with(const Sim__World__Hello *h)
{
	if (!*h->name || strlen(h->name) > NAME_MAX_LEN || !printable_is(h->name, strlen(h->name)))
		return "Hello: a name is 1 to 63 printable characters";
	if (h->identity.len != IDENTITY_SIZE)
		return "Hello: an identity is 16 bytes";
	if (h->role > SIM__WORLD__ROLE__OBSERVER || h->role < 0)
		return "Hello: unknown role";
	if (h->lookahead_ns < 0 || h->section_level >= SECTION_LEVELS || !(h->radius >= 0) || h->radius * 1e3 > MM_MAX)
		return "Hello: lookahead_ns, section_level or radius is out of range";
	for (size_t i = 0; i < h->n_own_codes; i++)
		if (h->own_codes[i] < FRAME_OWN || h->own_codes[i] > 255)
			return "Hello: own_codes are 128 to 255";
	return NULL;
}

static void take_hello(struct session *s, const Sim__World__Hello *h)
{
	const struct world_options *o = &s->w->o;
	const struct view_options v = { h->section_level, o->store.section_mm,
					h->radius > 0 ? (int64_t)llround(h->radius * 1e3) : o->radius_mm };

	snprintf(s->name, sizeof(s->name), "%s", h->name);
	s->role = access_role(s->access, h->role ? (enum barrier_role)h->role : BARRIER_REGULATING);
	s->lookahead_dur_ns = h->lookahead_ns;
	s->wants_udp = h->udp;
	for (size_t i = 0; i < h->n_own_codes; i++)
		s->own_codes[(h->own_codes[i] - FRAME_OWN) / 8] |= (uint8_t)(1u << h->own_codes[i] % 8);
	view_init(&s->view, &v);
}

/* So that clients that see objects of these types can read their bodies. */
static void add_types(Sim__World__Welcome *m, Sim__World__OwnType **list, Sim__World__OwnType *types,
		      const struct access *a)
{
	for (unsigned i = 0; i < a->n_types; i++) {
		types[i] = (Sim__World__OwnType)SIM__WORLD__OWN_TYPE__INIT;
		types[i].code = a->types[i].code;
		types[i].name = (char *)(uintptr_t)a->types[i].name;
		types[i].proto = (char *)(uintptr_t)a->types[i].proto;
		list[i] = &types[i];
	}
	m->n_types = a->n_types;
	m->types = list;
}

static void put_welcome(struct session *s, bool again, int64_t now_mono_ns)
{
	const struct world *w = s->w;
	uint8_t keys[2][PACKET_KEY];
	Sim__World__Welcome m = SIM__WORLD__WELCOME__INIT;
	Sim__World__OwnType types[ACCESS_TYPES_MAX], *list[ACCESS_TYPES_MAX];

	m.version = 1;
	m.connection = s->m->connection;
	m.world = w->o.number;
	m.tick = w->newest ? w->newest->tick : 0;
	m.time_sim_ns = w->newest ? w->newest->time_sim_ns : w->o.store.start_sim_ns;
	m.step_dur_ns = w->o.store.step_dur_ns;
	m.section_size = (double)w->o.store.section_mm / 1e3;
	m.radius = s->view.o.radius_mm == VIEW_ALL ? INFINITY : (double)s->view.o.radius_mm / 1e3;
	m.role = (Sim__World__Role)s->role;
	m.objects = session_objects_max(s);
	add_types(&m, list, types, &w->o.access);
	m.again = again;
	if (session_udp_begin(s, keys, now_mono_ns)) {
		m.udp_port = w->udp_port;
		m.udp_key_to_server = (ProtobufCBinaryData){ PACKET_KEY, keys[0] };
		m.udp_key_to_client = (ProtobufCBinaryData){ PACKET_KEY, keys[1] };
	}
	session_put(s, FRAME_WELCOME, &m.base);
	explicit_bzero(keys, sizeof(keys));
}

/*
 * Combines identity and certificate: a client with another certificate is another member, even with a copied identity.
 */
static void identity_of(const struct session *s, const uint8_t said[IDENTITY_SIZE], uint8_t ret[IDENTITY_SIZE])
{
	uint8_t both[IDENTITY_SIZE + sizeof(s->certificate)];
	size_t len = strlen(s->certificate);

	memcpy(ret, said, IDENTITY_SIZE);
	if (!len)
		return;
	memcpy(both, said, IDENTITY_SIZE);
	memcpy(both + IDENTITY_SIZE, s->certificate, len);
	(void)crypto_generichash(ret, IDENTITY_SIZE, both, IDENTITY_SIZE + len, NULL, 0);
}

/* Joins the world as the member with that identity. */
static int join(struct session *s, const uint8_t said[IDENTITY_SIZE], int64_t now_mono_ns)
{
	struct world *w = s->w;
	uint8_t identity[IDENTITY_SIZE];
	uint32_t forgotten = 0;
	struct member *m;
	int r = -ENOSPC;

	identity_of(s, said, identity);
	if (w->n_sessions - w->n_strangers < w->o.sessions_max)
		r = members_get(&w->members, identity, &m, &forgotten);
	if (forgotten)
		world_forget(w, forgotten);
	if (r < 0)
		return r;
	if (m->session) {
		struct session *before = m->session;

		world_leave(before, true,
			    INT64_MAX - w->o.grace_dur_ns - 1); /* its objects pass to the new session below */
		session_tell_end(before, SIM__WORLD__BYE__REASON__REPLACED, "its identity has connected again");
	}
	r = barrier_join(w->barrier, m->connection, s->role, s->lookahead_dur_ns, now_mono_ns);
	if (r < 0)
		return r;
	m->session = s;
	m->until_mono_ns = INT64_MAX;
	s->m = m;
	s->info.connection = m->connection;
	session_begin_standing(s);
	w->n_strangers--;
	return 0;
}

static void on_hello(struct session *s, const Sim__World__Hello *h, int64_t now_mono_ns)
{
	const char *wrong = wrong_with(h);
	int r;

	s->greeted = true;
	if (h->version != 1) {
		session_tell_end(s, SIM__WORLD__BYE__REASON__VERSION, "Hello: version %u; this server has 1",
				 h->version);
	} else if (wrong) {
		malformed(s, wrong);
	} else if (s->w->o.token && !access_token_is(s->w->o.token, h->token.data, h->token.len)) {
		session_tell_end(s, SIM__WORLD__BYE__REASON__REFUSED, "Hello: the token is not this server's");
	} else if (session_admit(s, h)) {
		take_hello(s, h);
		r = join(s, h->identity.data, now_mono_ns);
		if (r < 0) {
			session_tell_end(s, SIM__WORLD__BYE__REASON__FULL,
					 "the world is full: as many clients as allowed are connected, or %s",
					 r == -ENOMEM ? "it is out of memory" : "were a moment ago");
			return;
		}
		session_not_silent(s);
		s->in.max = FRAME_MAX_CLIENT;
		s->told_tick = s->w->newest ? s->w->newest->tick : 0;
		put_welcome(s, store_owned(s->w->store, s->m->connection) > 0, now_mono_ns);
		world_say(s, WORLD_CAME, "%s%s",
			  s->role == BARRIER_REGULATING    ? "regulating"
			  : s->role == BARRIER_CONSTRAINED ? "constrained"
							   : "observer",
			  (int)s->role == (h->role ? (int)h->role : BARRIER_REGULATING)
				  ? ""
				  : ", as the access list has it");
	}
}

/* ---- objects ---- */

static bool may_send(const struct session *s, uint8_t code)
{
	if (code >= FRAME_OWN)
		return s->own_codes[(code - FRAME_OWN) / 8] & 1u << code % 8;
	return code == FRAME_VEHICLE || (code >= FRAME_PEDESTRIAN && code <= FRAME_TRAFFIC_LIGHT);
}

/*
 * Whether the stamp is later than the next tick, the client's look-ahead and the server's allowance together; clamps it
 * if the server does.
 */
static bool too_far_ahead(struct session *s, struct store_update *u)
{
	int64_t latest = store_next_sim_ns(s->w->store);

	if (__builtin_add_overflow(latest, s->lookahead_dur_ns, &latest) ||
	    __builtin_add_overflow(latest, s->w->o.ahead_dur_ns, &latest))
		latest = INT64_MAX;
	if (u->motion.time_sim_ns <= latest)
		return false;
	s->w->ahead++;
	if (s->w->o.clamp)
		u->motion.time_sim_ns = latest;
	return !s->w->o.clamp;
}

/* Negative errno: not used. */
static int on_object(struct session *s, const struct frame *f)
{
	struct store_update u;
	int r = object_decode(f->code, f->body, f->len, &u);

	if (r == -EBADMSG || r == -E2BIG) {
		malformed(s, r == -E2BIG ? "an object's body is longer than 32768 bytes"
					 : "an object is malformed protobuf");
		return r;
	}
	if (r < 0)
		return r; /* out of memory: as if the frame was lost */
	if (s->role == BARRIER_OBSERVER || too_far_ahead(s, &u)) {
		body_unref(u.body);
		s->info.refused++;
		return -ERANGE;
	}
	if (!session_may_put(s, u.id, f->code)) {
		body_unref(u.body);
		return -EPERM;
	}
	r = store_update(s->w->store, s->m->connection, &u);
	if (r == -EINVAL || r == -ERANGE)
		malformed(s, "an object has no id, or a number that is not finite or out of range");
	s->info.updates += r == 0;
	s->info.refused += r < 0;
	return r;
}

static void on_gone(struct session *s, const Sim__World__Gone *m)
{
	s->info.refused += store_remove(s->w->store, s->m->connection, m->id) < 0;
}

/* Requests ownership of an object: passed on to its owner. */
static void on_want(struct session *s, const Sim__World__Ownership *m, int64_t now_mono_ns)
{
	struct session *owner = world_session(s->w, store_owner(s->w->store, m->id));
	Sim__World__Ownership ask = SIM__WORLD__OWNERSHIP__INIT;

	ask.id = m->id;
	ask.connection = s->m->connection;
	if (owner && s->role != BARRIER_OBSERVER && session_may_ask(s, now_mono_ns) && session_may_get(s, m->id) &&
	    session_pass_on(owner, FRAME_WANT, &ask.base))
		return;
	ask.refused = true;
	session_answer(s, FRAME_GIVE, &ask.base);
}

/*
 * Whether the recipient may own the object. If it is not the sender's, the store reports that, not the recipient's
 * limits.
 */
static bool may_give(struct session *s, struct session *to, uint64_t id)
{
	uint32_t owner = store_owner(s->w->store, id);

	if (!owner) /* created since the last tick */
		owner = store_id_connection(id);
	return owner != s->m->connection || session_may_get(to, id);
}

/* The owner's answer to a request, or an unrequested transfer. Takes effect at the next tick, if possible. */
static void on_give(struct session *s, const Sim__World__Ownership *m, int64_t now_mono_ns)
{
	struct session *to = world_session(s->w, m->connection);
	Sim__World__Ownership no = SIM__WORLD__OWNERSHIP__INIT;

	no.id = m->id;
	no.connection = m->connection;
	no.refused = true;
	if (m->refused) {
		if (to && store_owner(s->w->store, m->id) == s->m->connection && session_may_ask(s, now_mono_ns))
			(void)session_pass_on(to, FRAME_GIVE, &no.base);
		return;
	}
	if (!to || to->role == BARRIER_OBSERVER || !session_may_ask(s, now_mono_ns) || !may_give(s, to, m->id) ||
	    store_give(s->w->store, s->m->connection, m->connection, m->id) < 0 ||
	    world_add_give(s->w, m->id, s->m->connection, m->connection) < 0) {
		s->info.refused++;
		session_answer(s, FRAME_GIVE, &no.base);
	}
}

/* ---- interest ---- */

static void on_again(struct session *s, const Sim__World__Again *m, int64_t now_mono_ns)
{
	const struct section_key key = { m->x, m->y, m->level };

	session_again(s, m->all ? NULL : &key, now_mono_ns);
}

static bool place_of(const Sim__World__Vector *v, struct view_centre *ret)
{
	double x = v->x * 1e3, y = v->y * 1e3;

	if (!(fabs(x) <= MM_MAX) || !(fabs(y) <= MM_MAX))
		return false;
	*ret = (struct view_centre){ (int64_t)x, (int64_t)y };
	return true;
}

static void on_interest(struct session *s, const Sim__World__Interest *m)
{
	bool right = m->n_centre <= SAID_MAX && m->radius >= 0 && m->radius * 1e3 <= MM_MAX;

	for (size_t i = 0; right && i < m->n_centre; i++)
		right = place_of(m->centre[i], &s->said[i]);
	if (!right) {
		malformed(s, "Interest: up to 8 centres, finite numbers, a radius of 0 to 10^9 m");
		return;
	}
	s->n_said = (unsigned)m->n_centre;
	if (m->radius > 0)
		s->view.o.radius_mm = (int64_t)llround(m->radius * 1e3);
}

/* ---- messages ---- */

static bool has_in_view(const struct session *s, uint64_t id)
{
	for (uint32_t i = 0; i < s->view.n; i++) {
		const struct section *c = snapshot_section(s->w->newest, s->view.cells[i].key);

		if (c && section_find(c, id))
			return true;
	}
	return false;
}

static void deliver(struct session *s, const Sim__World__Note *m)
{
	struct session *to = m->to ? world_session(s->w, store_owner(s->w->store, m->to)) : NULL;

	if (m->to && !to)
		s->w->notes_lost++;
	if (to)
		s->w->notes_lost += !session_pass_on(to, FRAME_NOTE, &m->base);
	if (m->to)
		return;
	list_for_each(to, &s->w->sessions, link)
		if (to->m && to != s && (m->all || (s->w->newest && has_in_view(to, m->from))))
			(void)session_pass_on(to, FRAME_NOTE, &m->base);
}

/* Limited per second; each number is accepted once, also across reconnections. */
static void on_note(struct session *s, const Sim__World__Note *m, int64_t now_mono_ns)
{
	if (m->payload.len > NOTE_MAX) {
		malformed(s, "Note: a payload is up to 2048 bytes");
		return;
	}
	if (!session_may_note(s)) {
		s->w->notes_lost++;
		return;
	}
	if (now_mono_ns - s->notes_mono_ns >= NS_PER_S) {
		s->notes_mono_ns = now_mono_ns;
		s->notes = 0;
	}
	if (m->number <= s->m->last_note || store_owner(s->w->store, m->from) != s->m->connection ||
	    ++s->notes > NOTES_PER_S) {
		s->w->notes_lost++;
		s->info.refused++;
		return;
	}
	s->m->last_note = m->number;
	s->w->notes++;
	deliver(s, m);
}

/* ---- time ---- */

static void on_done(struct session *s, const Sim__World__Done *m, int64_t now_mono_ns)
{
	const struct barrier_done d = { m->tick, m->echo_mono_ns, m->held_dur_ns, m->sent_mono_ns, m->paused };
	int r = barrier_done(s->w->barrier, s->m->connection, &d, now_mono_ns);

	if (r == -EINVAL)
		malformed(s, "Done: a tick that has not begun, or an invalid time");
	else if (r == 1)
		world_say(
			s, WORLD_LATE,
			"newcomers have kept the world waiting for too long: it is an observer until it has kept pace");
	if (r >= 0 && m->paused != s->paused && s->role == BARRIER_REGULATING)
		world_say(s, WORLD_PAUSED, "%s",
			  !m->paused                        ? "its time continues"
			  : s->w->o.barrier.wait_for_paused ? "its time stands, and the world's waits for it"
							    : "its time stands: it is an observer meanwhile");
	s->paused = m->paused;
}

/* ---- frames ---- */

static void take(struct session *s, uint8_t code, const ProtobufCMessage *m, int64_t now_mono_ns)
{
	switch (code) {
	case FRAME_HELLO:
		on_hello(s, (const Sim__World__Hello *)(const void *)m, now_mono_ns);
		break;
	case FRAME_DONE:
		on_done(s, (const Sim__World__Done *)(const void *)m, now_mono_ns);
		break;
	case FRAME_GONE:
		on_gone(s, (const Sim__World__Gone *)(const void *)m);
		break;
	case FRAME_WANT:
		on_want(s, (const Sim__World__Ownership *)(const void *)m, now_mono_ns);
		break;
	case FRAME_GIVE:
		on_give(s, (const Sim__World__Ownership *)(const void *)m, now_mono_ns);
		break;
	case FRAME_AGAIN:
		on_again(s, (const Sim__World__Again *)(const void *)m, now_mono_ns);
		break;
	case FRAME_INTEREST:
		on_interest(s, (const Sim__World__Interest *)(const void *)m);
		break;
	case FRAME_NOTE:
		on_note(s, (const Sim__World__Note *)(const void *)m, now_mono_ns);
		break;
	case FRAME_BYE:
		session_tell_end(s, SIM__WORLD__BYE__REASON__DONE, "it has said Bye");
		break;
	default:
		break;
	}
}

static const ProtobufCMessageDescriptor *message_of(uint8_t code)
{
	static const ProtobufCMessageDescriptor *const messages[] = {
		[FRAME_BYE] = &sim__world__bye__descriptor,           [FRAME_NOTE] = &sim__world__note__descriptor,
		[FRAME_HELLO] = &sim__world__hello__descriptor,       [FRAME_DONE] = &sim__world__done__descriptor,
		[FRAME_GONE] = &sim__world__gone__descriptor,         [FRAME_WANT] = &sim__world__ownership__descriptor,
		[FRAME_GIVE] = &sim__world__ownership__descriptor,    [FRAME_AGAIN] = &sim__world__again__descriptor,
		[FRAME_INTEREST] = &sim__world__interest__descriptor,
	};

	return code < sizeof(messages) / sizeof(messages[0]) ? messages[code] : NULL;
}

static void on_frame(struct session *s, const struct frame *f, int64_t now_mono_ns)
{
	const ProtobufCMessageDescriptor *d = message_of(f->code);
	ProtobufCMessage *m;

	s->info.frames_in++;
	if (!s->m != (f->code == FRAME_HELLO)) {
		malformed(s, s->m ? "a second Hello" : "the first frame is not Hello");
		return;
	}
	if (!session_pays(s, f->len))
		return;
	if (may_send(s, f->code)) {
		(void)on_object(s, f);
		return;
	}
	if (!d) /* of a future version */
		return;
	m = protobuf_c_message_unpack(d, NULL, f->len, f->body);
	if (!m) {
		malformed(s, "a frame's body is not a message of its code");
		return;
	}
	take(s, f->code, m, now_mono_ns);
	protobuf_c_message_free_unpacked(m, NULL);
}

/* Other codes must come by TCP: ignored. */
int session_take_datagram(struct session *s, const struct frame *f, int64_t now_mono_ns)
{
	Sim__World__Done *m;

	s->info.frames_in++;
	session_share_time(s, now_mono_ns);
	if (!session_pays(s, f->len))
		return -EAGAIN;
	if (may_send(s, f->code))
		return on_object(s, f);
	if (f->code != FRAME_DONE)
		return 0;
	m = sim__world__done__unpack(NULL, f->len, f->body);
	if (!m)
		return -EBADMSG;
	on_done(s, m, now_mono_ns);
	sim__world__done__free_unpacked(m, NULL);
	return 0;
}

static void take_frames(struct session *s, int64_t now_mono_ns)
{
	struct frame f;
	int r = 0;

	while (!s->ends && (r = frame_next(&s->in, &f)) == 1)
		on_frame(s, &f, now_mono_ns);
	if (r < 0)
		malformed(s, "malformed frame, or one that is too long");
}

void session_input(struct session *s, const void *data, size_t len, int64_t now_mono_ns)
{
	const uint8_t *at = data;
	uint64_t frames = s->info.frames_in;

	s->w->now_mono_ns = now_mono_ns;
	s->info.bytes_in += len;
	session_share_time(s, now_mono_ns);
	while (len && !s->ends) {
		uint8_t *room;
		size_t size;

		if (frame_reader_room(&s->in, &room, &size) < 0) {
			session_tell_end(s, SIM__WORLD__BYE__REASON__FULL, "out of memory for its input");
			return;
		}
		size = len < size ? len : size;
		memcpy(room, at, size);
		frame_reader_add(&s->in, size);
		at += size;
		len -= size;
		take_frames(s, now_mono_ns);
	}
	session_partial(s, s->info.frames_in != frames, now_mono_ns);
}
