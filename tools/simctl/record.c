/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record: writes what is published into a log: all channels, or those that match, until it is interrupted; or on
 * request the last seconds only. Thread: main writes and shows; record-in receives; services wait for main.
 */
#include "record.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "apollo.h"
#include "keys.h"
#include "memory_room.h"
#include "number.h"
#include "printable.h"
#include "record/copy.h"
#include "record/recode.h"
#include "record/rosbag2.h"
#include "record_backlog.h"
#include "timeutil.h"

#define LOOK_DUR_NS   (NS_PER_S / 5) /* interval between looks for new channels */
#define SCREEN_DUR_NS (NS_PER_S / 5)
#define LINE_DUR_NS   (10 * NS_PER_S)   /* between status lines if stdout is not a terminal */
#define REST_MS       1                 /* wait when idle; a queue holds the messages of that time, 256 */
#define DUMP_BYTES    ((size_t)1 << 20) /* written of a dump before messages are received again */
#define LAST_ROUNDS   5                 /* enough to empty a full queue of each channel while more is published */
#define SHOWN_MAX     4                 /* channels with losses that are named in the status line */

struct recorder {
	struct ctl *c;
	struct recording *recording;
	struct record_channels *channels;
	struct record_services *services; /* NULL: another recorder offers these names */
	char stem[RECORDING_STEM_MAX + 1];
	bool screen, line, gone, directory;
	bool dumping, asked; /* dumping: the ring is being written; asked: a service waits for that */
	uint64_t dumped_from;
	size_t backlog_bytes;
	int64_t looked_mono_ns, shown_mono_ns, flushed_mono_ns;
	uint64_t shown_messages, shown_bytes;
};

static volatile sig_atomic_t triggered;

static void on_trigger(int sig)
{
	(void)sig;
	triggered = 1;
}

static void on_hangup(int sig)
{
	(void)sig;
	simctl_stop = 1;
}

/* Signals that end a terminal's session also end the recording in order. */
static void catch_more_signals(void)
{
	struct sigaction t = { .sa_handler = on_trigger }, h = { .sa_handler = on_hangup };

	sigaction(SIGUSR1, &t, NULL);
	sigaction(SIGHUP, &h, NULL);
	sigaction(SIGQUIT, &h, NULL);
}

/* ---- messages ---- */

static void say(void *arg, const char *text)
{
	struct recorder *rec = arg;
	char fit[RECORDING_PATH_SIZE + 1000];

	printable(fit, sizeof(fit), text, strlen(text));
	if (rec->line)
		fputs("\r\033[K", stdout);
	rec->line = false;
	fflush(stdout);
	fprintf(stderr, "simctl: %s\n", fit);
}

static void recording_says(void *arg, int level, const char *sentence)
{
	(void)level;
	say(arg, sentence);
}

static int fail(struct recorder *rec, const char *text)
{
	say(rec, text);
	return 1;
}

/* ---- options ---- */

static int default_name(char *ret, size_t size)
{
	time_t now = time(NULL);
	struct tm tm;

	return localtime_r(&now, &tm) && strftime(ret, size, "simd-%Y%m%d-%H%M%S", &tm) ? 0 : -EINVAL;
}

static int read_name(struct recorder *rec, struct recording_options *o)
{
	const char *out = rec->c->a.out;
	bool dir = rosbag2_dir_named(out);
	int format = out && !dir ? log_format_of(out) : LOG_MCAP, n = out ? record_stem(out) : 0;

	if (format < 0)
		return fail(rec, "--out: the name must end in .mcap, .bag or .record, or in a slash");
	if (n > RECORDING_STEM_MAX)
		return fail(rec, "--out: the name is too long");
	if (dir) /* the file is named when it is created */
		snprintf(rec->stem, sizeof(rec->stem), "%s", out);
	else if (out)
		snprintf(rec->stem, sizeof(rec->stem), "%.*s", n, out);
	else if (default_name(rec->stem, sizeof(rec->stem)) < 0)
		return fail(rec, "there is no date to name the file by; give -o FILE");
	o->stem = rec->stem;
	o->format = (enum log_format)format;
	return 0;
}

