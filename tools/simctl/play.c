/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play: publishes the messages of logs on their channels. By default it selects the time source `play` and drives the
 * clock from the log's times, and restores the former source at the end; with --follow it follows the running clock.
 * Thread: main reads keys and shows the position; the player has two threads of its own.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "keys.h"
#include "play.h"
#include "play_time.h"
#include "printable.h"
#include "record/merge.h"
#include "record/pace.h"
#include "record/player_simd.h"
#include "timeutil.h"

#define LOOK_MS         100
#define SHOW_DUR_NS     (NS_PER_S / 5)
#define TICK_DUR_NS     (10 * NS_PER_MS)
#define RATE_STEP       1.1 /* factor of a key press, as in rosbag2's player */
#define PRELOAD_DUR_NS  (3 * NS_PER_S)
#define PRELOAD_DEFAULT 128 /* MiB */
#define SOURCE_MAX      80

struct play {
	struct ctl *c;
	struct log_reader *readers[MERGE_INPUTS_MAX];
	unsigned n;
	int64_t first_ns, last_ns; /* over all logs */
	int64_t begin_ns, end_ns;  /* the part that is played */
	int64_t rate_e6;
	char former[SOURCE_MAX]; /* time source to restore; "": none */
	struct sim_driver *driver;
	struct merge *merge;
	struct player_simd *sink;
	struct player *player;
	struct play_services services;
	/* screen: stdout is a terminal; line: the status line is on it */
	bool screen, line;
	int64_t shown_mono_ns;
	uint64_t shown_published;
	double per_s;
	int64_t given_rate_e6;
	pthread_mutex_t lock; /* guards `line` and the output */
};

/* ---- messages ---- */

/* Caller holds the lock. */
static void clear_line(struct play *p)
{
	if (p->line)
		fputs("\r\033[K", stdout);
	p->line = false;
	fflush(stdout);
}

static void say(void *ctx, const char *text)
{
	struct play *p = ctx;
	char fit[4096];

	printable(fit, sizeof(fit), text, strlen(text));
	pthread_mutex_lock(&p->lock);
	clear_line(p);
	fprintf(stderr, "simctl: %s\n", fit);
	pthread_mutex_unlock(&p->lock);
}

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "simctl: %s%s%s\n", what, *what ? ": " : "", why);
	return 1;
}

/* ---- logs ---- */

/* Finds the first and last time of a log; reads it to its end if it has no index. */
static int measure(struct play *p, struct log_reader *r, const char *path)
{
	const struct log_info *info = log_reader_info(r);
	int64_t first_ns = info->start_ns, last_ns = info->end_ns;
	struct log_message m;
	bool any = info->counted && info->n_messages;
	int got = 0;

	if (!info->counted) {
		for (unsigned damages = 0; damages < 1000 && !simctl_stop && (got = log_reader_next(r, &m)) != 0;) {
			if (got < 0) {
				damages++; /* reported when it is played */
				continue;
			}
			first_ns = any && first_ns < m.log_time_ns ? first_ns : m.log_time_ns;
			last_ns = any && last_ns > m.log_time_ns ? last_ns : m.log_time_ns;
			any = true;
		}
		if (log_reader_seek(r, INT64_MIN) < 0)
			return fail(path, log_reader_why(r));
	}
	if (!any) {
		fprintf(stderr, "simctl: %s has no messages\n", path);
		return 0;
	}
	if (p->first_ns > first_ns)
		p->first_ns = first_ns;
	if (p->last_ns < last_ns)
		p->last_ns = last_ns;
	return 0;
}

static int open_logs(struct play *p)
{
	const struct opt_strings *files = &p->c->a.files;
	char why[512] = "";

	p->first_ns = INT64_MAX;
	p->last_ns = INT64_MIN;
	if (files->n > MERGE_INPUTS_MAX)
		return fail("", "at most 64 files are played at a time");
	for (unsigned i = 0; i < files->n; i++) {
		if (log_reader_open(files->v[i], NULL, &p->readers[i], why, sizeof(why)) < 0)
			return fail("", why);
		p->n++;
		if (measure(p, p->readers[i], files->v[i]))
			return 1;
	}
	if (p->first_ns > p->last_ns)
		return fail("", "there is nothing to play");
	if (p->first_ns < 0)
		return fail("", "the log begins before 1970, or before 0: no clock can have such a time");
	return 0;
}

