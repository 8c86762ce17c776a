/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording: which messages go into which files, the files left by a ring, a kill and a full disk, and the counters.
 */
#include "sample.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "mem.h"
#include "record/channels.h"
#include "record/recording.h"
#include "sim/msg/CompressedImage.h"
#include "sim/msg/Imu.h"

#define MS   INT64_C(1000000)
#define S    (1000 * MS)
#define BODY 20000

static char said[4096];

static void on_say(void *arg, int level, const char *sentence)
{
	size_t n = strlen(said);

	(void)arg;
	(void)level;
	snprintf(said + n, sizeof(said) - n, "%s\n", sentence);
}

static struct recording_options plain(void)
{
	static char stem[TEST_PATH_MAX + 8];
	char dir[TEST_PATH_MAX];

	test_path(dir, "rec-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(stem, sizeof(stem), "%s/run", dir);
	said[0] = '\0';
	return (struct recording_options){ .stem = stem, .say = on_say };
}

static struct recording *begin(const struct recording_options *o)
{
	struct recording *s = NULL;

	if (recording_create(o, &s, sample_why, sizeof(sample_why)) < 0)
		fail_msg("%s", sample_why);
	return s;
}

static unsigned channel(struct recording *s, const char *name, const struct sim_type *t)
{
	unsigned id = 99;

	if (recording_add_channel(s, name, t, &id, sample_why, sizeof(sample_why)) < 0)
		fail_msg("%s", sample_why);
	return id;
}

static void end(struct recording *s)
{
	if (recording_destroy(s, sample_why, sizeof(sample_why)) < 0)
		fail_msg("%s", sample_why);
}

/* An image of `bytes` random ones. */
static struct sim_message image(uint64_t seq, unsigned bytes)
{
	static _Alignas(64) uint8_t body[BODY + 4096];
	static uint32_t seed = 1;
	struct sim_message m = { .body = body };
	struct sim_builder b;
	uint8_t *data;

	sim_CompressedImage_init(body, sizeof(body), &b);
	data = sim_CompressedImage_data_alloc(&b, bytes);
	for (unsigned i = 0; i < bytes; i++)
		data[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
	m.header.sequence = seq;
	m.header.stamp_sim_ns = (int64_t)seq * MS;
	m.body_size = sim_builder_size(&b);
	return m;
}

static int put_message(struct recording *s, unsigned id, const struct sim_message *m, int64_t ns)
{
	return recording_put_at(s, id, m, &(struct recording_moment){ .log_time_ns = ns });
}

static int put(struct recording *s, unsigned id, uint64_t seq, unsigned bytes, int64_t ns)
{
	struct sim_message m = image(seq, bytes);

	return put_message(s, id, &m, ns);
}

static int put_latched(struct recording *s, unsigned id, uint32_t publisher, uint64_t seq, int64_t ns)
{
	struct sim_message m = image(seq, 400);

	m.header.flags = SIM_SLOT_LATCHED;
	m.header.publisher_id = publisher;
	return put_message(s, id, &m, ns);
}

static const char *path_of(const struct recording_options *o, unsigned number)
{
	static char path[TEST_PATH_MAX + 64];

	if (number > 1)
		snprintf(path, sizeof(path), "%s.%u.mcap", o->stem, number);
	else
		snprintf(path, sizeof(path), "%s.mcap", o->stem);
	return path;
}

/* "first..last " of the sequence numbers of a file whose numbers follow one another and whose times rise; "none" there is no such file. */
static const char *holds(const struct recording_options *o, unsigned number)
{
	static char text[64];
	struct log_reader *r = NULL;
	struct log_message m;
	uint32_t first = 0, last = 0;
	int64_t ns = -1;
	int k;

	if (log_reader_open(path_of(o, number), &(struct log_read_options){ .file_order = true }, &r, sample_why,
			    sizeof(sample_why)) == -ENOENT)
		return "none";
	assert_non_null(r);
	while ((k = log_reader_next(r, &m)) > 0) {
		assert_true(m.log_time_ns >= ns && (!last || m.sequence == last + 1));
		ns = m.log_time_ns;
		first = first ? first : m.sequence;
		last = m.sequence;
	}
	assert_int_equal(k, 0);
	log_reader_close(r);
	snprintf(text, sizeof(text), "%u..%u", first, last);
	return text;
}

/* The value of a pair of the file's metadata. */
static const char *about(const struct recording_options *o, unsigned number, const char *name, const char *key)
{
	static char text[256];
	struct log_reader *r = sample_open(path_of(o, number), NULL);
	const struct log_info *info = log_reader_info(r);

	text[0] = '\0';
	for (size_t i = 0; i < info->n_metadata; i++)
		for (size_t k = 0; k < info->metadata[i].n; k++)
			if (!strcmp(info->metadata[i].name, name) && !strcmp(info->metadata[i].pairs[k].key, key))
				snprintf(text, sizeof(text), "%s", info->metadata[i].pairs[k].value);
	log_reader_close(r);
	return text;
}

static struct recording_stats stats(struct recording *s)
{
	struct recording_stats t;

