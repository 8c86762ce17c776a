/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h: which clients may change which objects, when a change takes effect, and that the same input gives the same
 * world. Thread: the test's.
 */
#include "support/test.h"

#include <errno.h>

#include "mem.h"
#include "rnd.h"
#include "tools/world/store.h"

#define STEP 10000000

static const struct store_options options = { .objects_max = 1000,
					      .objects_each_max = 100,
					      .section_mm = 100000,
					      .step_dur_ns = STEP,
					      .start_sim_ns = 5000000000 };
static struct store *st;
static int64_t blocks_before;

static int begin(void **state)
{
	struct mem_stats m;

	(void)state;
	mem_stats(&m);
	blocks_before = m.blocks;
	return store_create(&options, &st);
}

static int end(void **state)
{
	struct mem_stats m;

	(void)state;
	store_destroy(st);
	mem_stats(&m);
	return m.blocks != blocks_before;
}

static struct store_update at(uint64_t id, double x, double y)
{
	struct store_update u = { .id = id, .code = 2, .motion = { .position = { x, y, 0 } } };

	u.motion.time_sim_ns = store_next_sim_ns(st);
	return u;
}

static int update(uint32_t connection, uint64_t id, double x, double y)
{
	struct store_update u = at(id, x, y);

	return store_update(st, connection, &u);
}

static struct snapshot *tick(void)
{
	struct snapshot *s = NULL;

	assert_int_equal(store_tick(st, 0, &s), 0);
	return s;
}

static void ticks(unsigned n)
{
	while (n--)
		snapshot_destroy(tick());
}

static struct section_key key(int32_t x, int32_t y)
{
	return (struct section_key){ x, y, 0 };
}

static const struct object_state *seen(const struct snapshot *s, int32_t x, int32_t y, uint64_t id)
{
	const struct section *c = snapshot_section(s, key(x, y));

	return c ? section_find(c, id) : NULL;
}

#define ID(connection, number) store_id(connection, number, 0)

TEST_WITH(updates_take_effect_at_the_next_tick, begin, end)
{
	const struct object_state *o;
	struct snapshot *s;

	assert_int_equal(store_next_tick(st), 1);
	assert_int_equal(store_next_sim_ns(st), options.start_sim_ns);
	assert_int_equal(update(1, ID(1, 0), -0.001, 100), 0);
	assert_int_equal(store_owner(st, ID(1, 0)), 0);
	s = tick();
	assert_true(s->tick == 1 && s->time_sim_ns == options.start_sim_ns && s->n_sections == 1);
	o = seen(s, -1, 1, ID(1, 0));
	assert_non_null(o);
	assert_true(o->owner == 1 && o->code == 2 && o->motion.v[0] == -1 && o->motion.v[1] == 100000 &&
		    o->motion.v[MOTION_TIME] == 0);
	assert_int_equal(store_owner(st, ID(1, 0)), 1);
	assert_int_equal(s->hash, object_hash(o));
	snapshot_destroy(s);
	assert_int_equal(store_next_sim_ns(st), options.start_sim_ns + STEP);
}

TEST_WITH(an_object_without_updates_moves_on, begin, end)
{
	struct store_update u = at(ID(1, 0), 1, 2);
	struct snapshot *s;

	u.motion.velocity[0] = 5;
	u.motion.time_sim_ns -= 3000000;
	assert_int_equal(store_update(st, 1, &u), 0);
	ticks(2);
	s = tick();
	assert_int_equal(seen(s, 0, 0, ID(1, 0))->motion.v[0], 1100);
	assert_int_equal(seen(s, 0, 0, ID(1, 0))->motion.v[MOTION_TIME], -3000);
	snapshot_destroy(s);
}

TEST_WITH(the_last_of_several_updates_counts, begin, end)
{
	struct store_update u = at(ID(1, 0), 1, 2);
	struct snapshot *s;

	u.has_body = true;
	assert_int_equal(body_create("\x08\x01", 2, &u.body), 0);
	assert_int_equal(store_update(st, 1, &u), 0);
	u.motion.time_sim_ns++;
	assert_int_equal(body_create("\x08\x02", 2, &u.body), 0);
	assert_int_equal(store_update(st, 1, &u), 0);
	u.motion.time_sim_ns++;
	u.motion.position[0] = 7;
	u.has_body = false;
	u.body = NULL;
	assert_int_equal(store_update(st, 1, &u), 0);
	s = tick();
	assert_int_equal(seen(s, 0, 0, ID(1, 0))->motion.v[0], 7000);
	assert_memory_equal(seen(s, 0, 0, ID(1, 0))->body->data, "\x08\x02", 2);
	snapshot_destroy(s);
}

