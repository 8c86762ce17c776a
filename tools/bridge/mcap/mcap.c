/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bridge_mcap: records everything in MCAP files of one stem (record/recording.h): out/run.mcap, then out/run.2.mcap and
 * so on. Connected exactly while a file can be written. The contents of a file depend only on the messages and
 * simulated time, so that in lock-step each run writes the same bytes: no host name, no wall time, no process id.
 * Outside lock-step each message has the time at which it was published, and is sorted by it, however late its lane
 * delivers it. Threads: conversion threads encode in parallel; the recording has one lock, under which they write.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/bridge.h>

#include "number.h"
#include "record/codec_apollo.h"
#include "record/recode.h"
#include "record/recording.h"

#define WHY_MAX   512
#define NS_OF_S   1000000000.0
#define LEVEL_MIN (-50)
#define LEVEL_MAX 22
#define SPLIT_MIN (INT64_C(64) << 10)
#define DUR_MAX   1000000000.0 /* seconds */

struct sim_bridge {
	const struct sim_bridge_host *host;
	struct recording_options options;
	struct codec_apollo apollo;
	pthread_mutex_t lock; /* serialises connecting; guards recording and stem, which stay while topics exist */
	struct recording *recording;
	char *stem;
	_Atomic int status;       /* enum sim_bridge_status */
	_Atomic uint64_t undated; /* messages whose time of publishing simd no longer knows */
};

struct sim_bridge_topic {
	unsigned id;
};

static const struct sim_bridge_option options[] = {
	{ "encoding", "native",
	  "native: lossless, with the type as schema; json: the same in JSON; ros2, ros1, apollo: mapped messages; packed: smallest" },
	{ "apollo", "10", "whose messages the encoding apollo writes: a release of Apollo, 5.0 to 10.0" },
	{ "definitions", "",
	  "Apollo's own, a folder of .proto files or a FileDescriptorSet: written instead of those of 5.0 or 10.0" },
	{ "compression", "zstd", "none, lz4 or zstd" },
	{ "level", "0", "of the compression, -50 .. 22; 0: its default" },
	{ "split_size", "0", "a new file at that size: bytes, or with KiB, MiB, GiB; 0: never" },
	{ "split_duration", "0", "a new file after so many seconds of simulated time; 0: never" },
	{ NULL, NULL, NULL },
};

static int mcap_reg(struct sim_bridge_registry *r)
{
	return r->add_publisher(r->ctx, "*", "MCAP message");
}

/* ---- options ---- */

static const char *option(const struct sim_bridge_host *host, const char *name)
{
	const char *value = host->option(host->ctx, name);

	return value ? value : "";
}

static int bad(const struct sim_bridge_host *host, const char *name, const char *wants)
{
	host->log(host->ctx, 0, "options.%s: \"%s\" is not %s", name, option(host, name), wants);
	return -EINVAL;
}

/* Index of the value in a list; -1: not found. */
static int choice(const char *value, const char *const *list, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(value, list[i]) == 0)
			return i;
	return -1;
}

static int read_kind(const struct sim_bridge_host *host, enum codec_kind *ret)
{
	int kind = recode_kind_named(option(host, "encoding"));

	if (kind < 0)
		return bad(host, "encoding", "native, json, ros2, ros1, packed or apollo");
	*ret = (enum codec_kind)kind;
	return 0;
}

static int read_compression(const struct sim_bridge_host *host, enum log_compression *ret)
{
	static const char *const names[] = { "none", "lz4", "zstd" };
	static const enum log_compression values[] = { LOG_COMPRESSION_NONE, LOG_COMPRESSION_LZ4,
						       LOG_COMPRESSION_ZSTD };
	int i = choice(option(host, "compression"), names, 3);

	if (i < 0)
		return bad(host, "compression", "none, lz4 or zstd");
	*ret = values[i];
	return 0;
}

