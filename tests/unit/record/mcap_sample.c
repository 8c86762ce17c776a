/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The variants of MCAP's conformance data, from the rules that are published with them: six inputs, ten features, those
 * combinations that make sense. Thread: the test's.
 */
#include "tests/unit/record/mcap_sample.h"
#include "tests/support/test.h"

const struct sample_input sample_inputs[] = {
	{ .name = "NoData" },
	{ .name = "OneSchemalessMessage", .channel = true, .messages = 1 },
	{ .name = "OneMessage", .schema = true, .channel = true, .messages = 1 },
	{ .name = "OneAttachment", .attachment = true },
	{ .name = "OneMetadata", .metadata = true },
	{ .name = "TenMessages", .schema = true, .channel = true, .messages = 10 },
};
const unsigned n_sample_inputs = sizeof(sample_inputs) / sizeof(sample_inputs[0]);

bool sample_valid(const struct sample_input *in, unsigned f)
{
	unsigned summary = SAMPLE_CHX | SAMPLE_RSH | SAMPLE_RCH | SAMPLE_MDX | SAMPLE_AX | SAMPLE_ST;

	return !(f & SAMPLE_AX && !in->attachment) && !(f & SAMPLE_MDX && !in->metadata) &&
	       !(f & SAMPLE_RSH && !in->schema) && !(f & SAMPLE_RCH && !in->channel) &&
	       !(f & (SAMPLE_CH | SAMPLE_CHX | SAMPLE_MX) && !in->channel) && !(f & SAMPLE_SUM && !(f & summary)) &&
	       !(f & (SAMPLE_CHX | SAMPLE_MX) && !(f & SAMPLE_CH));
}

void sample_name(const struct sample_input *in, unsigned f, char *name, size_t size)
{
	static const struct {
		unsigned feature;
		const char *word;
	} words[] = { /* as they are sorted */
		      { SAMPLE_AX, "ax" }, { SAMPLE_CH, "ch" },   { SAMPLE_CHX, "chx" }, { SAMPLE_MDX, "mdx" },
		      { SAMPLE_MX, "mx" }, { SAMPLE_PAD, "pad" }, { SAMPLE_RCH, "rch" }, { SAMPLE_RSH, "rsh" },
		      { SAMPLE_ST, "st" }, { SAMPLE_SUM, "sum" }
	};
	size_t n = (size_t)snprintf(name, size, "%s", in->name);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (f & words[i].feature)
			n += (size_t)snprintf(name + n, size - n, "-%s", words[i].word);
}

static void end(struct mcap_buf *b, size_t at, unsigned f)
{
	if (f & SAMPLE_PAD)
		mcap_put(b, "\x01\xff\xff", 3);
	mcap_end(b, at);
}

static void schema(struct mcap_buf *b, unsigned f)
{
	size_t at = mcap_begin(b, MCAP_OP_SCHEMA);

	mcap_put_int(b, 1, 2);
	mcap_put_str(b, "Example");
	mcap_put_str(b, "c");
	mcap_put_str(b, "\x04\x05\x06");
	end(b, at, f);
}

static void channel(const struct sample_input *in, struct mcap_buf *b, unsigned f)
{
	const struct log_pair pair = { "foo", "bar" };
	size_t at = mcap_begin(b, MCAP_OP_CHANNEL);

	mcap_put_int(b, 1, 2);
	mcap_put_int(b, in->schema, 2);
	mcap_put_str(b, "example");
	mcap_put_str(b, in->schema ? "a" : "text");
	mcap_put_map(b, &pair, in->schema ? 1 : 0);
	end(b, at, f);
}

static const uint64_t ten[] = { 0, 2, 1, 3, 3, 5, 4, 7, 8, 9 };

static void message(const struct sample_input *in, unsigned i, struct mcap_buf *b)
{
	bool one = in->messages == 1;
	size_t at = mcap_begin(b, MCAP_OP_MESSAGE);

	mcap_put_int(b, 1, 2);
	mcap_put_int(b, one ? 10 : i, 4);
	mcap_put_int(b, one ? 2 : ten[i], 8);
	mcap_put_int(b, one ? 1 : ten[i], 8);
	mcap_put(b, "\1\2\3", 3);
	mcap_end(b, at);
}

struct places {
	uint64_t attachment, attachment_size, metadata, metadata_size, chunk, chunk_size, index, index_size, records;
};

static void times(const struct sample_input *in, struct mcap_buf *b)
{
	mcap_put_int(b, in->messages == 1 ? 2 : 0, 8);
	mcap_put_int(b, in->messages == 1 ? 2 : in->messages ? 9 : 0, 8);
}

/* Definitions and messages, as they stand in a chunk or outside of one; the places of messages. */
static void put_data(const struct sample_input *in, struct mcap_buf *b, unsigned f, uint64_t *offset)
{
	if (in->schema)
		schema(b, f);
	if (in->channel)
		channel(in, b, f);
	for (unsigned i = 0; i < in->messages; i++) {
		offset[i] = b->n;
		message(in, i, b);
	}
}

