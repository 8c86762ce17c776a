/* SPDX-License-Identifier: Apache-2.0 */
/* remote.h: sections as a server would send them, and the client's view of the world. Thread: the test's. */
#include "support/test.h"

#include <errno.h>
#include <math.h>

#include "mem.h"
#include "rnd.h"
#include "world/remote.h"

#define MS      INT64_C(1000000)
#define STEP    (10 * MS)
#define HISTORY 4u
#define CELLS   3

static struct remotes *remotes;
static struct section *cells[CELLS]; /* as they were sent */
static uint64_t tick;
static int64_t blocks_before;

static int begin(void **state)
{
	struct mem_stats m;

	(void)state;
	mem_stats(&m);
	blocks_before = m.blocks;
	tick = 0;
	memset(cells, 0, sizeof(cells));
	return remotes_create(HISTORY, &remotes);
}

static int end(void **state)
{
	struct mem_stats m;

	(void)state;
	for (unsigned i = 0; i < CELLS; i++)
		section_unref(cells[i]);
	remotes_destroy(remotes);
	mem_stats(&m);
	return m.blocks != blocks_before;
}

static struct object_state object(uint64_t id, int64_t x_mm, int64_t vx_mm)
{
	struct object_state o = { .id = id, .code = 2, .owner = 1 };

	o.motion.v[MOTION_ROTATION] = 1048576;
	o.motion.v[MOTION_POSITION] = x_mm;
	o.motion.v[MOTION_VELOCITY] = vx_mm;
	return o;
}

/* The cell's objects at the next tick, against those sent of it before. */
static int put(int cell, const struct object_state *objects, uint32_t n)
{
	struct section_key key = { cell, 0, 0 };
	struct wire_buf b = { 0 };
	struct section *s;
	int r;

	assert_int_equal(section_create(key, tick + 1, (int64_t)(tick + 1) * STEP, objects, n, &s), 0);
	section_encode(s, cells[cell], &b);
	section_unref(cells[cell]);
	cells[cell] = s;
	r = remotes_section(remotes, b.data, b.len);
	wire_buf_finish(&b);
	return r;
}

static size_t n_of(const struct remote_event *e, size_t n, enum remote_change change)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += e[i].change == change;
	return sum;
}

static void turn(size_t entered, size_t updated, size_t left)
{
	const struct remote_event *e;
	size_t n;

	tick++;
	assert_int_equal(remotes_tick(remotes, &e, &n), 0);
	assert_int_equal(n_of(e, n, REMOTE_ENTERED), entered);
	assert_int_equal(n_of(e, n, REMOTE_UPDATED), updated);
	assert_int_equal(n_of(e, n, REMOTE_LEFT), left);
}

TEST_WITH(entering_changing_and_leaving_objects_are_reported, begin, end)
{
	struct object_state o[2] = { object(1, 0, 0), object(2, 5, 1000) };

	assert_int_equal(put(0, o, 2), 0);
	assert_int_equal(remotes_count(remotes), 0); /* the tick is not whole */
	turn(2, 0, 0);
	assert_int_equal(remotes_count(remotes), 2);
	o[1] = object(2, 15, 1000); /* as was predicted: it has moved all the same */
	assert_int_equal(put(0, o, 2), 0);
	turn(0, 1, 0);
	assert_int_equal(put(0, o + 1, 1), 0);
	turn(0, 0, 1);
	assert_null(remotes_find(remotes, 1));
	assert_non_null(remotes_find(remotes, 2));
	turn(0, 0, 0); /* a tick of which nothing was sent */
	assert_int_equal(remotes_count(remotes), 1);
}

/* Out of one cell and into another, in either order of frames: no leaving and coming back. */
TEST_WITH(an_object_that_moves_to_another_cell_is_the_same, begin, end)
{
	struct object_state o = object(7, 0, 0);
	const struct remote *r;

	for (int from = 0; from < 2; from++) {
		assert_int_equal(put(from, &o, 1), 0);
		turn(from == 0, from == 1, 0);
		r = remotes_find(remotes, 7);
		o.motion.v[0] += 1;
		assert_int_equal(put(from ? 0 : 1, from ? NULL : &o, from ? 0 : 1), 0);
		assert_int_equal(put(from ? 1 : 0, from ? &o : NULL, from ? 1 : 0), 0);
		turn(0, 1, 0);
		assert_ptr_equal(remotes_find(remotes, 7), r);
		o.motion.v[0] += 1;
	}
}

TEST_WITH(a_cell_that_leaves_removes_its_objects, begin, end)
{
	struct object_state a = object(1, 0, 0), b = object(2, 0, 0);

	assert_int_equal(put(0, &a, 1), 0);
	assert_int_equal(put(1, &b, 1), 0);
	turn(2, 0, 0);
	assert_int_equal(remotes_leave(remotes, (struct section_key){ 1, 0, 0 }), 0);
	turn(0, 0, 1);
	assert_null(remotes_find(remotes, 2));
	assert_int_equal(remotes_leave(remotes, (struct section_key){ 1, 0, 0 }), -EBADMSG);
	assert_int_equal(remotes_hash(remotes), cells[0]->hash);
}