static int read_level(const struct sim_bridge_host *host, int *ret)
{
	int64_t n;

	if (number_i64(option(host, "level"), NUMBER_DEC, LEVEL_MIN, LEVEL_MAX, &n) < 0)
		return bad(host, "level", "a whole number, -50 .. 22");
	*ret = (int)n;
	return 0;
}

static int read_size(const struct sim_bridge_host *host, uint64_t *ret)
{
	int64_t n;

	if (size_parse(option(host, "split_size"), &n) < 0 || (n && n < SPLIT_MIN))
		return bad(host, "split_size", "0 or a size of 64KiB or more, such as 500MiB");
	*ret = (uint64_t)n;
	return 0;
}

static int read_duration(const struct sim_bridge_host *host, int64_t *ret)
{
	double x;

	if (number_f64(option(host, "split_duration"), &x) < 0 || x < 0 || x > DUR_MAX || (x > 0 && x < 0.001))
		return bad(host, "split_duration", "0 or a number of seconds, 0.001 .. 1000000000");
	*ret = (int64_t)(x * NS_OF_S);
	return 0;
}

static int read_options(const struct sim_bridge_host *host, struct recording_options *o)
{
	int r;

	*o = (struct recording_options){ .format = LOG_MCAP,
					 .window_dur_ns = RECORDING_WINDOW_DUR_NS,
					 .steps_in_order = true };
	r = read_kind(host, &o->kind);
	if (r == 0)
		r = read_compression(host, &o->compression);
	if (r == 0)
		r = read_level(host, &o->level);
	if (r == 0)
		r = read_size(host, &o->split_bytes);
	return r ? r : read_duration(host, &o->split_dur_ns);
}

static void say_of_definitions(void *arg, bool fatal, const char *sentence)
{
	const struct sim_bridge_host *host = arg;

	host->log(host->ctx, fatal ? 0 : 1, "options.definitions: %s", sentence);
}

static int read_apollo(const struct sim_bridge_host *host, enum codec_kind kind, struct codec_apollo *ret)
{
	const struct apollo_set_log log = { say_of_definitions, (void *)(uintptr_t)host };
	const char *path = option(host, "definitions");
	int r = codec_apollo_read(option(host, "apollo"), NULL, &log, ret);

	if (r < 0)
		return bad(host, "apollo", "a release of Apollo: 5.0 to 7.0, 8.0 to 10.0");
	if (!*path)
		return 0;
	if (kind != CODEC_APOLLO)
		return bad(host, "definitions", "for this encoding: only apollo has definitions of Apollo");
	return codec_apollo_read(option(host, "apollo"), path, &log, ret);
}

/* ---- the connection ---- */

static void on_say(void *arg, int level, const char *sentence)
{
	const struct sim_bridge *b = arg;

	b->host->log(b->host->ctx, level, "%s", sentence);
}

static int mcap_create(const struct sim_bridge_host *host, struct sim_bridge **ret)
{
	struct recording_options o;
	struct sim_bridge *b;
	int r = read_options(host, &o);

	if (r < 0)
		return r;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	r = read_apollo(host, o.kind, &b->apollo);
	if (r < 0) {
		free(b);
		return r;
	}
	b->host = host;
	b->options = o;
	b->options.apollo = &b->apollo;
	b->options.say = on_say;
	b->options.arg = b;
	pthread_mutex_init(&b->lock, NULL);
	*ret = b;
	return 0;
}

static void report(struct sim_bridge *b, enum sim_bridge_status status, const char *detail)
{
	atomic_store(&b->status, (int)status);
	b->host->status(b->host->ctx, status, detail);
}

/* Length of the suffix if the file's name has it and something before it; else 0. */
static size_t suffix_of(const char *name, const char *suffix)
{
	size_t n = strlen(name), k = strlen(suffix);

	return n > k && name[n - k - 1] != '/' && strcmp(name + n - k, suffix) == 0 ? k : 0;
}

