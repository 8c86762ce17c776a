/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a recording whose messages arrive in another order than they were published in: within the window they
 * are written as they were published, each with that time; in virtual time.
 */
#include "sample.h"

#include <signal.h>
#include <sys/wait.h>

#include "record/recording.h"
#include "sim/msg/CompressedImage.h"

#define MS         INT64_C(1000000)
#define S          (1000 * MS)
#define WINDOW     RECORDING_WINDOW_DUR_NS
#define FLUSH_EACH (int)(RECORDING_FLUSH_DUR_NS / (10 * MS)) /* messages */
#define ROOM       (2 * RECORDING_COPY_BYTES)

static int64_t now_ns;

static int64_t on_now(void *arg)
{
	(void)arg;
	return now_ns;
}

struct test {
	struct recording_options o;
	char stem[TEST_PATH_MAX + 8];
	struct recording *s;
	unsigned id;
	uint64_t n;
};

static void begin(struct test *t)
{
	char dir[TEST_PATH_MAX], why[300];

	test_path(dir, "rec-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(t->stem, sizeof(t->stem), "%s/run", dir);
	now_ns = 1000 * S;
	t->o.stem = t->stem;
	t->o.window_dur_ns = WINDOW;
	t->o.now = on_now;
	assert_int_equal(recording_create(&t->o, &t->s, why, sizeof(why)), 0);
	assert_int_equal(recording_add_channel(t->s, "/cam", &sim_CompressedImage_type, &t->id, why, sizeof(why)), 0);
}

static void end(struct test *t)
{
	char why[300];

	assert_int_equal(recording_destroy(t->s, why, sizeof(why)), 0);
}

static struct recording_stats stats(struct test *t)
{
	struct recording_stats st;

	recording_stats(t->s, &st);
	return st;
}

/* Of bytes that are all its number; each in the same slot as the one before, of which nothing is left then. */
static struct sim_message image(uint64_t seq, size_t bytes)
{
	static _Alignas(64) uint8_t body[ROOM + 4096];
	struct sim_message m = { .body = body };
	struct sim_builder b;
	uint8_t *data;

	sim_CompressedImage_init(body, sizeof(body), &b);
	data = sim_CompressedImage_data_alloc(&b, (uint32_t)bytes);
	assert_non_null(data);
	memset(data, (int)seq, bytes);
	m.header.sequence = seq;
	m.body_size = sim_builder_size(&b);
	return m;
}

static struct recording_moment moment(int64_t mono_ns, int64_t log_time_ns, uint32_t generation)
{
	return (struct recording_moment){ .mono_ns = mono_ns,
					  .log_time_ns = log_time_ns,
					  .clock_generation = generation };
}

/* Comes `after_ns` after the last one. */
static void put_of(struct test *t, int64_t after_ns, size_t bytes, struct recording_moment at)
{
	struct sim_message m = image(++t->n, bytes);

	now_ns += after_ns;
	assert_int_equal(recording_put_at(t->s, t->id, &m, &at), 0);
}

static void put(struct test *t, int64_t after_ns, int64_t mono_ns)
{
	put_of(t, after_ns, 10, moment(mono_ns, mono_ns, 1));
}

/* All that waits has waited long enough. */
static void pass(struct test *t)
{
	now_ns += WINDOW;
	assert_int_equal(recording_flush(t->s), 0);
	assert_int_equal(stats(t).waiting, 0);
}

/* "1@10 3@20": numbers and times in ms of a file, as they stand there; "none": there is no such file. */
static const char *holds(const struct test *t, unsigned number)
{
	static char text[4096], path[TEST_PATH_MAX + 64], why[300];
	struct log_reader *r = NULL;
	struct log_message m;
	uint8_t data[10]; /* the least that an image has here */
	size_t n = 0;

	snprintf(path, sizeof(path), number > 1 ? "%s.%u.mcap" : "%s.mcap", t->stem, number);
	if (log_reader_open(path, &(struct log_read_options){ .file_order = true }, &r, why, sizeof(why)) == -ENOENT)
		return "none";
	assert_non_null(r);
	text[0] = '\0';
	while (log_reader_next(r, &m) > 0) {
		assert_non_null(memmem(m.data, m.size, memset(data, (int)m.sequence, sizeof(data)), sizeof(data)));
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u@%lld", n ? " " : "", m.sequence,
				      (long long)(m.log_time_ns / MS));
	}
	log_reader_close(r);
	return text;
}

