/* SPDX-License-Identifier: Apache-2.0 */
/* See world.h. Thread: one. */
#include "scenario/dispatch/world.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fd.h"

#define TYPE_HASH UINT64_C(0x1234)
#define BODY_MAX  4096 /* what a publisher may send; a slot is made for WORLD_BODY */

/* ---- events ---- */

static void on_status(void *user, uint32_t id, enum sim_bridge_status status, const char *detail)
{
	struct world *w = user;

	w->n_status++;
	w->status[id] = status;
	snprintf(w->detail[id], sizeof(w->detail[id]), "%s", detail);
}

static void on_carries(void *user, uint32_t bridge, uint32_t channel, int result, const char *name, const char *type)
{
	struct world *w = user;

	w->n_carries++;
	w->carries_bridge = bridge;
	w->carries_channel = channel;
	w->carries_result = result;
	snprintf(w->carries_name, sizeof(w->carries_name), "%s", name);
	snprintf(w->carries_type, sizeof(w->carries_type), "%s", type);
}

static void on_forgot(void *user, uint32_t bridge)
{
	struct world *w = user;

	(void)bridge;
	w->n_forgot++;
}

static void on_broken(void *user, uint32_t id, const char *why)
{
	struct world *w = user;

	(void)id;
	w->n_broken++;
	snprintf(w->broken_why, sizeof(w->broken_why), "%s", why);
}

static void on_stuck(void *user, uint32_t id, int64_t late_dur_ns)
{
	(void)id;
	assert_true(late_dur_ns >= 5 * S);
	((struct world *)user)->n_stuck++;
}

static void on_idle(void *user, uint32_t id)
{
	(void)id;
	((struct world *)user)->n_idle++;
}

static void on_channel_free(void *user, uint32_t id)
{
	((struct world *)user)->n_channel_free++;
	((struct world *)user)->last_channel_free = id;
}

static void on_reaped(void *user, uint32_t id, bool overflowed)
{
	(void)id;
	((struct world *)user)->n_reaped++;
	((struct world *)user)->n_overflowed += overflowed;
}

static void on_sub_free(void *user, struct ipc_sub *sub, uint32_t iox_generation)
{
	assert_in_range(iox_generation, 1, ((struct world *)user)->life);
	((struct world *)user)->n_sub_free++;
	ipc_sub_destroy(sub);
}

static const struct dispatch_events events = {
	.bridge_status = on_status,
	.bridge_broken = on_broken,
	.bridge_carries = on_carries,
	.bridge_forgot = on_forgot,
	.bridge_stuck = on_stuck,
	.bridge_idle = on_idle,
	.channel_free = on_channel_free,
	.sub_free = on_sub_free,
	.publisher_reaped = on_reaped,
};

/* ---- world ---- */

static struct ipc *attach(struct world *w, const char *app)
{
	struct ipc_options o = { .backend = "mem", .app = app, .bus = w->bus };
	struct ipc *ipc;

	assert_int_equal(ipc_attach(&o, &ipc), 0);
	return ipc;
}

static void make_plane(struct world *w)
{
	char app[32];

	snprintf(app, sizeof(app), "simd.%u", ++w->life);
	w->simd = attach(w, app);
	assert_int_equal(ipc_beacon_create(w->simd), 0);
	w->base_slots = ipc_mem_slots_used(w->bus);
}

static void make_page(struct world *w)
{
	w->page = aligned_alloc(64, sizeof(*w->page));
	assert_non_null(w->page);
	memset(w->page, 0, sizeof(*w->page));
	w->layout = aligned_alloc(64, sizeof(*w->layout));
	assert_non_null(w->layout);
	memset(w->layout, 0, sizeof(*w->layout));
	wire_layout_init(w->layout);
}

void world_create(struct world *w, uint64_t seed, uint32_t lanes_max)
{
	static const struct ipc_mem_pool pools[] = { { 256, 2048 }, { 1024, 64 } };
	struct ipc_mem_options bus = { .pools = pools, .n_pools = 2, .virtual_time = true };
	struct dispatch_options o = { .events = &events, .user = w, .lanes_max = lanes_max };

	memset(w, 0, sizeof(*w));
	mem_stats(&w->before);
	w->clock.flags = SIM_CLOCK_STARTED;
	w->next_publisher = 100;
	assert_int_equal(exec_sim_create(seed, 10 * S, &w->x), 0);
	assert_int_equal(ipc_mem_bus_create(&bus, &w->bus), 0);
	make_page(w);
	make_plane(w);
	o.exec = o.owner = w->x;
	o.layout = w->layout;
	o.page = w->page;
	o.lanes = &w->lanes;
	o.clock = &w->clock;
	assert_int_equal(dispatch_create(&o, &w->d), 0);
	assert_int_equal(dispatch_set_ipc(w->d, w->simd, w->life), 0);
	world_settle(w);
}

