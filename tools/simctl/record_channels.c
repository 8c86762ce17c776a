/* SPDX-License-Identifier: Apache-2.0 */
/* The channels of a recording: found, subscribed to, given to the recording. See record.h. Thread: main. */
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
#define AT_A_TIME   64 /* messages of one channel, before the next one has its turn */
#define LIST_DUR_NS INT64_C(1000000000)

/* What simd publishes only while somebody subscribes. */
static const char *const of_simd[][2] = {
	{ "/simd/clock_events", "sim/ClockEvent" },
	{ "/simd/service_calls", "sim/ServiceCall" },
};

struct taken {
	struct list link; /* record_channels::list */
	char name[SIM_CHANNEL_MAX + 1];
	struct sim_subscriber *sub;  /* NULL: it could not be had, or not be written */
	const struct sim_type *type; /* NULL: no message yet */
	unsigned id;                 /* in the recording, with a type */
	bool refused;                /* for good */
	uint64_t lost;               /* given to the recording */
	uint64_t untyped;            /* the same, without a type to give them to */
};

struct record_channels {
	struct record_channels_options o;
	struct list list;
	unsigned n;
	bool told_subscribe;
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

	if (r == 0)
		all->n++;
	else if (!all->told_subscribe)
		say(all, "%s is not recorded, trying again: %s", t->name, sim_why());
	all->told_subscribe |= r < 0;
	return r;
}

static void take_up(struct record_channels *all, const char *name, const char *type)
{
	struct taken *t;

	if (strlen(name) > SIM_CHANNEL_MAX || !record_wants(&all->o.match, name, type))
		return;
	t = find(all, name);
	if (!t) {
		t = MEM_NEW(struct taken);
		if (!t)
			return;
		snprintf(t->name, sizeof(t->name), "%s", name);
		list_append(&all->list, &t->link);
	}
	if (!t->sub && !t->refused)
		(void)subscribe(all, t);
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
	return 0;
}

/* ---- recording ---- */

static void drop(struct record_channels *all, struct taken *t)
{
	sim_subscriber_destroy(t->sub);
	t->sub = NULL;
	t->refused = true;
	all->n--;
}

/* Of the first message, and of the first one of another type. */
static bool find_type(struct record_channels *all, struct taken *t, const struct sim_message *m)
{
	const struct sim_type *type;
	char why[600] = "";
	int r;

	if (t->type && t->type->hash == m->header.type_hash)
		return true;
	if (sim_channel_type(all->o.client, t->name, &type) < 0)
		return false;
	if (type->hash != m->header.type_hash) {
		sim_type_unref(type);
		return false;
	}
	r = recording_add_channel(all->o.recording, t->name, type, &t->id, why, sizeof(why));
	sim_type_unref(t->type);
	t->type = type;
	if (r == 0)
		return true;
	say(all, "%s is not recorded: %s", t->name, why);
	t->refused = true;
	return false;
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

static unsigned drain(struct record_channels *all, struct taken *t)
{
	const struct sim_message *m;
	unsigned n;

	for (n = 0; n < AT_A_TIME && sim_take(t->sub, &m) == 0; n++) {
		if (find_type(all, t, m))
			(void)!recording_put(all->o.recording, t->id, m, sim_now(all->o.client));
		else
			t->untyped++;
		sim_release(t->sub, m);
	}
	if (n)
		count_lost(all, t);
	if (t->refused)
		drop(all, t);
	return n;
}

unsigned record_channels_drain(struct record_channels *all)
{
	unsigned n = 0;
	struct taken *t;

	list_for_each(t, &all->list, link)
		if (t->sub)
			n += drain(all, t);
	return n;
}

unsigned record_channels_count(const struct record_channels *all)
{
	return all->n;
}

/* ---- making ---- */

int record_channels_create(const struct record_channels_options *o, struct record_channels **ret)
{
	struct record_channels *all = MEM_NEW(struct record_channels);

	if (!all)
		return -ENOMEM;
	all->o = *o;
	list_init(&all->list);
	*ret = all;
	return 0;
}

void record_channels_destroy(struct record_channels *all)
{
	struct taken *t, *tmp;

	if (!all)
		return;
	list_for_each_safe(t, tmp, &all->list, link) {
		sim_subscriber_destroy(t->sub);
		sim_type_unref(t->type);
		list_remove(&t->link);
		mem_free(t);
	}
	mem_free(all);
}
