/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of objects: the same for the whole run, however many there are, and the ids that sim-sumo assigns. */
#include "tests/support/test.h"

#include <errno.h>

#include "mem.h"
#include "tools/sources/sumo/track.h"

#define S INT64_C(1000000000)

static const struct ids_entry *see(struct ids *t, uint64_t key, int64_t now_sim_ns)
{
	const struct ids_entry *e;

	assert_int_equal(ids_see(t, key, now_sim_ns, &e), 0);
	assert_true(e->key == key);
	return e;
}

TEST(an_object_keeps_its_id)
{
	struct ids t = { 0 };

	for (int hour = 0; hour < 3; hour++) {
		for (uint64_t i = 0; i < 10000; i++) { /* keys that lie together, and 0 */
			const struct ids_entry *e = see(&t, i << 20, hour * 3600 * S + (int64_t)i);

			assert_int_equal(e->id, i + 1);
			assert_int_equal(e->first_sim_ns, i);
		}
	}
	assert_int_equal(see(&t, 7, 0)->id, 10001);
	assert_int_equal(see(&t, 5 << 20, 2)->first_sim_ns, 2); /* time has gone back */
	ids_finish(&t);
	assert_int_equal(see(&t, 5 << 20, 2)->id, 1); /* another run */
	ids_finish(&t);
}

/* A peer may name as many objects as it likes: those not seen for long are forgotten. */
TEST(of_too_many_objects_those_gone_for_long_are_forgotten)
{
	struct ids t = { 0 };
	uint64_t key = 1;

	while (t.table.n < IDS_MAX)
		see(&t, key++, 0);
	for (uint64_t i = 1; i < 100; i++)
		assert_int_equal(see(&t, i, 2 * IDS_FORGET_NS)->id, i);
	assert_int_equal(see(&t, key, 2 * IDS_FORGET_NS)->id, key);
	assert_int_equal(t.table.n, 100);
	assert_int_equal(see(&t, 50, 2 * IDS_FORGET_NS)->id, 50);
	for (key++; t.table.n < IDS_MAX; key++)
		see(&t, key, 2 * IDS_FORGET_NS);
	assert_int_equal(ids_see(&t, key, 2 * IDS_FORGET_NS, &(const struct ids_entry *){ NULL }), -ENOMEM);
	ids_finish(&t);
}

TEST(an_allocation_failure_loses_no_object)
{
	const struct ids_entry *e;
	struct ids t = { 0 };

	mem_fail_after(1);
	assert_int_equal(ids_see(&t, 1, 0, &e), -ENOMEM);
	mem_fail_after(0);
	for (uint64_t i = 1; i <= 192; i++)
		see(&t, i, 0);
	mem_fail_after(1);
	assert_int_equal(ids_see(&t, 193, 0, &e), -ENOMEM);
	assert_int_equal(see(&t, 192, 0)->id, 192);
	mem_fail_after(0);
	assert_int_equal(see(&t, 193, 0)->id, 193);
	ids_finish(&t);
}

/* Out of range for 7 s, for an hour, and more of them in between than there is room for motions: what was measured before says nothing of now. */
TEST(an_object_that_returns_into_range_keeps_its_id)
{
	static struct tracks ts;
	const double slow[2] = { 1, 0 }, fast[2] = { 9, 0 };
	const struct track *t;

	tracks_init(&ts);
	assert_int_equal(tracks_see(&ts, 11, slow, 0, S)->id, 1);
	assert_int_equal(tracks_see(&ts, 12, slow, 0, S)->id, 2);
	t = tracks_see(&ts, 11, fast, 1, 8 * S);
	assert_int_equal(t->id, 1);
	assert_int_equal(t->first_sim_ns, S);
	assert_true(t->acc[0] == 0 && t->yaw_rate == 0);
	for (uint64_t i = 1000; i < 9000; i++)
		tracks_see(&ts, i * 7919, slow, 0, 9 * S);
	assert_int_equal(tracks_see(&ts, 11, fast, 1, 3600 * S)->id, 1);
	t = tracks_see(&ts, 12, fast, 1, 3600 * S + S / 10);
	assert_int_equal(t->id, 2);
	t = tracks_see(&ts, 11, slow, 1, 3600 * S + S / 10);
	assert_true(t->acc[0] < -79 && t->acc[0] > -81);
	tracks_finish(&ts);
}

/* However many there have been since it appeared. */
TEST(an_object_in_view_is_not_forgotten)
{
	static struct tracks ts;
	const double slow[2] = { 1, 0 };
	uint64_t key = 1000;
	int64_t now;

	tracks_init(&ts);
	for (now = 0; now <= 2 * IDS_FORGET_NS; now += S / 2)
		assert_int_equal(tracks_see(&ts, 11, slow, 0, now)->id, 1);
	while (ts.ids.table.n < IDS_MAX)
		see(&ts.ids, key++, 0);
	see(&ts.ids, key, now); /* it needs room */
	assert_int_equal(ts.ids.table.n, 2);
	assert_int_equal(tracks_see(&ts, 11, slow, 0, now + 5 * S)->id, 1);
	tracks_finish(&ts);
}