/* Whether the name has the suffix of another format; such a file would not be of that format. */
static bool is_of_other_format(const char *name)
{
	static const char *const others[] = { ".bag", ".record", ".db3" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (suffix_of(name, others[i]))
			return true;
	return false;
}

static int check_stem(const struct sim_bridge_host *host, const char *connection)
{
	size_t n = strlen(connection);

	if (!n || n > RECORDING_STEM_MAX || connection[n - 1] == '/')
		host->log(host->ctx, 0, "connection: must be the stem of a file, 1 .. %d characters, such as out/run",
			  RECORDING_STEM_MAX);
	else if (is_of_other_format(connection))
		host->log(host->ctx, 0, "connection: \"%s\": the files are MCAP, name one .mcap or without a suffix",
			  connection);
	else
		return 0;
	return -EINVAL;
}

static int mcap_check(const struct sim_bridge_host *host, const char *connection)
{
	struct recording_options o;
	struct codec_apollo apollo = { .definitions = NULL };
	int r = read_options(host, &o), e = check_stem(host, connection);

	if (r == 0)
		r = read_apollo(host, o.kind, &apollo);
	codec_apollo_finish(&apollo);
	return r < 0 ? r : e;
}

/* Creates the recording once; topics refer to its channels as long as the bridge exists. */
static int make_recording(struct sim_bridge *b, const char *stem, char *why)
{
	size_t n = strlen(stem) - suffix_of(stem, ".mcap");
	int r;

	if (b->recording && strlen(b->stem) == n && strncmp(b->stem, stem, n) == 0)
		return 0;
	if (b->recording) {
		snprintf(why, WHY_MAX, "this bridge writes %s; use another bridge for another stem", b->stem);
		return -EBUSY;
	}
	b->stem = strndup(stem, n);
	if (!b->stem)
		return -ENOMEM;
	b->options.stem = b->stem;
	r = recording_create(&b->options, &b->recording, why, WHY_MAX);
	if (r < 0) {
		free(b->stem);
		b->stem = NULL;
	}
	return r;
}

static int mcap_connect(struct sim_bridge *b, const char *connection)
{
	struct recording_stats st = { 0 };
	char why[WHY_MAX] = "";
	int r = check_stem(b->host, connection);

	if (r < 0)
		return r;
	pthread_mutex_lock(&b->lock);
	r = make_recording(b, connection, why);
	if (r == 0)
		r = recording_open_file(b->recording, why, sizeof(why));
	if (r == 0)
		recording_stats(b->recording, &st);
	/* the cause (no such folder, no space) may be temporary: the host tries again */
	if (r < 0)
		report(b, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED, *why ? why : strerror(-r));
	else
		report(b, SIM_BRIDGE_CONNECTED, st.path);
	pthread_mutex_unlock(&b->lock);
	return 0;
}

static void mcap_disconnect(struct sim_bridge *b)
{
	char why[WHY_MAX] = "";
	int r;

	pthread_mutex_lock(&b->lock);
	r = b->recording ? recording_close_file(b->recording, why, sizeof(why)) : 0;
	if (r < 0)
		b->host->log(b->host->ctx, 0, "%s", why);
	report(b, SIM_BRIDGE_DISCONNECTED, r < 0 ? why : "closed");
	pthread_mutex_unlock(&b->lock);
}

static enum sim_bridge_status mcap_status(const struct sim_bridge *b)
{
	return (enum sim_bridge_status)atomic_load(&b->status);
}

static void mcap_destroy(struct sim_bridge *b)
{
	char why[WHY_MAX] = "";

	if (recording_destroy(b->recording, why, sizeof(why)) < 0)
		b->host->log(b->host->ctx, 0, "%s", why);
	if (atomic_load(&b->undated))
		b->host->log(b->host->ctx, 1,
			     "%llu messages came too late: their time of publishing is no longer known",
			     (unsigned long long)atomic_load(&b->undated));
	free(b->stem);
	codec_apollo_finish(&b->apollo);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

/* ---- channels and messages ---- */

static int mcap_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret)
{
	struct sim_bridge_topic *t;
	char why[WHY_MAX] = "";
	int r;

	if (!b->recording)
		return -ENOTCONN;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	r = recording_add_channel(b->recording, ch->name, ch->type, &t->id, why, sizeof(why));
	if (r < 0) {
		b->host->log(b->host->ctx, 1, "%s: %s", ch->name, why);
		(void)!recording_left_out(b->recording, ch->name, why);
		free(t);
		return r;
	}
	*ret = t;
	return 0;
}

static void mcap_close(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	(void)b;
	free(t);
}

/*
 * After a failure to write, of this message (r < 0) or of another (1), reports the loss: the host reconnects, which
 * begins another file.
 */
static int look(struct sim_bridge *b, int r)
{
	struct recording_stats st;

	if (r == 0)
		return 0;
	recording_stats(b->recording, &st);
	if (st.failed && mcap_status(b) == SIM_BRIDGE_CONNECTED)
		report(b, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED,
		       "the file cannot be written (disk full?); it is complete and closed");
	return r < 0 ? r : 0;
}

/* The clock at the time of publishing; if the host does not know that, as in lock-step, the clock now. */
static struct sim_clock_sample clock_of(struct sim_bridge *b, const struct sim_message *m)
{
	struct sim_clock_sample then = { 0 };
	int r = SIM_BRIDGE_HOST_HAS(b->host, clock_at)
			? b->host->clock_at(b->host->ctx, m->header.publish_mono_ns, &then)
			: -ENOTSUP;

	if (r < 0)
		then = (struct sim_clock_sample){ .sim_ns = b->host->now(b->host->ctx), .flags = SIM_CLOCK_LOCKSTEP };
	else if (r > 0 && !(then.flags & SIM_CLOCK_LOCKSTEP) && atomic_fetch_add(&b->undated, 1) == 0)
		b->host->log(
			b->host->ctx, 1,
			"a message came so late that simd no longer knows the clock when it was published; it gets the "
			"oldest known time, and further ones are counted");
	return then;
}

static int write_one(struct sim_bridge *b, struct recording_message *e, const struct sim_message *m)
{
	struct sim_clock_sample then = clock_of(b, m);
	struct recording_moment at = recording_moment(&then);

	return recording_write_at(b->recording, e, &at);
}

static int mcap_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m,
			struct sim_task *task)
{
	struct recording_message *e = NULL;
	int r = mcap_status(b) == SIM_BRIDGE_CONNECTED ? recording_encode(b->recording, t->id, m, &e) : -ENOTCONN;

	if (SIM_BRIDGE_HOST_HAS(b->host, in_order))
		b->host->in_order(b->host->ctx, task);
	if (r < 0)
		return r;
	return look(b, write_one(b, e, m));
}

static int mcap_flush(struct sim_bridge *b)
{
	return b->recording ? look(b, recording_flush(b->recording)) : 0;
}

SIM_API const struct sim_bridge_ops *sim_bridge_plugin(void);

const struct sim_bridge_ops *sim_bridge_plugin(void)
{
	static const struct sim_bridge_ops ops = {
		.abi = SIM_BRIDGE_ABI,
		.size = sizeof(ops),
		.name = "mcap",
		.type = "MCAP files",
		.options = options,
		.reg = mcap_reg,
		.create = mcap_create,
		.connect = mcap_connect,
		.disconnect = mcap_disconnect,
		.status = mcap_status,
		.open = mcap_open,
		.close = mcap_close,
		.publish = mcap_publish,
		.destroy = mcap_destroy,
		.flush = mcap_flush,
		.check = mcap_check,
		.flags = SIM_BRIDGE_KEEPS_DATA | SIM_BRIDGE_IN_ORDER,
	};

	return &ops;
}
