/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log: a file of recorded messages, of any format that this folder reads or writes. A reader gives the messages of one
 * file in the order of their log time; a writer takes them in the order they come. What is in the messages is not looked at:
 * that is codec.h's.
 *
 * Thread: one reader or writer is one thread's at a time.
 */
#ifndef LOG_FILE_H
#define LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum log_format {
	LOG_MCAP,
	LOG_RECORD, /* Apollo's */
	LOG_BAG,    /* ROS 1, v2.0 */
	LOG_DB3,    /* rosbag2's sqlite3: read only */
};

enum log_compression {
	LOG_COMPRESSION_NONE,
	LOG_COMPRESSION_LZ4,
	LOG_COMPRESSION_ZSTD,
	LOG_COMPRESSION_BZ2, /* of a bag only */
};

struct log_pair {
	const char *key, *value;
};

struct log_bytes {
	const void *data;
	size_t size;
};

/* A topic of the file. The same topic may stand there more than once, with other types or from other writers. */
struct log_channel {
	uint32_t id; /* reader: 0 to n_channels - 1, dense; writer: ignored */
	const char *topic;
	const char *message_encoding; /* "cdr", "ros1", "protobuf", "json", ... */
	const char *
		schema_name; /* "sensor_msgs/msg/Image", "sensor_msgs/Image" (ros1), "apollo.drivers.Image"; "": none */
	const char *
		schema_encoding; /* "ros2msg", "ros1msg", "protobuf" (FileDescriptorSet), "apollo" (serialized ProtoDesc), ... */
	struct log_bytes schema;
	const struct log_pair *metadata; /* offered_qos_profiles, callerid, latching, md5sum, ... */
	size_t n_metadata;
	uint64_t n_messages; /* reader: 0 where the file does not say (see log_info.counted) */
};

struct log_message {
	uint32_t channel; /* log_channel.id */
	uint32_t sequence;
	int64_t log_time_ns;     /* clock of the recording: simulated time in ours */
	int64_t publish_time_ns; /* in ours the capture time (stamp); where a format has one time only, the same */
	const void *data;        /* borrowed until the next call on the reader */
	size_t size;
};

/* ---- reading ---- */

struct log_reader;

struct log_metadata { /* a named map of the file: what was lost, who recorded */
	const char *name;
	const struct log_pair *pairs;
	size_t n;
};

struct log_info { /* borrowed until the reader is closed */
	enum log_format format;
	const char *profile, *library; /* as the file has them; "" */
	const char *compression;       /* "none", "lz4", "zstd", "bz2", several: "lz4, zstd" */
	bool complete;                 /* closed in good order: footer, is_complete, index */
	bool indexed;                  /* seeks do not scan */
	bool counted;                  /* message numbers and times below are known without reading all */
	uint64_t size, n_messages, n_chunks;
	int64_t start_ns, end_ns; /* log time of the first and of the last message; both 0: none */
	const struct log_channel *channels;
	size_t n_channels; /* may grow while an unindexed file is read: look again */
	const struct log_metadata *metadata;
	size_t n_metadata;
	uint32_t n_attachments; /* log_reader_attachment() */
};

struct log_attachment { /* borrowed until the next call on the reader */
	const char *name, *media_type;
	int64_t log_time_ns, create_time_ns;
	const void *data;
	size_t size;
};

struct log_read_options {
	bool file_order;  /* as they stand in the file; else by log time, equal ones in file order */
	bool no_crc;      /* sums are not checked */
	bool scan;        /* ignore the index: read from the beginning, for files that are damaged or grow */
	size_t max_bytes; /* of one chunk or message, uncompressed; 0: 4 GiB - 1. A bound against files that lie */
};

/*
 * Open a file of any format, found out by its first bytes (a directory: a rosbag2 one, by its metadata.yaml). o may be NULL.
 * `why` gets a sentence: what, at which offset, what to do. Errors: those of open(2); -EBADMSG no log or damaged beyond
 * reading; -ENOTSUP a compression or version that is not read; -EMSGSIZE, -ENOMEM.
 */
int log_reader_open(const char *path, const struct log_read_options *o, struct log_reader **ret, char *why,
		    size_t why_size);
void log_reader_close(struct log_reader *r); /* NULL is fine */
const struct log_info *log_reader_info(const struct log_reader *r);

/* Only these channels are wanted from here on (want[id]), and those that are found later; NULL: all. Chunks without any are not read. Copied. */
int log_reader_select(struct log_reader *r, const bool *want, size_t n);

/* Next is the first message at or after that log time. By the index where there is one; -ENOTSUP with file_order. */
int log_reader_seek(struct log_reader *r, int64_t log_time_ns);

/*
 * 1: a message; 0: the end; negative errno: damage, named by log_reader_why() with its offset; the next call goes on behind it
 * where that is possible, else gives 0.
 */
int log_reader_next(struct log_reader *r, struct log_message *ret);
const char *log_reader_why(const struct log_reader *r); /* the sentence of the last error; "" */

/* The i-th of log_info.n_attachments. -EINVAL there is none of that number; else errors as log_reader_next(). */
int log_reader_attachment(struct log_reader *r, uint32_t i, struct log_attachment *ret);
/* The same without reading its data: ret->data is NULL, ret->size what the file says, and its checksum is not looked at. */
int log_reader_attachment_head(struct log_reader *r, uint32_t i, struct log_attachment *ret);

/* ---- writing ---- */

struct log_writer;

struct log_write_options {
	enum log_format format;
	enum log_compression compression;
	int level;           /* of the compression; 0: its default */
	size_t chunk_bytes;  /* a chunk is closed above that; 0: the format's default */
	const char *profile; /* MCAP: "ros1", "ros2", ""; NULL: "" */
	bool no_crc;         /* MCAP: no sums of chunks */
};

/* Makes a new file; -EEXIST: there is one, nothing that is there is written over. Errors: those of open(2), with a sentence. */
int log_writer_create(const char *path, const struct log_write_options *o, struct log_writer **ret, char *why,
		      size_t why_size);
/* Copied. ret_id: for log_writer_put(). -ENOTSUP the format does not take that encoding, -ENOSPC too many. */
int log_writer_add_channel(struct log_writer *w, const struct log_channel *ch, uint32_t *ret_id);
/*
 * One message in n pieces; m->data and m->size are ignored. The pieces are borrowed until it returns: without compression they are
 * written from where they lie. A full disk: -ENOSPC, the file is what it was before the call, and whole.
 */
int log_writer_put(struct log_writer *w, const struct log_message *m, const struct iovec *pieces, int n);
int log_writer_metadata(struct log_writer *w, const char *name, const struct log_pair *pairs, size_t n);
/* Both of its times go into the file; a creation time of 0: not known. */
int log_writer_attachment(struct log_writer *w, const struct log_attachment *a);
/* Close the open chunk: what was put so far survives a kill of this process. */
int log_writer_flush(struct log_writer *w);
uint64_t log_writer_bytes(const struct log_writer *w); /* of the file so far */
uint64_t log_writer_index_bytes(
	const struct log_writer *w); /* of memory, for the index that stands at its end: grows with each chunk */
/* Index, summary, fdatasync; frees w in every case. */
int log_writer_finish(struct log_writer *w, char *why, size_t why_size);
/* Free it and leave the file as it stands, as after a kill. */
void log_writer_abandon(struct log_writer *w);

#endif
