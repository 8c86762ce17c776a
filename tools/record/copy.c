/* SPDX-License-Identifier: Apache-2.0 */
/* Copies logs: writes what merge returns. Thread: one at a time. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "channels.h"
#include "codec_apollo.h"
#include "copy.h"
#include "log_private.h"
#include "mem.h"
#include "merge.h"
#include "proto_desc.h"
#include "recode.h"

#define LEFT_OUT (UINT32_MAX - 1) /* filtered out, or not writable */

struct source {
	const char *path;
	struct log_reader *reader;
	uint32_t *map; /* from the reader's channels to copy.channels */
	size_t n_map;
	size_t n_metadata;      /* already copied */
	uint32_t n_attachments; /* already copied */
	bool told;              /* has reported that the format has no place for them */
};

struct target { /* a channel of the output file */
	uint32_t id;
	bool refused;          /* the file does not take it */
	bool unsaid;           /* the encoding cannot hold it */
	struct recode *recode; /* NULL: copied unchanged */
	uint64_t n_refused;    /* messages left out */
	char why[200];         /* reason for the first one */
};

struct copy {
	const struct copy_options *o;
	struct copy_result *result;
	struct merge *merge;
	struct source *sources;
	unsigned n;
	struct channels channels; /* of all inputs, each once */
	struct target *targets;
	size_t n_targets, n_known; /* in this file; converted so far */
	struct log_writer *w;
	const char *out;
	char *path; /* of the output file */
	int64_t begin_ns, end_ns, file_begin_ns;
	uint64_t file_messages;
	char *why;
	size_t why_size;
	bool said_sequence;
};

static void say(struct copy *c, const char *path, const char *what)
{
	char text[LOG_WHY_MAX + 600];

	snprintf(text, sizeof(text), "%s: %s", path, what);
	if (c->o->say)
		c->o->say(c->o->arg, text);
}

static int no_memory(struct copy *c)
{
	return log_fail(c->why, c->why_size, -ENOMEM, "no memory");
}

/* ---- names ---- */

int log_format_of(const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') : path, *end = strrchr(name, '.');

	if (end && !strcmp(end, ".mcap"))
		return LOG_MCAP;
	if (end && !strcmp(end, ".bag"))
		return LOG_BAG;
	return strstr(name, ".record") ? LOG_RECORD : -EINVAL;
}

bool log_topic_matches(const char *topic, const char *pattern)
{
	return !fnmatch(pattern, topic, 0) || (*topic == '/' && *pattern != '/' && !fnmatch(pattern, topic + 1, 0));
}

static bool matches_any(const char *topic, const char *const *patterns, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (log_topic_matches(topic, patterns[i]))
			return true;
	return false;
}

static bool wanted(const struct copy_options *o, const struct log_channel *ch)
{
	if (o->n_include && !matches_any(ch->topic, o->include, o->n_include))
		return false;
	return !matches_any(ch->topic, o->exclude, o->n_exclude);
}

/* ---- channels ---- */

static bool same_bytes(const struct log_bytes *a, const struct log_bytes *b)
{
	return a->size == b->size && (!a->size || !memcmp(a->data, b->data, a->size));
}

static bool same(const struct log_channel *a, const struct log_channel *b)
{
	if (strcmp(a->topic, b->topic) || strcmp(a->message_encoding, b->message_encoding) ||
	    strcmp(a->schema_name, b->schema_name) || strcmp(a->schema_encoding, b->schema_encoding) ||
	    !same_bytes(&a->schema, &b->schema) || a->n_metadata != b->n_metadata)
		return false;
	for (size_t i = 0; i < a->n_metadata; i++) {
		const char *v = channel_metadata(b, a->metadata[i].key);

		if (!v || strcmp(v, a->metadata[i].value))
			return false;
	}
	return true;
}