	recording_stats(s, &t);
	return t;
}

TEST(recorded_messages_read_back)
{
	const struct log_pair who[] = { { "host", "car" } };
	struct recording_options o = plain();
	struct recording *s;
	unsigned id;

	o.about = who;
	o.n_about = 1;
	s = begin(&o);
	id = channel(s, "/cam", &sim_CompressedImage_type);
	assert_int_equal(channel(s, "/cam", &sim_CompressedImage_type), id);
	assert_int_not_equal(channel(s, "/imu", &sim_Imu_type), id);
	for (unsigned i = 1; i <= 100; i++)
		assert_int_equal(put(s, id, i, 3000, i * MS), 0);
	recording_lost(s, id, 3);
	assert_int_equal(stats(s).copied, 0); /* written from where it lies */
	assert_int_equal(stats(s).messages, 100);
	assert_int_equal(stats(s).lost, 3);
	assert_string_equal(stats(s).path, path_of(&o, 1));
	end(s);
	assert_string_equal(holds(&o, 1), "1..100");
	assert_string_equal(about(&o, 1, "simd", "host"), "car");
	assert_string_equal(about(&o, 1, "simd", "encoding"), "native");
	assert_string_equal(about(&o, 1, "simd_losses", "/cam"), "accepted=103 recorded=100 lost=3");
	assert_string_equal(said, "");
}

TEST(files_end_at_their_size)
{
	struct recording_options o = plain();
	struct recording *s;
	struct stat st;
	unsigned id, n;
	uint32_t next = 1;

	o.split_bytes = 100000;
	o.compression = LOG_COMPRESSION_ZSTD;
	s = begin(&o);
	id = channel(s, "/cam", &sim_CompressedImage_type);
	for (unsigned i = 1; i <= 100; i++)
		assert_int_equal(put(s, id, i, 5000, i * MS), 0);
	n = stats(s).files;
	end(s);
	assert_true(n >= 4 && n <= 6);
	for (unsigned i = 1; i <= n; i++) {
		unsigned first, last;

		assert_int_equal(sscanf(holds(&o, i), "%u..%u", &first, &last), 2);
		assert_int_equal(first, next);
		next = last + 1;
		assert_int_equal(stat(path_of(&o, i), &st), 0);
		assert_true(st.st_size < 150000);
	}
	assert_int_equal(next, 101);
	assert_string_equal(holds(&o, n + 1), "none");
}

TEST(files_end_at_their_duration_and_where_time_goes_back)
{
	struct recording_options o = plain();
	struct recording *s;
	unsigned id;

	o.split_dur_ns = S;
	s = begin(&o);
	id = channel(s, "/cam", &sim_CompressedImage_type);
	put(s, id, 1, 10, 5 * S);
	put(s, id, 2, 10, 6 * S - 1);
	put(s, id, 3, 10, 6 * S);
	put(s, id, 4, 10, 6 * S - 50 * MS); /* overtaken: no jump */
	put(s, id, 5, 10, 2 * S);           /* a jump */
	put(s, id, 6, 10, 2 * S);
	end(s);
	assert_string_equal(holds(&o, 1), "1..2");
	assert_string_equal(holds(&o, 2), "3..4");
	assert_string_equal(holds(&o, 3), "5..6");
	assert_string_equal(holds(&o, 4), "none");
}

/* For days a process that records is as large as it was: each flush adds to the index of the file, so a file ends by that, too. */
TEST(files_end_before_their_index_is_large)
{
	static const enum log_format formats[] = { LOG_MCAP, LOG_BAG, LOG_RECORD };
	static const enum codec_kind kinds[] = { CODEC_NATIVE, CODEC_ROS1, CODEC_APOLLO };

	for (unsigned k = 0; k < 3; k++) {
		static const struct sim_Imu imu;
		struct sim_message m = { .body = &imu, .body_size = sizeof(imu) };
		struct recording_options o = plain();
		struct mem_stats before, now;
		struct recording *s;
		unsigned id, n = 0;

		o.format = formats[k];
		o.kind = kinds[k];
		s = begin(&o);
		id = channel(s, "/imu", &sim_Imu_type);
		mem_stats(&before);
		while (stats(s).files < 2 && n < 300000) {
			assert_int_equal(put_message(s, id, &m, ++n * MS), 0);
			assert_int_equal(recording_flush(s), 0);
			mem_stats(&now);
			assert_true(now.bytes < before.bytes + (24u << 20));
		}
		assert_int_equal(stats(s).files, 2);
		assert_true(n > 20000);
		end(s);
	}
}

/* "/map:1@0 /map:2@2500 ...": topic, sequence, log time in ms of each message, in the order of the file. */
static const char *listed(const struct recording_options *o, unsigned number)
{
	static char text[400];
	struct log_reader *r = NULL;
	struct log_message m;
	size_t n = 0;

	assert_int_equal(log_reader_open(path_of(o, number), &(struct log_read_options){ .file_order = true }, &r,
					 sample_why, sizeof(sample_why)),
			 0);
	text[0] = '\0';
	while (log_reader_next(r, &m) > 0) {
		const struct log_channel *ch = &log_reader_info(r)->channels[m.channel];

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s:%u@%lld", n ? " " : "", ch->topic, m.sequence,
				      (long long)(m.log_time_ns / MS));
		assert_int_equal(channel_is_latched(ch), strcmp(ch->topic, "/cam") != 0);
	}
	log_reader_close(r);
	return text;
}

/* The last message of each publisher, and none twice. */
TEST(each_file_begins_with_the_latched_messages)
{
	struct recording_options o = plain();
	unsigned cam, map, tf;
	struct recording *s;

	o.split_dur_ns = S;
	s = begin(&o);
	tf = channel(s, "/tf_static", &sim_CompressedImage_type);
	map = channel(s, "/map", &sim_CompressedImage_type);
	cam = channel(s, "/cam", &sim_CompressedImage_type);
	put_latched(s, tf, 7, 1, 0);
	put_latched(s, tf, 8, 5, 0);
	put_latched(s, map, 9, 1, 0);
	put_latched(s, map, 9, 2, 500 * MS);
	put(s, cam, 1, 10, 600 * MS);
	put(s, cam, 2, 10, 1500 * MS);        /* a new file */
	put_latched(s, map, 9, 3, 2500 * MS); /* and another, whose own message is the newest */
	put(s, cam, 3, 10, 2600 * MS);
	put(s, cam, 4, 10, 100 * MS); /* time jumps back */
	assert_int_equal(stats(s).messages, 9);
	end(s);
	assert_string_equal(listed(&o, 1), "/tf_static:1@0 /tf_static:5@0 /map:1@0 /map:2@500 /cam:1@600");
	assert_string_equal(listed(&o, 2), "/map:2@1500 /tf_static:1@1500 /tf_static:5@1500 /cam:2@1500");
	assert_string_equal(listed(&o, 3), "/tf_static:1@2500 /tf_static:5@2500 /map:3@2500 /cam:3@2600");
	assert_string_equal(listed(&o, 4), "/map:3@100 /tf_static:1@100 /tf_static:5@100 /cam:4@100");
	assert_string_equal(about(&o, 2, "simd_losses", "/tf_static"), "accepted=0 recorded=0 lost=0 repeated=2");
	assert_string_equal(about(&o, 3, "simd_losses", "/map"), "accepted=1 recorded=1 lost=0");
	assert_string_equal(said, "");
}

static int dump(struct recording *s, bool go_on)
{
	int r;

	recording_dump_begin(s, go_on);
	while ((r = recording_dump_some(s, SIZE_MAX, sample_why, sizeof(sample_why))) > 0)
		;
	return r;
}

/* Latched messages that fell out of the ring still hold when it begins. */
TEST(a_dump_begins_with_earlier_latched_messages)
{
	struct recording_options o = plain();
	unsigned cam, map;
	struct recording *s;

	o.ring_only = true;
	o.ring_dur_ns = S;
	s = begin(&o);
	map = channel(s, "/map", &sim_CompressedImage_type);
	cam = channel(s, "/cam", &sim_CompressedImage_type);
	put_latched(s, map, 9, 1, 0);
	put(s, cam, 1, 10, 1500 * MS);
	put_latched(s, map, 9, 2, 2000 * MS);
	assert_int_equal(dump(s, false), 0);
	assert_string_equal(listed(&o, 1), "/map:1@1500 /cam:1@1500 /map:2@2000");
	put(s, cam, 2, 10, 2100 * MS);
	assert_int_equal(dump(s, false), 0);
	assert_string_equal(listed(&o, 2), "/map:2@2100 /cam:2@2100");
	end(s);
}

TEST(latched_messages_leave_room_for_others_in_a_file)
{
	struct recording_options o = plain();
	struct recording *s;
	unsigned id, map, n;

	o.split_bytes = 40000;
	s = begin(&o);
	map = channel(s, "/map", &sim_CompressedImage_type);
	id = channel(s, "/cam", &sim_CompressedImage_type);
	for (uint32_t i = 1; i <= 200; i++)
		assert_int_equal(put_latched(s, map, i, 1, 0), 0);
	assert_non_null(strstr(said, "/map: latched messages of more than 10000 bytes"));
	for (unsigned i = 1; i <= 100; i++)
		assert_int_equal(put(s, id, i, 3000, i * MS), 0);
	n = stats(s).files;
	end(s);
	assert_in_range(n, 8, 14);
}

TEST(existing_files_are_kept)
{
	struct recording_options o = plain();
	struct recording *a, *b;
	FILE *f = fopen(path_of(&o, 7), "w");

	assert_true(f && fputs("mine", f) >= 0 && fclose(f) == 0);
	a = begin(&o);
	b = begin(&o);
	assert_int_equal(put(a, channel(a, "/cam", &sim_CompressedImage_type), 1, 10, S), 0);
	assert_int_equal(put(b, channel(b, "/cam", &sim_CompressedImage_type), 2, 10, S), 0);
	end(a);
	end(b);
	assert_string_equal(holds(&o, 8), "1..1");
	assert_string_equal(holds(&o, 9), "2..2");
	a = begin(&o); /* and one without a message leaves none */
	assert_int_equal(recording_open_file(a, sample_why, sizeof(sample_why)), 0);
	end(a);
	assert_string_equal(holds(&o, 10), "none");
}

TEST(the_ring_keeps_the_last_seconds)
{
	struct recording_options o = plain();
	struct recording *s;
	unsigned id;

	o.ring_only = true;
	o.ring_dur_ns = S;
	s = begin(&o);
	id = channel(s, "/cam", &sim_CompressedImage_type);
	for (unsigned i = 1; i <= 100; i++)
		assert_int_equal(put(s, id, i, 100, i * 100 * MS), 0);
	assert_string_equal(holds(&o, 1), "none");
	assert_int_equal(stats(s).ring_messages, 11);
	assert_int_equal(stats(s).ring_dur_ns, S);
	assert_int_equal(dump(s, false), 0);
	assert_string_equal(holds(&o, 1), "90..100");
	put(s, id, 101, 100, 101 * 100 * MS);
	assert_int_equal(dump(s, true), 0);
	put(s, id, 102, 100, 102 * 100 * MS);
	end(s);
	assert_string_equal(holds(&o, 2), "101..102");
}

TEST(messages_may_arrive_while_the_ring_is_dumped)
{
	struct recording_options o = plain();
	struct recording *s;
	unsigned id;

	o.ring_only = true;
	o.ring_dur_ns = S;
	o.ring_bytes = 50000;
	s = begin(&o);
	id = channel(s, "/cam", &sim_CompressedImage_type);
	for (unsigned i = 1; i <= 5; i++)
		assert_int_equal(put(s, id, i, 9000, i * MS), 0);
	recording_dump_begin(s, false);
	assert_int_equal(recording_dump_some(s, 1, sample_why, sizeof(sample_why)), 1);
	for (unsigned i = 6; i <= 8; i++) /* old files stay, and room is made for new ones */
		assert_int_equal(put(s, id, i, 9000, 5 * S + i * MS), 0);
	while (recording_dump_some(s, 1, sample_why, sizeof(sample_why)) > 0)
		;
	assert_string_equal(holds(&o, 1), "1..5");
	recording_dump_begin(s, true);
	assert_int_equal(put(s, id, 9, 9000, 6 * S), 0);
	assert_int_equal(recording_dump_some(s, SIZE_MAX, sample_why, sizeof(sample_why)), 0);
	put(s, id, 10, 9000, 7 * S);
	assert_int_equal(stats(s).lost, 0);
	end(s);
	assert_string_equal(holds(&o, 2), "6..10");
}

TEST(the_ring_has_a_bound)
{
	struct recording_options o = plain();
	struct recording *s;
	unsigned id;

	o.ring_only = true;
	o.ring_dur_ns = 1000 * S;
	o.ring_bytes = 50000;
	s = begin(&o);
	id = channel(s, "/cam", &sim_CompressedImage_type);
	for (unsigned i = 1; i <= 100; i++) {
		assert_int_equal(put(s, id, i, 9000, i * MS), 0);
		assert_true(stats(s).ring_bytes <= 50000);
	}
	o.ring_bytes = 1000;
	assert_int_equal(stats(s).ring_messages, 5);
	assert_int_equal(stats(s).lost, 0); /* what falls out of the ring was not wanted */
	assert_int_equal(dump(s, false), 0);
	assert_string_equal(holds(&o, 1), "96..100");
	end(s);
	s = begin(&o);
	assert_int_equal(put(s, channel(s, "/cam", &sim_CompressedImage_type), 1, 9000, 1), -EMSGSIZE);
	assert_int_equal(stats(s).lost, 1);
	end(s);
}

TEST(while_paused_nothing_is_recorded)
{
	struct recording_options o = plain();
	struct recording *s = begin(&o);
	unsigned id = channel(s, "/cam", &sim_CompressedImage_type);

	put(s, id, 1, 10, S);
	recording_pause(s, true);
	put(s, id, 77, 10, 2 * S);
	recording_pause(s, false);
	put(s, id, 2, 10, 3 * S);
	end(s);
	assert_string_equal(holds(&o, 1), "1..2");
	assert_string_equal(about(&o, 1, "simd_losses", "/cam"), "accepted=2 recorded=2 lost=0");
}

/* ---- a kill ---- */

TEST(a_kill_loses_one_second_at_most)
{
	struct recording_options o = plain();
	unsigned first, last;
	pid_t pid;
	int st;

	o.compression = LOG_COMPRESSION_ZSTD;
	o.flush_dur_ns = S;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		struct recording *s = begin(&o);
		unsigned id = channel(s, "/cam", &sim_CompressedImage_type);

		for (unsigned i = 1; i <= 350; i++)
			put(s, id, i, 100, i * 10 * MS);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &st, 0), pid);
	assert_true(WIFSIGNALED(st));
	assert_int_equal(sscanf(holds(&o, 1), "%u..%u", &first, &last), 2);
	assert_int_equal(first, 1);
	assert_true(last >= 250);
}

