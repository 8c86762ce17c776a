/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The channels of a recording: found, subscribed to, given to the recording in the order in which their messages were published, with the
 * time of that: so it does not matter how long they lay in their queues, nor which queue is emptied first. See record.h. Thread: main.
 */
#include "record.h"

#include "list.h"
#include "mem.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <sim/sim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX   256
#define AT_A_TIME   64 /* messages a channel, before the caller has its turn */
#define LIST_DUR_NS INT64_C(1000000000)

/* What simd publishes only while somebody subscribes. */
static const char *const of_simd[][2] = {
	{ "/simd/clock_events", "sim/ClockEvent" },
	{ "/simd/service_calls", "sim/ServiceCall" },
};

struct taken {
	struct list link; /* record_channels::list */
	char name[SIM_CHANNEL_MAX + 1];
	struct sim_subscriber *sub;     /* NULL: it could not be had, or not be written */
	const struct sim_type *type;    /* NULL: no message yet */
	unsigned id;                    /* in the recording, with a type */
	const struct sim_message *head; /* taken, and not recorded yet; NULL: none */
	struct recording_moment at;     /* of the head */
	bool touched;                   /* in this turn something came */
	bool refused;                   /* for good */
	bool left_out, said;            /* not recorded, which the recording knows; and has been said */
	uint64_t lost;                  /* given to the recording */
	uint64_t untyped;               /* the same, without a type to give them to */
};

struct record_channels {
	struct record_channels_options o;
	struct list list;
	unsigned n;
	struct recording_moment since; /* when it began: what is latched is older, and has this time */
	uint64_t undated;              /* older than what simd remembers of its clock */
	bool *matched;                 /* of each pattern of o.match.include: a channel that is wanted */
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

/* ---- what is left out ---- */

static void leave_out(struct record_channels *all, struct taken *t, const char *why)
{
	t->left_out = true;
	(void)!recording_left_out(all->o.recording, t->name, why);
}

/* One sentence for all that are new, with the reason of the last one; the others' are in the summary. */
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
	int r = sim_subscribe(all->o.client, t->name, NULL, &o, &t->sub);

	char why[600];