/* Index in c->channels; equal channels of several files share one. */
static int64_t channel_of(struct copy *c, const struct log_channel *ch)
{
	uint32_t key = (uint32_t)c->channels.n;

	for (size_t i = 0; i < c->channels.n; i++)
		if (same(&c->channels.list[i], ch))
			return (int64_t)i;
	return channels_add(&c->channels, &key, sizeof(key), ch);
}

/* Maps the channels that the reader has found since the last call. */
static int map_channels(struct copy *c, struct source *s)
{
	const struct log_info *info = log_reader_info(s->reader);
	uint32_t *map;

	if (info->n_channels <= s->n_map)
		return 0;
	map = mem_realloc(s->map, info->n_channels * sizeof(*map));
	if (!map)
		return no_memory(c);
	s->map = map;
	for (; s->n_map < info->n_channels; s->n_map++) {
		const struct log_channel *ch = &info->channels[s->n_map];
		int64_t i = wanted(c->o, ch) ? channel_of(c, ch) : LEFT_OUT;

		if (i < 0)
			return no_memory(c);
		map[s->n_map] = (uint32_t)i;
	}
	return 0;
}

/* ---- output file ---- */

static const char *format_name(enum log_format f)
{
	return f == LOG_MCAP ? "MCAP" : f == LOG_BAG ? ".bag" : f == LOG_RECORD ? ".record" : "that";
}

static void left_out(struct copy *c, size_t i, const char *why)
{
	const struct log_channel *ch = &c->channels.list[i];
	char text[LOG_WHY_MAX + 300];

	snprintf(text, sizeof(text), "%.200s (%.100s, encoding %.60s) is left out: %.400s", ch->topic, ch->schema_name,
		 ch->message_encoding, why);
	say(c, c->path, text);
	c->result->n_left_out++;
}

static void refuse(struct copy *c, size_t i, int r)
{
	char text[100];

	c->targets[i].refused = true;
	snprintf(text, sizeof(text), "a file of the format %s does not take it: %s", format_name(c->o->write.format),
		 strerror(-r));
	left_out(c, i, text);
}

/* The encoding to convert to; negative: copy unchanged. */
static int kind_for(const struct copy *c, const struct log_channel *ch)
{
	int have = recode_kind_of(ch), want = c->o->encoding;

	if (!c->o->convert)
		return -1;
	if (want < 0)
		want = c->o->write.format == LOG_BAG      ? CODEC_ROS1
		       : c->o->write.format == LOG_RECORD ? CODEC_APOLLO
		       : have == CODEC_PACKED             ? CODEC_NATIVE
							  : have;
	return want == have ? -1 : want;
}

static const char *topic_of(const struct copy *c, size_t i)
{
	return c->targets[i].recode ? recode_channel(c->targets[i].recode)->topic : c->channels.list[i].topic;
}

/*
 * Resolves several channels that map to one Apollo name: one gets it, the others keep their own names. Channels before
 * `from` are already in the file under their names; the others still have the name that the encoding gives.
 */
static int choose_topics(struct copy *c, size_t from)
{
	bool *loses = mem_calloc(c->n_known + 1, sizeof(*loses));

	if (!loses)
		return no_memory(c);
	for (size_t i = from; i < c->n_known; i++)
		for (size_t k = 0; c->targets[i].recode && k < c->n_known && !loses[i]; k++)
			loses[i] = k != i && !c->targets[k].unsaid && strcmp(topic_of(c, k), topic_of(c, i)) == 0 &&
				   (k < from ? strcmp(c->channels.list[k].topic, c->channels.list[i].topic) != 0
					     : codec_out_goes_before(c->channels.list[k].topic,
								     c->channels.list[i].topic, topic_of(c, i)));
	for (size_t i = from; i < c->n_known; i++)
		if (loses[i])
			recode_set_topic(c->targets[i].recode, c->channels.list[i].topic);
	mem_free(loses);
	return 0;
}