static int time_of(const struct play *p, const char *option, const char *text, int64_t *ret_ns)
{
	int r = text ? play_time_parse(text, p->first_ns, ret_ns) : 0;

	if (r == 0)
		return 0;
	fprintf(stderr,
		"simctl: %s %s: %s; give seconds from the beginning (12.5), of the log's clock (@12.5), or a date "
		"(2026-11-23T03:40:00Z)\n",
		option, text, r == -ERANGE ? "out of range" : "no time");
	return 1;
}

static int read_times(struct play *p)
{
	const struct args *a = &p->c->a;

	p->begin_ns = p->first_ns;
	p->end_ns = p->last_ns;
	if (time_of(p, "--start", a->start, &p->begin_ns) || time_of(p, "--end", a->end, &p->end_ns))
		return 1;
	if (p->end_ns > p->last_ns)
		p->end_ns = p->last_ns;
	if (p->begin_ns > p->end_ns)
		return fail("--start", "that is after the end");
	return 0;
}

static int read_options(struct play *p)
{
	const struct args *a = &p->c->a;
	int r = a->rate ? play_rate_parse(a->rate, &p->rate_e6) : 0;

	if (r < 0)
		return fail("--rate", "a rate is a number above 0, such as 0.5 or 10; 0.000001 to 1000000");
	for (unsigned i = 0; i < a->remaps.n; i++) {
		const char *mid = strstr(a->remaps.v[i], ":=");

		if (!mid || mid == a->remaps.v[i] || !mid[2])
			return fail(a->remaps.v[i], "--remap must be OLD:=NEW");
	}
	if (a->follow && a->lockstep)
		return fail("--follow",
			    "--lockstep drives time, and --follow leaves that to another driver: give one of them");
	return 0;
}

/* ---- time ---- */

static int set_source(struct play *p, const char *name, bool quiet)
{
	json_t *params = json_pack("{s:s, s:b}", "source", name, "continue", 0);
	char *text = json_dumps(params, JSON_COMPACT), *answer = NULL;
	int r = text ? sim_call(p->c->client, "io.simd.Control.SetSource", text, &answer) : -ENOMEM;

	json_decref(params);
	free(text);
	free(answer);
	if (r < 0 && !quiet)
		ctl_fail("cannot select the time source `play`");
	return r;
}

static int read_former(struct play *p)
{
	json_t *reply = ctl_call(p->c, "io.simd.Control.GetClock", NULL);
	const json_t *k = json_object_get(reply, "clock");
	const char *source = json_text(k, "source");

	if (!reply)
		return 1;
	if (strcmp(source, "play") != 0)
		snprintf(p->former, sizeof(p->former), "%s", source);
	if (json_yes(k, "paused"))
		say(p, "simulated time is paused, so nothing is played: `simctl clock resume`");
	json_decref(reply);
	return 0;
}

static int take_time(struct play *p)
{
	if (p->c->a.follow)
		return 0;
	if (read_former(p))
		return 1;
	p->c->unfinished = true;
	if (set_source(p, "play", false) < 0) {
		*p->former = '\0';
		fputs("simctl: without permission to select the source, give --follow to follow the running clock\n",
		      stderr);
		return 1;
	}
	if (sim_driver_acquire(p->c->client, p->c->a.lockstep ? SIM_DRIVER_LOCKSTEP | SIM_DRIVER_FREEWHEEL : 0,
			       &p->driver) < 0)
		return ctl_fail("cannot get the driver's lease of `play`");
	return 0;
}

