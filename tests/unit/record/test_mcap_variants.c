/* SPDX-License-Identifier: Apache-2.0 */
/* The reader and the writer of MCAP on every variant of its conformance data. */
#include "tests/support/test.h"
#include "tests/unit/record/mcap_sample.h"

#include "record/check.h"
#include "record/copy.h"

#include <errno.h>

static char path[TEST_PATH_MAX];
static char name[128];
static char why[512];

/* Called for each of the 416. */
static void for_each(void (*fn)(const struct sample_input *in, unsigned f, const struct mcap_buf *b))
{
	unsigned n = 0;

	test_path(path, "variant.mcap");
	for (unsigned i = 0; i < n_sample_inputs; i++)
		for (unsigned f = 0; f < SAMPLE_END; f++) {
			struct mcap_buf b = { 0 };

			if (!sample_valid(&sample_inputs[i], f))
				continue;
			sample_name(&sample_inputs[i], f, name, sizeof(name));
			sample_build(&sample_inputs[i], f, &b);
			assert_false(b.failed);
			sample_write(path, b.p, b.n);
			fn(&sample_inputs[i], f, &b);
			mcap_buf_finish(&b);
			n++;
		}
	assert_int_equal(n, 416);
}

#define check(ok) \
	do { \
		if (!(ok)) \
			fail_msg("%s: %s: %s", name, #ok, why); \
	} while (0)

static void check_extras(const struct sample_input *in, struct log_reader *r)
{
	const struct log_info *info = log_reader_info(r);
	struct log_attachment a;

	check(info->n_attachments == in->attachment);
	check(info->n_metadata == in->metadata);
	check(!in->metadata ||
	      (!strcmp(info->metadata[0].name, "myMetadata") && info->metadata[0].n == 1 &&
	       !strcmp(info->metadata[0].pairs[0].key, "foo") && !strcmp(info->metadata[0].pairs[0].value, "bar")));
	if (in->attachment) {
		check(!log_reader_attachment(r, 0, &a));
		check(!strcmp(a.name, "myFile") && !strcmp(a.media_type, "application/octet-stream") &&
		      a.log_time_ns == 2 && a.create_time_ns == 1 && a.size == 3 && !memcmp(a.data, "\1\2\3", 3));
	}
	check(log_reader_attachment(r, in->attachment, &a) == -EINVAL);
}

static void check_info(const struct sample_input *in, unsigned f, struct log_reader *r, bool scan)
{
	const struct log_info *info = log_reader_info(r);
	unsigned chunked = SAMPLE_CH | SAMPLE_CHX | SAMPLE_RCH | (in->schema ? SAMPLE_RSH : 0);

	check(info->complete);
	check(!*info->profile && !*info->library);
	check(info->n_channels == in->channel);
	check_extras(in, r);
	if (in->channel && (f & chunked) == chunked && f & (SAMPLE_ST | SAMPLE_MX) && !scan)
		check(info->indexed);
	if (!info->counted)
		return;
	check(info->n_messages == in->messages);
	check(info->start_ns == (in->messages == 1 ? 2 : 0) && info->end_ns == (in->messages == 1 ? 2
										: in->messages    ? 9
												  : 0));
	check(!in->channel || info->channels[0].n_messages == in->messages);
}

static void check_channel(const struct sample_input *in, struct log_reader *r)
{
	const struct log_channel *ch = log_reader_info(r)->channels;

	check(!strcmp(ch->topic, "example") && !strcmp(ch->message_encoding, in->schema ? "a" : "text"));
	check(!strcmp(ch->schema_name, in->schema ? "Example" : "") &&
	      !strcmp(ch->schema_encoding, in->schema ? "c" : ""));
	check(ch->schema.size == (in->schema ? 3 : 0) && !memcmp(ch->schema.data, "\4\5\6", ch->schema.size));
	check(ch->n_metadata == in->schema);
	check(!in->schema || (!strcmp(ch->metadata[0].key, "foo") && !strcmp(ch->metadata[0].value, "bar")));
}

static void check_messages(const struct sample_input *in, struct log_reader *r, bool file_order)
{
	static const unsigned in_file[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 },
			      by_time[] = { 0, 2, 1, 3, 4, 6, 5, 7, 8, 9 };
	static const int64_t times[] = { 0, 2, 1, 3, 3, 5, 4, 7, 8, 9 };
	struct log_message m;

	for (unsigned i = 0; i < in->messages; i++) {
		unsigned k = (file_order ? in_file : by_time)[i];

		check(log_reader_next(r, &m) == 1);
		check(m.channel == 0 && m.size == 3 && !memcmp(m.data, "\1\2\3", 3));
		if (in->messages == 1)
			check(m.sequence == 10 && m.log_time_ns == 2 && m.publish_time_ns == 1);
		else
			check(m.sequence == k && m.log_time_ns == times[k] && m.publish_time_ns == times[k]);
	}
	check(log_reader_next(r, &m) == 0);
}

static void read_variant(const struct sample_input *in, unsigned f, const struct mcap_buf *b)
{
	struct log_reader *r;

	(void)b;
	for (int mode = 0; mode < 4; mode++) {
		const struct log_read_options o = { .scan = mode & 1, .file_order = mode & 2 };

		check(log_reader_open(path, &o, &r, why, sizeof(why)) == 0);
		check_messages(in, r, o.file_order);
		check_info(in, f, r, o.scan);
		if (in->channel)
			check_channel(in, r);
		log_reader_close(r);
	}
}

TEST(every_variant_is_read_by_time_and_in_file_order)
{
	for_each(read_variant);
}

static void first_finding(void *arg, const char *sentence)
{
	(void)arg;
	snprintf(why, sizeof(why), "%s", sentence);
}

static void check_sound(const struct sample_input *in, unsigned f, const struct mcap_buf *b)
{
	char sentence[512];

	(void)in, (void)f, (void)b;
	*why = '\0';
	check(log_check(path, first_finding, NULL, sentence, sizeof(sentence)) == 0);
}

TEST(every_variant_passes_the_check)
{
	for_each(check_sound);
}

/* Read from its beginning, and by its index. */
static void copy_variant(const struct sample_input *in, unsigned f, const struct mcap_buf *b)
{
	char out[TEST_PATH_MAX];
	const char *from = path;

	(void)f, (void)b;
	test_path(out, "copy.mcap");
	for (unsigned i = 0; i < 2; i++) {
		const struct copy_options o = { .read = { .scan = i, .file_order = i } };
		struct copy_result x;
		struct log_reader *r;

		unlink(out);
		check(log_copy(&from, 1, out, &o, &x, why, sizeof(why)) == 0);
		check(x.n_messages == in->messages && !x.n_damaged && !x.n_left_out && !x.n_refused);
		check(log_reader_open(out, NULL, &r, why, sizeof(why)) == 0);
		check_extras(in, r);
		log_reader_close(r);
	}
}

TEST(a_copy_of_every_variant_keeps_metadata_and_attachment)
{
	for_each(copy_variant);
}

/* What our writer is asked for by an input: the variant with all that it always writes. */
static void write_variant(const struct sample_input *in, unsigned f, const struct mcap_buf *b)
{
	unsigned always = SAMPLE_ST | SAMPLE_SUM | (in->channel ? SAMPLE_CH | SAMPLE_MX | SAMPLE_CHX | SAMPLE_RCH : 0) |
			  (in->schema ? SAMPLE_RSH : 0) | (in->attachment ? SAMPLE_AX : 0) |
			  (in->metadata ? SAMPLE_MDX : 0);
	struct log_write_options o = { .format = LOG_MCAP };
	const struct log_pair pair = { "foo", "bar" };
	const struct log_attachment my_file = { .name = "myFile",
						.media_type = "application/octet-stream",
						.log_time_ns = 2,
						.create_time_ns = 1,
						.data = "\1\2\3",
						.size = 3 };
	struct log_channel ch = { .topic = "example",
				  .message_encoding = in->schema ? "a" : "text",
				  .schema_name = in->schema ? "Example" : "",
				  .schema_encoding = "c",
				  .schema = { "\4\5\6", in->schema ? 3 : 0 },
				  .metadata = &pair,
				  .n_metadata = in->schema };
	static const int64_t times[] = { 0, 2, 1, 3, 3, 5, 4, 7, 8, 9 };
	struct mcap_buf want = { 0 };
	struct log_writer *w;
	uint8_t *p;
	size_t n;
	uint32_t id;

	(void)b;
	if (f != always)
		return;
	unlink(path);
	check(log_writer_create(path, &o, &w, why, sizeof(why)) == 0);
	if (in->attachment)
		check(!log_writer_attachment(w, &my_file));
	if (in->metadata)
		check(!log_writer_metadata(w, "myMetadata", &pair, 1));
	if (in->channel)
		check(!log_writer_add_channel(w, &ch, &id));
	for (unsigned i = 0; i < in->messages; i++) {
		bool one = in->messages == 1;
		struct log_message m = { .channel = id,
					 .sequence = one ? 10 : i,
					 .log_time_ns = one ? 2 : times[i],
					 .publish_time_ns = one ? 1 : times[i] };

		check(!log_writer_put(w, &m, (struct iovec[]){ { (char *)"\1", 1 }, { (char *)"\2\3", 2 } }, 2));
	}
	check(!log_writer_finish(w, why, sizeof(why)));
	p = sample_read(path, &n);
	sample_build(in, f | SAMPLE_OURS, &want);
	check(n == want.n && !memcmp(p, want.p, n));
	mcap_buf_finish(&want);
	free(p);
}

TEST(the_writer_reproduces_the_full_variants_byte_for_byte)
{
	for_each(write_variant);
}
