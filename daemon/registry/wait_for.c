/* SPDX-License-Identifier: Apache-2.0 */
/* What time waits for at its start; see wait_for.h. Thread: simd-main. */
#include "wait_for.h"

#include "bridge.h"
#include "client.h"
#include "log.h"
#include "rig.h"
#include "simd.h"
#include "timeutil.h"

#include "engine.h"

#include <stdio.h>
#include <string.h>

LOG_TOPIC("time");

#define NAMES_MAX 512

/* ---- readiness ---- */

/* Whether the client has that name, or is the process that simd has started under it. */
static bool is_called(const struct simd *s, const struct client *cl, const char *name)
{
	const char *process = s->ops && s->ops->process_name ? s->ops->process_name(s->user, cl->pid) : NULL;

	return strcmp(cl->name, name) == 0 || (process && strcmp(process, name) == 0);
}

static bool is_there(const struct wait_for *w, const char *name)
{
	const struct bridge *b = bridge_find(w->s, name);
	const struct client *cl;

	if (b)
		return b->status == SIM_BRIDGE_CONNECTED;
	list_for_each(cl, &w->s->clients, link)
		if ((cl->ready || time_engine_paces(w->e, cl->id)) && is_called(w->s, cl, name))
			return true;
	return false;
}

bool wait_for_any(const struct simd *s)
{
	for (unsigned i = 0; i < s->n_rigs; i++)
		if (conf_count(s->rigs[i].view, "wait_for"))
			return true;
	return false;
}

json_t *wait_for_missing(const struct wait_for *w)
{
	json_t *names = json_array();

	for (unsigned i = 0; time_engine_waits(w->e) && i < w->s->n_rigs; i++) {
		struct conf_view rig = w->s->rigs[i].view;

		for (size_t k = 0; k < conf_count(rig, "wait_for"); k++)
			if (!is_there(w, conf_string_at(rig, "wait_for", k)))
				json_array_append_new(names, json_string(conf_string_at(rig, "wait_for", k)));
	}
	return names;
}

/* ---- waiting ---- */

static void begin(struct wait_for *w)
{
	exec_timer_cancel(&w->late);
	time_engine_begin(w->e);
}

void wait_for_look(struct wait_for *w)
{
	json_t *missing;

	if (!w->e || !time_engine_waits(w->e))
		return;
	missing = wait_for_missing(w);
	if (missing && json_array_size(missing) == 0)
		begin(w);
	json_decref(missing);
}

static void put_names(const struct wait_for *w, char text[NAMES_MAX])
{
	json_t *missing = wait_for_missing(w), *v;
	size_t i, len = 0;

	*text = '\0';
	json_array_foreach(missing, i, v) {
		snprintf(text + len, NAMES_MAX - len, "%s%s", i ? ", " : "", json_string_value(v));
		len += strlen(text + len);
	}
	json_decref(missing);
}

/* Warns after each doubling of the wait: a person may have to start what is missing. */
static void on_late(void *arg)
{
	struct wait_for *w = (struct wait_for *)arg;
	enum time_late late = (enum time_late)conf_choice(w->s->root, "step.late");
	int64_t waited_dur_ns = exec_now(w->s->x) - w->since_mono_ns;
	char names[NAMES_MAX];

	put_names(w, names);
	if (late != TIME_LATE_WAIT)
		log_warn("time has not begun for %.1f s, as it waits for %s (rigs[].wait_for)%s",
			 (double)waited_dur_ns / 1e9, names,
			 late == TIME_LATE_DROP ? ": it begins without (step.late)" : "; waiting on");
	if (late == TIME_LATE_DROP)
		begin(w);
	else
		exec_timer_at(&w->late, exec_now(w->s->x) + waited_dur_ns);
}

void wait_for_driver(struct wait_for *w)
{
	wait_for_look(w);
	if (!time_engine_waits(w->e) || w->since_mono_ns)
		return;
	w->since_mono_ns = exec_now(w->s->x);
	exec_timer_at(&w->late, w->since_mono_ns + conf_int(w->s->root, "step.deadline_ms") * NS_PER_MS);
}

void wait_for_init(struct wait_for *w, struct simd *s, struct time_engine *e)
{
	*w = (struct wait_for){ .s = s, .e = e };
	exec_timer_init(&w->late, s->x, on_late, w);
}

void wait_for_finish(struct wait_for *w)
{
	if (w->e)
		exec_timer_cancel(&w->late);
	w->e = NULL;
}
