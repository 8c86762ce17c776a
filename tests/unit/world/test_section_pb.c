/* SPDX-License-Identifier: Apache-2.0 */
/* What we encode, as protobuf-c reads it by schemas/wire/world.proto. Thread: the test's. */
#include "support/test.h"

#include "random_world.h"
#include "wire/world.pb-c.h"

static void motion_is(const Sim__World__Row *row, const struct object_state *o, const struct object_state *base,
		      int64_t dt)
{
	struct motion m = { 0 };

	if (base)
		motion_predict(&base->motion, dt, &m);
	assert_true(row->n_motion <= MOTION_N);
	for (size_t i = 0; i < row->n_motion; i++)
		m.v[i] += row->motion[i];
	assert_memory_equal(&m, &o->motion, sizeof(m));
}

static void row_is(const Sim__World__Row *row, const struct object_state *o, const struct object_state *base,
		   int64_t dt)
{
	assert_non_null(o);
	assert_true(row->code == o->code || (base && !row->code && base->code == o->code));
	assert_true(row->owner == o->owner || (base && !row->owner && base->owner == o->owner) || !o->owner);
	motion_is(row, o, base, dt);
	if (row->whole)
		assert_int_equal(row->body.len, o->body ? o->body->len : 0);
}

static void frame_is(const struct section *s, const struct section *base)
{
	struct wire_buf frame = { 0 };
	Sim__World__Section *m;
	uint64_t id = 0;

	section_encode(s, base, &frame);
	m = sim__world__section__unpack(NULL, frame.len, frame.data);
	assert_non_null(m);
	assert_true(m->x == s->key.x && m->y == s->key.y && m->level == s->key.level && m->tick == s->tick);
	assert_true(m->base_tick == (base ? base->tick : 0) && m->count == s->count && m->hash == s->hash);
	assert_int_equal(m->time_sim_ns, s->time_sim_ns);
	for (size_t i = 0; i < m->n_row; i++) {
		id += m->row[i]->id;
		row_is(m->row[i], section_find(s, id), base ? section_find(base, id) : NULL,
		       base ? s->time_sim_ns - base->time_sim_ns : 0);
	}
	for (size_t i = 0; i < m->n_left; i++)
		assert_true(section_find(base, m->left[i]) && !section_find(s, m->left[i]));
	sim__world__section__free_unpacked(m, NULL);
	wire_buf_finish(&frame);
}

TEST(protobuf_c_reads_the_same_section)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct section *base = NULL, *s;
		struct rnd r;

		rnd_seed(&r, seed);
		for (unsigned tick = 0; tick < 20; tick++) {
			s = random_section(&r, base);
			frame_is(s, NULL);
			frame_is(s, base);
			section_unref(base);
			base = s;
		}
		section_unref(base);
	}
}