/* Decides how to convert a new channel. 0 or -ENOMEM. */
static int look_at(struct copy *c, size_t i)
{
	const struct log_channel *ch = &c->channels.list[i];
	struct target *t = &c->targets[i];
	int kind = kind_for(c, ch), r;
	char why[LOG_WHY_MAX];

	*t = (struct target){ 0 };
	c->n_known++;
	if (kind < 0)
		return 0;
	r = recode_create((enum codec_kind)kind, c->o->apollo, ch, &t->recode, why, sizeof(why));
	if (r == -ENOMEM)
		return no_memory(c);
	t->unsaid = r < 0;
	if (r < 0)
		left_out(c, i, why);
	return 0;
}

/* Does so for all new channels. */
static int look_at_new(struct copy *c)
{
	size_t from = c->n_known;
	int r = 0;

	while (r == 0 && c->n_known < c->channels.n)
		r = look_at(c, c->n_known);
	return r < 0 ? r : choose_topics(c, from);
}

/* Converts a .record's definitions for MCAP; leaves others as they are. Borrows from room. */
static void as_set(const struct copy *c, struct log_channel *ch, struct iov_buf *room)
{
	struct iovec iov[IOV_BUF_PIECES];

	if (c->o->write.format != LOG_MCAP || strcmp(ch->schema_encoding, "apollo") != 0 ||
	    proto_desc_to_set(ch->schema.data, ch->schema.size, room) < 0 || iov_buf_iov(room, iov) != 1)
		return;
	ch->schema_encoding = "protobuf";
	ch->schema = (struct log_bytes){ iov[0].iov_base, iov[0].iov_len };
}

/*
 * Replaces the definition of an Apollo message that is not re-encoded by the user's. False: it keeps its own. Borrows
 * from room.
 */
static bool define(struct copy *c, struct log_channel *ch, struct iov_buf *room)
{
	const struct apollo_set *set = c->o->apollo ? c->o->apollo->definitions : NULL;
	struct iovec files[APOLLO_FILES_MAX], iov[IOV_BUF_PIECES];
	char text[400];
	size_t n;

	if (!set || recode_kind_of(ch) != CODEC_APOLLO || strncmp(ch->schema_name, "apollo.", 7) != 0)
		return false;
	n = apollo_set_files(set, ch->schema_name, files);
	if (!n || proto_desc_join(files, n, room) < 0 || iov_buf_iov(room, iov) != 1) {
		snprintf(text, sizeof(text),
			 "%.200s keeps its own definition of %.100s: those that are given have none", ch->topic,
			 ch->schema_name);
		say(c, c->path, text);
		return false;
	}
	ch->schema_encoding = "protobuf";
	ch->schema = (struct log_bytes){ iov[0].iov_base, iov[0].iov_len };
	return true;
}

static int add_target(struct copy *c, size_t i)
{
	struct target *t = &c->targets[i];
	struct log_channel ch = t->recode ? *recode_channel(t->recode) : c->channels.list[i];
	struct iov_buf room;
	int r;

	t->refused = t->unsaid;
	if (t->unsaid)
		return 0;
	iov_buf_init(&room);
	if (t->recode || !define(c, &ch, &room))
		as_set(c, &ch, &room);
	r = log_writer_add_channel(c->w, &ch, &t->id);
	iov_buf_finish(&room);
	if (r == -ENOTSUP)
		refuse(c, i, r);
	else if (r < 0)
		return log_fail(c->why, c->why_size, r, "%s: channel %s: %s", c->path, ch.topic, strerror(-r));
	return 0;
}

/* Adds the new channels to the file. */
static int write_channels(struct copy *c)
{
	struct target *t;
	int r = 0;

	if (c->n_targets == c->channels.n)
		return 0;
	t = mem_realloc(c->targets, c->channels.n * sizeof(*t));
	if (!t)
		return no_memory(c);
	c->targets = t;
	r = look_at_new(c);
	for (; r == 0 && c->n_targets < c->channels.n; c->n_targets++)
		r = add_target(c, c->n_targets);
	return r;
}

