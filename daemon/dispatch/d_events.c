/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events and answers for the owner, which handles them on its exec.
 *
 * Without memory an event is lost, with a log line; a subscriber is then destroyed at once.
 *
 * Thread: d_event_*: the dispatch exec's; d_events_read: the owner's.
 */
#include <stdio.h>
#include <string.h>

#include "dispatch_private.h"
#include "mem.h"

LOG_TOPIC("dispatch");

enum kind { STATUS, BROKEN, STUCK, IDLE, CARRIES, FORGOT, CHANNEL_FREE, REAPED, SUB_FREE, CALL, STATS, STAGES };

struct event {
	struct inbox_item item;
	enum kind kind;
	uint32_t id, id2; /* numbers of a bridge, a channel, a generation */
	int result;
	enum sim_bridge_status status;
	int64_t late_dur_ns;
	struct ipc_sub *sub;
	dispatch_fn fn;
	dispatch_stats_fn stats_fn;
	dispatch_stages_fn stages_fn;
	void *arg;
	struct dispatch_stats *stats;
	struct dispatch_stages *stages;
	char text[D_TEXT];
};

static void event_free(struct event *e)
{
	mem_free(e->stats);
	mem_free(e->stages);
	mem_free(e);
}

static void put(struct dispatch *d, struct event *e)
{
	if (inbox_put(&d->out, &e->item))
		exec_post(&d->out_post);
}

static void send_event(struct dispatch *d, const struct event *from, const char *text)
{
	struct event *e = mem_dup(from, sizeof(*from));

	if (!e) {
		log_error("no memory to report an event of kind %d", (int)from->kind);
		if (from->kind == SUB_FREE)
			ipc_sub_destroy(from->sub);
		return;
	}
	if (text)
		snprintf(e->text, sizeof(e->text), "%s", text);
	put(d, e);
}

/* At most 20 a second per bridge: a bridge that changes its status without end must not flood main. */
void d_event_bridge_status(struct d_bridge *b)
{
	struct dispatch *d = b->d;

	if (d->now - b->notified_mono_ns >= D_HOUSE_NS) {
		b->notified_mono_ns = d->now;
		b->notified_n = 0;
	}
	b->status_due = b->notified_n >= 20;
	if (b->status_due)
		return;
	b->notified_n++;
	send_event(d, &(struct event){ .kind = STATUS, .id = b->id, .status = b->status }, b->detail);
}

void d_event_bridge_broken(struct d_bridge *b, const char *why)
{
	send_event(b->d, &(struct event){ .kind = BROKEN, .id = b->id }, why);
}

void d_event_bridge_stuck(struct d_bridge *b, int64_t late_dur_ns)
{
	send_event(b->d, &(struct event){ .kind = STUCK, .id = b->id, .late_dur_ns = late_dur_ns }, NULL);
}

void d_event_bridge_idle(struct d_bridge *b)
{
	send_event(b->d, &(struct event){ .kind = IDLE, .id = b->id }, NULL);
}

void d_event_bridge_forgot(struct d_bridge *b)
{
	send_event(b->d, &(struct event){ .kind = FORGOT, .id = b->id }, NULL);
}

void d_event_bridge_carries(struct d_route *rt)
{
	struct event e = { .kind = CARRIES, .id = rt->b->id, .id2 = rt->ch->id, .result = rt->result };
	const char *said = rt->said ? rt->said : "\0";

	memcpy(e.text, said, strlen(said) + 1 + strlen(said + strlen(said) + 1));
	send_event(rt->b->d, &e, NULL);
}

void d_event_channel_free(struct dispatch *d, uint32_t channel_id)
{
	send_event(d, &(struct event){ .kind = CHANNEL_FREE, .id = channel_id }, NULL);
}

void d_event_publisher_reaped(struct dispatch *d, const struct d_publisher *p)
{
	send_event(d, &(struct event){ .kind = REAPED, .id = p->id, .result = p->strays || p->ch->overflowed }, NULL);
}

void d_event_sub_free(struct dispatch *d, struct ipc_sub *sub, uint32_t generation)
{
	send_event(d, &(struct event){ .kind = SUB_FREE, .sub = sub, .id = generation }, NULL);
}

void d_event_call(struct dispatch *d, dispatch_fn fn, void *arg)
{
	send_event(d, &(struct event){ .kind = CALL, .fn = fn, .arg = arg }, NULL);
}

struct event *d_event_stats_new(dispatch_stats_fn fn, void *arg)
{
	struct event *e = MEM_NEW(struct event);

	if (e)
		*e = (struct event){ .kind = STATS, .stats_fn = fn, .arg = arg };
	return e;
}

void d_event_stats(struct dispatch *d, struct event *e, struct dispatch_stats *s)
{
	e->stats = s;
	put(d, e);
}

struct event *d_event_stages_new(dispatch_stages_fn fn, void *arg)
{
	struct event *e = MEM_NEW(struct event);

	if (e)
		*e = (struct event){ .kind = STAGES, .stages_fn = fn, .arg = arg };
	return e;
}

void d_event_stages(struct dispatch *d, struct event *e, struct dispatch_stages *s)
{
	e->stages = s;
	put(d, e);
}

#define TELL(member, ...) \
	do { \
		if (ev->member) \
			ev->member(user, __VA_ARGS__); \
	} while (0)

static void tell(const struct dispatch_events *ev, void *user, struct event *e)
{
	switch (e->kind) {
	case STATUS:
		TELL(bridge_status, e->id, e->status, e->text);
		break;
	case BROKEN:
		TELL(bridge_broken, e->id, e->text);
		break;
	case STUCK:
		TELL(bridge_stuck, e->id, e->late_dur_ns);
		break;
	case IDLE:
		TELL(bridge_idle, e->id);
		break;
	case CARRIES:
		TELL(bridge_carries, e->id, e->id2, e->result, e->text, e->text + strlen(e->text) + 1);
		break;
	case FORGOT:
		TELL(bridge_forgot, e->id);
		break;
	case CHANNEL_FREE:
		TELL(channel_free, e->id);
		break;
	case REAPED:
		TELL(publisher_reaped, e->id, e->result != 0);
		break;
	case SUB_FREE:
		if (ev->sub_free)
			ev->sub_free(user, e->sub, e->id);
		else
			ipc_sub_destroy(e->sub);
		break;
	case CALL:
		e->fn(e->arg);
		break;
	case STATS:
		e->stats_fn(e->arg, e->stats);
		break;
	case STAGES:
		e->stages_fn(e->arg, e->stages);
		break;
	}
}

void d_events_read(void *arg)
{
	struct dispatch *d = arg;
	struct inbox_item *list = inbox_take(&d->out);

	while (list) {
		struct event *e = container_of(list, struct event, item);

		list = list->next;
		tell(&d->ev, d->user, e);
		event_free(e);
	}
}

void d_events_drop(struct dispatch *d)
{
	struct inbox_item *list = inbox_take(&d->out);

	while (list) {
		struct event *e = container_of(list, struct event, item);

		list = list->next;
		if (e->kind == SUB_FREE)
			ipc_sub_destroy(e->sub);
		event_free(e);
	}
}
