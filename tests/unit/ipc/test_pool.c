/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pools of iceoryx, built in memory of the test: lost slots are found and freed, others stay, and whatever is
 * written there, no check goes astray. The segments are malloc()ed, so that AddressSanitizer sees each access beside
 * them.
 */
#include "tests/support/test.h"

#include <errno.h>

#include "libclient/ipc/ipc_iox_pool.c"
#include "rnd.h"

#define MGMT_ID      1
#define PAYLOAD_ID   2
#define SMALL        8u /* chunks of 128 bytes, then LARGE of 256 */
#define LARGE        4u
#define ALL          (SMALL + LARGE)
#define PORT         0
#define MANAGER      (PORT + IOX_PORT_SIZE)
#define ENTRIES      (MANAGER + IOX_MANAGER_SIZE)
#define LISTS        (ENTRIES + ALL * IOX_ENTRY_SIZE)
#define LIST_SIZE    64
#define QUEUE        (LISTS + 3 * LIST_SIZE) /* of a subscriber, behind its lock */
#define MGMT_SIZE    (QUEUE + IOX_QUEUE_WAKES + IOX_POINTER_SIZE)
#define LARGE_AT     (SMALL * 128)
#define PAYLOAD_SIZE (LARGE_AT + LARGE * 256)
#define OURS         77 /* origin of the port */

static struct fake {
	char *mgmt, *payload;
	struct iox_pools *p;
	struct ipc_text why;
} f;

static void put32(size_t at, uint32_t v)
{
	memcpy(f.mgmt + at, &v, sizeof(v));
}

static void put64(size_t at, uint64_t v)
{
	memcpy(f.mgmt + at, &v, sizeof(v));
}

static void put_pointer(size_t at, uint64_t id, uint64_t offset)
{
	put64(at, id);
	put64(at + 8, offset);
}

static void put_pool(size_t at, uint64_t id, uint64_t memory, uint32_t chunk, uint32_t count, size_t list)
{
	put_pointer(at + IOX_POOL_MEMORY, id, memory);
	put32(at + IOX_POOL_CHUNK, chunk);
	put32(at + IOX_POOL_COUNT, count);
	put32(at + IOX_POOL_MINFREE, count);
	put32(at + IOX_POOL_LIST + IOX_LIST_SIZE, count);
	put32(at + IOX_POOL_LIST + IOX_LIST_INVALID, count + 1);
	put64(at + IOX_POOL_LIST + IOX_LIST_HEAD, UINT64_C(1) << 32);
	put_pointer(at + IOX_POOL_LIST + IOX_LIST_NEXT, MGMT_ID, list);
	for (uint32_t i = 0; i <= count; i++)
		put32(list + i * 4, i + 1);
}

static size_t pool_at(unsigned k)
{
	return k < 2 ? MANAGER + IOX_MANAGER_POOLS + k * IOX_POOL_SIZE : MANAGER + IOX_MANAGER_ENTRIES;
}

/* LoFFLi::pop(). k: 0 small chunks, 1 large ones, 2 entries. */
static uint32_t pop(unsigned k)
{
	char *list = f.mgmt + pool_at(k) + IOX_POOL_LIST;
	uint32_t *next = (uint32_t *)(void *)(f.mgmt + LISTS + k * LIST_SIZE), *head = (uint32_t *)(void *)(list + 8);
	uint32_t i = *head, count = *(uint32_t *)(void *)list;

	assert_true(i < count);
	*head = next[i];
	next[i] = count + 1;
	(*(uint32_t *)(void *)(f.mgmt + pool_at(k) + IOX_POOL_USED))++;
	return i;
}

static size_t chunk_at(unsigned k, uint32_t i)
{
	return k ? LARGE_AT + i * 256 : i * 128;
}

static void put_origin(unsigned k, uint32_t i, uint64_t origin, uint64_t sequence)
{
	memcpy(f.payload + chunk_at(k, i) + IOX_HEADER_ORIGIN, &origin, 8);
	memcpy(f.payload + chunk_at(k, i) + IOX_HEADER_SEQUENCE, &sequence, 8);
}

