/* SPDX-License-Identifier: Apache-2.0 */
/* The input of a store is written, and gives the same world again. Thread: the test's, and the log's own. */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "rnd.h"
#include "tools/world/input_log.h"
#include "tools/world/replay.h"

#define STEP  INT64_C(10000000)
#define TICKS 300u

static const struct store_options usual = {
	.objects_max = 500, .objects_each_max = 40, .section_mm = 100000, .step_dur_ns = STEP, .start_sim_ns = 5
};

static char path[TEST_PATH_MAX];
static struct input_log *lg;
static struct store *st;
static struct rnd rnd;
static uint64_t last_hash;

/* ---- the disk ---- */

static pthread_t test_thread;
static struct {
	uint32_t bell; /* rings when one of these has changed */
	_Atomic bool held;
	_Atomic uint64_t written; /* bytes, by the log's thread */
} disk;

/* Linked with --wrap. */
__typeof__(write) __real_write, __wrap_write;
ssize_t __wrap_write(int fd, const void *buf, size_t n)
{
	ssize_t r;

	if (pthread_equal(pthread_self(), test_thread))
		return __real_write(fd, buf, n);
	AWAIT_BELL(&disk.bell, !atomic_load(&disk.held));
	r = __real_write(fd, buf, n);
	atomic_fetch_add(&disk.written, r > 0 ? (uint64_t)r : 0);
	bell_ring(&disk.bell);
	return r;
}

static void hold_disk(bool held)
{
	atomic_store(&disk.held, held);
	bell_ring(&disk.bell);
}

/* ---- a log and its store ---- */

static int begin_with(size_t queue_max)
{
	struct input_log_options o = { .path = path, .store = usual, .number = 7, .queue_max = queue_max };
	struct store_options s = usual;

	test_path(path, "input.log");
	(void)unlink(path);
	rnd_seed(&rnd, 3);
	test_thread = pthread_self();
	disk.written = 0;
	assert_int_equal(input_log_create(&o, &lg), 0);
	s.told = input_log_told;
	s.user = lg;
	return store_create(&s, &st);
}

static int begin(void **state)
{
	(void)state;
	return begin_with(0);
}

#define LITTLE 2000u

static int begin_little(void **state)
{
	(void)state;
	return begin_with(LITTLE);
}

static void close_log(void)
{
	input_log_destroy(lg);
	lg = NULL;
}

static int end(void **state)
{
	(void)state;
	hold_disk(false);
	close_log();
	store_destroy(st);
	return 0;
}

/* ---- a world in which everything happens ---- */

static double any(double most)
{
	return (double)(int64_t)(rnd_u64(&rnd) % 2000000) * most / 1e6 - most;
}

/* Of numbers that come again in later generations. */
static uint64_t any_id(uint32_t connection)
{
	return store_id(connection, (uint32_t)(rnd_u64(&rnd) % 30), (uint16_t)(store_next_tick(st) / 20));
}

static void say_one(uint32_t connection)
{
	static const uint8_t body[] = { 0x0a, 3, 'c', 'a', 'r' };
	struct store_update u = { .code = 2, .has_body = rnd_u64(&rnd) % 4 == 0 };

	u.id = any_id(connection);
	u.motion = (struct motion_real){ .position = { any(500), any(500), any(5) },
					 .rotation = { 1, any(1), any(1), any(1) },
					 .velocity = { any(30), any(30), 0 },
					 .time_sim_ns = store_next_sim_ns(st) };
	if (u.has_body && rnd_u64(&rnd) % 2)
		assert_int_equal(body_create(body, sizeof(body), &u.body), 0);
	if (store_update(st, connection, &u) < 0) /* many are refused, and are no part of the log */
		return;
}

static void happen(void)
{
	uint32_t connection = 1 + (uint32_t)(rnd_u64(&rnd) % 5);
	uint64_t id = any_id(connection);
	uint64_t what = rnd_u64(&rnd) % 100;

	if (what < 85)
		say_one(connection);
	else if (what < 91)
		(void)!store_remove(st, store_owner(st, id) ? store_owner(st, id) : 1, id);
	else if (what < 98)
		(void)!store_give(st, store_owner(st, id) ? store_owner(st, id) : 1, 1 + (uint32_t)(rnd_u64(&rnd) % 6),
				  id);
	else if (what < 99)
		store_remove_all(st, connection);
	else
		store_forget_connection(st, connection);
}

static void tick(void)
{
	struct snapshot *s;

	assert_int_equal(store_tick(st, (uint32_t)(rnd_u64(&rnd) % 8), &s), 0);
	last_hash = s->hash;
	snapshot_destroy(s);
}