static int close_file(struct copy *c)
{
	char why[LOG_WHY_MAX];
	int r;

	if (!c->w)
		return 0;
	r = log_writer_finish(c->w, why, sizeof(why));
	c->w = NULL;
	mem_free(c->path);
	c->path = NULL;
	return r < 0 ? log_fail(c->why, c->why_size, r, "%s", why) : 0;
}

static int write_metadata(struct copy *c, struct source *s)
{
	const struct log_info *info = log_reader_info(s->reader);

	for (; s->n_metadata < info->n_metadata; s->n_metadata++) {
		const struct log_metadata *m = &info->metadata[s->n_metadata];
		int r = log_writer_metadata(c->w, m->name, m->pairs, m->n);

		if (r < 0)
			return log_fail(c->why, c->why_size, r, "%s: metadata: %s", c->path, strerror(-r));
	}
	return 0;
}

/* A damaged attachment is reported, counted and skipped. */
static int write_attachments(struct copy *c, struct source *s)
{
	for (; s->n_attachments < log_reader_info(s->reader)->n_attachments; s->n_attachments++) {
		struct log_attachment a;
		int r = log_reader_attachment(s->reader, s->n_attachments, &a);

		if (r == -ENOMEM)
			return no_memory(c);
		if (r < 0) {
			c->result->n_damaged++;
			say(c, s->path, log_reader_why(s->reader));
			continue;
		}
		r = log_writer_attachment(c->w, &a);
		if (r < 0)
			return log_fail(c->why, c->why_size, r, "%s: an attachment: %s", c->path, strerror(-r));
	}
	return 0;
}

static void say_no_place(struct copy *c, struct source *s)
{
	const struct log_info *info = log_reader_info(s->reader);

	if (s->told || (!info->n_metadata && !info->n_attachments))
		return;
	s->told = true;
	say(c, s->path,
	    !info->n_attachments ? "its metadata is left out: only MCAP has it"
	    : !info->n_metadata  ? "its attachments are left out: only MCAP has them"
				 : "its metadata and its attachments are left out: only MCAP has them");
}

/*
 * Copies metadata and attachments known so far: with an index all of them before the first message; without one, more
 * are found while reading. No borrowed message may be in use.
 */
static int write_extras(struct copy *c)
{
	int r = 0;

	for (unsigned i = 0; r >= 0 && i < c->n; i++) {
		struct source *s = &c->sources[i];

		if (c->o->write.format != LOG_MCAP) {
			say_no_place(c, s);
			continue;
		}
		r = write_metadata(c, s);
		if (r >= 0)
			r = write_attachments(c, s);
	}
	return r;
}

/* out.mcap; for a split out_0000.mcap and so on. */
static char *file_name(const struct copy *c)
{
	const char *name = strrchr(c->out, '/') ? strrchr(c->out, '/') : c->out, *end = strrchr(name, '.');
	int stem = end ? (int)(end - c->out) : (int)strlen(c->out);

	if (!c->o->split_bytes && !c->o->split_dur_ns)
		return mem_strdup(c->out);
	return mem_printf("%.*s_%04u%s", stem, c->out, c->result->n_files, end ? end : "");
}

static int open_file(struct copy *c)
{
	struct log_write_options w = c->o->write;
	int r;

	if (!w.profile && c->o->convert && c->o->encoding >= 0)
		w.profile = c->o->encoding == CODEC_ROS2 ? "ros2" : c->o->encoding == CODEC_ROS1 ? "ros1" : "";
	if (!w.profile && c->n == 1)
		w.profile = log_reader_info(c->sources[0].reader)->profile;
	c->path = file_name(c);
	if (!c->path)
		return no_memory(c);
	r = log_writer_create(c->path, &w, &c->w, c->why, c->why_size);
	if (r < 0) {
		c->w = NULL;
		mem_free(c->path);
		c->path = NULL;
		return r;
	}
	c->result->n_files++;
	c->n_targets = 0;
	c->file_messages = 0;
	return write_channels(c);
}

