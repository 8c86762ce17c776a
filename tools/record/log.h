/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log: a file of recorded messages in any format that this folder reads or writes. A reader returns the messages of
 * one file in the order of their log time; a writer takes them in the order of the calls. The content of messages is
 * not interpreted here, but by codec.h.
 *
 * Thread: one reader or writer may be used by one thread at a time.
 */
#ifndef LOG_FILE_H
#define LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum log_format {
	LOG_MCAP,
	LOG_RECORD, /* Apollo's .record */
	LOG_BAG,    /* ROS 1, v2.0 */
	LOG_DB3,    /* rosbag2's sqlite3: read only */
};

enum log_compression {
	LOG_COMPRESSION_NONE,
	LOG_COMPRESSION_LZ4,
	LOG_COMPRESSION_ZSTD,
	LOG_COMPRESSION_BZ2, /* .bag only */
};

struct log_pair {
	const char *key, *value;
};

struct log_bytes {
	const void *data;
	size_t size;
};

/* A topic of the file. The same topic may appear more than once, with other types or from other writers. */
struct log_channel {
	uint32_t id; /* reader: 0 to n_channels - 1, dense; writer: ignored */
	const char *topic;
	const char *message_encoding; /* "cdr", "ros1", "protobuf", "json", ... */
	const char *
		/* "sensor_msgs/msg/Image", "sensor_msgs/Image" (ros1), "apollo.drivers.Image"; "": no schema */
		schema_name;
	const char *
		schema_encoding; /* "ros2msg", "ros1msg", "protobuf" (FileDescriptorSet), "apollo" (serialized ProtoDesc), ... */
	struct log_bytes schema;
	const struct log_pair *metadata; /* offered_qos_profiles, callerid, latching, md5sum, ... */
	size_t n_metadata;
	uint64_t n_messages; /* reader: 0 if the file does not say (see log_info.counted) */
};

struct log_message {
	uint32_t channel; /* log_channel.id */
	uint32_t sequence;
	int64_t log_time_ns; /* clock of the recording; in simd's logs simulated time */
	/* in simd's logs the capture time (stamp); equal to log_time_ns if the format has one time only */
	int64_t publish_time_ns;
	const void *data; /* borrowed until the next call on the reader */
	size_t size;
};

/* ---- reading ---- */

struct log_reader;

struct log_metadata { /* a named map of the file: losses, recorder, ... */
	const char *name;
	const struct log_pair *pairs;
	size_t n;
};

struct log_info { /* borrowed until the reader is closed */
	enum log_format format;
	const char *profile, *library; /* as in the file; "": not given */
	const char *compression;       /* "none", "lz4", "zstd", "bz2", or several: "lz4, zstd" */
	bool complete;                 /* closed in order: has its footer, is_complete or index */
	bool indexed;                  /* seeks do not scan the file */
	/* numbers of messages and the times below are known without reading the whole file */
	bool counted;
	uint64_t size, n_messages, n_chunks;
	int64_t start_ns, end_ns; /* log times of the first and the last message; both 0: no messages */
	const struct log_channel *channels;
	size_t n_channels; /* may grow while a file without index is read, so check it again */
	const struct log_metadata *metadata;
	size_t n_metadata;
	uint32_t n_attachments; /* see log_reader_attachment() */
};

struct log_attachment { /* borrowed until the next call on the reader */
	const char *name, *media_type;
	int64_t log_time_ns, create_time_ns;
	const void *data;
	size_t size;
};

struct log_read_options {
	bool file_order;  /* messages as they stand in the file; else by log time, equal ones in file order */
	bool no_crc;      /* checksums are not verified */
	bool scan;        /* ignore the index and read from the beginning, for damaged or growing files */
	size_t max_bytes; /* limit of a chunk or message, uncompressed, against malicious files; 0: 4 GiB - 1 */
};