static int read_encoding(struct recorder *rec, struct recording_options *o)
{
	static const char *const compressions[] = { "none", "lz4", "zstd", "bz2" };
	const struct args *a = &rec->c->a;
	int kind = a->encoding                 ? recode_kind_named(a->encoding)
		   : o->format == LOG_BAG      ? CODEC_ROS1
		   : o->format == LOG_RECORD   ? CODEC_APOLLO
		   : rosbag2_dir_named(a->out) ? CODEC_ROS2
					       : CODEC_NATIVE;
	int compression = a->compression ? -1 : o->format == LOG_MCAP ? LOG_COMPRESSION_ZSTD : LOG_COMPRESSION_NONE;

	if (o->format == LOG_BAG && !a->compression)
		compression = LOG_COMPRESSION_LZ4;
	for (int i = 0; a->compression && i < 4; i++)
		if (!strcmp(a->compression, compressions[i]))
			compression = i;
	if (kind < 0)
		return fail(rec, "--encoding is native, packed, json, ros2, ros1 or apollo");
	if (compression < 0)
		return fail(rec, "--compression is none, lz4, zstd or bz2");
	if (rosbag2_dir_named(a->out) && kind != CODEC_ROS2 && kind != CODEC_NATIVE)
		return fail(rec, "a directory is a log of rosbag2, which takes only the encodings ros2 and native");
	o->kind = (enum codec_kind)kind;
	o->compression = (enum log_compression)compression;
	if (o->kind == CODEC_PACKED && o->compression == LOG_COMPRESSION_ZSTD)
		o->level = CODEC_PACKED_ZSTD_LEVEL;
	return 0;
}

static int read_bounds(struct recorder *rec, struct recording_options *o)
{
	const struct args *a = &rec->c->a;
	int64_t split = 0, memory = 0, backlog = 0;

	if (a->split_size && (size_parse(a->split_size, &split) < 0 || split <= 0))
		return fail(rec, "--split-size is a number of bytes such as 512MiB");
	if (a->max_memory && (size_parse(a->max_memory, &memory) < 0 || memory <= 0))
		return fail(rec, "--max-memory is a number of bytes such as 256MiB");
	if (a->pre_buffer_dur_ns < 0 || a->split_dur_ns < 0)
		return fail(rec, "--pre-buffer and --split-duration are times above 0, such as 10s");
	if (!a->pre_buffer_dur_ns && (a->trigger || a->max_memory))
		return fail(rec, "--trigger and --max-memory go with --pre-buffer, which says how much is kept");
	if (a->backlog && (size_parse(a->backlog, &backlog) < 0 || backlog <= 0))
		return fail(rec, "--backlog is a number of bytes such as 256MiB");
	rec->backlog_bytes = a->backlog ? (size_t)backlog : backlog_share(memory_left(""));
	o->split_bytes = (uint64_t)split;
	o->split_dur_ns = a->split_dur_ns;
	o->ring_only = a->pre_buffer_dur_ns > 0;
	o->ring_dur_ns = a->pre_buffer_dur_ns;
	o->ring_bytes = (size_t)memory;
	return 0;
}

/* ---- parts ---- */

static int connect_simd(struct recorder *rec)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = rec->c->a.name, .socket = rec->c->a.socket, .flags = SIM_CLIENT_NO_PREFAULT
	};

	return ctl_connect_as(rec->c, &o) < 0 ? ctl_fail(NULL) : 0;
}

/* Creates rosbag2's directory, if one is given; the name of its first file gives the stem. */
static int make_directory(struct recorder *rec)
{
	char file[RECORDING_PATH_SIZE], why[1000] = "";

	if (!rosbag2_dir_named(rec->c->a.out))
		return 0;
	if (rosbag2_dir_create(rec->c->a.out, file, sizeof(file), why, sizeof(why)) < 0)
		return fail(rec, why);
	rec->directory = true;
	snprintf(rec->stem, sizeof(rec->stem), "%.*s", record_stem(file), file);
	return 0;
}

/*
 * Checks that a file can be created now, not when the first message would be lost. A file without messages is removed
 * again.
 */
static int try_file(struct recorder *rec)
{
	char why[RECORDING_PATH_SIZE + 1000] = "";
	int r = recording_open_file(rec->recording, why, sizeof(why));

	if (r >= 0)
		r = recording_close_file(rec->recording, why, sizeof(why));
	if (r < 0)
		say(rec, why);
	return r;
}