/* ---- a full disk ---- */

TEST(messages_lost_on_a_full_disk_are_counted)
{
	struct recording_options o = plain();
	char dir[TEST_PATH_MAX + 8], filler[TEST_PATH_MAX + 32];
	unsigned first, last, id, i = 1;
	struct recording *s;
	int fd, r;

	if (!getenv("SIMD_TESTS_NS"))
		skip(); /* no namespace: the mount would be the machine's */
	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(o.stem, '/') - o.stem), o.stem);
	snprintf(filler, sizeof(filler), "%s/filler", dir);
	assert_int_equal(mount("tmpfs", dir, "tmpfs", 0, "size=400k"), 0);
	fd = open(filler, O_CREAT | O_WRONLY, 0644);
	assert_int_equal(ftruncate(fd, 200000) | posix_fallocate(fd, 0, 200000), 0);
	o.chunk_bytes = 100000;
	s = begin(&o);
	id = channel(s, "/cam", &sim_CompressedImage_type);
	while ((r = put(s, id, i, 4000, i * MS)) == 0 && i < 1000)
		i++;
	assert_int_equal(r, -ENOSPC);
	assert_true(stats(s).failed);
	assert_non_null(strstr(said, "No space left"));
	assert_int_equal(put(s, id, i + 1, 4000, (i + 1) * MS), -ENOSPC);
	assert_int_equal(stats(s).lost, 2);
	assert_int_equal(sscanf(holds(&o, 1), "%u..%u", &first, &last), 2); /* whole */
	assert_true(first == 1 && last == i - 1);
	assert_int_equal(unlink(filler) | close(fd), 0);
	assert_int_equal(recording_open_file(s, sample_why, sizeof(sample_why)), 0);
	assert_int_equal(put(s, id, i + 2, 4000, (i + 2) * MS), 0);
	assert_false(stats(s).failed);
	assert_int_equal(stats(s).messages, i);
	end(s);
	assert_int_equal(sscanf(holds(&o, 2), "%u..%u", &first, &last), 2);
	assert_int_equal(first, i + 2);
	assert_non_null(strstr(about(&o, 2, "simd_losses", "/cam"), "lost="));
	assert_int_equal(umount(dir), 0);
}

