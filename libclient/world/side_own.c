/* SPDX-License-Identifier: Apache-2.0 */
/* side.h: the client's own objects, and sending them again. */
#include <errno.h>
#include <string.h>

#include "err.h"
#include "mem.h"
#include "side_private.h"

#define NUMBER_BITS    24u
#define NUMBER_MASK    ((1u << NUMBER_BITS) - 1)
#define GENERATION_MAX 65535u
#define OWN_MAX        (1u << 20)

enum { OBJECT_ID = 1, OBJECT_TIME, OBJECT_POSITION, OBJECT_ROTATION, OBJECT_VELOCITY, OBJECT_SPIN, OBJECT_BODY };

static bool is_number(uint64_t id)
{
	return !(id >> NUMBER_BITS);
}

static uint64_t whole_id(const struct side *s, const struct own *o)
{
	return is_number(o->id) ? (uint64_t)s->connection << 40 | o->id << 16 | o->generation : o->id;
}

/* ---- the table ---- */

static uint32_t place_of(const struct side *s, uint64_t id)
{
	uint32_t low = 0, high = s->n_own;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->own[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* By its number, or its whole id. */
static struct own *find(const struct side *s, uint64_t id)
{
	bool made_here = !is_number(id) && id >> 40 == s->connection;
	uint64_t key = made_here ? id >> 16 & NUMBER_MASK : id;
	uint32_t i = place_of(s, key);
	struct own *o = i < s->n_own && s->own[i].id == key ? &s->own[i] : NULL;

	return o && made_here && o->generation != (id & GENERATION_MAX) ? NULL : o;
}

static int add(struct side *s, uint64_t id, struct own **ret)
{
	uint32_t i = place_of(s, id);

	if (s->n_own == OWN_MAX)
		return err_set(-ERANGE, "too many objects of one client");
	if (s->n_own == s->own_size) {
		uint32_t size = s->own_size ? 2 * s->own_size : 16;
		struct own *p = mem_realloc(s->own, size * sizeof(*p));

		if (!p)
			return err_nomem();
		s->own = p;
		s->own_size = size;
	}
	memmove(&s->own[i + 1], &s->own[i], (s->n_own - i) * sizeof(*s->own));
	s->n_own++;
	s->own[i] = (struct own){ .id = id };
	*ret = &s->own[i];
	return 0;
}

static void drop(struct side *s, struct own *o)
{
	uint32_t i = (uint32_t)(o - s->own);

	body_unref(o->body);
	memmove(o, o + 1, (s->n_own - i - 1) * sizeof(*o));
	s->n_own--;
}

void side_own_finish(struct side *s)
{
	while (s->n_own)
		drop(s, &s->own[s->n_own - 1]);
	mem_free(s->own);
}

/* ---- sending ---- */

static void write_object(const struct side *s, const struct own *o, bool with_body, struct wire_buf *b)
{
	wire_u64(b, OBJECT_ID, whole_id(s, o));
	wire_u64(b, OBJECT_TIME, (uint64_t)o->motion.time_sim_ns);
	wire_doubles(b, OBJECT_POSITION, o->motion.position, 3);
	wire_doubles(b, OBJECT_ROTATION, o->motion.rotation, 4);
	wire_doubles(b, OBJECT_VELOCITY, o->motion.velocity, 3);
	wire_doubles(b, OBJECT_SPIN, o->motion.spin, 3);
	if (with_body)
		wire_bytes(b, OBJECT_BODY, o->body ? o->body->data : NULL, o->body ? o->body->len : 0);
}

/*
 * Sends by datagram, unless time waits for this client: a regulating one has promised that everything it puts counts.
 * Until the server is known to have the body, each message contains it.
 */
static bool say_by_datagram(struct side *s, const struct own *o)
{
	struct wire_buf b = { 0 };
	bool gone;

	if (s->o.role == SIDE_REGULATING || !side_has_datagrams(s))
		return false;
	write_object(s, o, !o->body_sure, &b);
	gone = !b.failed && side_udp_send(s, (uint8_t)o->code, b.data, b.len, o->body_sure ? NULL : o);
	wire_buf_finish(&b);
	return gone;
}

static int say(struct side *s, const struct own *o, bool with_body)
{
	struct wire_buf *b = &s->out;
	size_t begin;
	int r;

	if (say_by_datagram(s, o))
		return 0;
	begin = frame_begin(b, (uint8_t)o->code);
	write_object(s, o, with_body || (s->udp.d && !o->body_sure), b);
	r = frame_end(b, begin, FRAME_MAX_CLIENT);
	b->failed = false;
	return r < 0 ? err_nomem() : 0;
}

void side_own_sure(struct side *s, uint64_t id, uint32_t bodies)
{
	struct own *o = find(s, id);

	if (o && o->bodies == bodies)
		o->body_sure = true;
}

static int say_gone(struct side *s, struct own *o)
{
	Sim__World__Gone m = SIM__WORLD__GONE__INIT;

	m.id = whole_id(s, o);
	return side_send(s, FRAME_GONE, &m.base);
}

/* ---- put ---- */

static bool may_say(const struct side *s, uint32_t code)
{
	if (code >= FRAME_OWN && code < FRAME_OWN + 128)
		return s->o.own_codes[(code - FRAME_OWN) / 8] & 1u << code % 8;
	return code == FRAME_VEHICLE || (code >= FRAME_PEDESTRIAN && code <= FRAME_TRAFFIC_LIGHT);
}

static int check(const struct side *s, const struct side_object *o)
{
	struct motion m;
	int r = motion_from_real(&o->motion, o->motion.time_sim_ns, &m);

	if (r == -EINVAL)
		return err_set(r, "object %llu: a number is not finite", (unsigned long long)o->id);
	if (r < 0)
		return err_set(r, "object %llu: a number is beyond the protocol's range (10^9 m, 10^4 m/s, 10^3 rad/s)",
			       (unsigned long long)o->id);
	if (s->o.role == SIDE_OBSERVER)
		return err_set(-EPERM, "an observer has no objects");
	if (s->granted == SIDE_OBSERVER)
		return err_set(-EPERM,
			       "an observer has no objects, and the access list of the server makes this host one");
	if (!may_say(s, o->code))
		return err_set(-EINVAL, "object %llu: code %u is not an object code, or not among own_codes",
			       (unsigned long long)o->id, o->code);
	if (is_number(o->id) && s->objects && o->id >= s->objects)
		return err_set(-ERANGE, "object %llu: this server's numbers are less than %u",
			       (unsigned long long)o->id, s->objects);
	return 0;
}

/* *ret: a reference to the object's new body. Returns 1 if it differs from the old one. */
static int body_of(const struct side_object *o, const struct own *was, struct body **ret)
{
	struct body *old = was ? was->body : NULL;
	int r;

	if (!o->body || (old && old->len == o->len && !memcmp(old->data, o->body, o->len)) || (!old && !o->len)) {
		*ret = body_ref(old);
		return 0;
	}
	r = body_create(o->body, o->len, ret);
	if (r == -ENOMEM)
		return err_nomem();
	return r < 0 ? err_set(r, "object %llu: its body is %s", (unsigned long long)o->id,
			       r == -E2BIG ? "longer than 32768 bytes" : "not protobuf")
		     : 1;
}

static int own_of(struct side *s, uint64_t id, struct own **ret)
{
	*ret = find(s, id);
	if (*ret)
		return 0;
	if (!is_number(id))
		return err_set(-EPERM, "object %llu is not this client's", (unsigned long long)id);
	return add(s, id, ret);
}

/* An object that is put for the first time, or after it was removed, is a new one. */
static int begin_life(struct own *o)
{
	if (o->away)
		return err_set(-EBUSY, "object %llu was given to another host and still exists: take another number",
			       (unsigned long long)o->id);
	if (o->generation == GENERATION_MAX)
		return err_set(-ENOSPC, "object %llu: this number was removed 65535 times; take another",
			       (unsigned long long)o->id);
	o->generation++;
	o->there = true;
	return 0;
}

int side_put(struct side *s, const struct side_object *o)
{
	struct body *body;
	struct own *own;
	int r = check(s, o), changed;

	if (r == 0 && s->state == SIDE_IN)
		r = side_may_send(s);
	if (r == 0)
		r = own_of(s, o->id, &own);
	if (r < 0)
		return r;
	changed = body_of(o, own, &body);
	if (changed >= 0 && !own->there) {
		r = begin_life(own);
		changed = 1;
	}
	if (changed < 0 || r < 0) {
		if (changed >= 0)
			body_unref(body);
		return changed < 0 ? changed : r;
	}
	body_unref(own->body);
	own->body = body;
	if (changed) {
		own->bodies++;
		own->body_sure = false;
	}
	own->code = o->code;
	own->motion = o->motion;
	return s->state == SIDE_IN && !s->learns ? say(s, own, changed) : 0;
}

int side_remove(struct side *s, uint64_t id)
{
	struct own *o = find(s, id);
	int r = 0;

	if (!o || !o->there)
		return err_set(-ENOENT, "this client has no object %llu", (unsigned long long)id);
	o->there = false;
	body_unref(o->body);
	o->body = NULL;
	if (s->state == SIDE_IN && !s->learns)
		r = say_gone(s, o);
	else
		o->gone_unsaid = !s->learns; /* while it learns, the object was not sent either */
	if (!is_number(o->id) && !o->gone_unsaid)
		drop(s, o);
	return r;
}

uint64_t side_id(const struct side *s, uint64_t id)
{
	const struct own *o = find(s, id);

	if (!is_number(id))
		return id;
	return o && s->connection ? whole_id(s, o) : 0;
}

/* ---- sending again ---- */

/* The server has lost it: it is created again, with the present time, as its last state may be long ago. */
static int make_anew(struct side *s, struct own *o)
{
	int r = begin_life(o);

	if (o->motion.time_sim_ns < s->tick.time_sim_ns)
		o->motion.time_sim_ns = s->tick.time_sim_ns;
	return r < 0 ? r : say(s, o, true);
}

/* An object that was handed over and not put since has no code here: it stays as its last owner left it. */
static int say_again(struct side *s, struct own *o, bool again)
{
	int r = 0;

	if (o->there && o->code)
		r = again ? say(s, o, o->body || is_number(o->id)) : make_anew(s, o);
	else if (o->gone_unsaid && again)
		r = say_gone(s, o);
	o->gone_unsaid = false;
	return r;
}

int side_own_again(struct side *s, bool again)
{
	uint32_t i = 0;
	int r = 0;

	while (i < s->n_own && !r) {
		struct own *o = &s->own[i];

		if (!again && !is_number(o->id)) {
			drop(s, o);
			continue;
		}
		r = say_again(s, o, again);
		i++;
	}
	return r;
}

static void moved_away(struct side *s, struct own *o)
{
	if (!is_number(o->id)) {
		drop(s, o);
		return;
	}
	o->there = false;
	o->away = true;
	body_unref(o->body);
	o->body = NULL;
}

int side_own_moved(struct side *s, uint64_t id, uint32_t connection)
{
	struct own *o = find(s, id);
	int r = 0;

	if (connection != s->connection) {
		if (o)
			moved_away(s, o);
		return 0;
	}
	if (!o)
		r = add(s, id >> 40 == connection ? id >> 16 & NUMBER_MASK : id, &o);
	if (r < 0)
		return r;
	if (is_number(o->id))
		o->generation = (uint32_t)id & GENERATION_MAX;
	o->there = true;
	o->away = false;
	return 0;
}

void side_own_gone(struct side *s, uint64_t id)
{
	struct own *o = find(s, id);

	if (o)
		o->away = false;
}

/* ---- objects of an earlier process ---- */

static int learn(struct side *s, uint64_t id)
{
	uint64_t number = id >> 16 & NUMBER_MASK;
	uint32_t generation = id & GENERATION_MAX, i = place_of(s, number);
	struct own *o = i < s->n_own && s->own[i].id == number ? &s->own[i] : NULL;
	Sim__World__Gone m = SIM__WORLD__GONE__INIT;
	int r = o ? 0 : add(s, number, &o);

	if (r < 0)
		return r;
	if (o->generation < generation + o->there)
		o->generation = generation + o->there;
	m.id = id;
	return side_send(s, FRAME_GONE, &m.base);
}

int side_own_learn(struct side *s)
{
	const struct remote *o;
	size_t at = 0;
	int r = 0;

	s->learns = false;
	while (r == 0 && (o = remotes_next(s->remotes, &at)))
		if (o->id >> 40 == s->connection && o->owner == s->connection)
			r = learn(s, o->id);
	for (uint32_t i = 0; i < s->n_own && !r; i++)
		if (s->own[i].there && s->own[i].code)
			r = say(s, &s->own[i], true);
	return r;
}