static uint32_t put_entry(unsigned k, uint32_t i, uint64_t count)
{
	uint32_t e = pop(2);

	put_pointer(ENTRIES + e * IOX_ENTRY_SIZE + IOX_ENTRY_HEADER, PAYLOAD_ID, chunk_at(k, i));
	put64(ENTRIES + e * IOX_ENTRY_SIZE + IOX_ENTRY_COUNT, count);
	return e;
}

/* A chunk as loan leaves it; its index. */
static uint32_t loan(unsigned k, uint64_t count, uint64_t origin)
{
	uint32_t i = pop(k);

	put_origin(k, i, origin, 0);
	(void)put_entry(k, i, count);
	return i;
}

static void make(void)
{
	f.mgmt = calloc(1, MGMT_SIZE);
	f.payload = calloc(1, PAYLOAD_SIZE);
	assert_true(f.mgmt && f.payload);
	put64(PORT + IOX_PORT_ID, OURS);
	put_pointer(PORT + IOX_PORT_MANAGER, MGMT_ID, MANAGER);
	put64(MANAGER + IOX_MANAGER_N, 2);
	put_pool(pool_at(0), PAYLOAD_ID, 0, 128, SMALL, LISTS);
	put_pool(pool_at(1), PAYLOAD_ID, LARGE_AT, 256, LARGE, LISTS + LIST_SIZE);
	put_pool(pool_at(2), MGMT_ID, ENTRIES, IOX_ENTRY_SIZE, ALL, LISTS + 2 * LIST_SIZE);
	assert_int_equal(loan(0, 2, OURS), 0); /* the beacon */
	put64(PORT + IOX_PORT_LAST, MGMT_ID | (uint64_t)ENTRIES << 16);
}

static int open_it(void)
{
	struct iox_pools_where w = { .mgmt = { f.mgmt, MGMT_SIZE },
				     .payload = { f.payload, PAYLOAD_SIZE },
				     .mgmt_fd = -1,
				     .port = f.mgmt + PORT,
				     .header = f.payload };

	return iox_pools_open(&w, &f.why, &f.p);
}