static void run(unsigned ticks)
{
	for (unsigned t = 0; t < ticks; t++) {
		for (unsigned n = (unsigned)(rnd_u64(&rnd) % 40); n; n--)
			happen();
		if (t % 10 == 0)
			input_log_event(lg, 0, t, "a name", "it came");
		tick();
	}
}

/* ---- files ---- */

static uint8_t *read_log(size_t *ret_len)
{
	char *data;

	assert_int_equal(fd_read_file(path, 64 << 20, &data, ret_len), 0);
	return (uint8_t *)data;
}

static int replay_bytes(uint8_t *data, size_t len, struct replay_result *ret)
{
	FILE *f = fmemopen(data, len, "rb");
	int r;

	assert_non_null(f);
	r = replay(f, ret);
	(void)fclose(f);
	return r;
}

static size_t length_at(const uint8_t *p)
{
	return (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
}

/* Hashes as if it had been written like this. */
static void chain_again(uint8_t *data, size_t len)
{
	uint64_t chain = 0;

	for (size_t at = 8; at < len; at += length_at(data + at) + 12) {
		size_t n = length_at(data + at);

		chain = input_log_chain(chain, data + at + 4, n);
		for (unsigned i = 0; i < 8; i++)
			data[at + 4 + n + i] = (uint8_t)(chain >> 8 * i);
	}
}

static void says(const char *what)
{
	if (!strstr(err_why(), what))
		fail_msg("\"%s\" is not in \"%s\"", what, err_why());
}

TEST_WITH(a_replay_reproduces_the_same_world, begin, end)
{
	struct replay_result r;
	struct input_log_info i;
	uint8_t *data;
	size_t len;

	run(TICKS);
	input_log_info(lg, &i);
	assert_true(i.records > TICKS * 5 && !i.lost && !i.why);
	close_log();
	data = read_log(&len);
	assert_int_equal(len, i.bytes + 8);
	assert_ok(replay_bytes(data, len, &r));
	assert_int_equal(r.ticks, TICKS);
	assert_int_equal(r.records, i.records);
	assert_int_equal(r.hash, last_hash);
	assert_false(r.cut);
	mem_free(data);
}

/* An object is written at first and after 2500 ticks; between them its state follows from its motion. */
TEST_WITH(ticks_without_input_take_no_space, begin, end)
{
	struct replay_result r;
	struct input_log_info before, after;
	uint8_t *data;
	size_t len;

	say_one(1);
	tick();
	input_log_info(lg, &before);
	for (unsigned t = 0; t < 2500; t++)
		tick();
	input_log_info(lg, &after);
	assert_true(after.records - before.records == 2500 / INPUT_LOG_QUIET);
	say_one(1);
	tick();
	input_log_info(lg, &after);
	assert_true(after.records - before.records == 2500 / INPUT_LOG_QUIET + 3);
	for (unsigned t = 0; t < 10; t++)
		tick();
	close_log();
	data = read_log(&len);
	assert_ok(replay_bytes(data, len, &r));
	assert_int_equal(r.ticks, 1 + 2500 + 1 + 10);
	assert_int_equal(r.hash, last_hash);
	mem_free(data);
}

/* The tick of its record is moved by one: the object has then moved for longer than it had. */
TEST_WITH(a_tick_without_input_that_differs_is_named, begin, end)
{
	struct replay_result r;
	size_t len, at = 8;
	uint8_t *data;

	say_one(1);
	for (unsigned t = 0; t < 11; t++)
		tick();
	close_log();
	data = read_log(&len);
	for (unsigned record = 0; record < 3; record++)
		at += length_at(data + at) + 12;
	assert_int_equal(data[at + 4], INPUT_LOG_TICK);
	data[at + 5]--;
	chain_again(data, len);
	assert_int_equal(replay_bytes(data, len, &r), -ESTALE);
	says("is not as it was: the hash differs");
	data[at + 5 + 1] = 255; /* further than a log goes without a record */
	chain_again(data, len);
	assert_int_equal(replay_bytes(data, len, &r), -EBADMSG);
	mem_free(data);
}

TEST_WITH(a_changed_byte_is_found, begin, end)
{
	struct replay_result r;
	uint8_t *data;
	size_t len;

	run(20);
	close_log();
	data = read_log(&len);
	for (unsigned i = 0; i < 500 / TEST_STRIDE; i++) {
		size_t at = rnd_u64(&rnd) % len;
		uint8_t bit = (uint8_t)(1u << rnd_u64(&rnd) % 8);

		data[at] ^= bit;
		assert_true(replay_bytes(data, len, &r) < 0 || r.cut);
		data[at] ^= bit;
	}
	assert_ok(replay_bytes(data, len, &r));
	mem_free(data);
}

TEST_WITH(a_missing_record_is_detected, begin, end)
{
	struct replay_result r;
	size_t len, first, second;
	uint8_t *data;

	run(20);
	close_log();
	data = read_log(&len);
	first = 8 + length_at(data + 8) + 12;
	second = first + length_at(data + first) + 12;
	memmove(data + first, data + second, len - second);
	assert_int_equal(replay_bytes(data, len - (second - first), &r), -EBADMSG);
	says("record 2, behind tick 0, is not as it was written");
	mem_free(data);
}

TEST_WITH(a_truncated_log_is_read_to_its_last_record, begin, end)
{
	struct replay_result r;
	uint64_t before = 0;
	uint8_t *data;
	size_t len;

	run(10);
	close_log();
	data = read_log(&len);
	for (size_t n = 8; n <= len; n += n + TEST_STRIDE <= len ? TEST_STRIDE : 1) {
		assert_ok(replay_bytes(data, n, &r));
		assert_true(r.records == before || (r.records == before + 1 && (!r.cut || TEST_STRIDE > 1)));
		assert_true(n > 8 || !r.cut);
		before = r.records;
	}
	assert_int_equal(r.ticks, 10);
	assert_int_equal(replay_bytes(data, 7, &r), -EBADMSG);
	says("not an input log");
	mem_free(data);
}

/* The first statement of a tick in the middle, as if it had been another. */
static void change_a_statement(uint8_t *data, size_t len, uint64_t behind_tick)
{
	uint64_t ticks = 0;

	for (size_t at = 8; at < len; at += length_at(data + at) + 12) {
		ticks += data[at + 4] == INPUT_LOG_TICK;
		if (ticks == behind_tick && data[at + 4] == INPUT_LOG_UPDATE) {
			data[at + 5 + 4 + 8 + 4 + 8 + 6] ^= 0x08; /* of the first double, x */
			chain_again(data, len);
			return;
		}
	}
	fail();
}

TEST_WITH(the_first_tick_that_differs_is_named, begin, end)
{
	struct replay_result r;
	uint8_t *data;
	size_t len;

	for (unsigned t = 0; t < 9; t++) {
		say_one(1);
		tick();
	}
	close_log();
	data = read_log(&len);
	change_a_statement(data, len, 5);
	assert_int_equal(replay_bytes(data, len, &r), -ESTALE);
	says("tick 6 is not as it was: section ");
	assert_int_equal(r.ticks, 5);
	mem_free(data);
}

TEST_WITH(an_existing_file_is_not_overwritten, begin, end)
{
	struct input_log_options o = { .path = path, .store = usual };
	struct input_log *other;
	struct stat before, after;

	close_log();
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(input_log_create(&o, &other), -EEXIST);
	says("give another name");
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_size, after.st_size);
	o.path = "/nowhere/input.log";
	assert_int_equal(input_log_create(&o, &other), -ENOENT);
}