static void count_call(void *arg)
{
	((struct world *)arg)->n_called++;
}

static void end_peers(struct world *w)
{
	for (unsigned i = 0; i < WORLD_BRIDGES; i++)
		if (w->bridges[i].alive)
			bridge_dies(&w->bridges[i]);
	world_settle(w);
	for (unsigned i = 0; i < WORLD_CLIENTS; i++)
		if (w->clients[i].id)
			client_dies(&w->clients[i]);
	world_settle(w);
}

static void expect_clean_cells(const struct world *w)
{
	for (uint32_t i = 0; i < WIRE_CHANNELS_MAX; i++)
		assert_int_equal(world_credits_claimed(w, i), 0);
	for (uint32_t i = 0; i < WIRE_TOKENS_MAX; i++)
		assert_false(world_token_claimed(w, i));
}

static void drop_client(struct test_client *c)
{
	ipc_detach(c->ipc);
	fd_close(c->completion);
	fd_close(c->doorbell);
}

static void free_world(struct world *w)
{
	struct mem_stats after;

	assert_int_equal(exec_sim_settle(w->x), 0); /* nothing of dispatch is left there */
	ipc_detach(w->simd);
	ipc_mem_bus_destroy(w->bus);
	exec_destroy(w->x);
	free(w->layout);
	free(w->page);
	mem_stats(&after);
	assert_int_equal(after.blocks, w->before.blocks);
	assert_int_equal(after.bytes, w->before.bytes);
}

void world_destroy(struct world *w)
{
	w->n_called = 0;
	end_peers(w);
	assert_int_equal(dispatch_shutdown(w->d, false, count_call, w), 0);
	world_settle(w);
	assert_int_equal(w->n_called, 1);
	assert_int_equal(dispatch_outstanding(w->d), 0);
	expect_clean_cells(w);
	assert_int_equal(ipc_mem_slots_used(w->bus), w->base_slots);
	dispatch_destroy(w->d);
	free_world(w);
}

void world_abort(struct world *w)
{
	dispatch_destroy(w->d);
	for (unsigned i = 0; i < WORLD_BRIDGES; i++)
		if (w->bridges[i].alive)
			bridge_closes(&w->bridges[i]);
	for (unsigned i = 0; i < WORLD_CLIENTS; i++) {
		for (unsigned k = 0; w->clients[i].id && k < WORLD_PUBS; k++)
			ipc_pub_destroy(w->clients[i].pubs[k].ipc);
		if (w->clients[i].id)
			drop_client(&w->clients[i]);
	}
	assert_int_equal(ipc_mem_slots_used(w->bus), w->base_slots);
	free_world(w);
}

void world_settle(struct world *w)
{
	assert_true(exec_sim_settle(w->x) >= 0);
}

void world_run(struct world *w, int64_t dur_ns)
{
	assert_true(exec_sim_run(w->x, exec_now(w->x) + dur_ns) >= 0);
}

void world_pause(struct world *w, bool paused)
{
	w->clock.flags = SIM_CLOCK_STARTED | (paused ? SIM_CLOCK_PAUSED : 0);
	w->clock.pause_mono_ns = exec_now(w->x);
}

static void copy_stats(void *arg, const struct dispatch_stats *s)
{
	struct world *w = arg;

	assert_true(s->n_channels <= WORLD_CHANNELS && s->n_bridges <= WORLD_BRIDGES);
	memcpy(w->channel_stats, s->channels, s->n_channels * sizeof(*s->channels));
	memcpy(w->bridge_stats, s->bridges, s->n_bridges * sizeof(*s->bridges));
	memcpy(w->slow_stats, s->slow, s->n_slow * sizeof(*s->slow));
	w->stats = *s;
	w->stats.slow = w->slow_stats;
	w->stats.channels = w->channel_stats;
	w->stats.bridges = w->bridge_stats;
}

void world_stats(struct world *w)
{
	memset(&w->stats, 0xff, sizeof(w->stats));
	assert_int_equal(dispatch_stats(w->d, copy_stats, w), 0);
	world_settle(w);
	assert_int_not_equal(w->stats.n_channels, UINT32_MAX);
}

/* ---- registry ---- */

static void channel_name(uint32_t id, char ret[32])
{
	snprintf(ret, 32, "/test/ch%u", id);
}

