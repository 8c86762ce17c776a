/* SPDX-License-Identifier: Apache-2.0 */
/* See time_msg.h. */
#include "time_msg.h"

#include <errno.h>
#include <string.h>

#define RATE_MAX_E6 100000000
#define STEP_MAX_NS (INT64_C(3600) * 1000000000)
#define NUMBER_MAX  (UINT64_MAX >> 1)
#define ALL_FLAGS   (TIME_IS_PAUSED | TIME_IS_STEPPING | TIME_HAS_STARTED | TIME_HAS_NO_DRIVER)
#define NAME_CHARS  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

const char *time_msg_name(uint32_t kind)
{
	static const char *const names[TIME_MSG_KINDS_END] = {
#define X(id, num, name) [num] = name,
		TIME_MSG_KINDS(X)
#undef X
	};

	return kind < TIME_MSG_KINDS_END && names[kind] ? names[kind] : "?";
}

/* Reads or writes: the same functions do both, so both have the same format. */
struct cursor {
	unsigned char *out; /* NULL: reading, or only counting bytes */
	const unsigned char *in;
	size_t at, size;
	bool bad;
};

static void bytes(struct cursor *c, void *p, size_t n)
{
	if (n > c->size - (c->at < c->size ? c->at : c->size)) {
		c->bad = true;
		if (c->in)
			memset(p, 0, n);
	} else if (c->in) {
		memcpy(p, c->in + c->at, n);
	} else if (c->out) {
		memcpy(c->out + c->at, p, n);
	}
	c->at += n;
}

static void number(struct cursor *c, uint64_t *v, size_t n)
{
	unsigned char raw[8];

	for (size_t i = 0; i < n; i++)
		raw[i] = (unsigned char)(*v >> (8 * i));
	bytes(c, raw, n);
	if (!c->in)
		return;
	*v = 0;
	for (size_t i = 0; i < n; i++)
		*v |= (uint64_t)raw[i] << (8 * i);
}

static void u64(struct cursor *c, uint64_t *v)
{
	number(c, v, 8);
}

static void u32(struct cursor *c, uint32_t *v)
{
	uint64_t wide = *v;

	number(c, &wide, 4);
	*v = (uint32_t)wide;
}

static void u8(struct cursor *c, uint8_t *v)
{
	uint64_t wide = *v;

	number(c, &wide, 1);
	*v = (uint8_t)wide;
}

/* A time or duration; must be 0 to max. */
static void time_at(struct cursor *c, int64_t *v, int64_t max)
{
	uint64_t wide = (uint64_t)*v;

	number(c, &wide, 8);
	if (wide > (uint64_t)max)
		c->bad = true;
	*v = c->bad ? 0 : (int64_t)wide;
}

static void step_number(struct cursor *c, uint64_t *v, bool may_be_0)
{
	u64(c, v);
	if (*v > NUMBER_MAX || (!*v && !may_be_0))
		c->bad = true;
}

static void yes_no(struct cursor *c, bool *v)
{
	uint8_t b = *v;

	u8(c, &b);
	if (b > 1)
		c->bad = true;
	*v = b == 1;
}

static void name_of(struct cursor *c, char name[TIME_NAME_SIZE])
{
	bytes(c, name, TIME_NAME_SIZE);
	if (name[TIME_NAME_SIZE - 1] || !name[0] || name[strspn(name, NAME_CHARS)]) {
		c->bad = true;
		if (c->in)
			memset(name, 0, TIME_NAME_SIZE);
	}
}

static void lookahead(struct cursor *c, uint8_t *v)
{
	u8(c, v);
	if (*v > STEP_LOOKAHEAD_MAX)
		c->bad = true;
}

static void state(struct cursor *c, struct time_state *s)
{
	time_at(c, &s->sim_ns, TIME_AT_MAX_NS);
	time_at(c, &s->mono_ns, TIME_AT_MAX_NS);
	time_at(c, &s->rate_e6, RATE_MAX_E6);
	time_at(c, &s->scale_e6, RATE_MAX_E6);
	u32(c, &s->clock_generation);
	u32(c, &s->flags);
	if (s->flags & ~(uint32_t)ALL_FLAGS)
		c->bad = true;
}

static void one_export(struct cursor *c, struct step_export *e, bool with_host)
{
	if (with_host)
		u64(c, &e->host);
	u64(c, &e->channel);
	u64(c, &e->last);
}

