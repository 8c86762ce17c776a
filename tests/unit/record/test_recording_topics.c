/* SPDX-License-Identifier: Apache-2.0 */
/* What channels are called in the files of a recording: one of them has the name that Apollo has for its type, the others their own. */
#include "sample.h"

#include "record/recording.h"
#include "sim/msg/Imu.h"

#define MS INT64_C(1000000)

static char said[2048];

static void on_say(void *arg, int level, const char *sentence)
{
	size_t n = strlen(said);

	(void)arg;
	(void)level;
	snprintf(said + n, sizeof(said) - n, "%s\n", sentence);
}

/* Of a new folder each. */
static struct recording_options options(enum log_format format)
{
	static char stem[TEST_PATH_MAX + 8];
	char dir[TEST_PATH_MAX];

	test_path(dir, "topics-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(stem, sizeof(stem), "%s/run", dir);
	said[0] = '\0';
	return (struct recording_options){ .stem = stem, .format = format, .kind = CODEC_APOLLO, .say = on_say };
}

static struct recording *begin(const struct recording_options *o)
{
	struct recording *s = NULL;

	if (recording_create(o, &s, sample_why, sizeof(sample_why)) < 0)
		fail_msg("%s", sample_why);
	return s;
}

static unsigned channel(struct recording *s, const char *name)
{
	unsigned id;

	if (recording_add_channel(s, name, &sim_Imu_type, &id, sample_why, sizeof(sample_why)) < 0)
		fail_msg("%s", sample_why);
	return id;
}

/* n of them. */
static void put(struct recording *s, unsigned id, unsigned n, int64_t at_ns)
{
	struct sim_Imu body = { 0 };
	struct sim_message m = { .body = &body, .body_size = sizeof(body) };

	for (unsigned i = 0; i < n; i++) {
		const struct recording_moment at = { .log_time_ns = at_ns + i * MS };

		assert_int_equal(recording_put_at(s, id, &m, &at), 0);
	}
}

static void end(struct recording *s)
{
	if (recording_destroy(s, sample_why, sizeof(sample_why)) < 0)
		fail_msg("%s", sample_why);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* "/a 1; /b 2; " of a file: topics in the order of their names, with the number of their messages. */
static const char *names(const struct recording_options *o, unsigned number)
{
	static char text[1024];
	char path[TEST_PATH_MAX + 64], lines[8][128];
	const char *suffix = o->format == LOG_MCAP ? "mcap" : "record";
	const struct log_info *info;
	struct log_reader *r;

	if (number > 1)
		snprintf(path, sizeof(path), "%s.%u.%s", o->stem, number, suffix);
	else
		snprintf(path, sizeof(path), "%s.%s", o->stem, suffix);
	r = sample_open(path, NULL);
	info = log_reader_info(r);
	assert_true(info->n_channels <= 8);
	for (size_t i = 0; i < info->n_channels; i++)
		snprintf(lines[i], sizeof(lines[i]), "%.100s %d; ", info->channels[i].topic,
			 (int)info->channels[i].n_messages);
	qsort(lines, info->n_channels, sizeof(lines[0]), by_text);
	text[0] = '\0';
	for (size_t i = 0; i < info->n_channels; i++)
		strcat(text, lines[i]);
	log_reader_close(r);
	return text;
}

/* Channels that are announced in one order, and whose messages arrive in another: of the k-th k + 1. */
static const char *recorded(enum log_format format, const char *const topics[3], unsigned turn)
{
	struct recording_options o = options(format);
	struct recording *s = begin(&o);
	unsigned ids[3];

	for (unsigned i = 0; i < 3; i++)
		ids[(i + turn) % 3] = channel(s, topics[(i + turn) % 3]);
	for (unsigned i = 0; i < 3; i++) {
		unsigned k = turn & 1 ? i : 2 - i;

		put(s, ids[k], k + 1, (int64_t)i * 10 * MS);
	}
	end(s);
	assert_string_equal(said, "");
	return names(&o, 1);
}

TEST(of_channels_mapped_to_one_name_the_first_by_name_gets_it)
{
	static const char *const three[] = { "/car/front", "/car/middle", "/car/rear" };
	static const char *const own[] = { "/car/front", "/apollo/sensor/gnss/imu", "/zoe" };

	for (unsigned turn = 0; turn < 6; turn++) {
		enum log_format format = turn < 3 ? LOG_RECORD : LOG_MCAP;

		assert_string_equal(recorded(format, three, turn),
				    "/apollo/sensor/gnss/imu 1; /car/middle 2; /car/rear 3; ");
		assert_string_equal(recorded(format, own, turn), "/apollo/sensor/gnss/imu 2; /car/front 1; /zoe 3; ");
	}
}

/*
 * A later channel never gets the name of another one, also in the next file: otherwise a channel of the log would be
 * another one from there on.
 */
TEST(a_name_is_kept_for_the_whole_recording)
{
	struct recording_options o = options(LOG_RECORD);
	struct recording *s = begin(&o);
	unsigned b = channel(s, "/b"), a, apollo;

	put(s, b, 2, 0);
	a = channel(s, "/a");
	put(s, a, 1, 10 * MS);
	assert_string_equal(said, "");
	apollo = channel(s, "/apollo/sensor/gnss/imu");
	put(s, apollo, 3, 20 * MS);
	assert_non_null(strstr(said, "/apollo/sensor/gnss/imu is called /apollo/sensor/gnss/imu_2 in the file"));
	assert_int_equal(recording_close_file(s, sample_why, sizeof(sample_why)), 0);
	put(s, apollo, 3, 30 * MS);
	put(s, a, 1, 40 * MS);
	put(s, b, 2, 50 * MS);
	end(s);
	for (unsigned i = 1; i <= 2; i++)
		assert_string_equal(names(&o, i), "/a 1; /apollo/sensor/gnss/imu 2; /apollo/sensor/gnss/imu_2 3; ");
}