static struct ipc_sub *subscribe(struct world *w, uint32_t id, uint32_t depth)
{
	struct ipc_sub_options o = { .depth = depth };
	struct ipc_sub *sub;
	char name[32];

	channel_name(id, name);
	assert_int_equal(ipc_sub_create(w->simd, name, &o, &sub), 0);
	return sub;
}

void world_channel(struct world *w, uint32_t id, uint32_t window, bool ordered)
{
	struct dispatch_channel c = { .id = id,
				      .type_hash = TYPE_HASH,
				      .type_json = "{\"name\":\"test/T\"}",
				      .window = window,
				      .depth = window * 2,
				      .ordered = ordered };
	char name[32];

	channel_name(id, name);
	c.name = name;
	c.sub = subscribe(w, id, c.depth);
	atomic_store(&w->layout->info[id].window, window);
	assert_int_equal(dispatch_channel_add(w->d, &c), 0);
	world_settle(w);
}

void world_bridge(struct world *w, uint32_t id, uint32_t queue)
{
	world_bridge_lossless(w, id, queue, DISPATCH_LOSSLESS_AUTO, false);
}

void world_bridge_lossless(struct world *w, uint32_t id, uint32_t queue, enum dispatch_lossless lossless,
			   bool comes_back)
{
	struct dispatch_bridge b = { .id = id,
				     .queue = queue,
				     .deadline_dur_ns = WORLD_DEADLINE(id),
				     .kill_after_dur_ns = 5 * S,
				     .lossless = lossless,
				     .comes_back = comes_back };
	char name[32];

	snprintf(name, sizeof(name), "bridge%u", id);
	b.name = name;
	assert_int_equal(dispatch_bridge_add(w->d, &b), 0);
	w->bridges[id].id = id;
	w->bridges[id].w = w;
	world_settle(w);
}

void world_route(struct world *w, uint32_t channel, uint32_t bridge)
{
	assert_int_equal(dispatch_route(w->d, channel, bridge, "{\"k\":1}"), 0);
	world_settle(w);
}

unsigned world_credits_claimed(const struct world *w, uint32_t channel)
{
	unsigned n = 0;

	for (unsigned i = 0; i < WIRE_WINDOW_MAX; i++)
		n += atomic_load(&w->page->channel[channel].cell[i]) != 0;
	return n;
}

bool world_token_claimed(const struct world *w, uint32_t token)
{
	return atomic_load(&w->page->token[token]) != 0;
}

/* ---- the data plane dies ---- */

void world_roudi_dies(struct world *w)
{
	ipc_mem_roudi_kill(w->bus);
	assert_int_equal(dispatch_restart_begin(w->d), 0);
	world_settle(w);
}

static void follow(struct test_client *c)
{
	char app[32], name[32];

	snprintf(app, sizeof(app), "client.%u.%u", c->id, c->w->life);
	for (unsigned i = 0; i < WORLD_PUBS; i++)
		ipc_pub_destroy(c->pubs[i].ipc);
	ipc_detach(c->ipc);
	c->ipc = attach(c->w, app);
	for (unsigned i = 0; i < WORLD_PUBS; i++) {
		if (!c->pubs[i].id)
			continue;
		channel_name(c->pubs[i].channel, name);
		assert_int_equal(ipc_pub_create(c->ipc, name, NULL, &c->pubs[i].ipc), 0);
	}
}

void world_renew(struct world *w, uint32_t channel)
{
	world_renew_deep(w, channel, 2 * atomic_load(&w->layout->info[channel].window));
}

void world_renew_deep(struct world *w, uint32_t channel, uint32_t depth)
{
	assert_int_equal(dispatch_channel_renew(w->d, channel, subscribe(w, channel, depth)), 0);
	world_settle(w);
}

void world_roudi_back(struct world *w, unsigned n_channels)
{
	struct ipc *old = w->simd;

	assert_int_equal(ipc_mem_roudi_start(w->bus), 0);
	make_plane(w);
	assert_int_equal(dispatch_set_ipc(w->d, w->simd, w->life), 0);
	for (uint32_t i = 0; i < n_channels; i++)
		assert_int_equal(dispatch_channel_sub(w->d, i,
						      subscribe(w, i, 2 * atomic_load(&w->layout->info[i].window))),
				 0);
	world_settle(w);
	for (unsigned i = 0; i < WORLD_CLIENTS; i++)
		if (w->clients[i].id)
			follow(&w->clients[i]);
	for (unsigned i = 0; i < WORLD_BRIDGES; i++)
		if (w->bridges[i].alive)
			assert_int_equal(dispatch_bridge_generation(w->d, i, w->life), 0);
	world_settle(w);
	ipc_detach(old); /* the core waits for sub_free first; in memory held messages stay readable */
}

