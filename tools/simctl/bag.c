/* SPDX-License-Identifier: Apache-2.0 */
/* simctl bag info, doctor, cat: the contents of a log. Thread: main. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "printable.h"
#include "record/check.h"
#include "record/codec.h"
#include "record/copy.h"
#include "simctl.h"
#include "timeutil.h"

#include <sim/introspect.h>

static void say(const char *sentence)
{
	char text[2000];

	printable(text, sizeof(text), sentence, strlen(sentence));
	fprintf(stderr, "simctl: %s\n", text);
}

static struct log_reader *open_log(const char *path)
{
	struct log_reader *r;
	char why[700];

	if (log_reader_open(path, NULL, &r, why, sizeof(why)) >= 0)
		return r;
	say(why);
	return NULL;
}

/* ---- info ---- */

static const char *format_name(enum log_format f)
{
	static const char *const names[] = { "mcap", "record", "bag", "db3" };

	return names[f];
}

struct counts { /* found by reading the whole file, if it has no index */
	uint64_t *of_channel;
	uint64_t n;
	int64_t start_ns, end_ns;
};

/* Returns 0, or 1 if something is damaged. */
static int count(struct log_reader *r, struct counts *x)
{
	const struct log_info *info = log_reader_info(r);
	struct log_message m;
	size_t room = 0;
	int k, bad = 0;

	while ((k = log_reader_next(r, &m))) {
		if (k < 0) {
			say(log_reader_why(r));
			bad = 1;
			continue;
		}
		if (m.channel >= room) {
			uint64_t *more = mem_realloc(x->of_channel, info->n_channels * sizeof(*more));

			if (!more)
				return 1;
			memset(more + room, 0, (info->n_channels - room) * sizeof(*more));
			x->of_channel = more;
			room = info->n_channels;
		}
		x->of_channel[m.channel]++;
		x->start_ns = !x->n || m.log_time_ns < x->start_ns ? m.log_time_ns : x->start_ns;
		x->end_ns = !x->n || m.log_time_ns > x->end_ns ? m.log_time_ns : x->end_ns;
		x->n++;
	}
	return bad;
}

static json_t *text_of(const char *s)
{
	char text[1000];

	printable(text, sizeof(text), s, strlen(s));
	return json_string(text);
}

static json_t *channels_json(const struct log_info *info, const struct counts *x, double seconds)
{
	json_t *list = json_array();

	for (size_t i = 0; i < info->n_channels; i++) {
		const struct log_channel *ch = &info->channels[i];
		uint64_t n = x->of_channel ? x->of_channel[i] : ch->n_messages;

		json_array_append_new(list,
				      json_pack("{s:o, s:o, s:o, s:o, s:I, s:f}", "channel", text_of(ch->topic), "type",
						text_of(ch->schema_name), "encoding", text_of(ch->message_encoding),
						"schema", text_of(ch->schema_encoding), "messages", (json_int_t)n,
						"rate", seconds > 0 && n > 1 ? (double)(n - 1) / seconds : 0.0));
	}
	return list;
}

/* The key may not be valid UTF-8. */
static void set(json_t *j, const char *key, json_t *value)
{
	char text[1000];

	printable(text, sizeof(text), key, strlen(key));
	json_object_set_new(j, text, value);
}

/* Metadata records of the same name are merged. */
static json_t *metadata_json(const struct log_info *info)
{
	json_t *all = json_object();

	for (size_t i = 0; i < info->n_metadata; i++) {
		const struct log_metadata *m = &info->metadata[i];
		char name[1000];
		json_t *j;

		printable(name, sizeof(name), m->name, strlen(m->name));
		j = json_object_get(all, name);
		if (!j) {
			j = json_object();
			json_object_set_new(all, name, j);
		}
		for (size_t k = 0; k < m->n; k++)
			set(j, m->pairs[k].key, text_of(m->pairs[k].value));
	}
	return all;
}

/* Heads of the attachments, without their data. A damaged one is reported and left out; *bad is then 1. */
static json_t *attachments_json(struct log_reader *r, int *bad)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < log_reader_info(r)->n_attachments; i++) {
		struct log_attachment a;

		if (log_reader_attachment_head(r, i, &a) < 0) {
			say(log_reader_why(r));
			*bad = 1;
			continue;
		}
		json_array_append_new(all, json_pack("{s:o, s:o, s:I, s:I, s:I}", "name", text_of(a.name), "media_type",
						     text_of(a.media_type), "size", (json_int_t)a.size, "log_time_ns",
						     (json_int_t)a.log_time_ns, "create_time_ns",
						     (json_int_t)a.create_time_ns));
	}
	return all;
}

