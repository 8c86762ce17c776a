/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bridge_logging: every message as two lines of a gzip text file (svl.md: the logging bridge of SVL, with
 * what it lacked: time stamps, sequence numbers, a flush, only the valid bytes).
 *
 *     sim/Imu /imu 12.340000000 1234      type, channel, simulated time in s, sequence
 *     {"orientation":{...},...}           the message on one line, bytes as base64 of their valid length
 *
 * Connection string: the file's stem; "<stem>.txt.gz" is written anew. Connected exactly while it is open. Once writing has
 * failed (a full disk) what was written stays, and the next attempt is another file: "<stem>.2.txt.gz" and so on.
 * Threads: conversion threads format side by side into buffers of their own; the file has one lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <sim/bridge.h>

#include "text.h"

#define STEM_MAX  3800
#define PATH_SIZE (STEM_MAX + 32)
#define SPARE_MAX 16           /* buffers kept for reuse */
#define BIG_TEXT  (64u * 1024) /* above: hardly compressible (base64), so only entropy coding is tried */

struct sim_bridge {
	const struct sim_bridge_host *host;
	int level;
	pthread_mutex_t lock; /* guards all below */
	gzFile file;
	char stem[STEM_MAX + 1]; /* "" before the first connection */
	unsigned part;           /* of the stem's files, from 1 */
	bool failed;             /* its last write */
	int strategy;
	enum sim_bridge_status status;
	struct text spare[SPARE_MAX];
	unsigned n_spare;
};

struct sim_bridge_topic {
	char name[SIM_CHANNEL_MAX + 1];
	const struct sim_type *type;
};

static const struct sim_bridge_option options[] = {
	{ "level", "1", "gzip level, 1 (fast) .. 9 (small)" },
	{ NULL, NULL, NULL },
};

static int logging_reg(struct sim_bridge_registry *r)
{
	return r->add_publisher(r->ctx, "*", "JSON text");
}

static int logging_create(const struct sim_bridge_host *host, struct sim_bridge **ret)
{
	const char *level = host->option(host->ctx, "level");
	struct sim_bridge *b;

	if (!level || strlen(level) != 1 || *level < '1' || *level > '9') {
		host->log(host->ctx, 0, "options.level: \"%s\" is not 1 .. 9", level ? level : "");
		return -EINVAL;
	}
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->host = host;
	b->level = *level - '0';
	pthread_mutex_init(&b->lock, NULL);
	*ret = b;
	return 0;
}

static void report(struct sim_bridge *b, enum sim_bridge_status status, const char *detail)
{
	b->status = status;
	b->host->status(b->host->ctx, status, detail);
}

/* Under the lock. */
static int open_file(struct sim_bridge *b, const char *path)
{
	char mode[8];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);

	if (fd < 0)
		return -errno;
	snprintf(mode, sizeof(mode), "wb%d", b->level);
	b->file = gzdopen(fd, mode);
	if (!b->file) {
		close(fd);
		return -ENOMEM;
	}
	gzbuffer(b->file, 256 * 1024);
	b->strategy = Z_DEFAULT_STRATEGY;
	return 0;
}

/* Under the lock. */
static int close_file(struct sim_bridge *b)
{
	int r = b->file ? gzclose(b->file) : Z_OK;

	b->file = NULL;
	return r == Z_OK ? 0 : -EIO;
}

/* Under the lock. */
static void name_part(const struct sim_bridge *b, char path[PATH_SIZE])
{
	if (b->part > 1)
		snprintf(path, PATH_SIZE, "%s.%u.txt.gz", b->stem, b->part);
	else
		snprintf(path, PATH_SIZE, "%s.txt.gz", b->stem);
}

/* Under the lock. What a write that failed has left is kept, if there is anything. */
static void next_file(struct sim_bridge *b, const char *stem, char path[PATH_SIZE])
{
	struct stat st;

	if (strcmp(b->stem, stem) != 0) {
		snprintf(b->stem, sizeof(b->stem), "%s", stem);
		b->part = 1;
	} else if (b->failed) {
		name_part(b, path);
		if (stat(path, &st) == 0 && st.st_size > 0)
			b->part++;
	}
	b->failed = false;
	name_part(b, path);
}

static int logging_connect(struct sim_bridge *b, const char *connection)
{
	char path[PATH_SIZE], detail[STEM_MAX + 128];
	int r;

	if (!*connection || strlen(connection) > STEM_MAX) {
		b->host->log(b->host->ctx, 0, "connection: must be the stem of a file, 1 .. %d characters", STEM_MAX);
		return -EINVAL;
	}
	pthread_mutex_lock(&b->lock);
	close_file(b);
	next_file(b, connection, path);
	r = open_file(b, path);
	snprintf(detail, sizeof(detail), "%s%s%s", path, r < 0 ? ": " : "", r < 0 ? strerror(-r) : "");
	report(b, r < 0 ? SIM_BRIDGE_DISCONNECTED : SIM_BRIDGE_CONNECTED, detail);
	pthread_mutex_unlock(&b->lock);
	return 0;
}

