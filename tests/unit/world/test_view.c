/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h: which cells a client is sent, and against which base tick; and that the client sees the same world. Thread:
 * the test's.
 */
#include "support/test.h"

#include <errno.h>

#include "mem.h"
#include "rnd.h"
#include "tools/world/store.h"
#include "tools/world/view.h"

#define SIZE 100000

static struct store *st;
static int64_t blocks_before;

static int begin(void **state)
{
	static const struct store_options o = {
		.objects_max = 1000, .objects_each_max = 200, .section_mm = SIZE, .step_dur_ns = 10000000
	};
	struct mem_stats m;

	(void)state;
	mem_stats(&m);
	blocks_before = m.blocks;
	return store_create(&o, &st);
}

static int end(void **state)
{
	struct mem_stats m;

	(void)state;
	store_destroy(st);
	mem_stats(&m);
	return m.blocks != blocks_before;
}

static void put(uint32_t number, double x, double y)
{
	struct store_update u = { .id = store_id(1, number, 0), .code = 2, .motion = { .position = { x, y, 0 } } };

	u.motion.time_sim_ns = store_next_sim_ns(st);
	assert_int_equal(store_update(st, 1, &u), 0);
}

static struct snapshot *tick(void)
{
	struct snapshot *s = NULL;

	assert_int_equal(store_tick(st, 1u << 1, &s), 0);
	return s;
}

static struct view view_of(int64_t radius_mm, uint32_t level)
{
	const struct view_options o = { level, SIZE, radius_mm };
	struct view v;

	view_init(&v, &o);
	return v;
}

/* The step of s for one centre, as counts. */
static void step_is(struct view *v, const struct snapshot *s, double x, uint32_t n_sections, uint32_t n_left)
{
	const struct view_centre c = { (int64_t)(x * 1000), 50000 };
	struct view_step step;

	assert_int_equal(view_next(v, s, &c, 1, &step), 0);
	assert_int_equal(step.n_sections, n_sections);
	assert_int_equal(step.n_left, n_left);
	assert_int_equal(v->n, n_sections);
	view_step_finish(&step);
}

/* One cell at 0 to 100 m; a centre comes from 400 m on the right. */
TEST_WITH(cells_enter_within_the_radius_and_leave_a_tenth_beyond, begin, end)
{
	struct view v = view_of(200000, 0);
	static const struct {
		double x;
		uint32_t seen, left;
	} way[] = { { 400, 0, 0 }, { 300.1, 0, 0 }, { 300, 1, 0 },  { 319.9, 1, 0 }, { 320.1, 0, 1 },
		    { 310, 0, 0 }, { 50, 1, 0 },    { -219, 1, 0 }, { -221, 0, 1 } };

	put(0, 50, 50);
	for (unsigned i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
		struct snapshot *s = tick();

		step_is(&v, s, way[i].x, way[i].seen, way[i].left);
		snapshot_destroy(s);
	}
	view_finish(&v);
}

TEST_WITH(an_empty_cell_leaves, begin, end)
{
	struct view v = view_of(VIEW_ALL, 0);
	struct snapshot *s;

	put(0, 50, 50);
	put(1, 250, 50);
	s = tick();
	step_is(&v, s, 1e9, 2, 0);
	snapshot_destroy(s);
	put(0, 260, 50);
	s = tick();
	step_is(&v, s, 1e9, 1, 1);
	snapshot_destroy(s);
	assert_int_equal(store_remove(st, 1, store_id(1, 0, 0)), 0);
	assert_int_equal(store_remove(st, 1, store_id(1, 1, 0)), 0);
	s = tick();
	step_is(&v, s, 1e9, 0, 1);
	snapshot_destroy(s);
	view_finish(&v);
}

TEST_WITH(bases_are_the_sections_sent_before, begin, end)
{
	struct view v = view_of(VIEW_ALL, 0);
	struct view_step step;
	struct snapshot *s;

	put(0, 50, 50);
	put(1, 250, 50);
	for (uint64_t t = 1; t <= 3; t++) {
		s = tick();
		assert_int_equal(view_next(&v, s, NULL, 0, &step), 0);
		assert_int_equal(step.sections[0].base, t - 1);
		assert_int_equal(step.sections[1].base, t == 3 ? 0 : t - 1);
		view_step_finish(&step);
		snapshot_destroy(s);
		if (t == 2)
			view_lost(&v, (struct section_key){ 2, 0, 0 });
	}
	view_lost(&v, (struct section_key){ 9, 0, 0 });
	view_lost_all(&v);
	s = tick();
	assert_int_equal(view_next(&v, s, NULL, 0, &step), 0);
	assert_true(!step.sections[0].base && !step.sections[1].base);
	view_step_finish(&step);
	snapshot_destroy(s);
	view_finish(&v);
}