/* ---- messages ---- */

static bool file_full(const struct copy *c, const struct log_message *m)
{
	const struct copy_options *o = c->o;

	if (!c->file_messages)
		return false;
	return (o->split_bytes && log_writer_bytes(c->w) + m->size > o->split_bytes) ||
	       (o->split_dur_ns && m->log_time_ns - c->file_begin_ns >= o->split_dur_ns);
}

/* Counts the message; the first reason is reported at the end. */
static void refuse_message(struct copy *c, struct target *t, const char *why)
{
	c->result->n_refused++;
	if (!t->n_refused++)
		snprintf(t->why, sizeof(t->why), "%.199s", why);
}

/* Reports once that sequences are lost in a .record. (A .bag has them in the header of messages that have one.) */
static void say_without_sequence(struct copy *c, const struct log_message *m)
{
	if (c->o->write.format != LOG_RECORD || !m->sequence || c->said_sequence)
		return;
	c->said_sequence = true;
	say(c, c->path, "the sequence numbers of messages are left out: a .record has no place for them");
}

static int write_message(struct copy *c, struct target *t, struct log_message *m)
{
	struct iovec pieces[IOV_BUF_PIECES] = { { .iov_base = (void *)m->data, .iov_len = m->size } };
	char why[LOG_WHY_MAX];
	unsigned n = 1;
	int r = t->recode ? recode_message(t->recode, m, pieces, &n, why, sizeof(why)) : 0;

	if (r == -ENOMEM)
		return no_memory(c);
	if (r < 0) {
		refuse_message(c, t, why);
		return 0;
	}
	m->channel = t->id;
	if (t->recode)
		m->sequence = recode_sequence(t->recode);
	say_without_sequence(c, m);
	r = log_writer_put(c->w, m, pieces, (int)n);
	if (r == -ERANGE || r == -EMSGSIZE) {
		refuse_message(c, t, "the format cannot hold its time or size");
		return 0;
	}
	if (r < 0)
		return log_fail(c->why, c->why_size, r, "%s: %s; the messages before it are kept", c->path,
				strerror(-r));
	if (!c->file_messages++)
		c->file_begin_ns = m->log_time_ns;
	c->result->n_messages++;
	return 0;
}

static int put(struct copy *c, const struct source *s, struct log_message m)
{
	uint32_t i = s->map[m.channel];
	int r = 0;

	if (i == LEFT_OUT || m.log_time_ns < c->begin_ns || m.log_time_ns > c->end_ns)
		return 0;
	if (file_full(c, &m)) {
		r = close_file(c);
		if (r >= 0)
			r = open_file(c);
	}
	if (r >= 0)
		r = write_channels(c);
	if (r < 0 || c->targets[i].refused)
		return r;
	return write_message(c, &c->targets[i], &m);
}

static int copy_all(struct copy *c)
{
	struct log_message m;
	unsigned i;
	int r, e = 0;

	while (e >= 0 && (r = merge_next(c->merge, &m, &i))) {
		if (c->o->stopped && c->o->stopped(c->o->arg)) {
			say(c, c->out, "interrupted: later messages are left out");
			break;
		}
		if (r == -ENOMEM)
			return no_memory(c);
		if (r < 0) {
			c->result->n_damaged++;
			say(c, c->sources[i].path, merge_why(c->merge, i));
			continue;
		}
		e = map_channels(c, &c->sources[i]);
		if (e >= 0)
			e = put(c, &c->sources[i], m);
	}
	return e;
}

/* ---- start and end ---- */

static int open_sources(struct copy *c, const char *const *in)
{
	int r = merge_create(&c->merge);

	if (r < 0)
		return no_memory(c);
	for (unsigned i = 0; r >= 0 && i < c->n; i++) {
		c->sources[i].path = in[i];
		r = log_reader_open(in[i], &c->o->read, &c->sources[i].reader, c->why, c->why_size);
		if (r >= 0)
			r = map_channels(c, &c->sources[i]);
		if (r >= 0 && merge_add(c->merge, &merge_reader_ops, c->sources[i].reader) < 0)
			r = no_memory(c);
	}
	return r;
}