static int64_t clock_ns;

static int64_t on_now(void *arg)
{
	(void)arg;
	return clock_ns;
}

/*
 * An hour of a full disk on which a little room comes and goes: one error line, and no further file until a chunk has
 * room.
 */
TEST(a_full_disk_gets_no_little_files)
{
	struct recording_options o = plain();
	char dir[TEST_PATH_MAX + 8], filler[TEST_PATH_MAX + 32];
	unsigned id, i, last;
	struct recording *s;
	int fd;

	if (!getenv("SIMD_TESTS_NS"))
		skip(); /* no namespace: the mount would be the machine's */
	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(o.stem, '/') - o.stem), o.stem);
	snprintf(filler, sizeof(filler), "%s/filler", dir);
	assert_int_equal(mount("tmpfs", dir, "tmpfs", 0, "size=400k"), 0);
	fd = open(filler, O_CREAT | O_WRONLY, 0644);
	assert_int_equal(posix_fallocate(fd, 0, 200000), 0);
	o.chunk_bytes = 100000;
	o.now = on_now;
	clock_ns = S;
	s = begin(&o);
	id = channel(s, "/cam", &sim_CompressedImage_type);
	for (i = 1; put(s, id, i, 4000, i * MS) == 0; i++)
		;
	assert_int_equal(ftruncate(fd, 150000), 0);
	for (last = i + 3600; i < last; i++) {
		clock_ns += S;
		assert_int_equal(put(s, id, i, 4000, i * MS), -ENOSPC);
	}
	assert_int_equal(stats(s).files, 1);
	assert_int_equal(stats(s).failures, 1);
	assert_string_equal(holds(&o, 2), "none");
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	assert_int_equal(ftruncate(fd, 0), 0);
	for (last = i; put(s, id, i, 4000, i * MS) < 0; i++)
		clock_ns += S;
	assert_true(i - last <= 10); /* seconds */
	assert_int_equal(stats(s).failures, 1);
	end(s);
	close(fd);
	assert_true(strncmp(holds(&o, 2), "none", 4) != 0);
	assert_int_equal(umount(dir), 0);
}

