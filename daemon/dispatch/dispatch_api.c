/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Main's calls about the data plane, clients, channels and publishers. Each public function checks and copies its
 * arguments on the caller's thread, where memory may be allocated, and posts a small function that runs on the dispatch
 * exec's thread.
 *
 * Thread: public functions: any; run_*(): the dispatch exec's.
 */
#include <errno.h>
#include <string.h>

#include "d_command.h"
#include "fd.h"
#include "mem.h"

LOG_TOPIC("dispatch");

static void free_channel_object(void *object)
{
	struct d_channel *ch = object;

	mem_free(ch->messages);
	mem_free(ch->type_json);
	mem_free(ch->name);
	mem_free(ch);
}

/* ---- data plane ---- */

static struct d_feed *new_feed(struct ipc_sub *sub)
{
	struct d_feed *f = MEM_NEW(struct d_feed);

	if (f)
		f->sub = sub;
	else
		ipc_sub_destroy(sub);
	return f;
}

static void run_set_ipc(struct dispatch *d, struct d_command *c)
{
	d->ipc = c->ipc;
	d->generation = c->id;
}

int dispatch_set_ipc(struct dispatch *d, struct ipc *ipc, uint32_t iox_generation)
{
	return ipc ? COMMAND(d, .run = run_set_ipc, .ipc = ipc, .id = iox_generation) : -EINVAL;
}

/*
 * No slots are taken first, because the generation has ended: messages in the feeds are lost, and their publishers'
 * libraries complete them.
 */
static void run_restart_begin(struct dispatch *d, struct d_command *c)
{
	struct d_channel *ch;

	(void)c;
	d->ipc = NULL;
	d_message_drop_held(d, SIM_REASON_RESTART);
	for (uint32_t i = 0; i < DISPATCH_BRIDGES_MAX; i++) {
		if (!d->bridges[i])
			continue;
		d_bridge_fail_queued(d->bridges[i], SIM_REASON_RESTART);
		d->bridges[i]->generation = 0;
	}
	list_for_each(ch, &d->channels, link)
		d_channel_retire(d, ch);
	credits_sweep(d, NULL, 0);
}

int dispatch_restart_begin(struct dispatch *d)
{
	return COMMAND(d, .run = run_restart_begin);
}

static void run_channel_sub(struct dispatch *d, struct d_command *c)
{
	struct d_channel *ch = d_command_channel(d, c->id, "new subscriber");

	if (!ch)
		return;
	d_channel_feed(d, ch, c->feed);
	c->feed = NULL;
}

static void run_channel_renew(struct dispatch *d, struct d_command *c)
{
	struct d_channel *ch = d->by_id[c->id]; /* NULL: it was freed meanwhile */

	if (!ch)
		d_event_sub_free(d, c->feed->sub, d->generation);
	if (!ch)
		mem_free(c->feed);
	else
		d_channel_renew(d, ch, c->feed);
	c->feed = NULL;
}

static int give_feed(struct dispatch *d, uint32_t channel_id, struct ipc_sub *sub,
		     void (*run)(struct dispatch *d, struct d_command *c))
{
	struct d_feed *f = new_feed(sub);

	if (!f)
		return -ENOMEM;
	if (channel_id >= WIRE_CHANNELS_MAX) {
		d_command_free_feed(f);
		return -EINVAL;
	}
	return COMMAND(d, .run = run, .id = channel_id, .feed = f);
}

int dispatch_channel_sub(struct dispatch *d, uint32_t channel_id, struct ipc_sub *sub)
{
	return give_feed(d, channel_id, sub, run_channel_sub);
}

int dispatch_channel_renew(struct dispatch *d, uint32_t channel_id, struct ipc_sub *sub)
{
	return give_feed(d, channel_id, sub, run_channel_renew);
}

static void run_bridge_generation(struct dispatch *d, struct d_command *c)
{
	struct d_bridge *b = d_command_bridge(d, c->id, "new generation");

	if (b)
		b->generation = c->id2;
}

int dispatch_bridge_generation(struct dispatch *d, uint32_t bridge_id, uint32_t iox_generation)
{
	return bridge_id < DISPATCH_BRIDGES_MAX
		       ? COMMAND(d, .run = run_bridge_generation, .id = bridge_id, .id2 = iox_generation)
		       : -EINVAL;
}

/* ---- clients, channels, publishers ---- */

static void run_client_add(struct dispatch *d, struct d_command *c)
{
	d_client_add(d, c->object);
	c->object = NULL;
	c->fd[0] = c->fd[1] = -1;
}

static void free_client_object(void *object)
{
	fd_shared_unref(((struct d_client *)object)->counters);
	mem_free(object);
}