/* ---- clients ---- */

struct test_client *client_new(struct world *w)
{
	struct test_client *c = w->clients;
	char app[32];
	int sv[2], bell;

	while (c->id)
		assert_ptr_not_equal(++c, w->clients + WORLD_CLIENTS);
	memset(c, 0, sizeof(*c));
	c->w = w;
	c->id = ++w->next_client;
	snprintf(app, sizeof(app), "client.%u.%u", c->id, w->life);
	c->ipc = attach(w, app);
	assert_int_equal(fd_packet_pair(sv, SOCK_NONBLOCK), 0);
	bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	assert_true(bell >= 0);
	c->completion = sv[0];
	c->doorbell = fd_dup(bell);
	assert_int_equal(dispatch_client_add(w->d, c->id, app, sv[1], bell, NULL), 0);
	world_settle(w);
	return c;
}

struct test_pub *client_advertise_only(struct test_client *c, uint32_t channel)
{
	struct test_pub *p = c->pubs;
	char name[32];

	while (p->id)
		assert_ptr_not_equal(++p, c->pubs + WORLD_PUBS);
	*p = (struct test_pub){ .id = c->w->next_publisher++, .channel = channel, .row = &c->rows[p - c->pubs] };
	atomic_store(&p->row->sequence, 0);
	channel_name(channel, name);
	assert_int_equal(ipc_pub_create(c->ipc, name, NULL, &p->ipc), 0);
	assert_int_equal(dispatch_publisher_add(c->w->d, p->id, channel, c->id, BODY_MAX, p->row), 0);
	return p;
}

struct test_pub *client_advertise(struct test_client *c, uint32_t channel)
{
	struct test_pub *p = client_advertise_only(c, channel);

	world_settle(c->w);
	return p;
}

void client_unadvertise(struct test_client *c, struct test_pub *p)
{
	ipc_pub_destroy(p->ipc);
	assert_int_equal(dispatch_publisher_del(c->w->d, p->id), 0);
	*p = (struct test_pub){ 0 };
}

void client_dies(struct test_client *c)
{
	for (unsigned i = 0; i < WORLD_PUBS; i++)
		ipc_pub_destroy(c->pubs[i].ipc);
	drop_client(c);
	assert_int_equal(dispatch_client_gone(c->w->d, c->id), 0);
	c->id = 0;
}

int client_claim_token(struct test_client *c, struct test_pub *p, uint32_t token)
{
	uint64_t expect = 0;

	return atomic_compare_exchange_strong(&c->w->page->token[token], &expect, wire_claim(p->id, p->sequence + 1))
		       ? (int)token + 1
		       : -EBUSY;
}

int client_claim_credit(struct test_client *c, struct test_pub *p)
{
	struct wire_channel *ch = &c->w->page->channel[p->channel];
	uint32_t window = atomic_load(&c->w->layout->info[p->channel].window);

	for (uint32_t i = 0; i < window; i++) {
		uint64_t expect = 0;

		if (atomic_compare_exchange_strong(&ch->cell[i], &expect, wire_claim(p->id, p->sequence + 1)))
			return (int)i + 1;
	}
	return -EAGAIN;
}

struct sim_slot *client_loan(struct test_client *c, struct test_pub *p)
{
	struct sim_slot *s;
	void *slot;

	assert_int_equal(ipc_loan(p->ipc, sizeof(*s) + WORLD_BODY, &slot), 0);
	s = slot;
	memset(s, 0, sizeof(*s) + WORLD_BODY);
	s->magic = SIM_SLOT_MAGIC;
	s->version = SIM_SLOT_VERSION;
	s->flags = SIM_SLOT_DISPATCH;
	s->type_hash = TYPE_HASH;
	s->channel_id = p->channel;
	s->publisher_id = p->id;
	s->sequence = p->sequence + 1;
	s->publish_mono_ns = exec_now(c->w->x);
	s->stamp_sim_ns = 1000 - (int64_t)s->sequence; /* so that order by stamp is not the order of arrival */
	s->iox_generation = c->w->life;
	s->body_size = WORLD_BODY;
	memset(s + 1, (int)s->sequence & 0xff, WORLD_BODY);
	return s;
}

void client_ring(struct test_client *c)
{
	uint64_t one = 1;

	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load(&c->w->layout->shard[0].awake))
		assert_int_equal(write(c->doorbell, &one, sizeof(one)), sizeof(one));
}

