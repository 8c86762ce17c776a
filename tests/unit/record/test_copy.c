/* SPDX-License-Identifier: Apache-2.0 */
/* Logs into logs, whether one is sound, and `simctl bag`, which is a thin face of both. */
#include "sample.h"

#include <sys/wait.h>

#include "record/check.h"
#include "record/copy.h"

static const struct log_channel channels[] = {
	{ .topic = "/a",
	  .message_encoding = "ros1",
	  .schema_name = "std_msgs/String",
	  .schema_encoding = "ros1msg",
	  .schema = { SAMPLE_TEXT, sizeof(SAMPLE_TEXT) - 1 } },
	{ .topic = "/b/c", .message_encoding = "ros1", .schema_name = "own/Raw", .schema_encoding = "ros1msg" },
};

static struct sample many[100];
static char said[4000], text[1 << 16];

static void say(void *arg, const char *sentence)
{
	(void)arg;
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", sentence);
}

/* 100 messages, a second apart, from `first` on, each second one of the other channel. */
static const char *a_bag(const char *name, int first)
{
	const struct sample_log s = { .options = { .format = LOG_BAG, .chunk_bytes = 500 },
				      .channels = channels,
				      .n_channels = 2,
				      .messages = many,
				      .n = 100 };

	for (int i = 0; i < 100; i++)
		many[i] = (struct sample){ (uint32_t)i % 2, (int64_t)(first + i) * 1000000000, "twenty bytes of text" };
	return sample_write(name, &s);
}

/* Where a split log goes. */
static const char *pieces_of(const char *stem, const char *end)
{
	char name[64];

	for (unsigned i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "%s_%04u.%s", stem, i, end);
		sample_fresh(name);
	}
	snprintf(name, sizeof(name), "%s.%s", stem, end);
	return sample_fresh(name);
}

static const char *pieces(const char *stem)
{
	return pieces_of(stem, "bag");
}

static int copy(const char *const *in, unsigned n, const char *out, struct copy_options o, struct copy_result *ret)
{
	o.write.format = (enum log_format)log_format_of(out);
	o.say = say;
	said[0] = '\0';
	return log_copy(in, n, out, &o, ret, sample_why, sizeof(sample_why));
}

static uint64_t messages_of(const char *path, size_t *ret_channels)
{
	struct log_reader *r = sample_open(path, NULL);
	uint64_t n = log_reader_info(r)->n_messages;

	assert_true(log_reader_info(r)->complete);
	if (ret_channels)
		*ret_channels = log_reader_info(r)->n_channels;
	log_reader_close(r);
	return n;
}

TEST(files_are_merged_by_time_and_share_their_channels)
{
	const char *in[] = { a_bag("a.bag", 1000), a_bag("b.bag", 1050) };
	struct copy_result x;
	struct log_message m;
	struct log_reader *r;
	int64_t before = 0;
	size_t n;

	assert_int_equal(copy(in, 2, sample_fresh("out.bag"), (struct copy_options){ 0 }, &x), 0);
	assert_int_equal(x.n_messages, 200);
	assert_int_equal(messages_of(sample_path("out.bag"), &n), 200);
	assert_int_equal(n, 2);
	r = sample_open(sample_path("out.bag"), &(struct log_read_options){ .file_order = true });
	for (; log_reader_next(r, &m) > 0; before = m.log_time_ns)
		assert_true(m.log_time_ns >= before);
	log_reader_close(r);
}

TEST(existing_files_are_not_overwritten)
{
	const char *in[] = { a_bag("a.bag", 1000) };
	struct copy_result x;

	assert_int_equal(copy(in, 1, in[0], (struct copy_options){ 0 }, &x), -EEXIST);
	assert_non_null(strstr(sample_why, "it is kept"));
	assert_int_equal(messages_of(in[0], NULL), 100);
}