static void init_client(struct d_client *cl, uint32_t id, const char *name)
{
	cl->id = id;
	strcpy(cl->name, name);
	list_init(&cl->hash_link);
	list_init(&cl->owing_link);
	list_init(&cl->owed);
	list_init(&cl->pubs);
}

int dispatch_client_add(struct dispatch *d, uint32_t client_id, const char *name, int completion_fd, int doorbell_fd,
			struct fd_shared *counters)
{
	struct d_client *cl = d_command_name_ok(name) ? MEM_NEW(struct d_client) : NULL;

	if (!cl) {
		fd_close(completion_fd);
		fd_close(doorbell_fd);
		return d_command_name_ok(name) ? -ENOMEM : -EINVAL;
	}
	init_client(cl, client_id, name);
	cl->completion_fd = completion_fd;
	cl->doorbell_fd = doorbell_fd;
	cl->counters = fd_shared_ref(counters);
	fd_set_nonblock(doorbell_fd, true);
	return d_command(d, (struct d_command){ .run = run_client_add,
						.object = cl,
						.free_object = free_client_object,
						.fd = { completion_fd, doorbell_fd } });
}

static void run_client_gone(struct dispatch *d, struct d_command *c)
{
	struct d_client *cl = d_client_find(d, c->id);

	if (cl)
		d_client_gone(d, cl);
	else
		log_error("client %u is unknown; ignoring", c->id);
}

int dispatch_client_gone(struct dispatch *d, uint32_t client_id)
{
	return COMMAND(d, .run = run_client_gone, .id = client_id);
}

static void run_channel_add(struct dispatch *d, struct d_command *c)
{
	struct d_channel *ch = c->object;

	if (d_channel_add(d, ch) < 0)
		return;
	c->object = NULL;
	d_channel_feed(d, ch, c->feed);
	c->feed = NULL;
}

static void init_channel(struct d_channel *ch, const struct dispatch_channel *from)
{
	ch->id = from->id;
	ch->window = from->window;
	ch->cells = from->cells > from->window ? from->cells : from->window;
	ch->depth = from->depth;
	ch->type_hash = from->type_hash;
	ch->max_body = from->max_body;
	ch->ordered = from->ordered;
	ch->limit = (struct log_limit)LOG_LIMIT(D_HOUSE_NS, 5);
	ch->strangers = ch->missing = (struct log_limit)LOG_LIMIT(D_AGAIN_NS, 1);
	list_init(&ch->link);
	list_init(&ch->freed_link);
	list_init(&ch->closing_link);
	list_init(&ch->suspect_link);
	list_init(&ch->free);
	list_init(&ch->backlog);
	list_init(&ch->pubs);
}

static int new_channel(const struct dispatch_channel *from, struct d_channel **ret)
{
	struct d_channel *ch;

	if (from->id >= WIRE_CHANNELS_MAX || !d_command_name_ok(from->name) || !from->type_json || !from->window ||
	    from->window > WIRE_WINDOW_MAX || from->cells > WIRE_WINDOW_MAX || !from->depth ||
	    from->depth > IPC_DEPTH_MAX || strlen(from->type_json) > DISPATCH_TEXT_MAX)
		return -EINVAL;
	ch = MEM_NEW(struct d_channel);
	if (!ch)
		return -ENOMEM;
	init_channel(ch, from);
	ch->name = mem_strdup(from->name);
	ch->type_json = mem_strdup(from->type_json);
	ch->messages = mem_calloc(from->depth, sizeof(*ch->messages));
	if (!ch->name || !ch->type_json || !ch->messages) {
		free_channel_object(ch);
		return -ENOMEM;
	}
	*ret = ch;
	return 0;
}

int dispatch_channel_add(struct dispatch *d, const struct dispatch_channel *from)
{
	struct d_feed *f = new_feed(from->sub);
	struct d_channel *ch;
	int r = f ? new_channel(from, &ch) : -ENOMEM;

	if (r < 0) {
		d_command_free_feed(f);
		return r;
	}
	return COMMAND(d, .run = run_channel_add, .object = ch, .free_object = free_channel_object, .feed = f);
}

static void run_channel_del(struct dispatch *d, struct d_command *c)
{
	struct d_channel *ch = d_command_channel(d, c->id, "delete");
	struct d_publisher *p;

	if (!ch || ch->closing)
		return;
	ch->closing = true;
	list_append(&d->closing_channels, &ch->closing_link);
	list_for_each(p, &ch->pubs, channel_link)
		d_publisher_close(d, p);
}