/* room: for exports that are read. */
static void exports(struct cursor *c, struct time_msg *m, struct step_export *room)
{
	bool all = m->kind == TIME_COMMIT;
	uint32_t max = all ? STEP_ALL_EXPORTS_MAX : STEP_EXPORTS_MAX;

	step_number(c, &m->done.number, false);
	u32(c, &m->done.n);
	if (m->done.n > max || m->done.n * (all ? 24u : 16u) > c->size - (c->at < c->size ? c->at : c->size))
		c->bad = true;
	if (c->bad && c->in)
		m->done.n = 0;
	for (uint32_t i = 0; i < m->done.n && m->done.n <= max; i++) {
		struct step_export e = { .host = m->from };

		if (!c->in)
			e = m->done.exports[i];
		one_export(c, &e, all);
		if (c->in)
			room[i] = e;
	}
	if (c->in)
		m->done.exports = room;
}

static void claim(struct cursor *c, struct time_msg *m)
{
	name_of(c, m->claim.name);
	time_at(c, &m->claim.since_real_ns, TIME_AT_MAX_NS);
	yes_no(c, &m->claim.lockstep);
	lookahead(c, &m->claim.lookahead);
	step_number(c, &m->claim.number, true);
	state(c, &m->claim.at);
}

static void grant(struct cursor *c, struct time_msg *m)
{
	step_number(c, &m->grant.number, false);
	time_at(c, &m->grant.sim_ns, TIME_AT_MAX_NS);
	time_at(c, &m->grant.dur_ns, STEP_MAX_NS);
	u32(c, &m->grant.clock_generation);
	lookahead(c, &m->grant.lookahead);
	if (m->grant.dur_ns < 1 || m->grant.dur_ns > m->grant.sim_ns)
		c->bad = true;
}

static void body(struct cursor *c, struct time_msg *m, struct step_export *room)
{
	switch (m->kind) {
	case TIME_CLAIM:
		claim(c, m);
		break;
	case TIME_ASK:
		u64(c, &m->ask.seq);
		time_at(c, &m->ask.sent_mono_ns, TIME_AT_MAX_NS);
		break;
	case TIME_ANSWER:
		u64(c, &m->answer.seq);
		time_at(c, &m->answer.sent_mono_ns, TIME_AT_MAX_NS);
		time_at(c, &m->answer.came_mono_ns, TIME_AT_MAX_NS);
		time_at(c, &m->answer.left_mono_ns, TIME_AT_MAX_NS);
		break;
	case TIME_JOIN:
		name_of(c, m->join.name);
		u32(c, &m->join.attempt);
		break;
	case TIME_WELCOME:
		u32(c, &m->welcome.attempt);
		step_number(c, &m->welcome.first, false);
		time_at(c, &m->welcome.sim_ns, TIME_AT_MAX_NS);
		break;
	case TIME_GRANT:
		grant(c, m);
		break;
	case TIME_DONE:
	case TIME_COMMIT:
		exports(c, m, room);
		break;
	case TIME_RESIGN:
	case TIME_LEAVE:
		break;
	case TIME_DROPPED:
		u32(c, &m->dropped.reason);
		if (m->dropped.reason < STEP_UNKNOWN || m->dropped.reason > STEP_FULL)
			c->bad = true;
		break;
	default:
		c->bad = true;
	}
}

static void head(struct cursor *c, struct time_msg *m)
{
	uint8_t kind = (uint8_t)m->kind;

	u8(c, &kind);
	m->kind = kind;
	u64(c, &m->from);
	u64(c, &m->life);
	u64(c, &m->to);
	u64(c, &m->epoch);
	if (!m->from || !m->life)
		c->bad = true;
}

size_t time_msg_write(const struct time_msg *m, void *to, size_t size)
{
	static const unsigned char magic[3] = { 'S', 'T', TIME_MSG_VERSION };
	struct time_msg copy = *m;
	struct cursor count = { .size = SIZE_MAX }, c = { .out = to, .size = size };
	unsigned char m3[3];

	memcpy(m3, magic, sizeof(m3));
	bytes(&count, m3, sizeof(m3));
	head(&count, &copy);
	body(&count, &copy, NULL);
	if (count.bad || count.at > size)
		return count.bad ? 0 : count.at;
	copy = *m;
	bytes(&c, m3, sizeof(m3));
	head(&c, &copy);
	body(&c, &copy, NULL);
	return c.at;
}

int time_msg_read(const void *from, size_t size, struct step_export *room, struct time_msg *ret)
{
	struct cursor c = { .in = from, .size = size };
	struct time_msg m = { 0 };
	unsigned char magic[3];

	bytes(&c, magic, sizeof(magic));
	if (c.bad || magic[0] != 'S' || magic[1] != 'T')
		return -EINVAL;
	if (magic[2] != TIME_MSG_VERSION)
		return -EPROTO;
	head(&c, &m);
	body(&c, &m, room);
	if (c.bad || c.at != size)
		return -EINVAL;
	*ret = m;
	return 0;
}
