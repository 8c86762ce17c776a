/* SPDX-License-Identifier: Apache-2.0 */
/* client.h */
#include "client.h"

#include "support/test.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

void client_send_bytes(struct client *c, const void *data, size_t len, int64_t now_mono_ns)
{
	if (c->fd)
		assert_int_equal(send(c->fd, data, len, MSG_NOSIGNAL), len);
	else
		session_input(c->s, data, len, now_mono_ns);
}

void client_send(struct client *c, unsigned code, const ProtobufCMessage *m, int64_t now_mono_ns)
{
	static uint8_t frame[FRAME_MAX_CLIENT + 4];
	size_t len = protobuf_c_message_pack(m, frame + 5) + 1;

	assert_true(len <= FRAME_MAX_CLIENT);
	for (unsigned i = 0; i < 4; i++)
		frame[i] = (uint8_t)(len >> 8 * i);
	frame[4] = (uint8_t)code;
	client_send_bytes(c, frame, len + 4, now_mono_ns);
}

static void hello(struct client *c, const struct client_options *o, int64_t now_mono_ns)
{
	Sim__World__Hello m = SIM__WORLD__HELLO__INIT;
	uint8_t identity[16];
	uint32_t own_code = o->own_code;

	frame_reader_init(&c->in, FRAME_MAX_SERVER);
	for (unsigned i = 0; i < sizeof(identity); i++)
		identity[i] = (uint8_t)(o->identity >> i % 2 * 8);
	m.version = 1;
	m.name = (char *)(uintptr_t)(o->name ? o->name : "client");
	m.role = o->role;
	m.identity = (ProtobufCBinaryData){ sizeof(identity), identity };
	if (o->token)
		m.token = (ProtobufCBinaryData){ strlen(o->token), (uint8_t *)(uintptr_t)o->token };
	m.lookahead_ns = o->lookahead_ns;
	m.section_level = o->level;
	m.radius = o->radius;
	m.n_own_codes = o->own_code != 0;
	m.own_codes = &own_code;
	client_send(c, 32, &m.base, now_mono_ns);
}

void client_connect_as(struct client *c, struct world *w, const char *certificate, const struct client_options *o,
		       int64_t now_mono_ns)
{
	*c = (struct client){ .n_gone = 0 };
	assert_int_equal(session_open(w, now_mono_ns, &c->s), 0);
	session_set_certificate(c->s, certificate);
	hello(c, o, now_mono_ns);
}

void client_connect(struct client *c, struct world *w, const struct client_options *o, int64_t now_mono_ns)
{
	client_connect_as(c, w, "", o, now_mono_ns);
}

static void forget(struct client *c)
{
	while (c->n_sections)
		section_unref(c->sections[--c->n_sections]);
	frame_reader_finish(&c->in);
}

void client_lose(struct client *c, int64_t now_mono_ns)
{
	if (c->fd)
		close(c->fd);
	session_close(c->s, now_mono_ns);
	c->s = NULL;
	c->fd = 0;
	forget(c);
}

void client_object(struct client *c, uint32_t number, double x, double y, int64_t now_mono_ns)
{
	Sim__World__Object m = SIM__WORLD__OBJECT__INIT;
	Sim__World__Vector at = SIM__WORLD__VECTOR__INIT;

	at.x = x;
	at.y = y;
	m.id = (uint64_t)c->connection << 40 | (uint64_t)number << 16;
	m.time_sim_ns = c->time_sim_ns + c->step_dur_ns;
	m.position = &at;
	client_send(c, 2, &m.base, now_mono_ns);
}

void client_done(struct client *c, int64_t now_mono_ns)
{
	Sim__World__Done m = SIM__WORLD__DONE__INIT;

	m.tick = c->tick;
	m.echo_mono_ns = c->sent_mono_ns;
	m.sent_mono_ns = now_mono_ns;
	client_send(c, 35, &m.base, now_mono_ns);
}

/* ---- received frames ---- */

static unsigned place_of(const struct client *c, struct section_key key)
{
	unsigned i = 0;

	while (i < c->n_sections && !section_key_equal(c->sections[i]->key, key))
		i++;
	return i;
}

static void drop(struct client *c, unsigned i)
{
	section_unref(c->sections[i]);
	c->sections[i] = c->sections[--c->n_sections];
}

static void on_section(struct client *c, const struct frame *f)
{
	struct section *s, *base;
	struct section_head head;
	unsigned i;
	int r;

	assert_int_equal(section_peek(f->body, f->len, &head), 0);
	i = place_of(c, head.key);
	base = head.base ? c->sections[i] : NULL;
	assert_true(!head.base || i < c->n_sections);
	r = section_decode(f->body, f->len, base, &s);
	if (r == -ESTALE) {
		c->n_stale++;
		return;
	}
	assert_int_equal(r, 0);
	if (i < c->n_sections)
		drop(c, i);
	assert_true(c->n_sections < CLIENT_SECTIONS);
	c->sections[c->n_sections++] = s;
}

static void keep_types(struct client *c, const Sim__World__Welcome *m)
{
	c->n_types = (unsigned)m->n_types;
	if (!m->n_types)
		return;
	c->type_code = m->types[0]->code;
	snprintf(c->type_name, sizeof(c->type_name), "%s", m->types[0]->name);
	snprintf(c->type_proto, sizeof(c->type_proto), "%s", m->types[0]->proto);
}