static void run_channel_resize(struct dispatch *d, struct d_command *c)
{
	struct d_channel *ch = d_command_channel(d, c->id, "resize");

	if (!ch)
		return;
	ch->window = c->id2;
	ch->max_body = c->size;
}

int dispatch_channel_resize(struct dispatch *d, uint32_t channel_id, uint32_t window, uint64_t max_body)
{
	return channel_id < WIRE_CHANNELS_MAX
		       ? COMMAND(d, .run = run_channel_resize, .id = channel_id, .id2 = window, .size = max_body)
		       : -EINVAL;
}

int dispatch_channel_del(struct dispatch *d, uint32_t channel_id)
{
	return channel_id < WIRE_CHANNELS_MAX ? COMMAND(d, .run = run_channel_del, .id = channel_id) : -EINVAL;
}

static struct d_publisher *new_publisher(uint32_t id)
{
	struct d_publisher *p = MEM_NEW(struct d_publisher);

	if (!p)
		return NULL;
	p->id = id;
	list_init(&p->hash_link);
	list_init(&p->client_link);
	list_init(&p->channel_link);
	list_init(&p->closing_link);
	return p;
}

static void run_publisher_add(struct dispatch *d, struct d_command *c)
{
	d_publisher_add(d, c->object, c->id, c->id2);
	c->object = NULL;
}

int dispatch_publisher_add(struct dispatch *d, uint32_t publisher_id, uint32_t channel_id, uint32_t client_id,
			   uint64_t max_body, const struct wire_counters *counters)
{
	struct d_publisher *p;

	if (!publisher_id || publisher_id == UINT32_MAX || channel_id >= WIRE_CHANNELS_MAX)
		return -EINVAL;
	p = new_publisher(publisher_id);
	if (!p)
		return -ENOMEM;
	p->max_body = max_body;
	p->counters = counters;
	return COMMAND(d, .run = run_publisher_add, .object = p, .id = channel_id, .id2 = client_id);
}

static void run_publisher_resize(struct dispatch *d, struct d_command *c)
{
	struct d_publisher *p = d_publisher_find(d, c->id);

	if (p)
		p->max_body = c->size;
	d_event_call(d, c->fn, c->arg);
}

int dispatch_publisher_resize(struct dispatch *d, uint32_t publisher_id, uint64_t max_body, dispatch_fn fn, void *arg)
{
	return COMMAND(d, .run = run_publisher_resize, .id = publisher_id, .size = max_body, .fn = fn, .arg = arg);
}

static void run_publisher_del(struct dispatch *d, struct d_command *c)
{
	struct d_publisher *p = d_publisher_find(d, c->id);

	if (p)
		d_publisher_close(d, p);
	else
		log_error("there is no publisher %u to delete; ignoring", c->id);
}

int dispatch_publisher_del(struct dispatch *d, uint32_t publisher_id)
{
	return COMMAND(d, .run = run_publisher_del, .id = publisher_id);
}

/* Added only to the channel, so that no slot is accepted as its message. */
static void run_publisher_again(struct dispatch *d, struct d_command *c)
{
	struct d_publisher *p = c->object;

	p->ch = d_command_channel(d, c->id, "look into");
	if (!p->ch)
		return;
	c->object = NULL;
	p->again = true;
	list_append(&p->ch->pubs, &p->channel_link);
	d_publisher_close(d, p);
}

int dispatch_publisher_again(struct dispatch *d, uint32_t publisher_id, uint32_t channel_id)
{
	struct d_publisher *p = channel_id < WIRE_CHANNELS_MAX ? new_publisher(publisher_id) : NULL;

	return p ? COMMAND(d, .run = run_publisher_again, .object = p, .id = channel_id) : -ENOMEM;
}

/* ---- control ---- */

/*
 * Takes all that was published before this command: it is in the queues by now, and no queue holds more than its depth.
 */
static void drain_all(struct dispatch *d)
{
	for (uint32_t w = 0; w < BITMAP_WORDS(d->n_ids); w++)
		d->due[w] |= d->deferred[w];
	d_rung_collect(d);
	bitmap_for_each(id, d->due, d->n_ids) {
		bitmap_clear(d->due, id);
		if (d->by_id[id])
			d_channel_drain(d, d->by_id[id], d->by_id[id]->depth);
	}
}

static void drain_held(struct dispatch *d)
{
	if (d->hold)
		drain_all(d);
}

static void run_hold(struct dispatch *d, struct d_command *c)
{
	drain_held(d);
	d_message_hold_told(d, (enum dispatch_hold)c->id);
}

int dispatch_hold(struct dispatch *d, enum dispatch_hold hold)
{
	return COMMAND(d, .run = run_hold, .id = hold);
}