/* The cell became empty, which is sent as the cell's leaving, and the object is in the next one. */
TEST_WITH(an_object_that_moved_out_of_a_leaving_cell_stays, begin, end)
{
	struct object_state a = object(1, 0, 0);

	assert_int_equal(put(0, &a, 1), 0);
	turn(1, 0, 0);
	assert_int_equal(remotes_leave(remotes, (struct section_key){ 0, 0, 0 }), 0);
	a.motion.v[0] = 100;
	assert_int_equal(put(1, &a, 1), 0);
	turn(0, 1, 0);
	assert_int_equal(remotes_count(remotes), 1);
}

TEST_WITH(a_missing_base_is_stale, begin, end)
{
	struct object_state a = object(1, 0, 0);

	assert_int_equal(put(0, &a, 1), 0);
	turn(1, 0, 0);
	tick++; /* a frame of that tick is lost */
	section_unref(cells[0]);
	assert_int_equal(section_create((struct section_key){ 0, 0, 0 }, tick, (int64_t)tick * STEP, &a, 1, &cells[0]),
			 0);
	assert_int_equal(put(0, &a, 1), -ESTALE);
	section_unref(cells[0]);
	cells[0] = NULL; /* asked for whole */
	assert_int_equal(put(0, &a, 1), 0);
	turn(0, 0, 0);
}

/* After a new Welcome: objects that are sent again have neither left nor entered. */
TEST_WITH(a_new_start_forgets_only_objects_that_do_not_return, begin, end)
{
	struct object_state o[2] = { object(1, 0, 0), object(2, 0, 0) };

	assert_int_equal(put(0, o, 2), 0);
	assert_int_equal(put(1, NULL, 0), 0);
	turn(2, 0, 0);
	remotes_begin_again(remotes);
	section_unref(cells[0]);
	cells[0] = NULL;
	assert_int_equal(put(0, o, 1), 0);
	turn(0, 0, 1);
	assert_non_null(remotes_find(remotes, 1));
	remotes_begin_again(remotes);
	turn(0, 0, 1);
	assert_int_equal(remotes_count(remotes), 0);
	assert_int_equal(remotes_hash(remotes), 0);
}

/* Against a model: many objects that come, go and move between cells. */
TEST_WITH(a_thousand_ticks_are_as_the_model, begin, end)
{
	enum { N = 200 };
	static int where[N + 1]; /* cell and 1; 0: none */
	struct rnd r;

	rnd_seed(&r, 19);
	memset(where, 0, sizeof(where));
	for (unsigned t = 0; t < 1000; t++) {
		static struct object_state o[CELLS][N];
		uint32_t n[CELLS] = { 0 }, count = 0;
		size_t entered = 0, left = 0, at = 0;
		const struct remote_event *e;
		size_t n_events;

		for (unsigned i = 1; i <= N; i++) {
			int was = where[i];

			if (rnd_below(&r, 10) == 0)
				where[i] = (int)rnd_below(&r, CELLS + 1);
			entered += !was && where[i];
			left += was && !where[i];
			if (where[i])
				o[where[i] - 1][n[where[i] - 1]++] = object(i * 1000003ull, (int64_t)t, 0);
			count += where[i] != 0;
		}
		for (int c = 0; c < CELLS; c++)
			assert_int_equal(put(c, o[c], n[c]), 0);
		tick++;
		assert_int_equal(remotes_tick(remotes, &e, &n_events), 0);
		assert_int_equal(n_of(e, n_events, REMOTE_ENTERED), entered);
		assert_int_equal(n_of(e, n_events, REMOTE_LEFT), left);
		assert_int_equal(remotes_count(remotes), count);
		for (unsigned i = 1; i <= N; i++)
			assert_int_equal(remotes_find(remotes, i * 1000003ull) != NULL, where[i] != 0);
		while (remotes_next(remotes, &at))
			count--;
		assert_int_equal(count, 0);
	}
}

/* ---- at a time ---- */

static enum remote_how at_ms(int64_t ms, double *ret_x)
{
	struct motion_real m;
	enum remote_how how = remote_at(remotes_find(remotes, 1), HISTORY, ms * MS, 100 * MS, &m);

	*ret_x = m.position[0];
	return how;
}

TEST_WITH(an_object_can_be_queried_for_a_time, begin, end)
{
	double x;

	for (int i = 1; i <= 6; i++) { /* at 10, 20 ... 60 ms: 1, 2 ... 6 m; 4 states are kept */
		struct object_state o = object(1, i * 1000, 100000);

		assert_int_equal(put(0, &o, 1), 0);
		turn(i == 1, i > 1, 0);
	}
	assert_int_equal(at_ms(60, &x), REMOTE_BETWEEN);
	assert_true(fabs(x - 6) < 1e-9);
	assert_int_equal(at_ms(35, &x), REMOTE_BETWEEN);
	assert_true(fabs(x - 3.5) < 1e-9);
	assert_int_equal(at_ms(30, &x), REMOTE_BETWEEN);
	assert_true(fabs(x - 3) < 1e-9);
	assert_int_equal(at_ms(29, &x), REMOTE_HELD);
	assert_true(fabs(x - 3) < 1e-9);
	assert_int_equal(at_ms(110, &x), REMOTE_BEYOND);
	assert_true(fabs(x - 11) < 1e-9);
	assert_int_equal(at_ms(1000, &x), REMOTE_HELD);
	assert_true(fabs(x - 16) < 1e-9);
}