TEST_WITH(a_full_disk_ends_only_the_log, begin, end)
{
	struct rlimit all, little = { 50000, RLIM_INFINITY };
	struct replay_result r;
	struct input_log_info i;
	uint8_t *data;
	size_t len;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
	little.rlim_max = all.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	do {
		run(1);
		input_log_info(lg, &i);
	} while (!i.lost);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	assert_int_equal(i.why, -EFBIG);
	run(5);
	close_log();
	data = read_log(&len);
	assert_true(len <= 50000);
	assert_ok(replay_bytes(data, len, &r));
	assert_true(r.ticks > 5 && r.records < i.records);
	mem_free(data);
}

TEST_WITH(records_waiting_for_the_disk_are_bounded, begin_little, end)
{
	struct input_log_info i;

	hold_disk(true);
	do { /* its thread may have taken the first records, and then stands at the disk with them */
		say_one(1);
		input_log_event(lg, 0, 1, "a name", "it came");
		input_log_info(lg, &i);
	} while (!i.lost);
	assert_int_equal(i.why, -ENOBUFS);
	assert_true(i.bytes <= 2 * LITTLE);
	tick(); /* the world goes on */
}

/*
 * Only a tick used to wake the log's thread: so much input came between two ticks that the log ended, though the disk
 * was idle.
 */
TEST_WITH(records_between_two_ticks_are_written, begin_little, end)
{
	struct input_log_info i;

	do {
		input_log_event(lg, 0, 1, "a name", "it came");
		input_log_info(lg, &i);
		AWAIT_BELL(&disk.bell, i.bytes <= atomic_load(&disk.written) + LITTLE / 2);
	} while (i.bytes < 10 * LITTLE);
	assert_int_equal(i.lost, 0);
}