static void run_freewheel(struct dispatch *d, struct d_command *c)
{
	if (!c->flag)
		drain_all(d); /* accept what was published while freewheeling */
	d->freewheel = c->flag;
	d_lossless_update_all(d);
}

int dispatch_freewheel(struct dispatch *d, bool on)
{
	return COMMAND(d, .run = run_freewheel, .flag = on);
}

static struct d_waiter *new_waiter(dispatch_fn fn, void *arg)
{
	struct d_waiter *w = fn ? MEM_NEW(struct d_waiter) : NULL;

	if (w)
		*w = (struct d_waiter){ .fn = fn, .arg = arg };
	return w;
}

static void add_waiter(struct d_waiter **list, struct d_command *c)
{
	struct d_waiter *w = c->object;

	while (*list)
		list = &(*list)->next;
	*list = w;
	c->object = NULL;
}

static void run_quiet(struct dispatch *d, struct d_command *c)
{
	add_waiter(&d->quiet, c);
	d_rung_look_all(d);
}

int dispatch_quiet(struct dispatch *d, dispatch_fn fn, void *arg)
{
	struct d_waiter *w = new_waiter(fn, arg);

	if (!w)
		return fn ? -ENOMEM : -EINVAL;
	return COMMAND(d, .run = run_quiet, .object = w);
}

static void run_step(struct dispatch *d, struct d_command *c)
{
	drain_held(d);
	d->step_sim_ns = SIM_LOAD_(&d->clock->sim_ns, __ATOMIC_ACQUIRE); /* stays the same until the step has ended */
	d_message_step(d);
	add_waiter(&d->step, c);
}

int dispatch_step(struct dispatch *d, dispatch_fn fn, void *arg)
{
	struct d_waiter *w = new_waiter(fn, arg);

	if (!w)
		return fn ? -ENOMEM : -EINVAL;
	return COMMAND(d, .run = run_step, .object = w);
}

static void run_drain(struct dispatch *d, struct d_command *c)
{
	struct d_waiter *w = c->object;

	drain_held(d);
	d_message_step(d);
	d_event_call(d, w->fn, w->arg);
}

int dispatch_drain(struct dispatch *d, dispatch_fn fn, void *arg)
{
	struct d_waiter *w = new_waiter(fn, arg);

	if (!w)
		return fn ? -ENOMEM : -EINVAL;
	return COMMAND(d, .run = run_drain, .object = w);
}

static void run_shutdown(struct dispatch *d, struct d_command *c)
{
	d->closing = true;
	d_rung_look_all(d);
	d->closing_now = d->closing_now || c->flag;
	d_lossless_update_all(d);
	d_message_drop_held(d, SIM_REASON_SHUTDOWN);
	for (uint32_t i = 0; i < DISPATCH_BRIDGES_MAX; i++) {
		if (!d->bridges[i])
			continue;
		d_bridge_fail_queued(d->bridges[i], SIM_REASON_SHUTDOWN);
		if (d->closing_now)
			d_bridge_fail_out(d->bridges[i], SIM_REASON_SHUTDOWN);
	}
	add_waiter(&d->shut, c);
}

int dispatch_shutdown(struct dispatch *d, bool now, dispatch_fn fn, void *arg)
{
	struct d_waiter *w = new_waiter(fn, arg);

	if (!w)
		return fn ? -ENOMEM : -EINVAL;
	return COMMAND(d, .run = run_shutdown, .object = w, .flag = now);
}

static void run_stats(struct dispatch *d, struct d_command *c)
{
	d_event_stats(d, c->object, d_stats_take(d));
	c->object = NULL;
}

int dispatch_stats(struct dispatch *d, dispatch_stats_fn fn, void *arg)
{
	struct event *answer = fn ? d_event_stats_new(fn, arg) : NULL;

	if (!answer)
		return fn ? -ENOMEM : -EINVAL;
	return COMMAND(d, .run = run_stats, .object = answer);
}

/* The channel may have been freed meanwhile. */
static void run_stages(struct dispatch *d, struct d_command *c)
{
	struct d_channel *ch = d->by_id[c->id];

	d_event_stages(d, c->object, ch ? d_stages_take(ch) : NULL);
	c->object = NULL;
}

int dispatch_stages(struct dispatch *d, uint32_t channel_id, dispatch_stages_fn fn, void *arg)
{
	struct event *answer = fn && channel_id < WIRE_CHANNELS_MAX ? d_event_stages_new(fn, arg) : NULL;

	if (!answer)
		return fn && channel_id < WIRE_CHANNELS_MAX ? -ENOMEM : -EINVAL;
	return COMMAND(d, .run = run_stages, .id = channel_id, .object = answer);
}
