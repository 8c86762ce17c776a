/* SPDX-License-Identifier: Apache-2.0 */
/* datagram_pair.h */
#include "datagram_pair.h"

#include "support/test.h"

#include <errno.h>
#include <string.h>

const uint8_t pair_keys[2][PACKET_KEY] = { { 1, 2, 3 }, { 4, 5, 6 } };

/* The body of a tag: the tag, then bytes that follow from it. */
static void fill(uint8_t *body, size_t len, uint64_t tag)
{
	for (size_t i = 0; i < len; i++)
		body[i] = (uint8_t)(tag * 31 + i * 7 + (i >> 8));
	memcpy(body, &tag, sizeof(tag));
}

static int frame(void *user, uint8_t code, const void *body, size_t len)
{
	static uint8_t want[DATAGRAM_FRAME_MAX];
	struct pair_end *e = user, *from = &e->pair->end[e == &e->pair->end[0]];
	uint64_t tag;

	if (e->full)
		return -1;
	assert_true(len >= sizeof(tag));
	memcpy(&tag, body, sizeof(tag));
	assert_in_range(tag, 1, from->tags);
	assert_int_equal(len, from->sent[tag].len);
	assert_int_equal(code, (uint8_t)tag);
	fill(want, len, tag);
	assert_memory_equal(body, want, len);
	assert_false(from->sent[tag].came);
	from->sent[tag].came = true;
	e->came++;
	return 0;
}

static struct pair_frame *undecided(struct pair_end *e, uint64_t tag)
{
	assert_in_range(tag, 1, e->tags);
	assert_false(e->sent[tag].acked || e->sent[tag].lost);
	return &e->sent[tag];
}

static void acked(void *user, uint64_t tag)
{
	struct pair_end *e = user;

	assert_true(undecided(e, tag)->came);
	e->sent[tag].acked = true;
	e->acked++;
}

static void lost(void *user, uint64_t tag)
{
	struct pair_end *e = user;

	undecided(e, tag)->lost = true;
	e->lost++;
}

void pair_begin(struct pair *p, uint64_t seed, size_t making_max)
{
	static const struct datagram_ops ops = { .frame = frame, .acked = acked, .lost = lost };

	memset(p, 0, sizeof(*p));
	rnd_seed(&p->rnd, seed);
	p->now_mono_ns = 1000 * PAIR_MS;
	for (int i = 0; i < 2; i++) {
		struct datagram_options o = { .connection = 7,
					      .key_out = pair_keys[i],
					      .key_in = pair_keys[!i],
					      .server = i == 0,
					      .frame_in_max =
						      making_max > DATAGRAM_FRAME_MAX ? DATAGRAM_FRAME_MAX : 65536,
					      .making_max = making_max,
					      .ops = &ops,
					      .user = &p->end[i] };

		p->end[i].pair = p;
		assert_int_equal(datagram_create(&o, &p->end[i].d), 0);
	}
}

void pair_end(struct pair *p)
{
	for (int i = 0; i < 2; i++)
		datagram_destroy(p->end[i].d);
}

int pair_send(struct pair_end *e, size_t len)
{
	static uint8_t body[DATAGRAM_FRAME_MAX];
	uint64_t tag = e->tags + 1;
	int r;

	assert_true(tag < PAIR_TAGS);
	fill(body, len, tag);
	e->sent[tag].len = len;
	r = datagram_send(e->d, tag, (uint8_t)tag, body, len);
	e->tags += r == 0;
	return r;
}

static void put(struct pair *p, unsigned to, const uint8_t *data, size_t len)
{
	unsigned i = 0;

	if (rnd_below(&p->rnd, 100) < p->loss_percent)
		return;
	while (i < PAIR_FLIGHT && p->flight[i].len)
		i++;
	assert_true(i < PAIR_FLIGHT);
	p->flight[i].to = to;
	p->flight[i].len = len;
	p->flight[i].at_mono_ns =
		p->now_mono_ns + PAIR_MS * p->delay_ms + PAIR_MS * rnd_below(&p->rnd, p->jitter_ms + 1);
	memcpy(p->flight[i].data, data, len);
}

static void output(struct pair *p, unsigned from)
{
	struct pair_end *e = &p->end[from];
	struct datagram_out out;

	assert_int_equal(datagram_output(e->d, p->now_mono_ns, &out), 0);
	assert_true(out.segment <= PACKET_MAX && (out.len == 0) == (out.segment == 0));
	e->bursts += out.len > out.segment;
	for (size_t at = 0; at < out.len; at += out.segment) {
		size_t len = out.len - at < out.segment ? out.len - at : out.segment;

		e->segments++;
		put(p, !from, out.data + at, len);
		if (rnd_below(&p->rnd, 100) < p->double_percent)
			put(p, !from, out.data + at, len);
	}
}

static void arrive(struct pair *p)
{
	for (unsigned i = 0; i < PAIR_FLIGHT; i++) {
		struct pair_flight *f = &p->flight[i];
		struct datagram *d = p->end[f->to].d;
		int r;

		if (!f->len || f->at_mono_ns > p->now_mono_ns)
			continue;
		r = datagram_input(d, f->data, f->len, p->now_mono_ns);
		assert_true(r == 0 || r == -EALREADY || r == -ESTALE);
		f->len = 0;
		if (datagram_turn(d, p->now_mono_ns) <= p->now_mono_ns)
			output(p, f->to);
	}
}

void pair_step(struct pair *p)
{
	p->now_mono_ns += PAIR_MS;
	arrive(p);
	for (unsigned i = 0; i < 2; i++)
		if (datagram_turn(p->end[i].d, p->now_mono_ns) <= p->now_mono_ns)
			output(p, i);
}

void pair_steps(struct pair *p, unsigned n)
{
	while (n--)
		pair_step(p);
}

void pair_meet(struct pair *p)
{
	for (unsigned i = 0; i < 10000; i++) {
		if (datagram_is_confirmed(p->end[0].d) && datagram_is_confirmed(p->end[1].d))
			return;
		if (i % 50 == 0)
			datagram_ping(p->end[1].d);
		pair_step(p);
	}
	fail_msg("the ends have not met");
}