TEST_WITH(a_body_stays_until_another_is_sent, begin, end)
{
	struct store_update u = at(ID(1, 0), 1, 2);
	struct snapshot *s;

	u.has_body = true;
	assert_int_equal(body_create("\x08\x01", 2, &u.body), 0);
	assert_int_equal(store_update(st, 1, &u), 0);
	ticks(1);
	assert_int_equal(update(1, ID(1, 0), 3, 2), 0);
	s = tick();
	assert_int_equal(seen(s, 0, 0, ID(1, 0))->body->len, 2);
	snapshot_destroy(s);
	u = at(ID(1, 0), 1, 2);
	u.has_body = true;
	assert_int_equal(store_update(st, 1, &u), 0);
	s = tick();
	assert_null(seen(s, 0, 0, ID(1, 0))->body);
	snapshot_destroy(s);
}

TEST_WITH(clients_cannot_change_objects_of_others, begin, end)
{
	struct store_counters c;

	assert_int_equal(update(1, ID(2, 0), 0, 0), -EPERM);
	assert_int_equal(update(1, ID(1, 0), 0, 0), 0);
	ticks(1);
	assert_int_equal(update(2, ID(1, 0), 0, 0), -EPERM);
	assert_int_equal(store_remove(st, 2, ID(1, 0)), -EPERM);
	assert_int_equal(store_give(st, 2, 2, ID(1, 0)), -EPERM);
	store_counters(st, &c);
	assert_true(c.not_owner == 4 && c.updates == 1);
}

/* Of equal stamps the last counts, also in two ticks. */
TEST_WITH(updates_with_an_earlier_stamp_are_ignored, begin, end)
{
	struct store_update u = at(ID(1, 0), 1, 0);
	struct store_counters c;
	struct snapshot *s;

	assert_int_equal(store_update(st, 1, &u), 0);
	u.motion.position[0] = 2;
	assert_int_equal(store_update(st, 1, &u), 0);
	u.motion.position[0] = 3;
	u.motion.time_sim_ns--;
	assert_int_equal(store_update(st, 1, &u), -ESTALE);
	s = tick();
	assert_int_equal(seen(s, 0, 0, ID(1, 0))->motion.v[0], 2000);
	snapshot_destroy(s);
	assert_int_equal(store_update(st, 1, &u), -ESTALE);
	u.motion.position[0] = 4;
	u.motion.time_sim_ns++;
	assert_int_equal(store_update(st, 1, &u), 0);
	s = tick();
	assert_true(seen(s, 0, 0, ID(1, 0))->motion.v[0] >= 4000); /* moved on to this tick */
	snapshot_destroy(s);
	store_counters(st, &c);
	assert_int_equal(c.stale, 2);
}

TEST_WITH(a_removed_object_never_returns, begin, end)
{
	struct store_counters c;
	struct snapshot *s;

	assert_int_equal(update(1, store_id(1, 3, 4), 0, 0), 0);
	ticks(1);
	assert_int_equal(store_remove(st, 1, store_id(1, 3, 4)), 0);
	assert_int_equal(update(1, store_id(1, 3, 4), 1, 1), -ESTALE); /* between the two as well */
	s = tick();
	assert_true(s->n_sections == 0 && s->n_gone == 1 && s->gone[0] == store_id(1, 3, 4) && s->hash == 0);
	snapshot_destroy(s);
	assert_int_equal(store_remove(st, 1, store_id(1, 3, 4)), -ENOENT);
	assert_int_equal(update(1, store_id(1, 3, 4), 0, 0), -ESTALE);
	assert_int_equal(update(1, store_id(1, 3, 3), 0, 0), -ESTALE);
	assert_int_equal(update(1, store_id(1, 3, 5), 0, 0), 0);
	assert_int_equal(update(1, store_id(1, 3, 6), 0, 0), -ESTALE); /* while that is there */
	s = tick();
	assert_int_equal(s->n_gone, 0);
	snapshot_destroy(s);
	store_counters(st, &c);
	assert_true(c.gone == 3 && c.stale == 1);
	/* the last generation: that number is used up */
	assert_int_equal(update(1, store_id(1, 4, 0xffff), 0, 0), 0);
	ticks(1);
	assert_int_equal(store_remove(st, 1, store_id(1, 4, 0xffff)), 0);
	ticks(1);
	assert_int_equal(update(1, store_id(1, 4, 0), 0, 0), -ESTALE);
}