TEST(channels_and_times_can_be_selected)
{
	const char *in[] = { a_bag("a.bag", 1000) }, *only[] = { "b/*" };
	struct copy_options o = { .include = only, .n_include = 1 };
	struct copy_result x;
	size_t n;

	assert_int_equal(copy(in, 1, sample_fresh("b.bag"), o, &x), 0);
	assert_int_equal(messages_of(sample_path("b.bag"), &n), 50);
	assert_int_equal(n, 1);
	o = (struct copy_options){
		.exclude = only, .n_exclude = 1, .start_dur_ns = 10000000000, .end_dur_ns = 20000000000
	};
	assert_int_equal(copy(in, 1, sample_fresh("a2.bag"), o, &x), 0);
	assert_int_equal(messages_of(sample_path("a2.bag"), NULL), 6); /* 10, 12, ... 20 s */
}

TEST(a_log_is_split_by_time_and_by_size)
{
	const char *in[] = { a_bag("a.bag", 1000) };
	struct copy_options o = { .split_dur_ns = 40000000000 };
	struct copy_result x;

	assert_int_equal(copy(in, 1, pieces("t"), o, &x), 0);
	assert_int_equal(x.n_files, 3);
	assert_int_equal(messages_of(sample_path("t_0000.bag"), NULL), 40);
	assert_int_equal(messages_of(sample_path("t_0002.bag"), NULL), 20);
	o = (struct copy_options){ .split_bytes = 8000, .write.chunk_bytes = 300 };
	assert_int_equal(copy(in, 1, pieces("s"), o, &x), 0);
	assert_true(x.n_files > 1);
	assert_int_equal(x.n_messages, 100);
	for (unsigned i = 0; i < x.n_files; i++) {
		struct stat st;
		char name[32];

		snprintf(name, sizeof(name), "s_%04u.bag", i);
		assert_int_equal(stat(sample_path(name), &st), 0);
		assert_true(st.st_size < 10500); /* and an index */
		assert_true(messages_of(sample_path(name), NULL) > 0);
	}
}

/* The file with its end cut off, and a chunk in the middle overwritten. */
static const char *damaged(void)
{
	size_t n;
	uint8_t *p = sample_bytes(a_bag("a.bag", 1000), &n);
	const char *path;

	memset(p + 5500, 0xff, 200);
	path = sample_file("damaged.bag", p, n - 1500);
	mem_free(p);
	return path;
}

TEST(readable_messages_are_recovered_and_damage_is_named)
{
	const char *in[] = { damaged() };
	const struct copy_options o = { .read = { .scan = true, .file_order = true } };
	struct copy_result x;

	assert_int_equal(copy(in, 1, sample_fresh("recovered.bag"), o, &x), 0);
	assert_true(x.n_damaged >= 1);
	assert_non_null(strstr(said, "damaged.bag: offset "));
	assert_true(x.n_messages > 60);
	assert_int_equal(messages_of(sample_path("recovered.bag"), NULL), x.n_messages);
	said[0] = '\0';
	assert_int_equal(log_check(sample_path("recovered.bag"), say, NULL, sample_why, sizeof(sample_why)), 0);
	assert_true(log_check(in[0], say, NULL, sample_why, sizeof(sample_why)) >= 2);
	assert_non_null(strstr(said, "bag recover"));
}

/* ---- what a log has besides messages ---- */

/* A log of MCAP with metadata and attachments, one before and one behind its messages. */
static const char *an_mcap(const char *name)
{
	const struct sample_log s = {
		.options = { .format = LOG_MCAP }, .channels = channels, .n_channels = 2, .messages = many, .n = 100
	};
	const struct log_pair pair = { "who", "simd" };
	const struct log_attachment rig = { .name = "rig.json",
					    .media_type = "application/json",
					    .log_time_ns = 4000,
					    .create_time_ns = 3000,
					    .data = "{}",
					    .size = 2 },
				    notes = { .name = "notes.txt",
					      .media_type = "text/plain",
					      .log_time_ns = 5000,
					      .data = "hello",
					      .size = 5 };
	const char *path = sample_path(name);
	struct log_writer *w;

	a_bag("unused.bag", 1000);
	w = sample_begin(path, &s);
	assert_int_equal(log_writer_attachment(w, &rig), 0);
	assert_true(sample_put(w, &s));
	assert_int_equal(log_writer_metadata(w, "recorder", &pair, 1), 0);
	assert_int_equal(log_writer_attachment(w, &notes), 0);
	assert_int_equal(log_writer_finish(w, sample_why, sizeof(sample_why)), 0);
	return path;
}