static int set_up(void **state)
{
	(void)state;
	make();
	assert_int_equal(open_it(), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	iox_pools_close(f.p);
	free(f.mgmt);
	free(f.payload);
	memset(&f, 0, sizeof(f));
	return 0;
}

static struct ipc_scan look(const struct ipc_scan_order *o)
{
	struct ipc_scan s;

	iox_pools_scan(f.p, o, &s);
	return s;
}

static void expect(struct ipc_scan s, uint32_t used, uint32_t suspects, uint32_t freed)
{
	assert_int_equal(s.used, used);
	assert_int_equal(s.suspects, suspects);
	assert_int_equal(s.freed, freed);
}

static uint32_t used(void)
{
	struct ipc_pool v[3];
	uint32_t n = 0;

	assert_int_equal(iox_pools_gauges(f.p, v, 3), 2);
	assert_int_equal(v[0].size, 128 - IOX_HEADER_SIZE);
	assert_int_equal(v[1].total, LARGE);
	for (int i = 0; i < 2; i++)
		n += v[i].used;
	return n;
}

static const struct ipc_scan_order nothing;

/* As many chunks can be had, each once, as are not in use: the free lists are whole. */
static void expect_free(uint32_t n)
{
	bool seen[ALL] = { false };

	for (unsigned k = 0; k < 2; k++) {
		const uint32_t *head = (const uint32_t *)(const void *)(f.mgmt + pool_at(k) + IOX_POOL_LIST + 8);

		while (*head < (k ? LARGE : SMALL)) {
			uint32_t i = pop(k) + k * SMALL, e = pop(2);

			assert_true(i < ALL && !seen[i] && e < ALL);
			seen[i] = true;
			n--;
		}
	}
	assert_int_equal(n, 0);
}

TEST_WITH(the_gauge_counts_slots_that_are_not_free, set_up, tear_down)
{
	assert_int_equal(used(), 1);
	(void)loan(1, 1, 5);
	put32(pool_at(0) + IOX_POOL_USED, 4000000000u); /* iceoryx's own has drifted */
	assert_int_equal(used(), 2);
	expect(look(&nothing), 2, 0, 0);
}

TEST_WITH(slots_of_a_dead_origin_are_freed_at_once, set_up, tear_down)
{
	const uint64_t dead[] = { 4, 5 };

	(void)loan(0, 1, 5);
	(void)loan(0, 3, 4);
	(void)loan(1, 1, 6);
	expect(look(&(struct ipc_scan_order){ .dead = dead, .n_dead = 2 }), 2, 0, 2);
	expect(look(&(struct ipc_scan_order){ .dead = dead, .n_dead = 2 }), 2, 0, 0);
	assert_int_equal(used(), 2);
	expect_free(ALL - 2);
}

TEST_WITH(a_slot_without_an_origin_is_freed_after_settling, set_up, tear_down)
{
	struct ipc_scan first;

	(void)loan(0, 1, 0);
	first = look(&nothing);
	expect(first, 2, 1, 0);
	expect(look(&nothing), 2, 1, 0);
	expect(look(&(struct ipc_scan_order){ .settled = first.number }), 1, 0, 1);
	expect_free(ALL - 1);
}

TEST_WITH(a_slot_that_became_a_suspect_later_is_kept, set_up, tear_down)
{
	uint32_t since = look(&nothing).number;

	(void)loan(0, 1, 0);
	expect(look(&(struct ipc_scan_order){ .settled = since }), 2, 1, 0);
	expect(look(&(struct ipc_scan_order){ .settled = since }), 2, 1, 0);
}

TEST_WITH(a_reused_slot_is_a_new_suspect, set_up, tear_down)
{
	uint32_t i = loan(0, 1, 0), since = look(&nothing).number;

	put_origin(0, i, 0, 9);
	expect(look(&(struct ipc_scan_order){ .settled = since }), 2, 1, 0);
	put_origin(0, i, 5, 9); /* its publisher has set the origin meanwhile */
	expect(look(&(struct ipc_scan_order){ .settled = since + 1 }), 2, 0, 0);
	put_origin(0, i, 0, 9);
	expect(look(&(struct ipc_scan_order){ .settled = since + 1 }), 2, 1, 0);
}

TEST_WITH(a_chunk_without_an_entry_is_found, set_up, tear_down)
{
	uint32_t since;

	(void)pop(1);
	since = look(&nothing).number;
	expect(look(&nothing), 2, 1, 0);
	expect(look(&(struct ipc_scan_order){ .settled = since }), 1, 0, 1);
	expect_free(ALL - 1);
}

TEST_WITH(an_entry_counted_down_is_freed_with_its_chunk, set_up, tear_down)
{
	uint32_t since;

	(void)loan(0, 0, 5);
	since = look(&nothing).number;
	expect(look(&nothing), 2, 2, 0);
	expect(look(&(struct ipc_scan_order){ .settled = since }), 1, 0, 1);
	expect_free(ALL - 1);
}

TEST_WITH(an_entry_without_a_chunk_is_freed_alone, set_up, tear_down)
{
	uint32_t since;

	(void)put_entry(0, 0, 0); /* points to the beacon, which has an entry of its own */
	since = look(&nothing).number;
	expect(look(&(struct ipc_scan_order){ .settled = since }), 1, 0, 0);
	expect_free(ALL - 1);
}

TEST_WITH(foreign_slots_are_suspects_if_no_other_process_is_attached, set_up, tear_down)
{
	const uint64_t own[] = { OURS };
	struct ipc_scan_order o = { .alone = true, .own = own, .n_own = 1 };

	(void)loan(0, 1, 6);
	expect(look(&nothing), 2, 0, 0);
	o.settled = look(&o).number;
	expect(look(&o), 1, 0, 1);
}

TEST_WITH(a_slot_whose_count_changes_meanwhile_is_left_alone, set_up, tear_down)
{
	uint32_t chunk = loan(0, 1, 5);

	assert_false(free_owned(f.p, 1, 2, &f.p->pool[0], chunk));
	assert_int_equal(used(), 2);
	assert_true(free_owned(f.p, 1, 1, &f.p->pool[0], chunk));
	assert_false(free_owned(f.p, 1, 1, &f.p->pool[0], chunk));
	assert_int_equal(used(), 1);
}

/* A port, somewhere, that refers to that entry. */
static void refer(size_t at, uint32_t entry)
{
	put64(at, MGMT_ID | (uint64_t)(ENTRIES + entry * IOX_ENTRY_SIZE) << 16);
}

TEST_WITH(a_slot_that_no_port_refers_to_is_freed, set_up, tear_down)
{
	struct ipc_scan_order o = { .marks = true };

	(void)loan(0, 1, 6);
	(void)loan(0, 3, 7);
	refer(PORT + 64, 1);
	refer(PORT + 128, 2);
	expect(look(&o), 3, 0, 0);
	put64(PORT + 64, 0);
	expect(look(&nothing), 3, 0, 0);
	o.settled = look(&o).number;
	expect(look(&nothing), 3, 0, 0); /* which does not look at ports, and changes nothing */
	expect(look(&o), 2, 0, 1);
	refer(MGMT_SIZE - 8, 2); /* it has moved meanwhile */
	put64(PORT + 128, 0);
	expect(look(&o), 2, 0, 0);
}

TEST_WITH(a_slot_that_a_port_refers_to_again_is_kept, set_up, tear_down)
{
	struct ipc_scan_order o = { .marks = true };

	(void)loan(0, 1, 6);
	o.settled = look(&o).number;
	refer(PORT + 64, 1);
	expect(look(&o), 2, 0, 0);
	put64(PORT + 64, 0);
	expect(look(&o), 2, 1, 0);
}

/* ---- words that a queue has left behind ---- */

#define LOCK_ROBUST    0x91u /* kinds of a mutex */
#define LOCK_DESTROYED UINT32_MAX

static struct iox_queue *make_queue(uint32_t kind)
{
	struct iox_queue *q = (struct iox_queue *)(void *)(f.mgmt + QUEUE + IOX_QUEUE_AT);

	put64(QUEUE + 16, (uint64_t)IOX_QUEUE_MARK << 32 | kind);
	return q;
}

static void put_place(struct iox_index_queue *list, uint64_t index)
{
	list->cell[list->write % IOX_QUEUE_MAX] = list->write / IOX_QUEUE_MAX * IOX_QUEUE_MAX + index;
	list->write++;
}

static bool goes(void)
{
	struct ipc_scan_order o = { .marks = true };

	o.settled = look(&o).number;
	return look(&o).freed == 1;
}

/* In the queue, or held by a publisher that is about to put it there. */
TEST_WITH(a_reference_in_an_occupied_queue_place_counts, set_up, tear_down)
{
	struct iox_queue *q = make_queue(LOCK_ROBUST);

	(void)loan(0, 1, 6);
	q->free.read = q->free.write = 3 * IOX_QUEUE_MAX + 250;
	for (unsigned int i = 0; i < 20; i++)
		if (i != 7)
			put_place(&q->free, i);
	refer((size_t)((char *)&q->chunk[7] - f.mgmt), 1);
	assert_false(goes());
	put_place(&q->used, 7);
	assert_false(goes());
	put_place(&q->free, 7);
	q->free.read = q->free.write; /* all are taken */
	assert_false(goes());
}

TEST_WITH(a_reference_in_a_free_queue_place_does_not_count, set_up, tear_down)
{
	struct iox_queue *q = make_queue(LOCK_ROBUST);

	(void)loan(0, 1, 6);
	q->free.read = q->free.write = 3 * IOX_QUEUE_MAX + 250;
	for (unsigned int i = 0; i < 20; i++)
		put_place(&q->free, i);
	refer((size_t)((char *)&q->chunk[7] - f.mgmt), 1);
	assert_true(goes());
}

TEST_WITH(a_reference_beyond_the_queue_capacity_does_not_count, set_up, tear_down)
{
	struct iox_queue *q = make_queue(LOCK_ROBUST);

	(void)loan(0, 1, 6);
	put64(QUEUE + IOX_QUEUE_UNUSED, 200);
	put64(QUEUE + IOX_QUEUE_UNUSED + sizeof(q->chunk), 1);
	refer((size_t)((char *)&q->chunk[200] - f.mgmt), 1);
	assert_true(goes());
}

TEST_WITH(a_reference_in_a_destroyed_queue_does_not_count, set_up, tear_down)
{
	const struct iox_queue *q = make_queue(LOCK_DESTROYED);

	(void)loan(0, 1, 6);
	refer((size_t)((const char *)&q->chunk[7] - f.mgmt), 1);
	assert_true(goes());
}

/* ---- hostile contents ---- */

static const uint64_t odd[] = { 0,
				1,
				7,
				8,
				55,
				56,
				0x7fffffff,
				0x80000000,
				UINT32_MAX,
				UINT64_C(1) << 63,
				UINT64_MAX - 7,
				UINT64_MAX,
				(uint64_t)IOX_QUEUE_MARK << 32 };

/* Every word of the geometry, each with every odd value: refused, or found to fit. */
TEST(another_layout_is_refused)
{
	unsigned refused = 0;

	for (size_t at = 0; at < LISTS; at += at == IOX_PORT_MANAGER - 8 || at >= MANAGER ? 4 : 8) {
		for (size_t v = 0; v < sizeof(odd) / sizeof(odd[0]); v++) {
			make();
			if (at + 8 <= MGMT_SIZE)
				put64(at, odd[v]);
			if (open_it() < 0) {
				refused++;
				assert_true(f.why.s[0]);
			} else {
				(void)look(&nothing);
				(void)used();
			}
			(void)tear_down(NULL);
		}
	}
	assert_true(refused > 100);
}

TEST(a_segment_that_is_too_short_is_refused)
{
	struct iox_pools_where w;

	make();
	w = (struct iox_pools_where){ .mgmt = { f.mgmt, MGMT_SIZE },
				      .payload = { f.payload, PAYLOAD_SIZE - 8 },
				      .mgmt_fd = -1,
				      .port = f.mgmt,
				      .header = f.payload };
	assert_int_equal(iox_pools_open(&w, &f.why, &f.p), -EPROTO);
	w.payload.size = PAYLOAD_SIZE;
	w.mgmt.size = LISTS;
	assert_int_equal(iox_pools_open(&w, &f.why, &f.p), -EPROTO);
	w.mgmt.size = MGMT_SIZE;
	w.header = f.payload + 128; /* not the slot that was sent */
	assert_int_equal(iox_pools_open(&w, &f.why, &f.p), -EPROTO);
	assert_string_equal(f.why.s,
			    "this iceoryx lays out its memory unlike Debian's 2.0.3 (the reference slot is not where it "
			    "should be)");
	f.p = NULL;
	(void)tear_down(NULL);
}

static void scribble(struct rnd *r, char *at, size_t n)
{
	for (size_t i = 0; i + 8 <= n; i += 8) {
		uint64_t v = rnd_below(r, 3) ? odd[rnd_below(r, sizeof(odd) / sizeof(odd[0]))] : rnd_below(r, 4096);

		if (rnd_below(r, 3))
			memcpy(at + i, &v, sizeof(v));
	}
}

/* A check ends, and stays within the segments, whatever has been written there; so do the slots that it frees. */
TEST(an_overwritten_pool_does_no_harm)
{
	const uint64_t dead[] = { 1, 7, 8 }, own[] = { OURS };
	struct rnd r;

	rnd_seed(&r, test_seed(1));
	for (int round = 0; round < 300; round++) {
		struct ipc_scan_order o = {
			.dead = dead, .n_dead = 3, .own = own, .n_own = 1, .alone = round & 1, .marks = round & 2
		};

		(void)set_up(NULL);
		for (int i = 0; i < 6; i++) {
			if (i % 3 == 0) {
				scribble(&r, f.mgmt, MGMT_SIZE);
				scribble(&r, f.payload, PAYLOAD_SIZE);
			}
			o.settled = look(&o).number;
			assert_true(used() <= ALL);
		}
		(void)tear_down(NULL);
	}
}
