/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bridge_logging: writes each message as two lines of a gzip text file, as SVL's logging bridge did, with the time
 * stamps, sequence numbers, flush and valid lengths that it lacked.
 *
 *     sim/Imu /imu 12.340000000 1234      type, channel, simulated time in s, sequence
 *     {"orientation":{...},...}           the message on one line, bytes as base64 of their valid length
 *
 * Connection string: the files' stem. Each connection writes a file of its own, "<stem>.txt.gz", then "<stem>.2.txt.gz"
 * and so on (file.h); existing files are never changed. The bridge is connected exactly while its file is open. An
 * array of more than `max_array` elements is logged as type, length and XXH64 of its bytes; `full` logs all of it.
 * Threads: conversion threads format side by side into buffers of their own; the file has one lock.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/bridge.h>

#include "file.h"
#include "text.h"

#define CANNOT_WRITE "the file cannot be written (disk full?); unwritten data is kept for the next one"

#define SPARE_MAX 16           /* buffers kept for reuse */
#define BIG_TEXT  (64u * 1024) /* larger texts are hardly compressible (base64): entropy coding only */

struct sim_bridge {
	const struct sim_bridge_host *host;
	struct sim_json_options json;
	pthread_mutex_t lock; /* guards the members below */
	struct log_file file;
	_Atomic int status; /* enum sim_bridge_status; status() may come on any thread */
	struct text spare[SPARE_MAX];
	unsigned n_spare;
};

struct sim_bridge_topic {
	char name[SIM_CHANNEL_MAX + 1];
	const struct sim_type *type;
};

static const struct sim_bridge_option options[] = {
	{ "level", "1", "gzip level, 1 (fast) .. 9 (small)" },
	{ "max_array", "256", "longer arrays as type, length and hash; 0: unlimited" },
	{ "full", "false", "true: every array in full, bytes as base64, whatever max_array says" },
	{ NULL, NULL, NULL },
};

static int logging_reg(struct sim_bridge_registry *r)
{
	return r->add_publisher(r->ctx, "*", "JSON text");
}

/* Reads the options "max_array" and "full"; json max_array 0: no limit. */
static int read_arrays(const struct sim_bridge_host *host, struct sim_json_options *ret)
{
	const char *max = host->option(host->ctx, "max_array"), *full = host->option(host->ctx, "full");
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(max, &end, 10);
	if (*max < '0' || *max > '9' || *end || errno || n > UINT32_MAX) {
		host->log(host->ctx, 0, "options.max_array: \"%s\" is not a number of elements, 0 .. 4294967295", max);
		return -EINVAL;
	}
	if (strcmp(full, "true") != 0 && strcmp(full, "false") != 0) {
		host->log(host->ctx, 0, "options.full: \"%s\" is neither true nor false", full);
		return -EINVAL;
	}
	*ret = (struct sim_json_options){ .max_array = *full == 't' ? 0 : (uint32_t)n, .digest = true };
	return 0;
}

static int logging_create(const struct sim_bridge_host *host, struct sim_bridge **ret)
{
	const char *level = host->option(host->ctx, "level");
	struct sim_json_options json;
	struct sim_bridge *b;

	if (!level || strlen(level) != 1 || *level < '1' || *level > '9') {
		host->log(host->ctx, 0, "options.level: \"%s\" is not 1 .. 9", level ? level : "");
		return -EINVAL;
	}
	if (read_arrays(host, &json) < 0)
		return -EINVAL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->host = host;
	b->json = json;
	if (log_file_init(&b->file, *level - '0') < 0) {
		free(b);
		return -ENOMEM;
	}
	pthread_mutex_init(&b->lock, NULL);
	*ret = b;
	return 0;
}

static void report(struct sim_bridge *b, enum sim_bridge_status status, const char *detail)
{
	atomic_store(&b->status, (int)status);
	b->host->status(b->host->ctx, status, detail);
}