static void on_message(struct client *c, unsigned code, const void *m)
{
	const Sim__World__Welcome *welcome = m;
	const Sim__World__Heartbeat *beat = m;
	const Sim__World__Ownership *own = m;
	const Sim__World__Leave *leave = m;
	const Sim__World__Bye *bye = m;

	switch (code) {
	case 33:
		assert_false(c->welcome);
		c->welcome = true;
		c->connection = welcome->connection;
		c->tick = welcome->tick;
		c->time_sim_ns = welcome->time_sim_ns;
		c->step_dur_ns = welcome->step_dur_ns;
		c->again = welcome->again;
		c->role = c->welcome_role = welcome->role;
		c->objects_max = welcome->objects;
		keep_types(c, welcome);
		break;
	case 1:
	case 34:
		assert_int_equal(code == 1, c->welcome);
		c->bye = true;
		c->reason = (int)bye->reason;
		snprintf(c->sentence, sizeof(c->sentence), "%s", bye->sentence);
		break;
	case 5:
		assert_true(beat->tick >= c->tick);
		c->tick = beat->tick;
		c->time_sim_ns = beat->time_sim_ns;
		c->sent_mono_ns = beat->sent_mono_ns;
		c->role = beat->role;
		c->pace = beat->pace_permille;
		c->waited_for = beat->waited_for;
		c->advice = beat->step_advice_e6;
		break;
	case 6:
		c->n_notes++;
		c->last_note_from = ((const Sim__World__Note *)m)->from;
		break;
	case 37:
		c->n_gone++;
		c->last_gone = ((const Sim__World__Gone *)m)->id;
		break;
	case 38:
	case 39:
		c->ownership.code = code;
		c->ownership.id = own->id;
		c->ownership.connection = own->connection;
		c->ownership.refused = own->refused;
		break;
	case 40:
		c->n_leaves++;
		drop(c, place_of(c, (struct section_key){ leave->x, leave->y, leave->level }));
		break;
	default:
		fail_msg("code %u", code);
	}
}

static void on_frame(struct client *c, const struct frame *f)
{
	static const ProtobufCMessageDescriptor *const messages[] = {
		[1] = &sim__world__bye__descriptor,        [5] = &sim__world__heartbeat__descriptor,
		[6] = &sim__world__note__descriptor,       [33] = &sim__world__welcome__descriptor,
		[34] = &sim__world__bye__descriptor,       [37] = &sim__world__gone__descriptor,
		[38] = &sim__world__ownership__descriptor, [39] = &sim__world__ownership__descriptor,
		[40] = &sim__world__leave__descriptor,
	};
	ProtobufCMessage *m;

	c->last_code = f->code;
	if (f->code == 3) {
		on_section(c, f);
		return;
	}
	assert_true(f->code <= 40 && messages[f->code]);
	m = protobuf_c_message_unpack(messages[f->code], NULL, f->len, f->body);
	assert_non_null(m);
	on_message(c, f->code, m);
	protobuf_c_message_free_unpacked(m, NULL);
}

bool client_receive(struct client *c, size_t max, int64_t now_mono_ns)
{
	uint64_t before = c->tick;
	const void *data;
	uint8_t *room;
	struct frame f;
	size_t n, size;

	while (c->s && max && (n = session_output(c->s, &data))) {
		n = n < max ? n : max;
		assert_int_equal(frame_reader_room(&c->in, &room, &size), 0);
		n = n < size ? n : size;
		memcpy(room, data, n);
		frame_reader_add(&c->in, n);
		session_sent(c->s, n);
		max -= n;
		while (frame_next(&c->in, &f) == 1)
			on_frame(c, &f);
	}
	if (c->s && session_ends(c->s) && !session_output(c->s, &data))
		client_lose(c, now_mono_ns);
	return c->tick > before;
}

bool client_await(struct client *c, unsigned code)
{
	struct frame f;
	uint8_t *room;
	size_t size;
	ssize_t n;

	for (;;) {
		while (frame_next(&c->in, &f) == 1) {
			on_frame(c, &f);
			if (c->last_code == code)
				return true;
		}
		assert_int_equal(frame_reader_room(&c->in, &room, &size), 0);
		n = recv(c->fd, room, size, 0);
		if (n <= 0)
			return false;
		frame_reader_add(&c->in, (size_t)n);
	}
}

void client_connect_fd(struct client *c, int fd, const struct client_options *o)
{
	const int on = 1;

	/* an object and Done are two frames; sockets other than TCP refuse this option */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	*c = (struct client){ .fd = fd };
	hello(c, o, 1);
	(void)client_await(c, 33);
}

/* ---- its view ---- */

uint64_t client_hash(const struct client *c)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < c->n_sections; i++)
		hash += c->sections[i]->hash;
	return hash;
}

unsigned client_count(const struct client *c)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->n_sections; i++)
		n += c->sections[i]->count;
	return n;
}

const struct object_state *client_find(const struct client *c, uint64_t id)
{
	for (unsigned i = 0; i < c->n_sections; i++)
		if (section_find(c->sections[i], id))
			return section_find(c->sections[i], id);
	return NULL;
}