TEST(messages_are_written_in_the_order_of_publishing)
{
	struct test t = { 0 };

	begin(&t);
	put(&t, 0, 30 * MS);
	put(&t, 10 * MS, 10 * MS);
	put(&t, 10 * MS, 40 * MS);
	put(&t, 10 * MS, 20 * MS);
	put(&t, 0, 20 * MS); /* of the same moment: as they come */
	assert_int_equal(stats(&t).waiting, 5);
	assert_int_equal(stats(&t).messages, 0);
	end(&t);
	assert_string_equal(holds(&t, 1), "2@10 4@20 5@20 1@30 3@40");
}

/*
 * A message that has waited long enough is written with the next one, or with a flush, and with it all that was
 * published before it.
 */
TEST(messages_wait_for_the_ordering_window)
{
	struct test t = { 0 };

	begin(&t);
	put(&t, 0, 30 * MS);
	put(&t, WINDOW / 2, 40 * MS);
	put(&t, WINDOW / 2 - 1, 20 * MS);
	assert_int_equal(stats(&t).waiting, 3);
	now_ns++;
	assert_int_equal(recording_flush(t.s), 0);
	assert_int_equal(stats(&t).waiting, 1);
	assert_int_equal(stats(&t).messages, 2);
	put(&t, WINDOW, 50 * MS);
	assert_int_equal(stats(&t).waiting, 1);
	end(&t);
	assert_string_equal(holds(&t, 1), "3@20 1@30 2@40 4@50");
}

/* Later than the window: where it comes, with its own time, and in the same file. */
TEST(a_late_message_keeps_its_time)
{
	struct test t = { 0 };

	begin(&t);
	put(&t, 0, 9000 * MS);
	put(&t, 0, 9010 * MS);
	pass(&t);
	put(&t, 0, 1000 * MS);
	pass(&t);
	put(&t, 0, 9020 * MS);
	end(&t);
	assert_string_equal(holds(&t, 1), "1@9000 2@9010 3@1000 4@9020");
	assert_string_equal(holds(&t, 2), "none");
}

/*
 * Messages published before the jump go into the file before it, also when they arrive later; after the window into one
 * of their own.
 */
TEST(a_jump_back_divides_the_waiting_messages)
{
	struct test t = { 0 };

	begin(&t);
	put_of(&t, 0, 10, moment(100 * MS, 5000 * MS, 1));
	put_of(&t, 0, 10, moment(130 * MS, 20 * MS, 2));
	put_of(&t, 0, 10, moment(120 * MS, 10 * MS, 2));
	put_of(&t, 0, 10, moment(110 * MS, 5010 * MS, 1));
	put_of(&t, 0, 10, moment(140 * MS, 30 * MS, 2));
	pass(&t);
	put_of(&t, 0, 10, moment(105 * MS, 5005 * MS, 1));
	pass(&t);
	put_of(&t, 0, 10, moment(150 * MS, 40 * MS, 2));
	end(&t);
	assert_string_equal(holds(&t, 1), "1@5000 4@5010");
	assert_string_equal(holds(&t, 2), "3@10 2@20 5@30");
	assert_string_equal(holds(&t, 3), "6@5005");
	assert_string_equal(holds(&t, 4), "7@40");
}

/* Forward time only rises: the same file. */
TEST(after_a_jump_forward_the_file_continues)
{
	struct test t = { 0 };

	begin(&t);
	put_of(&t, 0, 10, moment(120 * MS, 9000 * MS, 2));
	put_of(&t, 0, 10, moment(100 * MS, 10 * MS, 1));
	end(&t);
	assert_string_equal(holds(&t, 1), "2@10 1@9000");
}

/* Time that stands gives many the same time; they stay in the order of their publishing. */
TEST(messages_published_in_a_pause_keep_their_order)
{
	struct test t = { 0 };

	begin(&t);
	for (int i = 0; i < 4; i++)
		put_of(&t, MS, 10, moment((40 - 10 * i) * MS, 7 * MS, 1));
	end(&t);
	assert_string_equal(holds(&t, 1), "4@7 3@7 2@7 1@7");
}