	if (r < 0) {
		snprintf(why, sizeof(why), "%s (trying again)", sim_why());
		leave_out(all, t, why);
		return r;
	}
	all->n++;
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

/* Before its first message, where its type is known: so a channel that cannot be recorded is named at once. */
static void look_at_type(struct record_channels *all, struct taken *t)
{
	const struct sim_type *type;

	if (sim_channel_type(all->o.client, t->name, &type) == 0)
		(void)!add_to_recording(all, t, type);
}

static void note_patterns(struct record_channels *all, const char *name)
{
	for (unsigned i = 0; i < all->o.match.n_include; i++)
		all->matched[i] |= record_pattern_matches(all->o.match.include[i], name);
}

static void take_up(struct record_channels *all, const char *name, const char *type)
{
	struct taken *t;

	if (strlen(name) > SIM_CHANNEL_MAX || !record_wants(&all->o.match, name, type))
		return;
	note_patterns(all, name);
	t = find(all, name);
	if (!t) {
		t = MEM_NEW(struct taken);
		if (!t)
			return;
		snprintf(t->name, sizeof(t->name), "%s", name);
		list_append(&all->list, &t->link);
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

static void release(struct taken *t)
{
	if (t->head)
		sim_release(t->sub, t->head);
	t->head = NULL;
}

static void drop(struct record_channels *all, struct taken *t)
{
	release(t);
	sim_subscriber_destroy(t->sub);
	t->sub = NULL;
	t->refused = true;
	all->n--;
}

/* Of the first message, and of the first one of another type. */
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
	sim_subscriber_stats(t->sub, &st);
	lost = st.lost + t->untyped;
	if (lost > t->lost)
		recording_lost(all->o.recording, t->id, lost - t->lost);
	t->lost = lost;
}

static struct recording_moment moment(const struct sim_clock_sample *s)
{
	return (struct recording_moment){ s->sim_ns, s->mono_ns, s->clock_generation };
}

static struct recording_moment now(const struct record_channels *all)
{
	struct sim_clock_sample s;

	return sim_clock_at(all->o.client, INT64_MAX, &s) < 0 ? all->since : moment(&s);
}

/* When it was published. */
static struct recording_moment published(struct record_channels *all, const struct sim_message *m)
{
	struct sim_clock_sample s;
	int r;

	if (m->header.publish_mono_ns < all->since.mono_ns)
		return all->since;
	r = sim_clock_at(all->o.client, m->header.publish_mono_ns, &s);
	if (r > 0 && !all->undated++)
		say(all,
		    "simd does not remember its clock at the publishing of messages that come so late; they have the "
		    "oldest time that it does");
	return r < 0 ? now(all) : moment(&s);
}

/* Not for a moment: simd has restarted, and had no place for it any more. */
static bool is_refused(int r)
{
	return r < 0 && r != -EAGAIN && r != -ESTALE && r != -EBUSY && r != -ENOBUFS && r != -ENOMEM && r != -ENOTCONN;
}

/* It is subscribed to again by the next look. */
static void lose_subscriber(struct record_channels *all, struct taken *t)
{
	leave_out(all, t, sim_why());
	count_lost(all, t);
	sim_subscriber_destroy(t->sub);
	t->sub = NULL;
	t->lost = t->untyped = 0; /* the next one begins to count */
	all->n--;
}

static void take(struct record_channels *all, struct taken *t)
{
	int r;

	if (t->head || !t->sub || t->refused)
		return;
	r = sim_take(t->sub, &t->head);
	if (is_refused(r))
		lose_subscriber(all, t);
	if (r < 0)
		return;
	t->at = published(all, t->head);
	t->touched = true;
}

/* The channel whose message was published first; NULL: none has one. */
static struct taken *earliest(struct record_channels *all)
{
	struct taken *t, *first = NULL;

	list_for_each(t, &all->list, link)
		if (t->head && (!first || t->at.mono_ns < first->at.mono_ns))
			first = t;
	return first;
}

static void record_head(struct record_channels *all, struct taken *t)
{
	if (find_type(all, t, t->head))
		(void)!recording_put_at(all->o.recording, t->id, t->head, &t->at);
	else
		t->untyped++;
	release(t);
}

static void account(struct record_channels *all, struct taken *t)
{
	if (t->touched)
		count_lost(all, t);
	t->touched = false;
	if (t->sub && t->refused)
		drop(all, t);
}

/* What is published meanwhile is for the next turn: behind it there may be an earlier one in a queue that was empty. */
unsigned record_channels_drain(struct record_channels *all)
{
	int64_t until_mono_ns = now(all).mono_ns;
	unsigned n, most = AT_A_TIME * (all->n + 1);
	struct taken *t;

	list_for_each(t, &all->list, link)
		take(all, t);
	for (n = 0; n < most && (t = earliest(all)) && t->at.mono_ns <= until_mono_ns; n++) {
		record_head(all, t);
		take(all, t);
	}
	list_for_each(t, &all->list, link)
		account(all, t);
	return n;
}

unsigned record_channels_count(const struct record_channels *all)
{
	return all->n;
}

const char *record_channels_unmatched(const struct record_channels *all, unsigned i)
{
	for (unsigned k = 0; k < all->o.match.n_include; k++)
		if (!all->matched[k] && i-- == 0)
			return all->o.match.include[k];
	return NULL;
}

uint64_t record_channels_undated(const struct record_channels *all)
{
	return all->undated;
}

/* ---- making ---- */

int record_channels_create(const struct record_channels_options *o, struct record_channels **ret)
{
	struct record_channels *all = MEM_NEW(struct record_channels);

	if (!all)
		return -ENOMEM;
	all->matched = mem_calloc(o->match.n_include + 1, sizeof(*all->matched));
	if (!all->matched) {
		mem_free(all);
		return -ENOMEM;
	}
	all->o = *o;
	list_init(&all->list);
	all->since = now(all);
	*ret = all;
	return 0;
}

void record_channels_destroy(struct record_channels *all)
{
	struct taken *t, *tmp;

	if (!all)
		return;
	list_for_each_safe(t, tmp, &all->list, link) {
		release(t);
		sim_subscriber_destroy(t->sub);
		sim_type_unref(t->type);
		list_remove(&t->link);
		mem_free(t);
	}
	mem_free(all->matched);
	mem_free(all);
}