/* ---- files that go away ---- */

static void write_some(struct recording *s, unsigned id, unsigned from, unsigned n)
{
	for (unsigned i = from; i < from + n; i++)
		assert_int_equal(put(s, id, i, 100, i * MS), 0);
}

TEST(a_deleted_file_is_lost_and_recording_continues)
{
	const enum log_compression compressions[] = { LOG_COMPRESSION_NONE, LOG_COMPRESSION_ZSTD };

	for (unsigned k = 0; k < 2; k++) {
		struct recording_options o = plain();
		struct recording *s;
		unsigned id;

		o.compression = compressions[k];
		o.now = on_now;
		clock_ns = S;
		s = begin(&o);
		id = channel(s, "/cam", &sim_CompressedImage_type);
		write_some(s, id, 1, 5);
		assert_int_equal(recording_flush(s), 0);
		assert_string_equal(said, "");
		assert_int_equal(unlink(path_of(&o, 1)), 0);
		clock_ns += S / 4; /* a look at its name is not for each flush */
		assert_int_equal(recording_flush(s), 0);
		assert_non_null(strstr(said, "it was deleted, and its contents are lost"));
		assert_int_equal(stats(s).lost, 5);
		write_some(s, id, 6, 2);
		assert_int_equal(stats(s).messages, 2);
		assert_int_equal(stats(s).failures, 1);
		assert_int_equal(recording_close_file(s, sample_why, sizeof(sample_why)), 0);
		assert_string_equal(holds(&o, 1), "6..7");
		assert_string_equal(about(&o, 1, "simd_losses", "/cam"), "accepted=7 recorded=2 lost=5");
		write_some(s, id, 8, 1);
		assert_int_equal(unlink(path_of(&o, 2)), 0);
		end(s); /* the end looks, too */
		assert_non_null(strstr(said, path_of(&o, 2)));
	}
}