static int make_recording(struct recorder *rec, struct recording_options *o)
{
	json_t *info = ctl_call(rec->c, "io.simd.Control.GetInfo", NULL);
	json_t *clock = info ? ctl_call(rec->c, "io.simd.Control.GetClock", NULL) : NULL;
	char host[256] = "", why[1000] = "";
	struct log_pair about[] = {
		{ "recorder", "simctl" },
		{ "host", host },
		{ "simd", json_text(info, "version") },
		{ "time_source", json_text(json_object_get(clock, "clock"), "source") },
	};
	int r;

	(void)!gethostname(host, sizeof(host) - 1);
	o->about = about;
	o->n_about = sizeof(about) / sizeof(about[0]);
	o->window_dur_ns = RECORDING_WINDOW_DUR_NS;
	o->say = recording_says;
	o->arg = rec;
	r = clock && make_directory(rec) == 0 ? recording_create(o, &rec->recording, why, sizeof(why)) : -EIO;
	json_decref(info);
	json_decref(clock);
	if (r < 0)
		return *why ? fail(rec, why) : 1;
	if (try_file(rec) < 0)
		return 1;
	recording_pause(rec->recording, rec->c->a.start_paused);
	return 0;
}

/* Reports the patterns that no channel has matched. Returns whether there are any. */
static bool name_unmatched(struct recorder *rec, bool ended)
{
	json_t *reply = NULL;
	const char *pattern, *near;
	char text[1000 + NEAR_TEXT_MAX], near_buf[NEAR_TEXT_MAX];
	unsigned i;
	bool is_type;

	for (i = 0; (pattern = record_channels_unmatched(rec->channels, i, &is_type)); i++) {
		if (!reply && !ended)
			reply = ctl_call(rec->c, "io.simd.Control.ListChannels", NULL);
		near = ctl_near(json_object_get(reply, "channels"), is_type ? "type" : "name", pattern, "", near_buf);
		snprintf(text, sizeof(text),
			 ended ? "no channel has matched '%.600s'%s%s"
			       : "no channel matches '%.600s' yet; one that appears later is recorded%s%s",
			 pattern, *near ? "; " : "", near);
		say(rec, text);
	}
	json_decref(reply);
	return i > 0;
}

static bool is_anything_left_out(const struct recorder *rec)
{
	struct recording_left_out x;

	return recording_left_out_at(rec->recording, 0, &x);
}

static int make_channels(struct recorder *rec)
{
	const struct args *a = &rec->c->a;
	struct record_channels_options o = {
		.client = rec->c->client,
		.recording = rec->recording,
		.match = { .include = a->patterns.v,
			   .n_include = a->patterns.n,
			   .exclude = a->exclude.v,
			   .n_exclude = a->exclude.n,
			   .types = a->types.v,
			   .n_types = a->types.n },
		.backlog_bytes = rec->backlog_bytes,
		.say = say,
		.arg = rec,
	};
	int r = record_channels_create(&o, &rec->channels);
	bool unmatched, left_out;
	char text[600];

	if (r == 0)
		r = record_channels_look(rec->channels);
	if (r < 0)
		return fail(rec, *sim_why() ? sim_why() : sim_strerror(r));
	unmatched = name_unmatched(rec, false); /* evaluated first: both are reported */
	left_out = is_anything_left_out(rec);
	if ((unmatched || left_out) && a->strict)
		return fail(rec, "not all requested channels can be recorded (--strict)");
	r = record_channels_start(rec->channels);
	if (r < 0)
		return fail(rec, sim_strerror(r));
	if (record_services_create(rec->c->client, a->name, &rec->services) < 0) {
		snprintf(text, sizeof(text),
			 "the recorder's services are not offered (--name gives them another name): %s", sim_why());
		say(rec, text);
	}
	return 0;
}

/* ---- status ---- */

/* " lost 12 (/a 10, /b 2)"; "" without losses. */
static void losses_text(const struct recorder *rec, char *ret, size_t size)
{
	struct recording_channel_stats st;
	unsigned shown = 0;
	size_t n = 0;

	*ret = '\0';
	for (unsigned i = 0; recording_channel_stats(rec->recording, i, &st); i++) {
		if (!st.lost || n >= size)
			continue;
		if (shown++ == SHOWN_MAX)
			n += (size_t)snprintf(ret + n, size - n, ", ...");
		else if (shown <= SHOWN_MAX)
			n += (size_t)snprintf(ret + n, size - n, "%s%s %" PRIu64, n ? ", " : "", st.name, st.lost);
	}
}

