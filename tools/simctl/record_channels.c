/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The channels of a recording: finds them, subscribes, and passes their messages to the recording in the order of
 * publishing, with the time of publishing: the result does not depend on how long a message waited in its queue, nor on
 * which queue is emptied first. See record.h. Thread: main; record-in receives while main writes, so that with a slow
 * disk messages wait in the backlog, bounded in bytes, and not in the queue of each channel.
 */
#include "record.h"
#include "record_backlog.h"

#include "list.h"
#include "mem.h"
#include "thread.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <sim/sim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX   256
#define AT_A_TIME   64 /* messages of each channel per call, to bound its duration */
#define LIST_DUR_NS INT64_C(1000000000)
#define REST_US     1000 /* wait when idle; a queue holds the messages of that time, 256 */

/* Channels that simd only publishes on while somebody subscribes. */
static const char *const of_simd[][2] = {
	{ "/simd/clock_events", "sim/ClockEvent" },
	{ "/simd/service_calls", "sim/ServiceCall" },
};

struct taken {
	struct list link; /* record_channels::list */
	char name[SIM_CHANNEL_MAX + 1];
	struct sim_subscriber
		/*
		 * NULL: subscribing failed, or it cannot be written. Guarded by lock, like the fields down to dropped
		 */
		*sub;
	const struct sim_message *head; /* taken, but not in the backlog yet; NULL: none */
	struct recording_moment at;     /* of the head */
	bool holds;                     /* a message in the backlog is held without a copy */
	bool touched;                   /* something arrived since main's last check */
	bool failed;                    /* simd refuses to subscribe it again */
	char why[300];                  /* why it has failed */
	uint64_t dropped;               /* no room in the backlog */
	const struct sim_type *type;    /* NULL: no message yet. This and the following fields belong to main */
	unsigned id;                    /* the recording's id; valid with a type */
	bool refused;                   /* permanently */
	bool left_out, said;            /* left_out: reported to the recording; said: and to the user */
	uint64_t lost;                  /* reported to the recording */
	uint64_t untyped;               /* messages that were not recorded for want of a type */
};

struct record_channels {
	struct record_channels_options o;
	pthread_mutex_t lock; /* held briefly: for one turn of receiving */
	struct list list;     /* changed by main, with the lock held */
	struct backlog *backlog;
	uint64_t undated; /* messages older than simd's clock history */
	unsigned n;
	/* start of the recorder; also the time of latched messages published before it */
	struct recording_moment since;
	bool *matched; /* for each pattern of o.match.include, then of .types: whether a wanted channel matches it */
	bool told_undated;
	pthread_t thread; /* record-in, if runs is set */
	bool runs;
	_Atomic bool stops;
};

static __attribute__((format(printf, 2, 3))) void say(const struct record_channels *all, const char *fmt, ...)
{
	char text[1000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	all->o.say(all->o.arg, text);
}

/* ---- left-out channels ---- */

static void leave_out(struct record_channels *all, struct taken *t, const char *why)
{
	t->left_out = true;
	(void)!recording_left_out(all->o.recording, t->name, why);
}

/* Reports all newly left-out channels in one sentence, with the reason of the last one; the summary has all reasons. */
static void say_left_out(struct record_channels *all)
{
	char names[3000] = "", why[600] = "";
	size_t n = 0, more = 0;
	struct recording_left_out x;
	struct taken *t;

	list_for_each(t, &all->list, link) {
		if (!t->left_out || t->said)
			continue;
		t->said = true;
		if (n + strlen(t->name) + 3 < sizeof(names))
			n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "", t->name);
		else
			more++;
		for (unsigned i = 0; recording_left_out_at(all->o.recording, i, &x); i++)
			if (strcmp(x.name, t->name) == 0)
				snprintf(why, sizeof(why), "%s", x.why);
	}
	if (n && more)
		say(all, "not recorded: %s and %zu more: %s", names, more, why);
	else if (n)
		say(all, "not recorded: %s: %s", names, why);
}

/* ---- subscribing ---- */

static struct taken *find(struct record_channels *all, const char *name)
{
	struct taken *t;

	list_for_each(t, &all->list, link)
		if (strcmp(t->name, name) == 0)
			return t;
	return NULL;
}