/* Each attachment as "name type log-time create-time bytes;", then each pair of the metadata as "name key=value;". */
static const char *extras_of(const char *path, const struct log_read_options *o)
{
	static char all[1000];
	struct log_reader *r = sample_open(path, o);
	const struct log_info *info = log_reader_info(r);
	size_t n = 0;

	all[0] = '\0';
	for (uint32_t i = 0; i < info->n_attachments; i++) {
		struct log_attachment a;

		assert_int_equal(log_reader_attachment(r, i, &a), 0);
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s %s %lld %lld %.*s;", a.name, a.media_type,
				      (long long)a.log_time_ns, (long long)a.create_time_ns, (int)a.size,
				      (const char *)a.data);
	}
	for (size_t i = 0; i < info->n_metadata; i++)
		for (size_t k = 0; k < info->metadata[i].n; k++)
			n += (size_t)snprintf(all + n, sizeof(all) - n, "%s %s=%s;", info->metadata[i].name,
					      info->metadata[i].pairs[k].key, info->metadata[i].pairs[k].value);
	log_reader_close(r);
	return all;
}

#define ATTACHMENTS   "rig.json application/json 4000 3000 {};notes.txt text/plain 5000 0 hello;"
#define EXTRAS        ATTACHMENTS "recorder who=simd;"
#define EXTRAS_OF_TWO ATTACHMENTS ATTACHMENTS "recorder who=simd;recorder who=simd;"

TEST(attachments_keep_both_of_their_times)
{
	static const struct {
		const char *what, *first; /* of its files */
		struct copy_options o;
	} ways[] = { { "filter", "out.mcap", { .start_dur_ns = 10000000000 } },
		     { "convert", "out.mcap", { .convert = true, .encoding = -1 } },
		     { "split", "out_0000.mcap", { .split_dur_ns = 40000000000 } } };
	const char *in[2];
	struct copy_result x;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		in[0] = an_mcap("in.mcap");
		pieces_of("out", "mcap");
		assert_int_equal(copy(in, 1, sample_path("out.mcap"), ways[i].o, &x), 0);
		if (strcmp(extras_of(sample_path(ways[i].first), NULL), EXTRAS) != 0)
			fail_msg("%s: %s", ways[i].what, extras_of(sample_path(ways[i].first), NULL));
	}
	in[0] = an_mcap("in.mcap");
	in[1] = a_bag("b.bag", 2000);
	assert_int_equal(copy(in, 2, sample_fresh("out.mcap"), (struct copy_options){ 0 }, &x), 0);
	assert_string_equal(extras_of(sample_path("out.mcap"), NULL), EXTRAS);
}

TEST(metadata_and_attachments_are_recovered)
{
	const struct copy_options o = { .read = { .scan = true, .file_order = true } };
	const char *in[] = { an_mcap("in.mcap") };
	struct copy_result x;
	uint8_t *p;
	size_t n;

	assert_int_equal(copy(in, 1, sample_fresh("out.mcap"), o, &x), 0);
	assert_string_equal(extras_of(sample_path("out.mcap"), NULL), EXTRAS);
	assert_string_equal(said, "");
	p = sample_bytes(in[0], &n);
	in[0] = sample_file("cut.mcap", p, n - 20); /* into the footer: no index leads anywhere */
	mem_free(p);
	assert_int_equal(copy(in, 1, sample_fresh("out.mcap"), o, &x), 0);
	assert_string_equal(extras_of(sample_path("out.mcap"), NULL), EXTRAS);
	assert_int_equal(x.n_messages, 100);
}