static const char *state_of(const struct recording_stats *st)
{
	return st->failed ? "FAILED" : st->paused ? "PAUSED" : st->ring_only ? "WAITING" : "RECORDING";
}

static void print_progress(struct recorder *rec, const struct recording_stats *st, double per_s, double bytes_per_s)
{
	char losses[500], kept[100] = "";
	const char *file = strrchr(st->path, '/') ? strrchr(st->path, '/') + 1 : st->path;

	losses_text(rec, losses, sizeof(losses));
	if (st->ring_only)
		snprintf(kept, sizeof(kept), "  %.1f s, %" PRIu64 " messages, %.1f MB kept",
			 (double)st->ring_dur_ns / 1e9, st->ring_messages, (double)st->ring_bytes / 1e6);
	printf("%s%s  %u channels  %" PRIu64 " messages  %.0f msg/s  %.1f MB  %.2f MB/s%s  %" PRIu64
	       " lost%s%s%s  %s%s",
	       rec->screen ? "\r\033[K" : "", state_of(st), record_channels_count(rec->channels), st->messages, per_s,
	       (double)st->bytes / 1e6, bytes_per_s / 1e6, kept, st->lost, *losses ? " (" : "", losses,
	       *losses ? ")" : "", file, rec->screen ? "" : "\n");
	fflush(stdout);
	rec->line = rec->screen;
}

static void show(struct recorder *rec, bool now)
{
	int64_t mono_ns = mono_now_ns(), dur_ns = mono_ns - rec->shown_mono_ns;
	struct recording_stats st;

	if (rec->c->a.json || dur_ns <= 0 ||
	    (!(now && rec->screen) && dur_ns < (rec->screen ? SCREEN_DUR_NS : LINE_DUR_NS)))
		return;
	recording_stats(rec->recording, &st);
	print_progress(rec, &st, (double)(st.messages - rec->shown_messages) * 1e9 / (double)dur_ns,
		       (double)(st.bytes - rec->shown_bytes) * 1e9 / (double)dur_ns);
	rec->shown_messages = st.messages;
	rec->shown_bytes = st.bytes;
	rec->shown_mono_ns = mono_ns;
}

static void print_losses(const struct recorder *rec)
{
	struct recording_channel_stats st;

	for (unsigned i = 0; recording_channel_stats(rec->recording, i, &st); i++)
		if (st.lost)
			printf("  %s: %" PRIu64 " of %" PRIu64 " lost\n", st.name, st.lost, st.accepted);
}

static void print_left_out(const struct recorder *rec)
{
	struct recording_left_out x;

	for (unsigned i = 0; recording_left_out_at(rec->recording, i, &x); i++)
		printf("  %s: not recorded%s: %s\n", x.name, x.now ? "" : " for a while", x.why);
}

static json_t *left_out_json(const struct recorder *rec)
{
	struct recording_left_out x;
	json_t *all = json_array();

	for (unsigned i = 0; recording_left_out_at(rec->recording, i, &x); i++)
		json_array_append_new(all,
				      json_pack("{s:s, s:s, s:b}", "name", x.name, "why", x.why, "now", (int)x.now));
	return all;
}

static json_t *channels_json(const struct recorder *rec)
{
	struct recording_channel_stats st;
	json_t *all = json_array();

	for (unsigned i = 0; recording_channel_stats(rec->recording, i, &st); i++)
		json_array_append_new(all, json_pack("{s:s, s:I, s:I, s:I}", "name", st.name, "accepted",
						     (json_int_t)st.accepted, "recorded", (json_int_t)st.recorded,
						     "lost", (json_int_t)st.lost));
	return all;
}

static void print_summary(const struct recorder *rec, const struct recording_stats *st)
{
	uint64_t undated = record_channels_undated(rec->channels);

	printf("%" PRIu64 " messages, %" PRIu64 " lost, %.1f MB in %u file%s%s%s\n", st->messages, st->lost,
	       (double)st->bytes / 1e6, st->files, st->files == 1 ? "" : "s", *st->path ? ": " : "", st->path);
	if (undated)
		printf("  %" PRIu64 " came so late that the time of their publishing is not known\n", undated);
	print_losses(rec);
	print_left_out(rec);
}