/* Its messages are not lost, and the file that has its old name now keeps that. */
TEST(a_renamed_file_is_finished_under_its_new_name)
{
	struct recording_options o = plain();
	struct recording *s = begin(&o);
	unsigned id = channel(s, "/cam", &sim_CompressedImage_type);
	char to[TEST_PATH_MAX + 64];
	FILE *f;

	write_some(s, id, 1, 5);
	snprintf(to, sizeof(to), "%s", path_of(&o, 9));
	assert_int_equal(rename(path_of(&o, 1), to), 0);
	f = fopen(path_of(&o, 1), "w");
	assert_true(f && fputs("mine", f) >= 0 && fclose(f) == 0);
	assert_int_equal(recording_flush(s), 0);
	assert_non_null(strstr(said, "it is finished where it is"));
	write_some(s, id, 6, 1);
	assert_int_equal(stats(s).lost, 0);
	assert_int_equal(stats(s).failures, 1);
	end(s);
	assert_string_equal(holds(&o, 9), "1..5");
	assert_string_equal(holds(&o, 10), "6..6");
	assert_string_equal(about(&o, 9, "simd_losses", "/cam"), "accepted=5 recorded=5 lost=0");
	s = begin(&o);
	assert_int_equal(recording_open_file(s, sample_why, sizeof(sample_why)), 0);
	assert_int_equal(rename(to, path_of(&o, 11)), 0);
	end(s); /* a file without a message is removed, but not another recorder's file */
	assert_string_equal(holds(&o, 11), "1..5");
}