/* rosbag2's directory is one log, of all that is in its files. */
TEST(metadata_and_attachments_of_a_directory_are_kept)
{
	const struct copy_options scan = { .read = { .scan = true, .file_order = true } };
	const char *dir = sample_path("run"), *in[] = { dir };
	const char yaml[] = "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: mcap\n"
			    "  relative_file_paths:\n    - 0.mcap\n    - 1.mcap\n";
	struct copy_result x;

	mkdir(dir, 0755);
	an_mcap("run/0.mcap");
	an_mcap("run/1.mcap");
	sample_file("run/metadata.yaml", yaml, sizeof(yaml) - 1);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(copy(in, 1, sample_fresh("out.mcap"), i ? scan : (struct copy_options){ 0 }, &x), 0);
		assert_string_equal(extras_of(sample_path("out.mcap"), NULL), EXTRAS_OF_TWO);
	}
}

/* The attachment's last byte is another one: its sum does not agree any more. */
TEST(a_damaged_attachment_is_named_and_counted)
{
	const char *in[] = { an_mcap("in.mcap") };
	struct copy_result x;
	size_t n;
	uint8_t *p = sample_bytes(in[0], &n), *hello = memmem(p, n, "hello", 5);

	assert_non_null(hello);
	hello[4] ^= 1;
	in[0] = sample_file("damaged.mcap", p, n);
	mem_free(p);
	assert_int_equal(copy(in, 1, sample_fresh("out.mcap"), (struct copy_options){ 0 }, &x), 0);
	assert_int_equal(x.n_damaged, 1);
	assert_non_null(strstr(said, "checksum of an attachment is wrong"));
	assert_non_null(strstr(extras_of(sample_path("out.mcap"), NULL), "rig.json"));
	assert_int_equal(copy(in, 1, sample_fresh("out.bag"), (struct copy_options){ 0 }, &x), 0);
	assert_non_null(strstr(said, "its metadata and its attachments are left out: only MCAP has them"));
}

static bool is_stopped(void *arg)
{
	(void)arg;
	return true;
}

TEST(an_interrupted_copy_is_closed_properly)
{
	const char *in[] = { a_bag("a.bag", 0) };
	struct copy_options o = { .stopped = is_stopped };
	struct copy_result x;

	assert_int_equal(copy(in, 1, sample_fresh("out.bag"), o, &x), 0);
	assert_int_equal(x.n_messages, 0);
	assert_non_null(strstr(said, "out.bag: interrupted: later messages are left out"));
	o.stopped = NULL;
	assert_int_equal(copy(in, 1, sample_fresh("out.bag"), o, &x), 0);
	assert_true(x.n_messages > 0);
}

TEST(channels_that_a_format_cannot_hold_are_named)
{
	const char *in[] = { a_bag("a.bag", 1000) };
	struct copy_result x;

	assert_int_equal(copy(in, 1, sample_fresh("a.record"), (struct copy_options){ 0 }, &x), 0);
	assert_int_equal(x.n_left_out, 2);
	assert_int_equal(x.n_messages, 0);
	assert_non_null(strstr(said, "/b/c (own/Raw, encoding ros1) is left out"));
}

TEST(the_format_follows_from_the_name)
{
	assert_int_equal(log_format_of("/x.bag/a.mcap"), LOG_MCAP);
	assert_int_equal(log_format_of("a.bag"), LOG_BAG);
	assert_int_equal(log_format_of("a.record.00001.20260101000000"), LOG_RECORD);
	assert_int_equal(log_format_of("/x.record/a"), -EINVAL);
	assert_true(log_topic_matches("/a/b", "a/*"));
	assert_true(log_topic_matches("/a/b", "/a/*"));
	assert_false(log_topic_matches("/a/b", "b"));
}

/* ---- the command ---- */