static int subscribe(struct record_channels *all, struct taken *t)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = DEPTH_MAX, .flags = SIM_SUB_LATCHED };
	struct sim_subscriber *sub;
	char why[600];
	int r = sim_subscribe(all->o.client, t->name, NULL, &o, &sub);

	if (r < 0) {
		snprintf(why, sizeof(why), "%s (trying again)", sim_why());
		leave_out(all, t, why);
		return r;
	}
	pthread_mutex_lock(&all->lock);
	t->sub = sub;
	all->n++;
	pthread_mutex_unlock(&all->lock);
	if (t->left_out)
		(void)!recording_left_out(all->o.recording, t->name, NULL);
	t->left_out = false;
	return 0;
}

static int add_to_recording(struct record_channels *all, struct taken *t, const struct sim_type *type)
{
	char why[600] = "";
	int r = recording_add_channel(all->o.recording, t->name, type, &t->id, why, sizeof(why));

	sim_type_unref(t->type);
	t->type = type;
	if (r < 0) {
		leave_out(all, t, why);
		t->refused = true;
	}
	return r;
}

/*
 * Adds the channel to the recording before its first message, if its type is known, so that a channel simctl
 * is unable to record is reported at once.
 */
static void look_at_type(struct record_channels *all, struct taken *t)
{
	const struct sim_type *type;

	if (sim_channel_type(all->o.client, t->name, &type) == 0)
		(void)!add_to_recording(all, t, type);
}

static void note_patterns(struct record_channels *all, const char *name, const char *type)
{
	for (unsigned i = 0; i < all->o.match.n_include; i++)
		all->matched[i] |= record_pattern_matches(all->o.match.include[i], name);
	for (unsigned i = 0; i < all->o.match.n_types; i++)
		all->matched[all->o.match.n_include + i] |= *type && fnmatch(all->o.match.types[i], type, 0) == 0;
}

static void take_up(struct record_channels *all, const char *name, const char *type)
{
	struct taken *t;

	if (strlen(name) > SIM_CHANNEL_MAX || !record_wants(&all->o.match, name, type))
		return;
	note_patterns(all, name, type);
	t = find(all, name);
	if (!t) {
		t = MEM_NEW(struct taken);
		if (!t)
			return;
		snprintf(t->name, sizeof(t->name), "%s", name);
		pthread_mutex_lock(&all->lock);
		list_append(&all->list, &t->link);
		pthread_mutex_unlock(&all->lock);
	}
	if (!t->sub && !t->refused && subscribe(all, t) == 0 && !t->type)
		look_at_type(all, t);
}

int record_channels_look(struct record_channels *all)
{
	char *text;
	json_t *reply, *ch;
	size_t i;
	int r = sim_call_within(all->o.client, "io.simd.Control.ListChannels", NULL, LIST_DUR_NS, &text);

	if (r < 0)
		return r;
	reply = json_loads(text, 0, NULL);
	free(text);
	for (i = 0; i < sizeof(of_simd) / sizeof(of_simd[0]); i++)
		take_up(all, of_simd[i][0], of_simd[i][1]);
	json_array_foreach(json_object_get(reply, "channels"), i, ch)
		if (*json_text(ch, "type"))
			take_up(all, json_text(ch, "name"), json_text(ch, "type"));
	json_decref(reply);
	say_left_out(all);
	return 0;
}

/* ---- recording ---- */

/* Callback of the backlog: the lock is held. */
static void on_dropped(void *owner, const struct sim_message *held)
{
	struct taken *t = owner;

	t->dropped++;
	t->touched = true;
	if (held)
		sim_release(t->sub, held);
	t->holds = t->holds && !held;
}

/* Messages of it that are not recorded yet count as lost. */
static void end_subscriber(struct record_channels *all, struct taken *t)
{
	struct sim_subscriber *sub;
	uint64_t lost;

	pthread_mutex_lock(&all->lock);
	lost = t->dropped;
	backlog_drop(all->backlog, t);
	lost = t->dropped - lost + (t->head ? 1 : 0);
	if (t->head)
		sim_release(t->sub, t->head);
	t->head = NULL;
	sub = t->sub;
	t->sub = NULL;
	all->n--;
	pthread_mutex_unlock(&all->lock);
	sim_subscriber_destroy(sub);
	if (lost && t->type && !t->refused)
		recording_lost(all->o.recording, t->id, lost);
}

/* Needed for the first message, and after a change of the type. */
static bool find_type(struct record_channels *all, struct taken *t, const struct sim_message *m)
{
	const struct sim_type *type;

	if (t->type && t->type->hash == m->header.type_hash)
		return true;
	if (sim_channel_type(all->o.client, t->name, &type) < 0)
		return false;
	if (type->hash != m->header.type_hash) {
		sim_type_unref(type);
		return false;
	}
	return add_to_recording(all, t, type) == 0;
}

