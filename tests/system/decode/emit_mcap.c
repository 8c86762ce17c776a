/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit-mcap write FILE none|lz4|zstd   an MCAP file of ours, of several chunks, with metadata and an attachment
 * emit-mcap read FILE                  any MCAP file as lines of JSON, as our reader reads it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/log.h"

static char why[512];

static int put_all(struct log_writer *w)
{
	const struct log_pair qos = { "offered_qos_profiles", "" }, lost[] = { { "/a", "0" }, { "/b", "3" } };
	static const char *const topics[] = { "/a", "/b", "/c" };
	static uint8_t bytes[70000];
	int r = 0;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i % 251 * (i >> 12));
	for (uint32_t i = 0; i < 3 && !r; i++) {
		uint32_t id;
		struct log_channel ch = { .topic = topics[i],
					  .message_encoding = "cdr",
					  .schema_name = "std_msgs/msg/UInt8MultiArray",
					  .schema_encoding = "ros2msg",
					  .schema = { "uint8[] data", 12 },
					  .metadata = &qos,
					  .n_metadata = 1 };

		r = log_writer_add_channel(w, &ch, &id);
	}
	for (uint32_t i = 0; i < 300 && !r; i++) {
		struct log_message m = { .channel = i % 2,
					 .sequence = i,
					 .log_time_ns = 1700000000000000000 + i * 1000 - i % 3 * 2500,
					 .publish_time_ns = i };
		size_t n = i % 40 ? i * 7 : sizeof(bytes) - i;

		r = log_writer_put(w, &m, (struct iovec[]){ { bytes + i, n / 2 }, { bytes + i + n / 2, n - n / 2 } },
				   2);
		if (i == 100 && !r)
			r = log_writer_metadata(w, "simd_losses", lost, 2);
		if (i == 200 && !r)
			r = log_writer_attachment(w, &(struct log_attachment){ .name = "rig.json",
									       .media_type = "application/json",
									       .log_time_ns = 5,
									       .create_time_ns = 4,
									       .data = "{}",
									       .size = 2 });
	}
	return r;
}

static int write_file(const char *path, const char *compression)
{
	struct log_write_options o = { .format = LOG_MCAP,
				       .chunk_bytes = 50000,
				       .profile = "ros2",
				       .compression = !strcmp(compression, "lz4")    ? LOG_COMPRESSION_LZ4
						      : !strcmp(compression, "zstd") ? LOG_COMPRESSION_ZSTD
										     : LOG_COMPRESSION_NONE };
	struct log_writer *w;

	if (log_writer_create(path, &o, &w, why, sizeof(why)) < 0)
		return -1;
	if (put_all(w) < 0) {
		log_writer_abandon(w);
		return -1;
	}
	return log_writer_finish(w, why, sizeof(why));
}

static uint64_t fnv(const uint8_t *p, size_t n)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 1099511628211u;
	return h;
}

static int read_file(const char *path)
{
	const struct log_info *info;
	struct log_attachment a;
	struct log_reader *r;
	struct log_message m;
	int err;

	if (log_reader_open(path, NULL, &r, why, sizeof(why)) < 0)
		return -1;
	info = log_reader_info(r);
	while ((err = log_reader_next(r, &m)) == 1)
		printf("[\"message\",\"%s\",%u,\"%lld\",\"%lld\",%zu,\"%llx\"]\n", info->channels[m.channel].topic,
		       m.sequence, (long long)m.log_time_ns, (long long)m.publish_time_ns, m.size,
		       (unsigned long long)fnv(m.data, m.size));
	snprintf(why, sizeof(why), "%s", log_reader_why(r));
	printf("[\"info\",\"%s\",%llu,%zu,%u,%zu,%d,\"%s\",\"%s\"]\n", info->profile,
	       (unsigned long long)info->n_messages, info->n_channels, info->n_attachments, info->n_metadata,
	       info->indexed, info->n_channels ? info->channels[0].schema_name : "",
	       info->n_metadata ? info->metadata[0].name : "");
	for (uint32_t i = 0; i < info->n_attachments && !err; i++) {
		err = log_reader_attachment(r, i, &a);
		if (!err)
			printf("[\"attachment\",\"%s\",\"%s\",\"%lld\",\"%lld\",\"%.*s\"]\n", a.name, a.media_type,
			       (long long)a.log_time_ns, (long long)a.create_time_ns, (int)a.size,
			       (const char *)a.data);
	}
	log_reader_close(r);
	return err;
}

int main(int argc, char **argv)
{
	int r = argc == 4 && !strcmp(argv[1], "write")  ? write_file(argv[2], argv[3])
		: argc == 3 && !strcmp(argv[1], "read") ? read_file(argv[2])
							: -1;

	if (r < 0)
		fprintf(stderr, "emit-mcap: %s\n", why);
	return r < 0;
}