/*
 * Opens a file of any format, detected by its first bytes, or a directory of rosbag2, by its metadata.yaml. o may be
 * NULL. Errors, with the reason, the offset and what to do in why: those of open(2); -EBADMSG not a log, or damaged
 * beyond reading; -ENOTSUP unsupported compression or version; -EMSGSIZE, -ENOMEM.
 */
int log_reader_open(const char *path, const struct log_read_options *o, struct log_reader **ret, char *why,
		    size_t why_size);
void log_reader_close(struct log_reader *r); /* NULL-safe */
const struct log_info *log_reader_info(const struct log_reader *r);

/*
 * Selects the wanted channels (want[id]); channels that are found later are wanted too. NULL: all. Chunks without a
 * wanted channel are not read. want is copied.
 */
int log_reader_select(struct log_reader *r, const bool *want, size_t n);

/*
 * Makes the first message at or after that log time the next one; uses the index, if there is one. -ENOTSUP with
 * file_order.
 */
int log_reader_seek(struct log_reader *r, int64_t log_time_ns);

/*
 * Returns 1: a message; 0: the end; a negative errno: damage, described with its offset by log_reader_why(). The next
 * call continues after the damage if possible, else returns 0.
 */
int log_reader_next(struct log_reader *r, struct log_message *ret);
const char *log_reader_why(const struct log_reader *r); /* reason of the last error; "": no error */

/* The i-th of log_info.n_attachments. -EINVAL: i out of range; else errors as log_reader_next(). */
int log_reader_attachment(struct log_reader *r, uint32_t i, struct log_attachment *ret);
/*
 * The same without reading the data: ret->data is NULL, ret->size as the file says, and the checksum is not verified.
 */
int log_reader_attachment_head(struct log_reader *r, uint32_t i, struct log_attachment *ret);

/* ---- writing ---- */

struct log_writer;

struct log_write_options {
	enum log_format format;
	enum log_compression compression;
	int level;           /* of the compression; 0: its default */
	size_t chunk_bytes;  /* a chunk is closed above this size; 0: the format's default */
	const char *profile; /* MCAP: "ros1", "ros2", ""; NULL: "" */
	bool no_crc;         /* MCAP: no checksums of chunks */
};

/*
 * Creates a new file. -EEXIST: the file exists; files are never overwritten. Errors: those of open(2), with the reason
 * in why.
 */
int log_writer_create(const char *path, const struct log_write_options *o, struct log_writer **ret, char *why,
		      size_t why_size);
/*
 * Copies ch. ret_id: for log_writer_put(). -ENOTSUP: the format does not take that encoding; -ENOSPC: too many
 * channels.
 */
int log_writer_add_channel(struct log_writer *w, const struct log_channel *ch, uint32_t *ret_id);
/*
 * Writes one message in n pieces; m->data and m->size are ignored. The pieces are borrowed during the call: without
 * compression they are written without a copy. -ENOSPC: the disk is full, and the file is as it was before the call,
 * and whole.
 */
int log_writer_put(struct log_writer *w, const struct log_message *m, const struct iovec *pieces, int n);
int log_writer_metadata(struct log_writer *w, const char *name, const struct log_pair *pairs, size_t n);
/* Writes both of its times; create_time_ns 0: unknown. */
int log_writer_attachment(struct log_writer *w, const struct log_attachment *a);
/* Closes the open chunk, so that all messages so far survive a kill of this process. */
int log_writer_flush(struct log_writer *w);
uint64_t log_writer_bytes(const struct log_writer *w); /* size of the file so far */
uint64_t log_writer_index_bytes(
	const struct log_writer *w); /* memory for the index at the end of the file: grows with each chunk */
/* Writes index and summary, calls fdatasync(2). Frees w in every case. */
int log_writer_finish(struct log_writer *w, char *why, size_t why_size);
/* Frees w and leaves the file as it is, as a kill would. */
void log_writer_abandon(struct log_writer *w);

#endif