/* Its output of both kinds; its exit code. */
__attribute__((format(printf, 1, 2))) static int simctl(const char *format, ...)
{
	char command[1000], args[700];
	va_list ap;
	FILE *f;
	size_t n;
	int st;

	va_start(ap, format);
	vsnprintf(args, sizeof(args), format, ap);
	va_end(ap);
	snprintf(command, sizeof(command), SIMCTL " bag %s 2>&1", args);
	f = popen(command, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	st = pclose(f);
	return WEXITSTATUS(st);
}

TEST(simctl_bag_info_lists_attachments_and_metadata)
{
	const char *path = an_mcap("in.mcap");
	uint8_t *p, *name;
	size_t n;

	assert_int_equal(simctl("info %s", path), 0);
	assert_non_null(strstr(text, "\nattachments  rig.json (application/json), 2 bytes\n"
				     "             notes.txt (text/plain), 5 bytes\n"
				     "metadata     recorder\n               who: simd\nCHANNEL "));
	assert_int_equal(simctl("info --json %s", path), 0);
	assert_non_null(strstr(text,
			       "\"attachments\":[{\"name\":\"rig.json\",\"media_type\":\"application/json\",\"size\":2,"
			       "\"log_time_ns\":4000,\"create_time_ns\":3000},"));
	assert_non_null(strstr(text, "\"metadata\":{\"recorder\":{\"who\":\"simd\"}}"));
	p = sample_bytes(path, &n);
	name = memmem(p, n, "notes.txt", 9);
	assert_non_null(name);
	name[-1] = 0xff; /* of its length */
	path = sample_file("bad.mcap", p, n);
	mem_free(p);
	assert_int_equal(simctl("info %s", path), 1);
	assert_non_null(strstr(text, "no whole attachment is here"));
	assert_non_null(strstr(text, "rig.json"));
	assert_int_equal(simctl("info %s", a_bag("a.bag", 1000)), 0);
	assert_null(strstr(text, "attachments"));
}

TEST(simctl_bag_info_check_and_copy_work)
{
	const char *bag = a_bag("a.bag", 1000), *broken = damaged();

	assert_int_equal(simctl("info %s", bag), 0);
	assert_non_null(strstr(text, "messages     100"));
	assert_non_null(strstr(text, "/b/c"));
	assert_int_equal(simctl("info --json %s", bag), 0);
	assert_non_null(strstr(text, "\"channel\":\"/a\",\"type\":\"std_msgs/String\""));
	assert_int_equal(simctl("doctor %s", bag), 0);
	assert_string_equal(text, "nothing is wrong\n");
	assert_int_equal(simctl("doctor %s", broken), 1);
	assert_non_null(strstr(text, "offset "));
	assert_int_equal(simctl("cat %s --include a -n 2", bag), 0);
	assert_string_equal(
		text,
		"{\"channel\":\"/a\",\"type\":\"std_msgs/String\",\"encoding\":\"ros1\",\"log_time_ns\":1000000000000,"
		"\"publish_time_ns\":1000000000000,\"sequence\":0,\"size\":20,\"error\":\"it is malformed\"}\n"
		"{\"channel\":\"/a\",\"type\":\"std_msgs/String\",\"encoding\":\"ros1\",\"log_time_ns\":1002000000000,"
		"\"publish_time_ns\":1002000000000,\"sequence\":0,\"size\":20,\"error\":\"it is malformed\"}\n");
	assert_int_equal(simctl("recover %s %s", broken, sample_fresh("r.bag")), 0);
	assert_int_equal(simctl("recover %s %s", broken, sample_path("r.bag")), 1);
	assert_non_null(strstr(text, "it is kept"));
	assert_int_equal(simctl("filter %s %s --exclude '/b/*' --compression bz2", bag, sample_fresh("f.bag")), 0);
	assert_non_null(strstr(text, "50 messages in 1 file"));
	assert_int_equal(simctl("merge %s %s", sample_fresh("m.bag"), bag), 0);
	assert_int_equal(simctl("split %s %s --duration 50s", bag, pieces("s")), 0);
	assert_non_null(strstr(text, "in 2 files"));
	assert_int_equal(simctl("convert %s %s", bag, sample_fresh("c.record")), 1);
	assert_int_equal(simctl("convert %s %s", bag, sample_path("c.txt")), 2);
	assert_int_equal(simctl("split %s %s", bag, sample_path("s2.bag")), 2);
	assert_int_equal(simctl("info %s", "/none.bag"), 1);
	assert_non_null(strstr(text, "No such file"));
}