static void put_chunk(const struct sample_input *in, struct mcap_buf *b, unsigned f, struct places *p)
{
	struct mcap_buf records = { 0 };
	uint64_t offset[10];
	size_t at;

	put_data(in, &records, 0, offset);
	p->chunk = b->n;
	p->records = records.n;
	at = mcap_begin(b, MCAP_OP_CHUNK);
	times(in, b);
	mcap_put_int(b, records.n, 8);
	mcap_put_int(b, mcap_crc(0, records.p, records.n), 4);
	mcap_put_str(b, "");
	mcap_put_int(b, records.n, 8);
	mcap_put(b, records.p, records.n);
	mcap_end(b, at);
	p->chunk_size = b->n - p->chunk;
	p->index = b->n;
	if (f & SAMPLE_MX) {
		at = mcap_begin(b, MCAP_OP_MESSAGE_INDEX);
		mcap_put_int(b, 1, 2);
		mcap_put_int(b, 16 * in->messages, 4);
		for (unsigned i = 0; i < in->messages; i++) {
			mcap_put_int(b, in->messages == 1 ? 2 : ten[i], 8);
			mcap_put_int(b, offset[i], 8);
		}
		end(b, at, f);
	}
	p->index_size = b->n - p->index;
	mcap_buf_finish(&records);
}

static void put_attachment(struct mcap_buf *b, unsigned f)
{
	size_t at = mcap_begin(b, MCAP_OP_ATTACHMENT);

	mcap_put_int(b, 2, 8);
	mcap_put_int(b, 1, 8);
	mcap_put_str(b, "myFile");
	mcap_put_str(b, "application/octet-stream");
	mcap_put_int(b, 3, 8);
	mcap_put(b, "\1\2\3", 3);
	mcap_put_int(b, mcap_crc(0, b->p + at + MCAP_HEAD, b->n - at - MCAP_HEAD), 4);
	end(b, at, f);
}

static void put_metadata(struct mcap_buf *b, unsigned f)
{
	const struct log_pair pair = { "foo", "bar" };
	size_t at = mcap_begin(b, MCAP_OP_METADATA);

	mcap_put_str(b, "myMetadata");
	mcap_put_map(b, &pair, 1);
	end(b, at, f);
}

static void statistics(const struct sample_input *in, struct mcap_buf *b, unsigned f)
{
	size_t at = mcap_begin(b, MCAP_OP_STATISTICS);

	mcap_put_int(b, in->messages, 8);
	mcap_put_int(b, in->schema, 2);
	mcap_put_int(b, in->channel, 4);
	mcap_put_int(b, in->attachment, 4);
	mcap_put_int(b, in->metadata, 4);
	mcap_put_int(b, (f & SAMPLE_CH) != 0, 4);
	times(in, b);
	mcap_put_int(b, in->messages ? 10 : 0, 4);
	if (in->messages) {
		mcap_put_int(b, 1, 2);
		mcap_put_int(b, in->messages, 8);
	}
	end(b, at, f);
}

static void metadata_index(const struct places *p, struct mcap_buf *b, unsigned f)
{
	size_t at = mcap_begin(b, MCAP_OP_METADATA_INDEX);

	mcap_put_int(b, p->metadata, 8);
	mcap_put_int(b, p->metadata_size, 8);
	mcap_put_str(b, "myMetadata");
	end(b, at, f);
}

static void attachment_index(const struct places *p, struct mcap_buf *b, unsigned f)
{
	size_t at = mcap_begin(b, MCAP_OP_ATTACHMENT_INDEX);

	mcap_put_int(b, p->attachment, 8);
	mcap_put_int(b, p->attachment_size, 8);
	mcap_put_int(b, 2, 8);
	mcap_put_int(b, 1, 8);
	mcap_put_int(b, 3, 8);
	mcap_put_str(b, "myFile");
	mcap_put_str(b, "application/octet-stream");
	end(b, at, f);
}

static void chunk_index(const struct sample_input *in, const struct places *p, struct mcap_buf *b, unsigned f)
{
	size_t at = mcap_begin(b, MCAP_OP_CHUNK_INDEX);

	times(in, b);
	mcap_put_int(b, p->chunk, 8);
	mcap_put_int(b, p->chunk_size, 8);
	mcap_put_int(b, f & SAMPLE_MX ? 10 : 0, 4);
	if (f & SAMPLE_MX) {
		mcap_put_int(b, 1, 2);
		mcap_put_int(b, p->index, 8);
	}
	mcap_put_int(b, p->index_size, 8);
	mcap_put_str(b, "");
	mcap_put_int(b, p->records, 8);
	mcap_put_int(b, p->records, 8);
	end(b, at, f);
}