TEST_WITH(an_object_can_be_given_to_another_client, begin, end)
{
	struct snapshot *s;

	assert_int_equal(update(1, ID(1, 0), 0, 0), 0);
	ticks(1);
	assert_int_equal(store_give(st, 1, 2, ID(1, 0)), 0);
	assert_int_equal(update(2, ID(1, 0), 1, 1), -EPERM);
	assert_int_equal(update(1, ID(1, 0), 2, 2), 0);
	s = tick();
	assert_int_equal(seen(s, 0, 0, ID(1, 0))->owner, 2);
	assert_int_equal(seen(s, 0, 0, ID(1, 0))->motion.v[0], 2000);
	snapshot_destroy(s);
	assert_int_equal(update(1, ID(1, 0), 3, 3), -EPERM);
	assert_int_equal(update(2, ID(1, 0), 3, 3), 0);
	store_remove_all(st, 1); /* it is not 1's any more */
	ticks(1);
	assert_int_equal(store_count(st), 1);
	store_remove_all(st, 2);
	ticks(1);
	assert_int_equal(store_count(st), 0);
	/* one that is not in the world yet too */
	assert_int_equal(update(1, ID(1, 1), 0, 0), 0);
	assert_int_equal(store_give(st, 1, 2, ID(1, 1)), 0);
	ticks(1);
	assert_int_equal(store_owner(st, ID(1, 1)), 2);
}

TEST_WITH(an_object_given_to_a_forgotten_connection_keeps_its_owner, begin, end)
{
	assert_int_equal(update(1, ID(1, 0), 0, 0), 0);
	ticks(1);
	assert_int_equal(store_give(st, 1, 2, ID(1, 0)), 0);
	assert_true(store_forget_connection(st, 2));
	assert_false(store_forget_connection(st, 1));
	ticks(1);
	assert_int_equal(store_owner(st, ID(1, 0)), 1);
	store_remove_all(st, 1);
	ticks(1);
	assert_true(store_forget_connection(st, 1));
}

TEST_WITH(the_objects_of_a_client_are_limited, begin, end)
{
	struct store_counters c;

	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(update(1, ID(1, i), 0, 0), 0);
	assert_int_equal(update(1, ID(1, 100), 0, 0), -ENOSPC);
	assert_int_equal(update(2, ID(2, 0), 0, 0), 0);
	ticks(1);
	assert_int_equal(store_give(st, 2, 1, ID(2, 0)), 0);
	ticks(1);
	assert_int_equal(store_owner(st, ID(2, 0)), 2);
	assert_int_equal(store_give(st, 1, 2, ID(1, 7)), 0);
	ticks(1);
	assert_int_equal(store_give(st, 2, 1, ID(2, 0)), 0);
	assert_int_equal(store_give(st, 2, 1, ID(1, 7)), 0); /* there is room for one alone: seen at the tick */
	ticks(1);
	assert_int_equal(store_owner(st, ID(1, 7)), 1);
	assert_int_equal(store_owner(st, ID(2, 0)), 2);
	store_counters(st, &c);
	assert_int_equal(c.full, 3);
}

TEST_WITH(the_objects_of_the_world_are_limited, begin, end)
{
	struct store_counters c;

	for (uint32_t i = 0; i < 11 * 99; i++)
		assert_int_equal(update(11 - i / 99, ID(11 - i / 99, i % 99), 0, 0), 0);
	ticks(1);
	assert_int_equal(store_count(st), 1000);
	store_counters(st, &c);
	assert_int_equal(c.full, 11 * 99 - 1000);
	assert_int_equal(store_owner(st, ID(1, 98)), 1); /* by id, not by the order of arrival */
	assert_int_equal(store_owner(st, ID(11, 98)), 0);
	assert_int_equal(update(11, store_id(11, 98, 0), 0, 0), -ESTALE);
}

TEST_WITH(an_object_stays_in_its_cell_a_tenth_beyond_the_border, begin, end)
{
	static const struct {
		double x;
		int32_t cell;
	} way[] = { { 99.9, 0 }, { 100, 0 },    { 109.9, 0 }, { 110, 1 },  { 99, 1 },      { 90, 1 },       { 89.9, 0 },
		    { -10, 0 },  { -10.1, -1 }, { 9.9, -1 },  { 10.1, 0 }, { 1e6, 10000 }, { -1e6, -10000 } };

	for (unsigned i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
		struct snapshot *s;

		assert_int_equal(update(1, ID(1, 0), way[i].x, 0), 0);
		s = tick();
		assert_int_equal(s->n_sections, 1);
		assert_int_equal(s->sections[0]->key.x, way[i].cell);
		snapshot_destroy(s);
	}
}

