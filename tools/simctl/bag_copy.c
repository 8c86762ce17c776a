/* SPDX-License-Identifier: Apache-2.0 */
/* simctl bag recover, split, merge, filter, convert: thin wrappers around tools/record/copy.h. Thread: main. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>
#include <string.h>

#include "apollo.h"
#include "number.h"
#include "printable.h"
#include "record/copy.h"
#include "record/recode.h"
#include "record/rosbag2.h"
#include "simctl.h"

static void say(void *arg, const char *sentence)
{
	char text[2000];

	(void)arg;
	printable(text, sizeof(text), sentence, strlen(sentence));
	fprintf(stderr, "simctl: %s\n", text);
}

static int usage(const char *sentence)
{
	say(NULL, sentence);
	return 2;
}

/*
 * Chooses the format by the name's suffix, and the compression by the format, unless --compression is given. False:
 * invalid.
 */
static bool choose(const struct ctl *c, const char *out, struct log_write_options *w)
{
	static const char *const compressions[] = { "none", "lz4", "zstd", "bz2" };
	const char *name = c->a.compression;
	int format = log_format_of(out);

	if (format < 0)
		return false;
	w->format = (enum log_format)format;
	w->compression = format == LOG_MCAP  ? LOG_COMPRESSION_ZSTD
			 : format == LOG_BAG ? LOG_COMPRESSION_LZ4
					     : LOG_COMPRESSION_NONE;
	for (unsigned i = 0; name && i < 4; i++)
		if (!strcmp(name, compressions[i])) {
			w->compression = (enum log_compression)i;
			return true;
		}
	return !name;
}

static int show(const struct ctl *c, const char *out, const struct copy_result *x)
{
	if (c->a.json) {
		json_t *j = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "file", out, "messages",
				      (json_int_t)x->n_messages, "files", (json_int_t)x->n_files, "damaged",
				      (json_int_t)x->n_damaged, "channels_left_out", (json_int_t)x->n_left_out,
				      "messages_left_out", (json_int_t)x->n_refused);

		ctl_print_json(c, j);
		json_decref(j);
	} else {
		printf("%s: %" PRIu64 " messages in %u file%s\n", out, x->n_messages, x->n_files,
		       x->n_files == 1 ? "" : "s");
	}
	return 0;
}

/* strict: exit code 1 if something was damaged or left out. */
static int run(const struct ctl *c, const char *const *in, unsigned n, const char *out, struct copy_options *o,
	       bool strict)
{
	char why[700], file[PATH_MAX];
	struct copy_result x;
	bool dir = rosbag2_dir_named(out);
	int r;

	if (!choose(c, dir ? ".mcap" : out, &o->write))
		return usage(
			"the output's name must end in .mcap, .bag or .record, or in a slash, and --compression is none, lz4, zstd or bz2");
	if (dir && rosbag2_dir_create(out, file, sizeof(file), why, sizeof(why)) < 0) {
		say(NULL, why);
		return 1;
	}
	o->include = c->a.include.v;
	o->n_include = c->a.include.n;
	o->exclude = c->a.exclude.v;
	o->n_exclude = c->a.exclude.n;
	o->say = say;
	o->stopped = ctl_stopped;
	r = log_copy(in, n, dir ? file : out, o, &x, why, sizeof(why));
	if (r >= 0 && dir)
		r = rosbag2_dir_finish(out, why, sizeof(why));
	else if (dir)
		(void)!rmdir(out); /* only if it is empty */
	if (r < 0) {
		say(NULL, why);
		return 1;
	}
	show(c, out, &x);
	return strict && (x.n_damaged || x.n_left_out || x.n_refused);
}

int cmd_bag_recover(struct ctl *c)
{
	struct copy_options o = { .read = { .scan = true, .file_order = true } };

	return run(c, &c->a.file, 1, c->a.out, &o, false);
}

int cmd_bag_split(struct ctl *c)
{
	struct copy_options o = { .split_dur_ns = c->a.split_dur_ns };
	int64_t bytes = 0;

	if (c->a.split_size && size_parse(c->a.split_size, &bytes) < 0)
		return usage("--size is a number of bytes such as 512MiB");
	if (bytes <= 0 && o.split_dur_ns <= 0)
		return usage("bag split needs --size or --duration");
	o.split_bytes = (uint64_t)bytes;
	return run(c, &c->a.file, 1, c->a.out, &o, true);
}

int cmd_bag_merge(struct ctl *c)
{
	struct copy_options o = { 0 };

	return run(c, c->a.files.v, c->a.files.n, c->a.out, &o, true);
}

int cmd_bag_filter(struct ctl *c)
{
	struct copy_options o = { .start_dur_ns = c->a.start_dur_ns, .end_dur_ns = c->a.end_dur_ns };

	return run(c, &c->a.file, 1, c->a.out, &o, true);
}

int cmd_bag_convert(struct ctl *c)
{
	struct copy_options o = { .convert = true, .encoding = -1 };
	const char *name = c->a.encoding;
	int format = log_format_of(c->a.out);
	bool dir = rosbag2_dir_named(c->a.out);
	struct codec_apollo apollo;
	int r;

	if (dir)
		o.encoding = CODEC_ROS2;
	if (name) {
		o.encoding = recode_kind_named(name);
		if (o.encoding < 0)
			return usage("--encoding is native, packed, json, ros2, ros1 or apollo");
		if ((format == LOG_BAG && o.encoding != CODEC_ROS1) ||
		    (format == LOG_RECORD && o.encoding != CODEC_APOLLO))
			return usage("a .bag takes the encoding ros1 alone, and a .record apollo; MCAP takes any");
		if (dir && o.encoding != CODEC_ROS2 && o.encoding != CODEC_NATIVE)
			return usage("a directory is a log of rosbag2, which takes only the encodings ros2 and native");
	}
	r = ctl_apollo_read(&c->a, format != LOG_BAG && (o.encoding < 0 || o.encoding == CODEC_APOLLO), &apollo);
	o.apollo = &apollo;
	if (r == 0)
		r = run(c, &c->a.file, 1, c->a.out, &o, true);
	codec_apollo_finish(&apollo);
	return r;
}
