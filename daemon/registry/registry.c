/* SPDX-License-Identifier: Apache-2.0 */
/* Making and ending struct simd, and the once-a-second sampling of rates. Thread: simd-main. */
#include "registry.h"

#include "bridge.h"
#include "channel.h"
#include "client.h"
#include "dataplane.h"
#include "err.h"
#include "event.h"
#include "fd.h"
#include "ipc.h"
#include "mem.h"
#include "reaper.h"
#include "queues.h"
#include "renew.h"
#include "rig.h"
#include "service.h"
#include "session.h"
#include "shards.h"
#include "simd.h"
#include "slot_reclaim.h"
#include "timekeeper.h"

#include "dispatch.h"
#include "timeutil.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- dispatch's events ---- */

static void on_channel_free(void *user, uint32_t id)
{
	channel_freed((struct simd *)user, id);
}

static void on_sub_free(void *user, struct ipc_sub *sub, uint32_t iox_generation)
{
	dataplane_sub_free((struct simd *)user, sub, iox_generation);
}

static void on_publisher_reaped(void *user, uint32_t id, bool overflowed)
{
	slot_reclaim_reaped((struct simd *)user, id, overflowed);
}

/* ---- rates ---- */

static const char *own_end(const struct simd *s, char why[128])
{
	snprintf(why, 128, "simd's own ports are gone (iceoryx: %s)", ipc_end_error(s->dataplane.ipc));
	return why;
}

/* RouDi accepts every datagram: any process that can send to it can make it free simd's ports while simd lives. */
static void watch_own_ports(struct simd *s)
{
	char why[128];

	if (!s->dataplane.ready || !s->ops || !s->ops->dataplane_broken)
		return;
	if (ipc_was_impersonated(s->dataplane.ipc))
		s->ops->dataplane_broken(s->user, "a process sent messages to it in simd's name");
	else if (!ipc_alive(s->dataplane.ipc))
		s->ops->dataplane_broken(s->user, own_end(s, why));
}

static void on_rate_timer(void *arg)
{
	struct simd *s = (struct simd *)arg;
	int64_t now = exec_now(s->x);
	struct channel *ch;

	list_for_each(ch, &s->channels, link)
		channel_sample(ch, now);
	queues_look(s);
	watch_own_ports(s);
	exec_timer_at(&s->rate_timer, now + NS_PER_S);
}

/* ---- making ---- */

static void read_limits(struct simd *s)
{
	struct conf_view v = conf_object(s->root, "limits");

	s->limit = (struct log_limit)LOG_LIMIT(10 * NS_PER_S, 50);
	s->limits = (struct simd_limits){
		.clients = (uint32_t)conf_int(v, "clients"),
		.clients_per_user = (uint32_t)conf_int(v, "clients_per_user"),
		.channels = (uint32_t)conf_int(v, "channels"),
		.publishers = (uint32_t)conf_int(v, "publishers"),
		.subscribers = (uint32_t)conf_int(v, "subscribers"),
		.subscribers_per_channel = (uint32_t)conf_int(v, "subscribers_per_channel"),
		.tokens = (uint32_t)conf_int(v, "tokens"),
		.services = (uint32_t)conf_int(v, "services"),
		.per_client = (uint32_t)conf_int(v, "per_client"),
		.per_user_percent = (uint32_t)conf_int(v, "per_user_percent"),
	};
}

static int make_pages(struct simd *s)
{
	void *map;
	int r = fd_shared_create("simd-layout", sizeof(*s->layout_page), FD_SHARE_RO, &map, &s->layout_page_fd);

	if (r < 0)
		return r;
	s->layout_page = (struct wire_layout_page *)map;
	wire_layout_init(s->layout_page);
	atomic_store(&s->layout_page->wait_ms, (uint32_t)conf_int(s->root, "dispatch.wait_ms"));
	r = fd_shared_create("simd-dispatch", sizeof(*s->dispatch_page), FD_SHARE_RW, &map, &s->dispatch_page_fd);
	if (r < 0)
		return r;
	s->dispatch_page = (struct wire_dispatch_page *)map;
	return 0;
}