void client_mark(struct test_client *c, uint32_t channel)
{
	wire_rung_set(&c->w->page->rung[0].word[channel / 64], UINT64_C(1) << channel % 64);
}

void client_publish(struct test_client *c, struct test_pub *p, struct sim_slot *s)
{
	p->sequence++;
	assert_int_equal(ipc_publish(p->ipc, s), 0);
	atomic_store(&p->row->sequence, p->sequence);
	client_mark(c, p->channel);
	if (!atomic_load(&c->w->layout->info[p->channel].deferred))
		client_ring(c);
}

/* The token cell + 1, or 0; then the credit's. */
static int claim_both(struct test_client *c, struct test_pub *p, uint32_t token, int *ret_token)
{
	int t = 0, credit;

	if (c->w->clock.flags & SIM_CLOCK_PAUSED)
		return -ECANCELED;
	if (token != NO_TOKEN) {
		t = client_claim_token(c, p, token);
		if (t < 0)
			return t;
	}
	credit = client_claim_credit(c, p);
	if (credit < 0) {
		if (t)
			atomic_store(&c->w->page->token[token], 0);
		return credit;
	}
	*ret_token = t;
	return credit;
}

int client_try(struct test_client *c, struct test_pub *p, uint32_t token)
{
	int t, credit = claim_both(c, p, token, &t);
	struct sim_slot *s;

	if (credit < 0)
		return credit;
	s = client_loan(c, p);
	s->token_cell = (uint32_t)t;
	s->credit_cell = (uint32_t)credit;
	client_publish(c, p, s);
	return 0;
}

int client_try_lost(struct test_client *c, struct test_pub *p, uint32_t token)
{
	int t, credit = claim_both(c, p, token, &t);

	if (credit < 0)
		return credit;
	atomic_store(&p->row->sequence, ++p->sequence);
	client_mark(c, p->channel);
	client_ring(c);
	return 0;
}

void client_prove(struct test_client *c, struct test_pub *p)
{
	struct sim_slot *s = client_loan(c, p);

	s->flags = SIM_SLOT_PROBE;
	s->sequence = 0;
	assert_int_equal(ipc_publish(p->ipc, s), 0);
	client_mark(c, p->channel);
	client_ring(c);
	world_settle(c->w);
}

void world_flood(struct world *w, uint32_t channel)
{
	struct ipc *foreign = attach(w, "foreign");
	struct ipc_pub *pub;
	char name[32];
	void *slot;

	channel_name(channel, name);
	assert_int_equal(ipc_pub_create(foreign, name, NULL, &pub), 0);
	for (unsigned i = 0; i < 2 * atomic_load(&w->layout->info[channel].window); i++) {
		assert_int_equal(ipc_loan(pub, 128, &slot), 0);
		memset(slot, 0, 128);
		assert_int_equal(ipc_publish(pub, slot), 0);
	}
	ipc_pub_destroy(pub);
	ipc_detach(foreign);
}

unsigned client_read(struct test_client *c)
{
	struct {
		struct lane_head head;
		struct lane_complete rec[LANE_BATCH];
	} packet;
	unsigned before = c->n_done;
	ssize_t n;

	while ((n = recv(c->completion, &packet, sizeof(packet), MSG_DONTWAIT)) > 0) {
		assert_int_equal(packet.head.op, LANE_COMPLETE);
		assert_in_range(packet.head.count, 1, LANE_BATCH);
		assert_int_equal(packet.head.length, packet.head.count * sizeof(packet.rec[0]));
		assert_int_equal(n, sizeof(packet.head) + packet.head.length);
		for (unsigned i = 0; i < packet.head.count; i++) {
			assert_true(c->n_done < WORLD_RECORDS);
			c->done[c->n_done++] = (struct done_record){ .publisher_id = packet.rec[i].publisher_id,
								     .reason = packet.rec[i].reason,
								     .sequence = packet.rec[i].sequence };
		}
	}
	return c->n_done - before;
}

unsigned client_count(const struct test_client *c, const struct test_pub *p, uint64_t sequence)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->n_done; i++)
		n += c->done[i].publisher_id == p->id && c->done[i].sequence == sequence;
	return n;
}

void client_expect(struct test_client *c, const struct test_pub *p, uint64_t sequence, enum sim_reason reason)
{
	client_read(c);
	assert_int_equal(client_count(c, p, sequence), 1);
	for (unsigned i = 0; i < c->n_done; i++)
		if (c->done[i].publisher_id == p->id && c->done[i].sequence == sequence)
			assert_int_equal(c->done[i].reason, reason);
}