static void count_lost(struct record_channels *all, struct taken *t)
{
	struct sim_subscriber_stats st;
	uint64_t lost;

	if (!t->type || t->refused)
		return;
	pthread_mutex_lock(&all->lock);
	sim_subscriber_stats(t->sub, &st);
	lost = st.lost + t->untyped + t->dropped;
	pthread_mutex_unlock(&all->lock);
	if (lost > t->lost)
		recording_lost(all->o.recording, t->id, lost - t->lost);
	t->lost = lost;
}

static struct recording_moment now(const struct record_channels *all)
{
	struct sim_clock_sample s;

	return sim_clock_at(all->o.client, INT64_MAX, &s) < 0 ? all->since : recording_moment(&s);
}

/* The time of its publishing. */
static struct recording_moment published(struct record_channels *all, const struct sim_message *m)
{
	struct sim_clock_sample s;
	int r;

	if (m->header.publish_mono_ns < all->since.mono_ns)
		return all->since;
	r = sim_clock_at(all->o.client, m->header.publish_mono_ns, &s);
	all->undated += r > 0;
	return r < 0 ? now(all) : recording_moment(&s);
}

/* Not a temporary error: simd has restarted, and has no room for the subscriber any more. */
static bool is_refused(int r)
{
	return r < 0 && r != -EAGAIN && r != -ESTALE && r != -EBUSY && r != -ENOBUFS && r != -ENOMEM && r != -ENOTCONN;
}

static void take(struct record_channels *all, struct taken *t)
{
	int r;

	if (t->head || !t->sub || t->failed)
		return;
	r = sim_take(t->sub, &t->head);
	if (is_refused(r)) {
		t->failed = true;
		snprintf(t->why, sizeof(t->why), "%s", sim_why());
	}
	if (r < 0)
		return;
	t->at = published(all, t->head);
	t->touched = true;
}

/* The channel with the earliest published head; NULL: no heads. */
static struct taken *earliest(struct record_channels *all)
{
	struct taken *t, *first = NULL;

	list_for_each(t, &all->list, link)
		if (t->head && (!first || t->at.mono_ns < first->at.mono_ns))
			first = t;
	return first;
}

/* Holds one message per channel in its slot without a copy, so that large ones are not copied if the disk keeps up. */
static void keep_head(struct record_channels *all, struct taken *t)
{
	const struct sim_message *m = t->head;
	bool held = !t->holds && m->body_size >= BACKLOG_LARGE;

	t->head = NULL;
	t->holds |= held;
	backlog_put(all->backlog, t, m, held, &t->at);
	if (!held)
		sim_release(t->sub, m);
}

/* Leaves what is published meanwhile for the next call, as an earlier message may arrive in a queue that was empty. */
unsigned record_channels_receive(struct record_channels *all)
{
	int64_t until_mono_ns = now(all).mono_ns;
	unsigned n, most;
	struct taken *t;

	pthread_mutex_lock(&all->lock);
	most = AT_A_TIME * (all->n + 1);
	list_for_each(t, &all->list, link)
		take(all, t);
	for (n = 0; n < most && (t = earliest(all)) && t->at.mono_ns <= until_mono_ns; n++) {
		keep_head(all, t);
		take(all, t);
	}
	pthread_mutex_unlock(&all->lock);
	return n;
}

static void done_with(struct record_channels *all, struct backlog_item *i)
{
	struct taken *t = i->owner;

	if (i->held) {
		pthread_mutex_lock(&all->lock);
		sim_release(t->sub, i->held);
		t->holds = false;
		pthread_mutex_unlock(&all->lock);
	}
	backlog_free(i);
}

static void record_item(struct record_channels *all, struct backlog_item *i)
{
	struct taken *t = i->owner;

	if (t->refused)
		t->untyped++;
	else if (find_type(all, t, &i->m))
		(void)!recording_put_at(all->o.recording, t->id, &i->m, &i->at);
	else
		t->untyped++;
	done_with(all, i);
}