static json_t *info_json(const char *path, struct log_reader *r, const struct counts *x, int *bad)
{
	const struct log_info *info = log_reader_info(r);
	bool read = x->of_channel || x->n;
	int64_t start = read ? x->start_ns : info->start_ns, end = read ? x->end_ns : info->end_ns;
	double seconds = (double)(end - start) * 1e-9;

	return json_pack("{s:o, s:s, s:o, s:o, s:o, s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:f, s:o, s:o, s:o}", "file",
			 text_of(path), "format", format_name(info->format), "profile", text_of(info->profile),
			 "library", text_of(info->library), "compression", text_of(info->compression), "complete",
			 info->complete, "indexed", info->indexed, "size", (json_int_t)info->size, "chunks",
			 (json_int_t)info->n_chunks, "messages", (json_int_t)(read ? x->n : info->n_messages),
			 "start_ns", (json_int_t)start, "end_ns", (json_int_t)end, "duration", seconds, "attachments",
			 attachments_json(r, bad), "metadata", metadata_json(info), "channels",
			 channels_json(info, x, seconds));
}

static const struct column info_columns[] = {
	{ .head = "CHANNEL", .key = "channel", .as = TEXT, .least = 12, .end = true },
	{ .head = "TYPE", .key = "type", .as = TEXT, .leave = 1, .least = 12, .end = true },
	{ .head = "ENCODING", .key = "encoding", .as = TEXT, .leave = 3 },
	{ .head = "MESSAGES", .key = "messages", .as = NUM },
	{ .head = "HZ", .key = "rate", .as = NUM1, .leave = 2 },
	{ 0 },
};

static void attachments_print(const json_t *list)
{
	const char *head = "attachments";
	const json_t *a;
	size_t i;

	json_array_foreach(list, i, a) {
		const char *type = json_text(a, "media_type");

		printf("%-12s %s%s%s%s, %.0f bytes\n", head, json_text(a, "name"), *type ? " (" : "", type,
		       *type ? ")" : "", json_num(a, "size"));
		head = "";
	}
}

static void metadata_print(json_t *all)
{
	const char *head = "metadata", *name, *key;
	json_t *map, *value;

	json_object_foreach(all, name, map) {
		printf("%-12s %s\n", head, name);
		json_object_foreach(map, key, value)
			printf("%-12s   %s: %s\n", "", key, json_string_value(value));
		head = "";
	}
}

static void info_print(const json_t *j)
{
	char start[STAMP_FORMAT_MAX], end[STAMP_FORMAT_MAX];

	printf("file         %s\nformat       %s%s%s, %s, %s, compression %s\n", json_text(j, "file"),
	       json_text(j, "format"), *json_text(j, "profile") ? " " : "", json_text(j, "profile"),
	       json_yes(j, "complete") ? "complete" : "not closed properly",
	       json_yes(j, "indexed") ? "indexed" : "without an index", json_text(j, "compression"));
	printf("size         %.0f bytes, %.0f chunks\nmessages     %.0f\n", json_num(j, "size"), json_num(j, "chunks"),
	       json_num(j, "messages"));
	printf("time         %s to %s, %.3f s\n",
	       stamp_format(json_integer_value(json_object_get(j, "start_ns")), start),
	       stamp_format(json_integer_value(json_object_get(j, "end_ns")), end), json_num(j, "duration"));
	attachments_print(json_object_get(j, "attachments"));
	metadata_print(json_object_get(j, "metadata"));
	table_of(info_columns, json_object_get(j, "channels"));
}

int cmd_bag_info(struct ctl *c)
{
	int bad = 0;

	ctl_begin_wait(c); /* a log without an index is read to its end */
	for (unsigned i = 0; i < c->a.files.n; i++) {
		struct log_reader *r = open_log(c->a.files.v[i]);
		struct counts x = { 0 };

		if (!r) {
			bad = 1;
			continue;
		}
		if (!log_reader_info(r)->counted)
			bad |= count(r, &x);
		if (i && !c->a.json)
			puts("");
		bad |= ctl_show(c, info_json(c->a.files.v[i], r, &x, &bad), info_print);
		mem_free(x.of_channel);
		log_reader_close(r);
	}
	return bad;
}

/* ---- doctor ---- */

static void finding(void *arg, const char *sentence)
{
	char text[2000];
	const struct ctl *c = arg;

	printable(text, sizeof(text), sentence, strlen(sentence));
	if (c->a.json) {
		json_t *j = json_pack("{s:s}", "finding", text);

		ctl_print_json(c, j);
		json_decref(j);
	} else {
		printf("%s\n", text);
	}
}

int cmd_bag_doctor(struct ctl *c)
{
	char why[700];
	int64_t n;

	ctl_begin_wait(c);
	n = log_check(c->a.file, finding, c, why, sizeof(why));

	if (n < 0)
		finding(c, why);
	else if (!n && !c->a.json)
		puts("nothing is wrong");
	return n != 0;
}