static void summarize(struct recorder *rec)
{
	struct recording_stats st;

	recording_stats(rec->recording, &st);
	if (rec->line)
		fputs("\r\033[K", stdout);
	rec->line = false;
	if (rec->c->a.json) {
		json_t *j = json_pack("{s:I, s:I, s:I, s:I, s:I, s:s, s:o, s:o}", "messages", (json_int_t)st.messages,
				      "lost", (json_int_t)st.lost, "undated",
				      (json_int_t)record_channels_undated(rec->channels), "bytes", (json_int_t)st.bytes,
				      "files", (json_int_t)st.files, "file", st.path, "channels", channels_json(rec),
				      "left_out", left_out_json(rec));

		ctl_print_json(rec->c, j);
		json_decref(j);
	} else {
		print_summary(rec, &st);
	}
	fflush(stdout);
}

/* ---- recording ---- */

/* Records what was published before an order. */
static void catch_up(struct recorder *rec)
{
	for (unsigned i = 0; i < LAST_ROUNDS && record_channels_catch_up(rec->channels) > 0; i++)
		;
}

static void end_dump(struct recorder *rec, int r, const char *text)
{
	if (rec->asked)
		record_services_answer(rec->services, r, text);
	rec->dumping = rec->asked = false;
	say(rec, text);
	show(rec, true);
}

/* Begins to write the ring to a file, while messages continue to be received. asked: a service waits for the result. */
static void begin_dump(struct recorder *rec, bool asked)
{
	struct recording_stats st;

	rec->asked |= asked;
	if (rec->dumping)
		return;
	catch_up(rec);
	recording_stats(rec->recording, &st);
	if (!st.ring_only) {
		end_dump(rec, -EALREADY, "nothing to dump: all is recorded already");
		return;
	}
	rec->dumping = true;
	rec->dumped_from = st.messages;
	recording_dump_begin(rec->recording, !rec->c->a.trigger);
}

static void go_on_dumping(struct recorder *rec)
{
	char text[RECORD_TEXT];
	struct recording_stats st;
	int r;

	if (!rec->dumping)
		return;
	r = recording_dump_some(rec->recording, DUMP_BYTES, text, sizeof(text));
	if (r > 0)
		return;
	recording_stats(rec->recording, &st);
	if (r == 0)
		snprintf(text, sizeof(text), "%" PRIu64 " messages into %s%s", st.messages - rec->dumped_from,
			 *st.path ? st.path : "no file", rec->c->a.trigger ? "" : ", recording continues");
	end_dump(rec, r, text);
}

static int execute(struct recorder *rec, enum record_order order, char *text, size_t size)
{
	struct recording_stats st;
	int r = 0;

	catch_up(rec);
	recording_stats(rec->recording, &st);
	*text = '\0';
	if (order == RECORD_SPLIT)
		r = recording_close_file(rec->recording, text, size);
	else
		recording_pause(rec->recording, order == RECORD_PAUSE || (order == RECORD_TOGGLE && !st.paused));
	if (order == RECORD_TOGGLE)
		snprintf(text, size, "%s", st.paused ? "recording" : "paused");
	show(rec, true);
	return r;
}

static void obey_key(struct recorder *rec, enum key key)
{
	char text[RECORD_TEXT];

	if (key == KEY_SPACE)
		(void)!execute(rec, RECORD_TOGGLE, text, sizeof(text));
	else if (key == KEY_T)
		begin_dump(rec, false);
	else if (key == KEY_Q)
		simctl_stop = 1;
}

static void obey_services(struct recorder *rec)
{
	enum record_order order = record_services_order(rec->services);
	char text[RECORD_TEXT];
	int r;

	if (order == RECORD_DUMP)
		begin_dump(rec, true);
	if (order == RECORD_DUMP || order == RECORD_NONE)
		return;
	r = execute(rec, order, text, sizeof(text));
	record_services_answer(rec->services, r, text);
}

/* Reports once when simd disconnects or reconnects; nothing is recorded in between. False: it will not reconnect. */
static bool look_at_simd(struct recorder *rec)
{
	enum sim_client_state state = sim_client_state(rec->c->client);
	bool gone = state == SIM_CLIENT_RECONNECTING || state == SIM_CLIENT_FAILED;

	if (state == SIM_CLIENT_FAILED) {
		say(rec, sim_client_why(rec->c->client));
		return false;
	}
	if (gone != rec->gone)
		say(rec, gone ? "disconnected from simd: recording continues when simd is back"
			      : "simd is back, recording continues");
	rec->gone = gone;
	return true;
}