/* Restores the former time source, unless another one has been chosen meanwhile. */
static void give_time_back(struct play *p)
{
	json_t *reply;
	bool ours;

	if (!*p->former || sim_client_state(p->c->client) != SIM_CLIENT_CONNECTED)
		return;
	reply = ctl_call(p->c, "io.simd.Control.GetClock", NULL);
	ours = strcmp(json_text(json_object_get(reply, "clock"), "source"), "play") == 0;
	json_decref(reply);
	if (ours && set_source(p, p->former, true) < 0)
		fprintf(stderr,
			"simctl: the time source is still `play`: `simctl clock source %s` restores the former one\n",
			p->former);
	*p->former = '\0';
}

/* ---- status ---- */

static void show(struct play *p, bool now)
{
	struct player_status st;
	int64_t mono_ns = mono_now_ns(), dur_ns = mono_ns - p->shown_mono_ns;
	const char *path;
	char name[120], text[STAMP_FORMAT_MAX];

	if (!p->screen || (dur_ns < SHOW_DUR_NS && !now))
		return;
	player_status(p->player, &st);
	if (dur_ns >= SHOW_DUR_NS) {
		p->per_s = (double)(st.published - p->shown_published) * 1e9 / (double)dur_ns;
		p->shown_published = st.published;
		p->shown_mono_ns = mono_ns;
	}
	path = p->c->a.files.v[st.input];
	path = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	printable(name, sizeof(name), path, strlen(path) < 40 ? strlen(path) : 40);
	pthread_mutex_lock(&p->lock);
	printf("\r\033[K%s s  %.2f / %.2f s  %gx%s  %.0f msg/s  %s", stamp_format(st.log_ns, text),
	       (double)(st.log_ns - p->begin_ns) / 1e9, (double)(p->end_ns - p->begin_ns) / 1e9,
	       (double)p->services.rate_e6 / 1e6, st.paused ? " PAUSED" : "", p->per_s, name);
	if (st.late)
		printf("  %" PRIu64 " late", st.late);
	fflush(stdout);
	p->line = true;
	pthread_mutex_unlock(&p->lock);
}

static json_t *left_out_json(const struct play *p)
{
	json_t *list = json_array();
	struct player_simd_left_out l;

	for (unsigned i = 0; player_simd_left_out(p->sink, i, &l); i++) {
		char channel[600], why[2000];

		printable(channel, sizeof(channel), l.channel, strlen(l.channel));
		printable(why, sizeof(why), l.why, strlen(l.why));
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:I, s:b}", "channel", channel, "reason", why, "messages",
						(json_int_t)l.messages, "error", !l.given && !l.fields));
	}
	return list;
}

/* Prints one line for each channel that was played incompletely or not at all. */
static void print_left_out(const struct play *p)
{
	struct player_simd_left_out l;

	for (unsigned i = 0; player_simd_left_out(p->sink, i, &l); i++) {
		char text[1000], fit[4000];

		if (l.fields)
			snprintf(text, sizeof(text), "%s: %s", l.channel, l.why);
		else if (l.messages > 1)
			snprintf(text, sizeof(text), "%" PRIu64 " messages of %s are left out, the first: %s",
				 l.messages, l.channel, l.why);
		else
			snprintf(text, sizeof(text), "%s%s is left out: %s", l.messages ? "1 message of " : "",
				 l.channel, l.why);
		printable(fit, sizeof(fit), text, strlen(text));
		puts(fit);
	}
}