/* Sets the wanted time range, relative to the first message of all files. */
static void set_span(struct copy *c)
{
	int64_t first = INT64_MAX;

	c->begin_ns = INT64_MIN;
	c->end_ns = INT64_MAX;
	for (unsigned i = 0; i < c->n; i++) {
		const struct log_info *info = log_reader_info(c->sources[i].reader);

		if ((info->n_messages || !info->counted) && info->start_ns < first)
			first = info->start_ns;
	}
	if (first == INT64_MAX)
		return;
	if (c->o->start_dur_ns > 0 && __builtin_add_overflow(first, c->o->start_dur_ns, &c->begin_ns))
		c->begin_ns = INT64_MAX;
	if (c->o->end_dur_ns > 0 && __builtin_add_overflow(first, c->o->end_dur_ns, &c->end_ns))
		c->end_ns = INT64_MAX;
	if (c->o->start_dur_ns > 0 && !c->o->read.file_order)
		/* earlier messages are also filtered, so errors do not matter */
		(void)merge_seek(c->merge, c->begin_ns);
}

static void say_refused(struct copy *c)
{
	for (size_t i = 0; i < c->n_known; i++) {
		const struct target *t = &c->targets[i];
		char text[LOG_WHY_MAX + 100];

		if (!t->n_refused)
			continue;
		snprintf(text, sizeof(text), "%.200s (%.100s): %" PRIu64 " messages are left out, the first: %s",
			 c->channels.list[i].topic, c->channels.list[i].schema_name, t->n_refused, t->why);
		say(c, c->out, text);
	}
}

/* Reports what the copied channels have lost. */
static void say_notes(struct copy *c)
{
	for (size_t i = 0; i < c->n_known; i++) {
		const char *note = c->targets[i].recode ? recode_note(c->targets[i].recode) : NULL;
		char text[LOG_WHY_MAX + 400];

		if (!note)
			continue;
		snprintf(text, sizeof(text), "%.200s (%.100s): %.600s", c->channels.list[i].topic,
			 c->channels.list[i].schema_name, note);
		say(c, c->out, text);
	}
}

static void finish(struct copy *c)
{
	for (size_t i = 0; i < c->n_known; i++)
		recode_destroy(c->targets[i].recode);
	merge_destroy(c->merge);
	for (unsigned i = 0; i < c->n; i++) {
		log_reader_close(c->sources[i].reader);
		mem_free(c->sources[i].map);
	}
	mem_free(c->sources);
	mem_free(c->targets);
	channels_finish(&c->channels);
}

int log_copy(const char *const *in, unsigned n_in, const char *out, const struct copy_options *o,
	     struct copy_result *ret, char *why, size_t why_size)
{
	struct copy c = { .o = o, .result = ret, .n = n_in, .out = out, .why = why, .why_size = why_size };
	int r, e;

	*ret = (struct copy_result){ 0 };
	if (!n_in || n_in > MERGE_INPUTS_MAX)
		return log_fail(why, why_size, -EINVAL, "1 to %d files can be read at a time", MERGE_INPUTS_MAX);
	c.sources = mem_calloc(n_in, sizeof(*c.sources));
	if (!c.sources)
		return no_memory(&c);
	r = open_sources(&c, in);
	if (r >= 0)
		r = open_file(&c);
	if (r >= 0)
		r = write_extras(&c);
	if (r >= 0) {
		set_span(&c);
		r = copy_all(&c);
		if (r >= 0)
			r = write_extras(&c);
		say_refused(&c);
		say_notes(&c);
	}
	c.why = r < 0 ? NULL : why; /* keep the first reason */
	e = close_file(&c);
	finish(&c);
	return r < 0 ? r : e;
}