/* False: the recording ends. */
static bool look(struct recorder *rec)
{
	int64_t now = mono_now_ns();

	if (now - rec->looked_mono_ns < LOOK_DUR_NS)
		return true;
	if (!look_at_simd(rec))
		return false;
	if (!rec->gone)
		(void)!record_channels_look(rec->channels); /* on an error, again at the next look */
	rec->looked_mono_ns = mono_now_ns();
	return true;
}

/*
 * Writes out buffered data at intervals, so that a kill loses at most a second of messages. The recording reports
 * errors.
 */
static void flush(struct recorder *rec)
{
	int64_t now = mono_now_ns();

	if (now - rec->flushed_mono_ns < RECORDING_FLUSH_DUR_NS)
		return;
	(void)!recording_flush(rec->recording);
	rec->flushed_mono_ns = now;
}

static int attend(struct recorder *rec)
{
	bool fine = true;

	keys_open();
	while (!simctl_stop && fine) {
		bool busy = record_channels_drain(rec->channels) > 0;

		if (triggered) {
			triggered = 0;
			begin_dump(rec, false);
		}
		go_on_dumping(rec);
		obey_services(rec);
		obey_key(rec, keys_read(busy || rec->dumping ? 0 : REST_MS));
		fine = look(rec);
		flush(rec);
		show(rec, false);
	}
	keys_close();
	record_channels_stop(rec->channels);
	catch_up(rec);
	while (rec->dumping)
		go_on_dumping(rec);
	return !fine;
}

static int finish(struct recorder *rec)
{
	char why[RECORDING_PATH_SIZE + 1000] = "";
	struct recording_stats st;
	bool unmatched;
	int r = recording_close_file(rec->recording, why, sizeof(why));

	if (r >= 0 && rec->directory)
		r = rosbag2_dir_finish(rec->c->a.out, why, sizeof(why));
	rec->directory = false;
	if (r < 0)
		say(rec, why);
	unmatched = name_unmatched(rec, true);
	recording_stats(rec->recording, &st);
	summarize(rec);
	return r < 0 || st.failures || unmatched || is_anything_left_out(rec);
}

static int ask_for_dump(struct ctl *c)
{
	char path[SIM_CHANNEL_MAX + 2];
	json_t *reply, *answer;
	bool done;

	snprintf(path, sizeof(path), "/%.60s/dump", c->a.name);
	if (ctl_connect(c) < 0)
		return ctl_fail(NULL);
	reply = ctl_call_within(c, "io.simd.Control.CallService",
				json_pack("{s:s, s:{}, s:i}", "service", path, "request", "timeout_ms", 60000), -1);
	answer = json_object_get(reply, "response");
	done = json_yes(answer, "success");
	if (reply)
		fprintf(done ? stdout : stderr, "%s%s\n", done ? "" : "simctl: ", json_text(answer, "message"));
	json_decref(reply);
	return !done;
}

int cmd_record(struct ctl *c)
{
	struct recorder rec = { .c = c, .screen = isatty(STDOUT_FILENO) && !c->a.json };
	struct codec_apollo apollo = { .release = APOLLO_10 };
	struct recording_options o = { .apollo = &apollo };
	int r;

	c->a.name = c->a.name ? c->a.name : "record";
	if (c->a.dump)
		return ask_for_dump(c);
	catch_more_signals();
	rec.shown_mono_ns = rec.looked_mono_ns = rec.flushed_mono_ns = mono_now_ns();
	r = read_name(&rec, &o) || read_encoding(&rec, &o) || read_bounds(&rec, &o) ? 2 : 0;
	if (r == 0)
		r = ctl_apollo_read(&c->a, o.kind == CODEC_APOLLO, &apollo);
	if (r == 0)
		r = connect_simd(&rec);
	c->unfinished = true;
	if (r == 0)
		r = make_recording(&rec, &o) || make_channels(&rec);
	if (r == 0) {
		r = attend(&rec);
		record_services_destroy(rec.services);
		rec.services = NULL;
		r |= finish(&rec);
	}
	record_services_destroy(rec.services);
	record_channels_destroy(rec.channels);
	if (rec.recording)
		(void)!recording_destroy(rec.recording, NULL, 0);
	if (rec.directory) /* removes it if nothing was recorded */
		(void)!rosbag2_dir_finish(c->a.out, NULL, 0);
	codec_apollo_finish(&apollo);
	return r;
}