static void report(struct play *p)
{
	struct player_simd_counters n;
	struct player_status st;

	player_status(p->player, &st);
	player_simd_counters(p->sink, &n);
	pthread_mutex_lock(&p->lock);
	clear_line(p);
	if (p->c->a.json) {
		json_t *j = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "messages",
				      (json_int_t)(n.queued + n.local), "channels", (json_int_t)n.channels, "skipped",
				      (json_int_t)n.skipped, "late", (json_int_t)st.late, "latest_ns",
				      (json_int_t)st.latest_dur_ns, "loops", (json_int_t)st.loops, "failed",
				      (json_int_t)n.failed, "refused", (json_int_t)n.refused, "bad", (json_int_t)n.bad,
				      "damages", (json_int_t)st.damages, "left_out", left_out_json(p));

		ctl_print_json(p->c, j);
		json_decref(j);
	} else {
		printf("%" PRIu64 " messages of %u channels, %" PRIu64 " late (at most %.1f ms), %" PRIu64
		       " not delivered to all bridges, %" PRIu64 " refused, %" PRIu64
		       " unreadable, %u channel%s left out\n",
		       n.queued + n.local, n.channels, st.late, (double)st.latest_dur_ns / 1e6, n.failed, n.refused,
		       n.bad, n.skipped, n.skipped == 1 ? "" : "s");
		print_left_out(p);
		fflush(stdout);
	}
	pthread_mutex_unlock(&p->lock);
}

/* ---- control ---- */

static void change_rate(struct play *p, double by)
{
	double e6 = (double)p->services.rate_e6 * by + 0.5;

	if (e6 >= (double)PACE_MIN && e6 <= (double)PACE_MAX)
		p->services.rate_e6 = (int64_t)e6;
}

/*
 * Sets the player's rate: when driving the clock, multiplied by the clock's scale; a followed clock is scaled already.
 */
static void apply_rate(struct play *p)
{
	const struct sim_clock_page *page = sim_clock_page(p->c->client);
	int64_t scale_e6 = __atomic_load_n(&page->scale_e6, __ATOMIC_RELAXED), e6 = p->services.rate_e6;

	if (p->driver && scale_e6 > 0)
		e6 = (int64_t)((int128)e6 * scale_e6 / SIM_RATE_ONE);
	if (e6 == p->given_rate_e6)
		return;
	p->given_rate_e6 = e6;
	(void)!player_set_rate(p->player, e6 < PACE_MIN ? PACE_MIN : e6 > PACE_MAX ? PACE_MAX : e6);
}

static void obey(struct play *p, enum key key)
{
	struct player_status st;

	player_status(p->player, &st);
	if (key == KEY_SPACE)
		player_pause(p->player, !st.paused);
	else if (key == KEY_RIGHT)
		(void)!player_next(p->player);
	else if (key == KEY_UP)
		change_rate(p, RATE_STEP);
	else if (key == KEY_DOWN)
		change_rate(p, 1 / RATE_STEP);
	else if (key == KEY_Q)
		simctl_stop = 1;
	if (key != KEY_NONE)
		show(p, true);
}

static void attend(struct play *p)
{
	keys_open();
	while (!simctl_stop && !player_over(p->player, 0)) {
		enum key key = keys_read(LOOK_MS);

		obey(p, key);
		apply_rate(p);
		show(p, false);
	}
	keys_close();
}

/* ---- start and end ---- */

static int connect_simd(struct play *p)
{
	struct sim_client_options o = { .size = sizeof(o),
					.name = p->c->a.name,
					.socket = p->c->a.socket,
					.flags = SIM_CLIENT_NO_PREFAULT | SIM_CLIENT_SOURCE };

	return ctl_connect_as(p->c, &o) < 0 ? ctl_fail(NULL) : 0;
}

static int make_sink(struct play *p)
{
	const struct args *a = &p->c->a;
	struct player_simd_options o = { .client = p->c->client,
					 .driver = p->driver,
					 .lockstep = a->lockstep,
					 .channels = a->patterns.v,
					 .n_channels = a->patterns.n,
					 .remaps = a->remaps.v,
					 .n_remaps = a->remaps.n,
					 .prefix = a->prefix,
					 .say = say,
					 .stopped = ctl_stopped,
					 .ctx = p };
	int r = player_simd_create(&o, &p->sink);

	if (r == 0)
		r = merge_create(&p->merge);
	for (unsigned i = 0; r == 0 && i < p->n; i++) {
		r = player_simd_add(p->sink, p->readers[i], a->files.v[i]);
		if (r == 0)
			r = merge_add(p->merge, &merge_reader_ops, p->readers[i]);
	}
	if (r == 0)
		r = player_simd_open(p->sink);
	return r < 0 ? fail("", *sim_why() ? sim_why() : sim_strerror(r)) : 0;
}