static void account(struct record_channels *all, struct taken *t)
{
	bool touched, failed;

	pthread_mutex_lock(&all->lock);
	touched = t->touched;
	failed = t->failed;
	t->touched = false;
	pthread_mutex_unlock(&all->lock);
	if (touched && t->sub)
		count_lost(all, t);
	if (t->sub && t->refused)
		end_subscriber(all, t);
	if (!t->sub || !failed)
		return;
	leave_out(all, t, t->why); /* subscribed to again by the next record_channels_look() */
	end_subscriber(all, t);
	t->lost = t->untyped = t->dropped = 0; /* the new subscriber counts from 0 */
	t->failed = false;
}

static void say_undated(struct record_channels *all)
{
	if (all->told_undated || !record_channels_undated(all))
		return;
	all->told_undated = true;
	say(all,
	    "some messages arrived so late that simd's clock history does not reach back to their publishing; they get its "
	    "oldest time");
}

static struct backlog_item *next_item(struct record_channels *all)
{
	struct backlog_item *i;

	pthread_mutex_lock(&all->lock);
	i = backlog_take(all->backlog);
	pthread_mutex_unlock(&all->lock);
	return i;
}

unsigned record_channels_drain(struct record_channels *all)
{
	unsigned n, most = AT_A_TIME * (all->n + 1);
	struct backlog_item *i;
	struct taken *t;

	if (!all->runs)
		(void)record_channels_receive(all);
	for (n = 0; n < most && (i = next_item(all)); n++)
		record_item(all, i);
	list_for_each(t, &all->list, link)
		account(all, t);
	say_undated(all);
	return n;
}

unsigned record_channels_catch_up(struct record_channels *all)
{
	size_t received = record_channels_receive(all), left;

	pthread_mutex_lock(&all->lock);
	left = backlog_count(all->backlog);
	pthread_mutex_unlock(&all->lock);
	while (left) {
		unsigned n = record_channels_drain(all);

		left = n && n < left ? left - n : 0;
	}
	return (unsigned)received;
}

/* ---- the thread ---- */

static void *receive_all(void *arg)
{
	struct record_channels *all = arg;

	while (!all->stops)
		if (!record_channels_receive(all))
			usleep(REST_US);
	return NULL;
}

int record_channels_start(struct record_channels *all)
{
	int r = thread_start(&all->thread, "record-in", receive_all, all);

	all->runs = r == 0;
	return r;
}

void record_channels_stop(struct record_channels *all)
{
	if (!all->runs)
		return;
	all->stops = true;
	pthread_join(all->thread, NULL);
	all->runs = false;
}

unsigned record_channels_count(const struct record_channels *all)
{
	return all->n;
}

const char *record_channels_unmatched(const struct record_channels *all, unsigned i, bool *ret_is_type)
{
	const struct record_match *m = &all->o.match;

	for (unsigned k = 0; k < m->n_include + m->n_types; k++) {
		*ret_is_type = k >= m->n_include;
		if (!all->matched[k] && i-- == 0)
			return *ret_is_type ? m->types[k - m->n_include] : m->include[k];
	}
	return NULL;
}

uint64_t record_channels_undated(const struct record_channels *all)
{
	struct record_channels *a = (struct record_channels *)(uintptr_t)all;
	uint64_t n;

	pthread_mutex_lock(&a->lock);
	n = a->undated;
	pthread_mutex_unlock(&a->lock);
	return n;
}

/* ---- creation ---- */

int record_channels_create(const struct record_channels_options *o, struct record_channels **ret)
{
	struct record_channels *all = MEM_NEW(struct record_channels);

	if (!all)
		return -ENOMEM;
	all->matched = mem_calloc(o->match.n_include + o->match.n_types + 1, sizeof(*all->matched));
	if (!all->matched || backlog_create(o->backlog_bytes, on_dropped, &all->backlog) < 0) {
		mem_free(all->matched);
		mem_free(all);
		return -ENOMEM;
	}
	pthread_mutex_init(&all->lock, NULL);
	all->o = *o;
	list_init(&all->list);
	all->since = now(all);
	all->since.in_step = false; /* stamps from before the start do not count */
	*ret = all;
	return 0;
}

void record_channels_destroy(struct record_channels *all)
{
	struct taken *t, *tmp;

	if (!all)
		return;
	record_channels_stop(all);
	list_for_each_safe(t, tmp, &all->list, link) {
		if (t->sub)
			end_subscriber(all, t);
		sim_type_unref(t->type);
		list_remove(&t->link);
		mem_free(t);
	}
	backlog_destroy(all->backlog);
	pthread_mutex_destroy(&all->lock);
	mem_free(all->matched);
	mem_free(all);
}