TEST(waiting_messages_are_bounded)
{
	struct test t = { .o = { .compression = LOG_COMPRESSION_LZ4, .window_bytes = 1 << 20 } };

	begin(&t);
	for (int i = 0; i < 100; i++) {
		put_of(&t, 0, 100000, moment(i * MS, i * MS, 1));
		assert_true(stats(&t).waiting <= 10);
	}
	assert_true(stats(&t).waiting > 5);
	end(&t);
	assert_int_equal(strncmp(holds(&t, 1), "1@0 2@1 3@2 ", 12), 0);
}

/* Without compression a large one is not copied: all messages published before it are written with it. */
TEST(a_large_message_is_written_without_a_copy)
{
	struct test t = { 0 };

	begin(&t);
	put(&t, 0, 20 * MS);
	put(&t, 0, 10 * MS);
	put(&t, 0, 40 * MS);
	put_of(&t, 0, ROOM, moment(30 * MS, 30 * MS, 1));
	assert_int_equal(stats(&t).messages, 3);
	assert_true(stats(&t).copied < ROOM);
	end(&t);
	assert_string_equal(holds(&t, 1), "2@10 1@20 4@30 3@40");
}

/* Messages without a publish time go behind all that wait, at once and in the order of arrival. */
TEST(messages_without_a_publish_time_are_written_as_they_arrive)
{
	struct test t = { 0 };
	struct recording_message *e;
	struct sim_message m;

	begin(&t);
	put(&t, 0, 20 * MS);
	put(&t, 0, 10 * MS);
	m = image(++t.n, 10);
	assert_int_equal(recording_encode(t.s, t.id, &m, &e), 0);
	assert_int_equal(recording_write_at(t.s, e, &(struct recording_moment){ .log_time_ns = 15 * MS }), 0);
	assert_int_equal(stats(&t).waiting, 0);
	assert_int_equal(stats(&t).messages, 3);
	end(&t);
	assert_string_equal(holds(&t, 1), "2@10 1@20 3@20");
}

TEST(the_ring_is_in_order)
{
	struct test t = { .o = { .ring_only = true, .ring_dur_ns = S } };
	char why[300];

	begin(&t);
	put(&t, 0, 10 * MS);
	pass(&t);
	put(&t, 0, 2000 * MS);
	put(&t, 0, 1900 * MS);
	put(&t, 0, 2020 * MS);
	pass(&t);
	put(&t, 0, 2010 * MS); /* late, and nothing goes for it */
	recording_dump_begin(t.s, false);
	while (recording_dump_some(t.s, 1 << 20, why, sizeof(why)) > 0)
		;
	end(&t);
	assert_string_equal(holds(&t, 1), "3@1900 2@2000 4@2020 5@2010");
}

/*
 * Late messages from before a jump back are not kept, like all from before it, and no other message is dropped for
 * them.
 */
TEST(the_ring_begins_after_a_jump)
{
	struct test t = { .o = { .ring_only = true, .ring_dur_ns = S } };
	char why[300];

	begin(&t);
	put_of(&t, 0, 10, moment(100 * MS, 5000 * MS, 1));
	pass(&t);
	put_of(&t, 0, 10, moment(120 * MS, 10 * MS, 2));
	pass(&t);
	put_of(&t, 0, 10, moment(110 * MS, 5010 * MS, 1));
	pass(&t);
	recording_dump_begin(t.s, false);
	while (recording_dump_some(t.s, 1 << 20, why, sizeof(why)) > 0)
		;
	end(&t);
	assert_string_equal(holds(&t, 1), "2@10");
}

/* Of messages each 10 ms and flushes as the recorders do them. */
TEST(a_kill_loses_one_second_at_most)
{
	struct test t = { .o = { .compression = LOG_COMPRESSION_ZSTD } };
	const char *last;
	pid_t pid;
	int st;

	begin(&t);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		for (int i = 1; i < 5 * FLUSH_EACH; i++) { /* the next one would be flushed with it */
			put(&t, 10 * MS, i * 10 * MS);
			if (i % FLUSH_EACH == 0)
				(void)!recording_flush(t.s);
		}
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &st, 0), pid);
	assert_true(WIFSIGNALED(st));
	last = strrchr(holds(&t, 1), ' ');
	assert_non_null(last);
	assert_true(atoi(last) >= 5 * FLUSH_EACH - 1 - 100);
	end(&t);
}
