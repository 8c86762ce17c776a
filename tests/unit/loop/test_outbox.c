/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue for a slow peer, in virtual time: order and time of sending, what is dropped, and that each task is
 * answered once.
 */
#include "outbox.h"
#include "mem.h"
#include "support/test.h"

#include <errno.h>

#define MS INT64_C(1000000)

struct answer {
	int n, result;
};

static struct answer task[8];
static unsigned bodies; /* bodies that the outbox has */
static struct outbox o;

static void done(void *arg, const struct outbox_item *i, int result)
{
	struct answer *a = i->task;

	(void)arg;
	bodies -= i->body != NULL;
	if (a) {
		a->n++;
		a->result = result;
	}
}

static const struct outbox_ops ops = { .done = done };

static int set_up(void **state)
{
	(void)state;
	o = (struct outbox){ .ops = &ops, .max = 3 };
	memset(task, 0, sizeof(task));
	assert_int_equal(outbox_init(&o), 0);
	outbox_open(&o, true);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	outbox_finish(&o);
	assert_int_equal(bodies, 0);
	return 0;
}

static struct outbox_topic *topic(const char *name, struct outbox_topic_options options)
{
	struct outbox_topic *t;

	assert_int_equal(outbox_topic_create(&o, name, &options, &t), 0);
	return t;
}

/* A body is a pointer to one byte, which identifies it. */
static void *body(char what)
{
	static char all[256];

	all[(unsigned char)what] = what;
	bodies++;
	return &all[(unsigned char)what];
}

static bool woken;

static int put(struct outbox_topic *t, char what, size_t n)
{
	return outbox_put(&o, t, body(what), n, NULL, &woken);
}

static int put_task(struct outbox_topic *t, struct answer *a)
{
	return outbox_put(&o, t, body('t'), OUTBOX_LARGE, a, &woken);
}

static int say(enum outbox_place place, char what)
{
	return outbox_say(&o, place, "{}", 2, body(what), 10);
}

/* Takes all items that are due, as text; the last wait of outbox_take() in *ret_wait_dur_ns. */
static const char *all(int64_t now_mono_ns, int64_t *ret_wait_dur_ns)
{
	static char text[64];
	struct outbox_item *i;
	size_t n = 0;

	while ((i = outbox_take(&o, now_mono_ns, ret_wait_dur_ns))) {
		text[n++] = *(const char *)i->body;
		outbox_done(&o, i, 0, now_mono_ns);
	}
	text[n] = '\0';
	return text;
}

static void expect(int64_t now_mono_ns, const char *what, int64_t wait_dur_ns)
{
	int64_t wait = 0;

	assert_string_equal(all(now_mono_ns, &wait), what);
	assert_int_equal(wait, wait_dur_ns);
}

static void expect_dropped(const char *what)
{
	char text[100] = "lost:";

	assert_true(outbox_dropped(&o, text, sizeof(text)));
	assert_string_equal(text, what);
	assert_false(outbox_dropped(&o, text, sizeof(text))); /* it was said */
}

TEST_WITH(in_order_until_a_topic_is_full, set_up, tear_down)
{
	struct outbox_topic *a = topic("/a", (struct outbox_topic_options){ 0 }),
			    *b = topic("/b", (struct outbox_topic_options){ 0 });

	put(a, '1', 10);
	put(b, 'x', 10);
	put(a, '2', 10);
	put(a, '3', 10);
	assert_int_equal(put(a, '4', 10),
			 /* 1 is dropped, and 2 moves to its position: no item is sent later than without the drop */
			 0);
	expect(0, "2x34", -1);
	expect_dropped("lost: /a 1;");
	put(a, '5', 10);
	expect(0, "5", -1);
	for (char c = '1'; c <= '5'; c++)
		put(b, c, 10);
	outbox_topic_destroy(&o, a);
	expect_dropped("lost: 1 of topics that are closed, or before a reconnection; /b 2;");
	outbox_topic_destroy(&o, b);
}

TEST_WITH(one_topic_keeps_its_pace_and_others_go_meanwhile, set_up, tear_down)
{
	struct outbox_topic *a = topic("/a", (struct outbox_topic_options){ .pace_dur_ns = 2 * MS }),
			    *b = topic("/b", (struct outbox_topic_options){ .pace_dur_ns = 2 * MS }),
			    *c = topic("/c", (struct outbox_topic_options){ 0 });

	for (char n = '1'; n <= '3'; n++)
		put(a, n, 1);
	put(b, 'x', 1);
	put(c, '4', 1);
	put(c, '5', 1);
	expect(0, "1x45", 2 * MS);
	expect(MS, "", MS);
	expect(2 * MS, "2", 2 * MS);
	put(b, 'L', OUTBOX_LARGE); /* large messages do not wait for the pace, and start none */
	put(b, 'y', 1);
	expect(7 * MS, "3Ly", -1);
	assert_int_equal(outbox_sent(&o, a), 3);
	put(a, '4', 1);
	put(a, '5', 1);
	outbox_topic_destroy(&o, a); /* waiting items outlive it */
	expect(9 * MS, "4", 2 * MS);
	expect(11 * MS, "5", -1);
	outbox_topic_destroy(&o, b);
	outbox_topic_destroy(&o, c);
}