static int make_player(struct play *p)
{
	const struct args *a = &p->c->a;
	struct player_options o = { .merge = p->merge,
				    .sink = p->driver ? &player_simd_sink : &player_follow_sink,
				    .ctx = p->sink,
				    .rate_e6 = p->rate_e6,
				    .begin_ns = p->begin_ns,
				    .end_ns = p->end_ns,
				    .first_ns = p->first_ns,
				    .delay_dur_ns = a->delay_dur_ns,
				    .preload_dur_ns = a->preload_dur_ns ? a->preload_dur_ns : PRELOAD_DUR_NS,
				    .preload_bytes = (size_t)(a->preload_mib ? a->preload_mib : PRELOAD_DEFAULT) << 20,
				    .tick_dur_ns = TICK_DUR_NS,
				    .loop = a->loop,
				    .lockstep = a->lockstep,
				    .paused = a->start_paused,
				    .spin = p->driver && sysconf(_SC_NPROCESSORS_ONLN) > 1 };
	int r = player_create(&o, &p->player);

	if (r < 0)
		return fail("", sim_strerror(r));
	p->services = (struct play_services){
		.player = p->player, .begin_ns = p->begin_ns, .end_ns = p->end_ns, .rate_e6 = p->rate_e6
	};
	p->given_rate_e6 = p->rate_e6;
	if (play_services_offer(&p->services, p->c->client, a->name) < 0)
		say(p, "the services are not offered, as another player has them: give another --name");
	apply_rate(p);
	return 0;
}

static int verdict(const struct play *p, int r)
{
	struct player_simd_counters n;
	struct player_status st;

	player_status(p->player, &st);
	player_simd_counters(p->sink, &n);
	if (r == -ENOTCONN)
		return fail("", "disconnected from simd: playing ends here");
	if (r == -EPERM)
		return fail("", "another time source was chosen: playing ends here");
	if (r < 0 && r != -ECANCELED)
		return fail("", *sim_why() ? sim_why() : sim_strerror(r));
	return st.damages || n.refused || n.bad || n.skipped > n.given;
}

static int run(struct play *p)
{
	int r = player_start(p->player);

	if (r < 0)
		return fail("", "no thread can be started");
	p->shown_mono_ns = mono_now_ns();
	attend(p);
	play_services_withdraw(&p->services);
	if (simctl_stop)
		player_halt(p->player);
	r = player_stop(p->player);
	if (r == 0)
		player_simd_finish(p->sink);
	report(p);
	return verdict(p, r);
}

static void end(struct play *p)
{
	keys_close();
	player_destroy(p->player);
	player_simd_destroy(p->sink);
	merge_destroy(p->merge);
	sim_driver_release(p->driver);
	if (p->c->client)
		give_time_back(p);
	for (unsigned i = 0; i < p->n; i++)
		log_reader_close(p->readers[i]);
	pthread_mutex_destroy(&p->lock);
}

/* SIGHUP also ends the playing in order. */
static void on_hangup(int sig)
{
	(void)sig;
	simctl_stop = 1;
}

static void catch_hangup(void)
{
	struct sigaction a = { .sa_handler = on_hangup };

	sigaction(SIGHUP, &a, NULL);
	sigaction(SIGQUIT, &a, NULL);
}

int cmd_play(struct ctl *c)
{
	struct play p = { .c = c, .rate_e6 = PACE_ONE, .screen = isatty(STDOUT_FILENO) && !c->a.json };
	int r;

	pthread_mutex_init(&p.lock, NULL);
	catch_hangup();
	c->a.name = c->a.name ? c->a.name : "play";
	r = read_options(&p) || open_logs(&p) || read_times(&p) || connect_simd(&p) || take_time(&p) || make_sink(&p) ||
	    make_player(&p);
	if (r == 0)
		r = run(&p);
	end(&p);
	return r;
}