TEST_WITH(an_allocation_failure_keeps_the_view, begin, end)
{
	struct view v = view_of(VIEW_ALL, 0);
	struct view_step step;
	struct snapshot *s;
	int64_t n = 0;
	int r;

	put(0, 50, 50);
	s = tick();
	do {
		mem_fail_after(++n);
		r = view_next(&v, s, NULL, 0, &step);
		mem_fail_after(0);
		assert_true(r == 0 || (r == -ENOMEM && v.n == 0));
	} while (r);
	assert_int_equal(n, 4);
	view_step_finish(&step);
	snapshot_destroy(s);
	view_finish(&v);
}

/* ---- a client that is sent each step has the world that it sees ---- */

#define RING 32

struct client {
	struct view v;
	struct section *has[64];
	uint32_t n;
};

static void client_drop(struct client *c, struct section_key key)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (section_key_equal(c->has[i]->key, key)) {
			section_unref(c->has[i]);
			c->has[i] = c->has[--c->n];
			return;
		}
	fail();
}

static struct section *client_find(const struct client *c, struct section_key key)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (section_key_equal(c->has[i]->key, key))
			return c->has[i];
	return NULL;
}

static void client_take(struct client *c, const struct view_section *sent, struct snapshot *const ring[])
{
	struct section *base = sent->base ? snapshot_section(ring[sent->base % RING], sent->section->key) : NULL,
		       *now = NULL, *had = client_find(c, sent->section->key);
	struct wire_buf frame = { 0 };

	assert_true(!sent->base || (base && had));
	section_encode(sent->section, base, &frame);
	assert_int_equal(section_decode(frame.data, frame.len, sent->base ? had : NULL, &now), 0);
	wire_buf_finish(&frame);
	if (had)
		client_drop(c, had->key);
	assert_true(c->n < 64);
	c->has[c->n++] = now;
}

/* Each object within the radius, less what it may be outside its cell, is there, once, as it is. */
static void client_sees(const struct client *c, const struct snapshot *s, const struct view_centre *at)
{
	const int64_t sure = c->v.o.radius_mm - SIZE / 10 * 3 / 2;

	for (uint32_t i = 0; i < s->n_sections; i++)
		for (uint32_t j = 0; s->sections[i]->key.level == c->v.o.level && j < s->sections[i]->count; j++) {
			const struct object_state *o = &s->sections[i]->objects[j], *found;
			int64_t dx = o->motion.v[0] - at->x_mm, dy = o->motion.v[1] - at->y_mm;
			unsigned times = 0;

			for (uint32_t k = 0; k < c->n; k++) {
				found = section_find(c->has[k], o->id);
				times += found != NULL;
				assert_true(!found || memcmp(&found->motion, &o->motion, sizeof(o->motion)) == 0);
			}
			assert_true(times <= 1);
			assert_true(times == 1 || dx * dx + dy * dy > sure * sure);
		}
}

static void drive(struct rnd *r, unsigned t)
{
	for (uint32_t i = 0; i < 120; i++)
		if (rnd_below(r, 3))
			put(i, 40.0 * (i % 11) + t * (i % 7) - 200 + rnd_below(r, 3),
			    35.0 * (i / 11) - t * (i % 5) - 100);
}

static void a_client_follows(uint64_t seed, uint32_t level)
{
	struct snapshot *ring[RING] = { NULL };
	struct client c = { .v = view_of(150000, level) };
	struct rnd r;

	rnd_seed(&r, seed);
	for (unsigned t = 1; t <= 60; t++) {
		const struct view_centre at = { 4000 * (int64_t)t - 50000, 1000 * (int64_t)t };
		const uint64_t now = store_next_tick(st) % RING;
		struct view_step step;

		drive(&r, t);
		snapshot_destroy(ring[now]);
		ring[now] = tick();
		if (rnd_below(&r, 4) == 0 && t > 1)
			continue; /* a tick that the client is not sent */
		if (rnd_below(&r, 10) == 0)
			view_lost_all(&c.v);
		assert_int_equal(view_next(&c.v, ring[now], &at, 1, &step), 0);
		for (uint32_t i = 0; i < step.n_left; i++)
			client_drop(&c, step.left[i]);
		for (uint32_t i = 0; i < step.n_sections; i++)
			client_take(&c, &step.sections[i], ring);
		client_sees(&c, ring[now], &at);
		view_step_finish(&step);
	}
	for (unsigned i = 0; i < RING; i++)
		snapshot_destroy(ring[i]);
	while (c.n)
		section_unref(c.has[--c.n]);
	view_finish(&c.v);
}

TEST_WITH(sent_frames_reproduce_the_world, begin, end)
{
	a_client_follows(1, 0);
	a_client_follows(2, 1);
}