TEST(an_unmounted_folder_is_left)
{
	struct recording_options o = plain();
	struct recording *s;
	char dir[TEST_PATH_MAX + 8];
	unsigned id;

	if (!getenv("SIMD_TESTS_NS"))
		skip(); /* no namespace: the mount would be the machine's */
	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(o.stem, '/') - o.stem), o.stem);
	assert_int_equal(mount("tmpfs", dir, "tmpfs", 0, "size=4m"), 0);
	s = begin(&o);
	id = channel(s, "/cam", &sim_CompressedImage_type);
	write_some(s, id, 1, 5);
	assert_int_equal(umount2(dir, MNT_DETACH), 0);
	assert_int_equal(recording_flush(s), 0);
	assert_non_null(strstr(said, "its folder is unmounted"));
	write_some(s, id, 6, 2);
	assert_int_equal(stats(s).failures, 1);
	end(s);
	assert_string_equal(holds(&o, 1), "6..7");
}

/* Open files are finished; later messages are lost and counted, until a file can be created again. */
TEST(a_folder_that_becomes_read_only_is_reported)
{
	struct recording_options o = plain();
	struct recording *s;
	char dir[TEST_PATH_MAX + 8];
	unsigned id;

	if (!getenv("SIMD_TESTS_NS"))
		skip(); /* no namespace: the mount would be the machine's */
	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(o.stem, '/') - o.stem), o.stem);
	assert_int_equal(mount("tmpfs", dir, "tmpfs", 0, "size=4m"), 0);
	o.now = on_now;
	clock_ns = S;
	s = begin(&o);
	id = channel(s, "/cam", &sim_CompressedImage_type);
	write_some(s, id, 1, 5);
	assert_int_equal(recording_close_file(s, sample_why, sizeof(sample_why)), 0);
	assert_int_equal(mount(NULL, dir, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	for (unsigned i = 6; i < 106; i++) {
		clock_ns += S;
		assert_int_equal(put(s, id, i, 100, i * MS), -EROFS);
	}
	assert_non_null(strstr(said, "Read-only file system; messages are lost until a file can be written"));
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* once */
	assert_int_equal(stats(s).lost, 100);
	assert_int_equal(stats(s).failures, 1);
	assert_int_equal(mount(NULL, dir, NULL, MS_REMOUNT, NULL), 0);
	clock_ns += RECORDING_TRY_DUR_NS;
	write_some(s, id, 106, 2);
	end(s);
	assert_string_equal(holds(&o, 1), "1..5");
	assert_string_equal(holds(&o, 2), "106..107");
	assert_string_equal(about(&o, 2, "simd_losses", "/cam"), "accepted=102 recorded=2 lost=100");
	assert_int_equal(umount(dir), 0);
}

/* ---- a limit of file size ---- */

/* No message is lost by that, except one that is larger than any file may be; and that one costs no file. */
TEST(a_file_at_its_size_limit_is_followed_by_another)
{
	const enum log_compression compressions[] = { LOG_COMPRESSION_NONE, LOG_COMPRESSION_ZSTD };
	const struct rlimit little = { 60000, RLIM_INFINITY };
	struct rlimit all;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
	for (int k = 0; k < 2; k++) {
		struct recording_options o = plain();
		struct recording *s;
		unsigned id, n, next = 1;

		o.compression = compressions[k];
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ little.rlim_cur, all.rlim_max }), 0);
		s = begin(&o);
		id = channel(s, "/cam", &sim_CompressedImage_type);
		for (unsigned i = 1; i <= 100; i++)
			assert_int_equal(put(s, id, i, 5000, i * MS), 0);
		assert_int_equal(recording_close_file(s, sample_why, sizeof(sample_why)), 0);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 15000, all.rlim_max }), 0);
		for (unsigned i = 101; i <= 104; i++)
			assert_int_equal(put(s, id, i, BODY, i * MS), -EFBIG);
		assert_false(stats(s).failed);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
		n = stats(s).files;
		end(s);
		assert_in_range(n, 9, 14);
		for (unsigned i = 1; i <= n; i++) {
			unsigned first, last;

			if (sscanf(holds(&o, i), "%u..%u", &first, &last) !=
			    2) /* for the first of the large ones: gone again */
				continue;
			assert_int_equal(first, next);
			next = last + 1;
		}
		assert_int_equal(next, 101);
		assert_non_null(strstr(said, "File too large"));
	}
}