static void logging_disconnect(struct sim_bridge *b)
{
	int r;

	pthread_mutex_lock(&b->lock);
	r = close_file(b);
	report(b, SIM_BRIDGE_DISCONNECTED, r < 0 ? "the file could not be finished" : "closed");
	pthread_mutex_unlock(&b->lock);
}

static enum sim_bridge_status logging_status(const struct sim_bridge *b)
{
	return b->status;
}

static int logging_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret)
{
	struct sim_bridge_topic *t = calloc(1, sizeof(*t));

	(void)b;
	if (!t)
		return -ENOMEM;
	snprintf(t->name, sizeof(t->name), "%s", ch->name);
	t->type = sim_type_ref(ch->type);
	*ret = t;
	return 0;
}

static void logging_close(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	(void)b;
	sim_type_unref(t->type);
	free(t);
}

static struct text take_buffer(struct sim_bridge *b)
{
	struct text t = { 0 };

	pthread_mutex_lock(&b->lock);
	if (b->n_spare)
		t = b->spare[--b->n_spare];
	pthread_mutex_unlock(&b->lock);
	t.len = 0;
	return t;
}

/* Under the lock. The strategy is changed only where it pays; each change ends a deflate block. */
static int write_text(struct sim_bridge *b, const struct text *t)
{
	int want = t->len > BIG_TEXT ? Z_HUFFMAN_ONLY : Z_DEFAULT_STRATEGY;

	if (!b->file)
		return -ENOTCONN;
	if (want != b->strategy && gzsetparams(b->file, b->level, want) == Z_OK)
		b->strategy = want;
	if (gzwrite(b->file, t->data, (unsigned)t->len) == (int)t->len)
		return 0;
	close_file(b);
	b->failed = true;
	report(b, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED, "writing failed (disk full?)");
	return -EIO;
}

static int put_text(struct sim_bridge *b, struct text *t, int r)
{
	pthread_mutex_lock(&b->lock);
	if (!r)
		r = write_text(b, t);
	if (b->n_spare < SPARE_MAX)
		b->spare[b->n_spare++] = *t;
	else
		free(t->data);
	pthread_mutex_unlock(&b->lock);
	return r;
}

static int format_message(struct text *t, const struct sim_bridge_topic *topic, const struct sim_slot *slot)
{
	char head[SIM_TYPE_NAME_MAX + SIM_CHANNEL_MAX + 64];
	int64_t ns = slot->stamp_sim_ns;
	int n = snprintf(head, sizeof(head), "%s %s %s%" PRId64 ".%09" PRId64 " %" PRIu64 "\n", topic->type->name,
			 topic->name, ns < 0 ? "-" : "", ns < 0 ? -(ns / 1000000000) : ns / 1000000000,
			 ns < 0 ? -(ns % 1000000000) : ns % 1000000000, slot->sequence);
	int r = text_write(t, head, (size_t)n);

	if (!r)
		r = sim_msg_to_json(topic->type, sim_slot_body(slot), slot->body_size, NULL, text_write, t);
	return r ? r : text_write(t, "\n", 1);
}

static int logging_publish(struct sim_bridge *b, struct sim_bridge_topic *topic, const struct sim_slot *slot,
			   struct sim_task *task)
{
	struct text t = take_buffer(b);

	(void)task;
	return put_text(b, &t, format_message(&t, topic, slot));
}

static int logging_flush(struct sim_bridge *b)
{
	int r = 0;

	pthread_mutex_lock(&b->lock);
	if (b->file && gzflush(b->file, Z_SYNC_FLUSH) != Z_OK)
		r = -EIO;
	pthread_mutex_unlock(&b->lock);
	return r;
}

static void logging_destroy(struct sim_bridge *b)
{
	close_file(b);
	while (b->n_spare)
		free(b->spare[--b->n_spare].data);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

SIM_API const struct sim_bridge_ops *sim_bridge_plugin(void);

const struct sim_bridge_ops *sim_bridge_plugin(void)
{
	static const struct sim_bridge_ops ops = {
		.abi = SIM_BRIDGE_ABI,
		.size = sizeof(ops),
		.name = "logging",
		.type = "gzip text log",
		.options = options,
		.reg = logging_reg,
		.create = logging_create,
		.connect = logging_connect,
		.disconnect = logging_disconnect,
		.status = logging_status,
		.open = logging_open,
		.close = logging_close,
		.publish = logging_publish,
		.destroy = logging_destroy,
		.flush = logging_flush,
	};

	return &ops;
}
