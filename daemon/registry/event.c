/* SPDX-License-Identifier: Apache-2.0 */
/* The Events stream; contract in event.h. Thread: simd-main. */
#include "event.h"

#include "jsonx.h"
#include "log.h"
#include "simd.h"

#include <stdatomic.h>

LOG_TOPIC("event");

void event_listen(struct simd *s, struct event_listener *l)
{
	list_append(&s->listeners, &l->link);
}

void event_unlisten(struct event_listener *l)
{
	if (l->link.next)
		list_remove(&l->link);
}

/* Owns j. A listener may remove itself while it is called, so the next one is fetched first. */
static void broadcast(struct simd *s, json_t *j)
{
	struct event_listener *l, *tmp;

	if (!j) {
		log_error("no memory for an event");
		return;
	}
	list_for_each_safe(l, tmp, &s->listeners, link)
		l->send(l->arg, j, NULL);
	json_decref(j);
}

json_t *event_dataplane_json(const struct simd *s)
{
	return JSONX_MAKE(JX_STR("event", "dataplane"), JX_INT("iox_generation", s->dataplane.generation),
			  JX_BOOL("ready", s->dataplane.ready));
}

void event_dataplane(struct simd *s)
{
	broadcast(s, event_dataplane_json(s));
}

void event_clock_jump(struct simd *s, int64_t old_sim_ns, int64_t new_sim_ns, uint32_t generation)
{
	broadcast(s, JSONX_MAKE(JX_STR("event", "clock"), JX_INT("old_sim_ns", old_sim_ns),
				JX_INT("new_sim_ns", new_sim_ns), JX_INT("clock_generation", generation)));
}

void event_bridges(struct simd *s, const char *channel, uint32_t id)
{
	uint32_t v = atomic_load(&s->layout_page->info[id].bridges);

	broadcast(s, JSONX_MAKE(JX_STR("event", "bridges"), JX_STR("channel", channel), JX_INT("total", v & 0xffff),
				JX_INT("connected", v >> 16)));
}

void event_renew(struct simd *s, const char *channel)
{
	broadcast(s, JSONX_MAKE(JX_STR("event", "renew"), JX_STR("subscribers_of", channel)));
}

void event_queues(struct simd *s, const char *channel)
{
	broadcast(s, JSONX_MAKE(JX_STR("event", "queues"), JX_STR("queues_of", channel)));
}

void event_services(struct simd *s)
{
	broadcast(s, JSONX_MAKE(JX_STR("event", "services")));
}

void event_shutdown(struct simd *s)
{
	broadcast(s, JSONX_MAKE(JX_STR("event", "shutdown")));
}