/* ---- cat ---- */

static bool chosen(const struct ctl *c, const char *topic)
{
	for (unsigned i = 0; i < c->a.include.n; i++)
		if (log_topic_matches(topic, c->a.include.v[i]))
			return true;
	return !c->a.include.n;
}

struct cat { /* the decoder of each channel; NULL: it cannot be decoded */
	struct codec_in **codecs;
	size_t n;
	struct codec_room room;
};

static void cat_finish(struct cat *x)
{
	for (size_t i = 0; i < x->n; i++)
		codec_in_destroy(x->codecs[i]);
	mem_free(x->codecs);
	codec_room_finish(&x->room);
}

/* Adds decoders for channels that the reader has found since. Reports a wanted channel that has no decoder. */
static int find_codecs(const struct ctl *c, struct cat *x, const struct log_info *info)
{
	struct codec_in **more;
	char why[700];

	if (info->n_channels <= x->n)
		return 0;
	more = mem_realloc(x->codecs, info->n_channels * sizeof(*more));
	if (!more)
		return -ENOMEM;
	x->codecs = more;
	for (; x->n < info->n_channels; x->n++) {
		const struct log_channel *ch = &info->channels[x->n];

		more[x->n] = NULL;
		if (chosen(c, ch->topic) && codec_in_create(ch, &more[x->n], why, sizeof(why)) < 0)
			say(why);
	}
	return 0;
}

/* Prints ,"stamp_sim_ns":..,"frame_id":..,"message":{..}, or ,"error":"..". */
static void cat_body(const struct ctl *c, struct cat *x, const struct log_message *m)
{
	const struct sim_json_options o = { .no_arr = c->a.no_arr, .max_array = (uint32_t)c->a.max_array };
	struct codec_in *codec = x->codecs[m->channel];
	char frame[6 * SIM_FRAME_ID_MAX + 1], *json = NULL;
	struct message_in in;
	int r;

	if (!codec)
		return;
	r = codec_in_decode_room(codec, m, &x->room, &in);
	if (r != 0) {
		printf(",\"error\":\"%s\"", codec_in_reason(r));
		return;
	}
	printable_json(frame, sizeof(frame), in.frame, strlen(in.frame));
	if (sim_msg_to_json_alloc(codec_in_type(codec), in.buf, in.size, &o, &json, NULL) == 0)
		printf(",\"sim_type\":\"%s\",\"stamp_sim_ns\":%" PRId64 ",\"frame_id\":\"%s\",\"message\":%s",
		       codec_in_type(codec)->name, in.stamp_sim_ns, frame, json);
	free(json);
}

static bool cat_one(const struct ctl *c, struct cat *x, const struct log_channel *ch, const struct log_message *m)
{
	json_t *j = json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "channel", text_of(ch->topic), "type",
			      text_of(ch->schema_name), "encoding", text_of(ch->message_encoding), "log_time_ns",
			      (json_int_t)m->log_time_ns, "publish_time_ns", (json_int_t)m->publish_time_ns, "sequence",
			      (json_int_t)m->sequence, "size", (json_int_t)m->size);
	char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;

	json_decref(j);
	if (!text)
		return false;
	printf("%.*s", (int)strlen(text) - 1, text);
	free(text);
	cat_body(c, x, m);
	return fputs("}\n", stdout) != EOF;
}

static void say_note(const struct log_channel *ch, const char *note)
{
	char text[1200];

	if (!note)
		return;
	snprintf(text, sizeof(text), "%.200s (%.100s): %.700s", ch->topic, ch->schema_name, note);
	say(text);
}

/* Reports, per channel, which data conversion loses, and the notes on its messages. */
static void say_notes(const struct cat *x, const struct log_info *info)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->codecs[i]) {
			say_note(&info->channels[i], codec_in_loss(x->codecs[i]));
			say_note(&info->channels[i], codec_in_note(x->codecs[i]));
		}
}

int cmd_bag_cat(struct ctl *c)
{
	struct log_reader *r = open_log(c->a.file);
	struct cat x = { 0 };
	struct log_message m;
	int64_t n = 0;
	int k, bad = 0;

	if (!r)
		return 1;
	while (!simctl_stop && (k = log_reader_next(r, &m))) {
		if (k < 0) {
			say(log_reader_why(r));
			bad = 1;
			continue;
		}
		if (!chosen(c, log_reader_info(r)->channels[m.channel].topic))
			continue;
		if (find_codecs(c, &x, log_reader_info(r)) < 0 ||
		    !cat_one(c, &x, &log_reader_info(r)->channels[m.channel], &m) || ctl_unread())
			break;
		if (c->a.count && ++n == c->a.count)
			break;
	}
	say_notes(&x, log_reader_info(r));
	cat_finish(&x);
	log_reader_close(r);
	return bad;
}