static int logging_check(const struct sim_bridge_host *host, const char *connection)
{
	if (*connection && strlen(connection) <= STEM_MAX)
		return 0;
	host->log(host->ctx, 0, "connection: must be the stem of a file, 1 .. %d characters", STEM_MAX);
	return -EINVAL;
}

static int logging_connect(struct sim_bridge *b, const char *connection)
{
	char detail[STEM_MAX + 128];
	int r = logging_check(b->host, connection);

	if (r < 0)
		return r;
	pthread_mutex_lock(&b->lock);
	(void)log_file_close(&b->file);
	r = log_file_open(&b->file, connection);
	snprintf(detail, sizeof(detail), "%s%s%s", b->file.path, r < 0 ? ": " : "", r < 0 ? strerror(-r) : "");
	if (r == 0 && b->file.number > 1)
		b->host->log(b->host->ctx, 2, "earlier logs of %s are kept; this one is %s", connection, b->file.path);
	/* the cause (no such folder, no space) may be temporary: the host tries again */
	report(b, r < 0 ? SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED : SIM_BRIDGE_CONNECTED, detail);
	pthread_mutex_unlock(&b->lock);
	return 0;
}

static void logging_disconnect(struct sim_bridge *b)
{
	int r;

	pthread_mutex_lock(&b->lock);
	r = log_file_close(&b->file);
	report(b, SIM_BRIDGE_DISCONNECTED, r < 0 ? CANNOT_WRITE : "closed");
	pthread_mutex_unlock(&b->lock);
}

static enum sim_bridge_status logging_status(const struct sim_bridge *b)
{
	return (enum sim_bridge_status)atomic_load(&b->status);
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

/* Caller holds the lock. */
static int write_text(struct sim_bridge *b, const struct text *t)
{
	int r = log_file_write(&b->file, t->data, t->len, t->len <= BIG_TEXT);

	if (r != -EIO)
		return r;
	report(b, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED, CANNOT_WRITE);
	return 0; /* kept for the next file */
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

static int format_message(const struct sim_bridge *b, struct text *t, const struct sim_bridge_topic *topic,
			  const struct sim_message *m)
{
	char head[SIM_TYPE_NAME_MAX + SIM_CHANNEL_MAX + 64];
	int64_t ns = m->header.stamp_sim_ns;
	int n = snprintf(head, sizeof(head), "%s %s %s%" PRId64 ".%09" PRId64 " %" PRIu64 "\n", topic->type->name,
			 topic->name, ns < 0 ? "-" : "", ns < 0 ? -(ns / 1000000000) : ns / 1000000000,
			 ns < 0 ? -(ns % 1000000000) : ns % 1000000000, m->header.sequence);
	int r = text_write(t, head, (size_t)n);

	if (!r)
		r = sim_msg_to_json(topic->type, m->body, m->body_size, &b->json, text_write, t);
	return r ? r : text_write(t, "\n", 1);
}

static int logging_publish(struct sim_bridge *b, struct sim_bridge_topic *topic, const struct sim_message *m,
			   struct sim_task *task)
{
	struct text t = take_buffer(b);
	int r = format_message(b, &t, topic, m);

	if (SIM_BRIDGE_HOST_HAS(b->host, in_order))
		b->host->in_order(b->host->ctx, task);
	return put_text(b, &t, r);
}

static int logging_flush(struct sim_bridge *b)
{
	int r;

	pthread_mutex_lock(&b->lock);
	r = log_file_flush(&b->file);
	if (r < 0)
		report(b, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED, CANNOT_WRITE);
	pthread_mutex_unlock(&b->lock);
	return r;
}

static void logging_destroy(struct sim_bridge *b)
{
	size_t lost;

	lost = log_file_finish(&b->file);
	if (lost)
		b->host->log(b->host->ctx, 0, "the last %zu bytes (gzip) could not be written and are lost", lost);
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
		.check = logging_check,
		.flags = SIM_BRIDGE_KEEPS_DATA | SIM_BRIDGE_IN_ORDER,
	};

	return &ops;
}