TEST_WITH(the_cells_of_each_level_have_the_same_objects, begin, end)
{
	struct snapshot *s = NULL;
	uint32_t counts[SECTION_LEVELS] = { 0 };
	uint64_t hashes[SECTION_LEVELS] = { 0 };
	struct rnd r;

	rnd_seed(&r, 4);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(update(1, ID(1, i), (double)rnd_below(&r, 2000) - 1000,
					(double)rnd_below(&r, 2000) - 1000),
				 0);
	assert_int_equal(store_tick(st, 1u << 2 | 1u << 4, &s), 0);
	for (uint32_t i = 0; i < s->n_sections; i++) {
		assert_true(!i || section_key_compare(s->sections[i - 1]->key, s->sections[i]->key) < 0);
		assert_ptr_equal(snapshot_section(s, s->sections[i]->key), s->sections[i]);
		counts[s->sections[i]->key.level] += s->sections[i]->count;
		hashes[s->sections[i]->key.level] += s->sections[i]->hash;
	}
	for (unsigned level = 0; level < SECTION_LEVELS; level++) {
		assert_int_equal(counts[level], level % 2 ? 0 : 100);
		assert_true(level % 2 || hashes[level] == s->hash);
	}
	assert_null(snapshot_section(s, (struct section_key){ 1000, 0, 0 }));
	snapshot_destroy(s);
}

TEST_WITH(invalid_updates_are_refused, begin, end)
{
	struct store_update u = at(ID(1, 0), 0, 0);
	struct store_counters c;

	assert_int_equal(store_update(st, 0, &u), -EINVAL);
	u.code = 0;
	assert_int_equal(store_update(st, 1, &u), -EINVAL);
	u = at(ID(1, 0), 1e300, 0);
	assert_int_equal(store_update(st, 1, &u), -ERANGE);
	u = at(ID(1, 0), 0.0 / 0.0, 0);
	assert_int_equal(store_update(st, 1, &u), -EINVAL);
	ticks(1);
	assert_int_equal(store_count(st), 0);
	store_counters(st, &c);
	assert_int_equal(c.updates, 0);
}

/* ---- independence of the order of arrival ---- */

/* One connection's input between two ticks, in its order. */
static void speak(uint32_t connection, unsigned round, unsigned step)
{
	uint32_t number = (round * 7 + step * 3) % 12;
	uint64_t id = store_id(connection, number, (uint16_t)(round / 8));
	struct store_update u = at(id, connection * 40.0 + round * 3 + step, round);
	int r = 0;

	u.motion.velocity[1] = step;
	u.motion.time_sim_ns += (int64_t)step;
	if (step == 4 && round % 3 == 0)
		r = store_remove(st, connection, id);
	else if (step == 5 && round % 5 == 0)
		r = store_give(st, connection, 1 + connection % 9, id);
	else
		r = store_update(st, connection, &u);
	assert_true(r == 0 || r == -EPERM || r == -ESTALE || r == -ENOENT || r == -ENOSPC);
}

/* Hash over the worlds of all ticks; connections speak in an order that the seed makes. */
static uint64_t run(uint64_t seed)
{
	uint64_t hash = HASH64_INIT;
	struct rnd r;

	rnd_seed(&r, seed);
	assert_int_equal(store_create(&options, &st), 0);
	for (unsigned round = 0; round < 24; round++) {
		unsigned step[10] = { 0 }, left = 9 * 6;
		struct snapshot *s;

		while (left) {
			uint32_t connection = 1 + rnd_below(&r, 9);

			if (step[connection] == 6)
				continue;
			speak(connection, round, step[connection]++);
			left--;
		}
		if (round % 6 == 5)
			store_remove_all(st, 1 + round / 6);
		s = tick();
		hash = hash64(hash, &s->hash, sizeof(s->hash));
		hash = hash64(hash, s->gone, s->n_gone * sizeof(*s->gone));
		snapshot_destroy(s);
	}
	store_destroy(st);
	st = NULL;
	return hash;
}

TEST(any_order_makes_the_same_world)
{
	uint64_t first = run(0);

	for (uint64_t seed = 1; seed <= 1000; seed++)
		assert_int_equal(run(seed), first);
}

TEST_WITH(an_allocation_failure_loses_nothing, begin, end)
{
	struct snapshot *s = NULL;
	int64_t n = 0;
	int r;

	for (unsigned i = 0; i < 50; i++)
		assert_int_equal(update(1, ID(1, i), i * 30, 0), 0);
	ticks(1);
	for (unsigned i = 0; i < 50; i++)
		assert_int_equal(i % 2 ? store_remove(st, 1, ID(1, i)) : update(1, ID(1, i), i * 40, 0), 0);
	for (unsigned i = 50; i < 60; i++)
		assert_int_equal(update(1, ID(1, i), i * 30, 0), 0);
	do {
		mem_fail_after(++n);
		r = store_tick(st, 2, &s);
		mem_fail_after(0);
		assert_true(r == 0 || r == -ENOMEM);
	} while (r);
	assert_true(n > 5 && s->tick == 2 && s->n_gone == 25 && store_count(st) == 35);
	assert_int_equal(seen(s, 3, 0, ID(1, 10))->motion.v[0], 400000);
	snapshot_destroy(s);
}