TEST_WITH(a_topic_that_is_held_lets_others_go_and_comes_behind_them, set_up, tear_down)
{
	struct outbox_topic *a = topic("/a", (struct outbox_topic_options){ 0 }),
			    *b = topic("/b", (struct outbox_topic_options){ 0 });

	outbox_hold(&o, a, true);
	put(a, '1', 1);
	put(a, '2', 1);
	put(b, 'x', 1);
	expect(0, "x", -1);
	assert_int_equal(say(OUTBOX_LAST, 'w'), 0);
	outbox_hold(&o, a, false);
	put(b, 'y', 1);
	expect(0, "w12y", -1);
	outbox_hold(&o, a, true);
	put(a, '3', 1);
	outbox_topic_destroy(&o, a); /* waiting items outlive it */
	expect(0, "3", -1);
	outbox_topic_destroy(&o, b);
}

TEST_WITH(only_the_newest_large_message_waits, set_up, tear_down)
{
	struct outbox_topic *a = topic("/a", (struct outbox_topic_options){ 0 }),
			    *own = topic("/own", (struct outbox_topic_options){ .max = 2 });
	struct outbox_item *i;
	int64_t wait;

	for (char c = '1'; c <= '4'; c++) {
		put(a, c, OUTBOX_LARGE);
		put(own, (char)(c + 16), OUTBOX_LARGE);
	}
	expect(0, "4CD", -1);
	expect_dropped("lost: /own 2; /a 3;");
	/* behind the one being sent, whose task is answered when it is out */
	assert_int_equal(put_task(a, &task[0]), 1);
	i = outbox_take(&o, 0, &wait);
	assert_int_equal(put_task(a, &task[1]), 1);
	assert_int_equal(put_task(a, &task[2]), 1);
	assert_int_equal(task[1].n, 1);
	assert_int_equal(task[1].result, -ENOBUFS);
	assert_int_equal(task[0].n, 0);
	outbox_done(&o, i, 0, 0);
	expect(0, "t", -1);
	assert_int_equal(task[2].n, 1);
	assert_int_equal(task[2].result, 0);
	outbox_topic_destroy(&o, a);
	outbox_topic_destroy(&o, own);
}

static void note(void *arg, void *b)
{
	char *text = arg;

	text[strlen(text)] = *(char *)b;
}

TEST_WITH(waiting_bodies_can_be_visited, set_up, tear_down)
{
	struct outbox_topic *a = topic("/a", (struct outbox_topic_options){ 0 }),
			    *b = topic("/b", (struct outbox_topic_options){ 0 });
	char text[8] = "";

	put(b, 'x', 1);
	for (char c = '1'; c <= '5'; c++)
		put(a, c, 1);
	outbox_each(&o, a, note, text);
	assert_string_equal(text, "345");
	assert_int_equal(outbox_lost(&o, a), 2);
	assert_int_equal(outbox_lost(&o, b), 0);
	outbox_topic_destroy(&o, a);
	outbox_topic_destroy(&o, b);
}

/* Each task is answered once: of waiting items, and of the one being sent. */
TEST_WITH(the_end_of_a_connection, set_up, tear_down)
{
	struct outbox_topic *a = topic("/a", (struct outbox_topic_options){ 0 }),
			    *b = topic("/b", (struct outbox_topic_options){ 0 });
	struct outbox_item *i;
	int64_t wait;

	put_task(a, &task[0]);
	put_task(b, &task[1]);
	put(b, '1', 1);
	i = outbox_take(&o, 0, &wait);
	outbox_topic_destroy(&o, a); /* before its message is sent */
	outbox_open(&o, false);
	assert_int_equal(task[1].result, -ENOTCONN);
	outbox_done(&o, i, -ENOTCONN, 0);
	assert_int_equal(task[0].n + task[1].n, 2);
	assert_int_equal(put_task(b, &task[2]), -ENOTCONN);
	assert_int_equal(task[2].n, 0);             /* its publish() returns that */
	assert_int_equal(say(OUTBOX_LAST, 'o'), 0); /* for the next peer */
	outbox_open(&o, true);
	expect(0, "o", -1);
	outbox_topic_destroy(&o, b);
}

TEST_WITH(the_writer_is_woken_once, set_up, tear_down)
{
	struct outbox_topic *a = topic("/a", (struct outbox_topic_options){ 0 });
	int64_t wait;

	put(a, '1', 1);
	assert_true(woken);
	put(a, '2', 1);
	assert_false(woken);
	outbox_done(&o, outbox_take(&o, 0, &wait), 0, 0);
	put(a, '3', 1);
	assert_false(woken); /* it looks again by itself */
	expect(0, "23", -1);
	put(a, '4', 1);
	assert_true(woken);
	outbox_done(&o, outbox_take(&o, 0, &wait), 0, 0);
	assert_true(outbox_rest(&o));
	put(a, '5', 1);
	assert_true(woken);
	assert_false(outbox_rest(&o));
	outbox_topic_destroy(&o, a);
}