static int make_dispatch(struct simd *s, struct exec *dx)
{
	const struct sim_clock_page *clock = timekeeper_page(s->time);
	int64_t lanes = conf_int(s->root, "dispatch.lanes");
	struct dispatch_events ev = { .channel_free = on_channel_free,
				      .sub_free = on_sub_free,
				      .publisher_reaped = on_publisher_reaped };
	struct dispatch_options o = {
		.exec = dx,
		.owner = s->x,
		.layout = s->layout_page,
		.page = s->dispatch_page,
		.clock = clock,
		.cycle_ms = (uint32_t)conf_int(s->root, "dispatch.cycle_ms"),
		.idle_ms = (uint32_t)conf_int(s->root, "dispatch.idle_ms"),
		.lanes_max = (uint32_t)(lanes ? lanes : sysconf(_SC_NPROCESSORS_ONLN)),
		.events = &ev,
		.user = s,
	};

	bridge_dispatch_events(&ev);
	return shards_create(s, &o);
}

int registry_create(const struct registry_options *o, struct simd **ret)
{
	struct simd *s = MEM_NEW(struct simd);
	int r;

	if (!s)
		return err_nomem();
	s->x = o->x;
	s->conf = o->conf;
	s->root = conf_root(o->conf);
	s->ops = o->ops;
	s->user = o->user;
	s->pools = *o->pools;
	s->id = o->id;
	s->layout_page_fd = s->dispatch_page_fd = -1;
	s->start_mono_ns = exec_now(o->x);
	/* numbers of an earlier simd must not be reused by accident */
	s->next_publisher = (uint32_t)(o->id >> 33);
	snprintf(s->id_text, sizeof(s->id_text), "%016llx", (unsigned long long)o->id);
	list_init(&s->clients);
	list_init(&s->reapers);
	renew_init(s);
	list_init(&s->channels);
	list_init(&s->tokens);
	list_init(&s->bridges);
	list_init(&s->listeners);
	s->channel_events = &bridge_channel_events;
	list_init(&s->dataplane.old);
	exec_timer_init(&s->rate_timer, s->x, on_rate_timer, s);
	read_limits(s);

	s->plugin_dirs = o->plugin_dirs;
	s->plane = o->plane ? o->plane : "";
	s->runtime_dir = mem_strdup(o->runtime_dir);
	r = s->runtime_dir ? rig_create_all(s) : err_nomem();
	if (r == 0)
		r = slot_reclaim_create(s);
	if (r == 0)
		r = service_all_create(s);
	if (r == 0)
		r = make_pages(s);
	if (r == 0)
		r = timekeeper_create(s, &s->time);
	s->plugin_dirs = NULL;
	if (r == 0)
		r = make_dispatch(s, o->dx);
	if (r == 0)
		r = bridge_create_all(s);
	if (r < 0) {
		registry_destroy(s);
		return r;
	}
	exec_timer_at(&s->rate_timer, s->start_mono_ns + NS_PER_S);
	*ret = s;
	return 0;
}

void registry_drain(struct simd *s, bool now, void (*fn)(void *arg), void *arg)
{
	if (shards_shutdown(s, now, fn, arg) < 0)
		fn(arg);
}

void registry_close(struct simd *s)
{
	s->stopping = true;
	event_shutdown(s);
	service_all_close(s);
}

void registry_close_sessions(struct simd *s)
{
	struct client *cl, *tmp;

	s->stopping = true;
	list_for_each_safe(cl, tmp, &s->clients, link)
		session_end(cl);
	reaper_run(s);
}

void registry_destroy(struct simd *s)
{
	if (!s)
		return;
	exec_timer_cancel(&s->rate_timer);
	renew_finish(s);
	registry_close_sessions(s);
	reaper_finish(s);
	service_all_destroy(s);
	bridge_destroy_all(s);
	timekeeper_dataplane_lost(s->time);
	shards_destroy(s);
	timekeeper_destroy(s->time);
	dataplane_finish(s);
	slot_reclaim_destroy(s);
	channel_destroy_all(s);
	fd_shared_unmap(s->layout_page, sizeof(*s->layout_page));
	fd_shared_unmap(s->dispatch_page, sizeof(*s->dispatch_page));
	fd_close(s->layout_page_fd);
	fd_close(s->dispatch_page_fd);
	rig_destroy_all(s);
	mem_free(s->runtime_dir);
	mem_free(s);
}