TEST(invalid_options_are_reported)
{
	struct recording_options o = plain();
	struct recording *s;
	unsigned id;

	o.format = LOG_BAG;
	assert_int_equal(recording_create(&o, &s, sample_why, sizeof(sample_why)), -ENOTSUP);
	assert_non_null(strstr(sample_why, "ros1"));
	o.format = LOG_MCAP;
	o.stem = "";
	assert_int_equal(recording_create(&o, &s, sample_why, sizeof(sample_why)), -EINVAL);
	o.stem = "/nowhere/at/all";
	s = begin(&o);
	assert_int_equal(recording_open_file(s, sample_why, sizeof(sample_why)), -ENOENT);
	id = channel(s, "/cam", &sim_CompressedImage_type);
	assert_int_equal(put(s, id, 1, 10, S), -ENOENT);
	assert_int_equal(stats(s).lost, 1);
	end(s);
	o = plain();
	s = begin(&o);
	id = channel(s, "/cam", &sim_CompressedImage_type);
	assert_int_equal(put(s, id, 1, 10, -1), -EINVAL);
	assert_non_null(strstr(said, "/cam at -1 ns"));
	assert_int_equal(put(s, id, 2, 10, 1), 0);
	end(s);
	assert_string_equal(holds(&o, 1), "2..2");
}

/* ---- several threads ---- */

#define THREADS 4
#define EACH    500

struct lane {
	struct recording *s;
	unsigned id;
	pthread_t thread;
};

static void *run(void *arg)
{
	static const struct sim_Imu imu;
	struct lane *l = arg;

	for (unsigned i = 1; i <= EACH; i++) {
		struct sim_message m = { .body = &imu, .body_size = sizeof(imu) };

		m.header.sequence = i;
		if (put_message(l->s, l->id, &m, i * MS) < 0)
			break;
	}
	return NULL;
}

TEST(lanes_write_concurrently)
{
	struct recording_options o = plain();
	struct recording *s = begin(&o);
	struct lane lanes[THREADS];
	struct recording_channel_stats c;

	for (unsigned i = 0; i < THREADS; i++) {
		lanes[i] = (struct lane){ .s = s, .id = channel(s, i % 2 ? "/a" : "/b", &sim_Imu_type) };
		assert_int_equal(pthread_create(&lanes[i].thread, NULL, run, &lanes[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(lanes[i].thread, NULL);
	assert_true(recording_channel_stats(s, 1, &c));
	assert_int_equal(c.accepted, 2 * EACH);
	assert_int_equal(c.recorded, 2 * EACH);
	assert_int_equal(stats(s).messages, THREADS * EACH);
	assert_false(recording_channel_stats(s, 2, &c));
	end(s);
}