static void put_group(const struct sample_input *in, unsigned feature, const struct places *p, struct mcap_buf *b,
		      unsigned f)
{
	switch (feature) {
	case SAMPLE_RSH:
		schema(b, f);
		break;
	case SAMPLE_RCH:
		channel(in, b, f);
		break;
	case SAMPLE_ST:
		statistics(in, b, f);
		break;
	case SAMPLE_MDX:
		metadata_index(p, b, f);
		break;
	case SAMPLE_AX:
		attachment_index(p, b, f);
		break;
	default:
		chunk_index(in, p, b, f);
	}
}

static void put_summary(const struct sample_input *in, const struct places *p, struct mcap_buf *b, unsigned f)
{
	static const struct {
		unsigned feature;
		enum mcap_op op;
	} groups[] = { { SAMPLE_RSH, MCAP_OP_SCHEMA },          { SAMPLE_RCH, MCAP_OP_CHANNEL },
		       { SAMPLE_ST, MCAP_OP_STATISTICS },       { SAMPLE_MDX, MCAP_OP_METADATA_INDEX },
		       { SAMPLE_AX, MCAP_OP_ATTACHMENT_INDEX }, { SAMPLE_CHX, MCAP_OP_CHUNK_INDEX } };
	size_t start = b->n, from[7], offsets;

	for (unsigned i = 0; i < 6; i++) {
		from[i] = b->n;
		if (f & groups[i].feature)
			put_group(in, groups[i].feature, p, b, f);
	}
	from[6] = offsets = b->n;
	for (unsigned i = 0; i < 6 && f & SAMPLE_SUM; i++) {
		size_t at;

		if (from[i + 1] == from[i])
			continue;
		at = mcap_begin(b, MCAP_OP_SUMMARY_OFFSET);
		mcap_put_int(b, groups[i].op, 1);
		mcap_put_int(b, from[i], 8);
		mcap_put_int(b, from[i + 1] - from[i], 8);
		end(b, at, f);
	}
	mcap_put_int(b, MCAP_OP_FOOTER, 1);
	mcap_put_int(b, MCAP_FOOTER, 8);
	mcap_put_int(b, offsets > start ? start : 0, 8);
	mcap_put_int(b, f & SAMPLE_SUM ? offsets : 0, 8);
	mcap_put_int(b, mcap_crc(0, b->p + start, b->n - start), 4);
	mcap_put(b, MCAP_MAGIC, MCAP_MAGIC_SIZE);
}

void sample_build(const struct sample_input *in, unsigned f, struct mcap_buf *b)
{
	struct places p = { 0 };
	uint64_t offset[10];
	size_t at;

	mcap_put(b, MCAP_MAGIC, MCAP_MAGIC_SIZE);
	at = mcap_begin(b, MCAP_OP_HEADER);
	mcap_put_str(b, "");
	mcap_put_str(b, f & SAMPLE_OURS ? "simd " SIM_VERSION : "");
	end(b, at, f);
	p.attachment = p.metadata = b->n;
	if (in->attachment)
		put_attachment(b, f);
	p.attachment_size = b->n - p.attachment;
	if (in->metadata)
		put_metadata(b, f);
	p.metadata_size = b->n - p.metadata;
	if (f & SAMPLE_CH)
		put_chunk(in, b, f, &p);
	else
		put_data(in, b, f, offset);
	at = b->n;
	mcap_put_int(b, MCAP_OP_DATA_END, 1);
	mcap_put_int(b, 4, 8);
	mcap_put_int(b, f & SAMPLE_OURS ? 0 : mcap_crc(0, b->p, at), 4);
	put_summary(in, &p, b, f);
}

/* ---- files and listings ---- */

void sample_write(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

uint8_t *sample_read(const char *path, size_t *ret_n)
{
	FILE *f = fopen(path, "r");
	uint8_t *p;

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	*ret_n = (size_t)ftell(f);
	rewind(f);
	p = malloc(*ret_n + 1);
	assert_non_null(p);
	assert_int_equal(fread(p, 1, *ret_n, f), *ret_n);
	fclose(f);
	return p;
}

void sample_list(struct log_reader *r, struct sample_listing *ret)
{
	const struct log_info *info = log_reader_info(r);
	size_t size;
	FILE *f = open_memstream(&ret->text, &size);
	struct log_message m;
	int err;

	ret->messages = ret->errors = 0;
	ret->first_error[0] = '\0';
	assert_non_null(f);
	while ((err = log_reader_next(r, &m)) != 0 && ret->errors < 100000) {
		if (err < 0) {
			assert_true(*log_reader_why(r));
			if (!ret->errors++)
				snprintf(ret->first_error, sizeof(ret->first_error), "%s", log_reader_why(r));
			continue;
		}
		assert_true(m.channel < info->n_channels);
		ret->messages++;
		fprintf(f, "%s %u %lld %lld %u:", info->channels[m.channel].topic, m.sequence, (long long)m.log_time_ns,
			(long long)m.publish_time_ns, mcap_crc(0, m.data, m.size));
		for (size_t i = 0; i < m.size && i < 8; i++)
			fprintf(f, " %u", ((const uint8_t *)m.data)[i]);
		fputc('\n', f);
	}
	fclose(f);
}