/* There is no memory for its text, or for its item: the owner gets its body back. */
TEST_WITH(an_operation_without_memory_is_refused, set_up, tear_down)
{
	int64_t wait_dur_ns;

	for (int n = 1; n <= 2; n++) {
		mem_fail_after(n);
		assert_int_equal(say(OUTBOX_LAST, 'x'), -ENOMEM);
		mem_fail_after(0);
		assert_int_equal(bodies, 0);
	}
	assert_string_equal(all(0, &wait_dur_ns), "");
}

TEST_WITH(operations_are_kept, set_up, tear_down)
{
	struct outbox_topic *a = topic("/a", (struct outbox_topic_options){ 0 });

	put(a, '1', 10);
	assert_int_equal(say(OUTBOX_LAST, '.'), 0);
	assert_int_equal(say(OUTBOX_FIRST, 'f'), 0);
	for (char c = '2'; c <= '9'; c++)
		put(a, c, 10);
	outbox_topic_destroy(&o, a); /* its messages are still sent */
	expect(0, "f7.89", -1);
	for (unsigned i = 0; i < OUTBOX_OPS_MAX; i++)
		assert_int_equal(outbox_say(&o, OUTBOX_LAST, "{}", 2, NULL, 0), 0);
	assert_int_equal(say(OUTBOX_LAST, 'x'), -ENOBUFS);
}

/*
 * Commands and time overtake the others without starving them; announcements of their topics stay before them, and only
 * the newest time is kept.
 */
TEST_WITH(urgent_ones_go_before_the_others, set_up, tear_down)
{
	struct outbox_topic *bulk = topic("/bulk", (struct outbox_topic_options){ .max = 9 }),
			    *command = topic("/command", (struct outbox_topic_options){ .urgent = true }),
			    *clock = topic("/clock",
					   (struct outbox_topic_options){ .max = 1, .urgent = true, .stale = true });
	char text[40] = "";

	for (char c = '1'; c <= '5'; c++)
		put(bulk, c, OUTBOX_LARGE);
	say(OUTBOX_URGENT, 'a');
	put(command, 'x', 10);
	say(OUTBOX_URGENT, 'b');
	for (char c = 'A'; c <= 'E'; c++)
		put(clock, c, 10);
	put(command, 'y', 10);
	say(OUTBOX_FIRST, 'f');
	expect(0, "faxb1E2y345", -1);
	assert_false(outbox_dropped(&o, text, sizeof(text)));
	put(clock, 'F', 10);
	outbox_topic_destroy(&o, clock);
	put(bulk, '6', 10);
	expect(0, "F6", -1);
	outbox_topic_destroy(&o, bulk);
	outbox_topic_destroy(&o, command);
}

/* With room for five bytes less than OUTBOX_BYTES, one topic does not displace messages of others. */
TEST_WITH(the_total_is_bounded, set_up, tear_down)
{
	struct outbox_topic *a = topic("/a", (struct outbox_topic_options){ 0 }),
			    *b = topic("/b", (struct outbox_topic_options){ 0 });

	o.bytes = OUTBOX_BYTES - 5; /* simulates a nearly full outbox */
	assert_int_equal(put(a, '1', 5), 0);
	assert_int_equal(put(b, 'x', 1), -ENOBUFS);
	assert_int_equal(put(a, '2', 5), 0);        /* for the one before */
	assert_int_equal(put_task(b, &task[0]), 1); /* which lies elsewhere */
	expect(0, "2t", -1);
	expect_dropped("lost: /b 1; /a 1;");
	outbox_topic_destroy(&o, a);
	outbox_topic_destroy(&o, b);
}

TEST_WITH(waiting_for_room_is_bounded, set_up, tear_down)
{
	struct outbox_topic *a = topic("/a", (struct outbox_topic_options){ 0 }),
			    *clock = topic("/clock",
					   (struct outbox_topic_options){ .max = 1, .urgent = true, .stale = true });
	char text[40] = "";

	o.wait = true;
	o.wait_ms = 1;
	for (char c = '1'; c <= '3'; c++)
		assert_int_equal(put(a, c, 10), 0);
	assert_int_equal(put(a, '4', 10), -ETIMEDOUT);
	for (char c = 'A'; c <= 'E';
	     c++) /* who waits for a newer time would hold up the clock for one that nobody needs any more */
		assert_int_equal(put(clock, c, 10), 0);
	expect(0, "E123", -1);
	assert_false(outbox_dropped(&o, text, sizeof(text)));
	assert_int_equal(put_task(a, &task[0]), 1);
	assert_int_equal(put_task(a, &task[1]), -ETIMEDOUT);
	assert_int_equal(task[0].n + task[1].n, 0);
	outbox_topic_destroy(&o, a);
	outbox_open(&o, false);
	assert_int_equal(task[0].result, -ENOTCONN);
	outbox_topic_destroy(&o, clock);
}
