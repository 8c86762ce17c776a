/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NODE/node_info: a node's readers, writers and statistics. Thread: the client's "sim-service"; host::lock while lists
 * are read.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <sim/srv/NodeInfo.h>

#include "component.h"
#include "err.h"
#include "mem.h"
#include "node.h"
#include "node_timer.h"
#include "param.h"
#include "timeutil.h"
#include "writer.h"

#define READERS_MAX 64u /* limits of NodeInfo.srv */
#define WRITERS_MAX 64u
#define TIMERS_MAX  32u

struct node_service {
	struct sim_service *service;
};

/* ---- lists; under host::lock ---- */

static const char *delivery(uint64_t received, uint64_t by_shm, uint64_t by_network)
{
	if (!received)
		return "";
	if (by_network)
		return by_network == received ? "network" : "mixed";
	return !by_shm ? "intra" : by_shm == received ? "shm" : "mixed";
}

static const char *type_name(const struct sim_type *type)
{
	return type ? type->name : "";
}

static void put_reader(struct sim_builder *b, struct sim_NodeReader *e, struct sim_node_reader *r)
{
	struct sim_node_reader_stats st;
	uint64_t by_shm, by_network;

	sim_node_reader_stats(r, &st);
	pthread_mutex_lock(&r->ch->lock);
	by_shm = r->by_shm;
	by_network = r->by_network;
	pthread_mutex_unlock(&r->ch->lock);
	e->received = st.received;
	e->processed = st.processed;
	e->overrun = st.overrun;
	e->lost = st.lost;
	e->depth = r->depth;
	e->pending = r->room;
	(void)sim_NodeReader_channel_set_in(b, e, r->ch->name);
	(void)sim_NodeReader_channel_type_set_in(b, e, type_name(r->ch->type));
	(void)sim_NodeReader_delivery_set_in(b, e, delivery(st.received, by_shm, by_network));
}

static void put_readers(struct sim_builder *b, struct sim_NodeInfoResponse *x, const struct sim_node *n)
{
	uint32_t all = (uint32_t)list_count(&n->readers), i = 0, shown = all < READERS_MAX ? all : READERS_MAX;
	struct sim_NodeReader *at = sim_NodeInfoResponse_readers_alloc_in(b, x, shown);
	struct sim_node_reader *r;

	x->more_readers = all - shown;
	if (at)
		list_for_each(r, &n->readers, link)
			if (i < shown)
				put_reader(b, &at[i++], r);
}

static void put_writer(struct sim_builder *b, struct sim_NodeWriter *e, const struct sim_node_writer *w)
{
	static const char *const transports[] = { "hybrid", "intra", "shm", "network" };
	struct sim_node_writer_stats st;

	sim_node_writer_stats(w, &st);
	e->written = st.written;
	e->refused = st.refused;
	e->intra = st.intra;
	(void)sim_NodeWriter_channel_set_in(b, e, w->ch->name);
	(void)sim_NodeWriter_channel_type_set_in(b, e, type_name(w->type));
	(void)sim_NodeWriter_transport_set_in(b, e, transports[w->transport]);
}

static void put_writers(struct sim_builder *b, struct sim_NodeInfoResponse *x, const struct sim_node *n)
{
	uint32_t all = (uint32_t)list_count(&n->writers), i = 0, shown = all < WRITERS_MAX ? all : WRITERS_MAX;
	struct sim_NodeWriter *at = sim_NodeInfoResponse_writers_alloc_in(b, x, shown);
	struct sim_node_writer *w;

	x->more_writers = all - shown;
	if (at)
		list_for_each(w, &n->writers, link)
			if (i < shown)
				put_writer(b, &at[i++], w);
}

static void put_timers(struct sim_builder *b, struct sim_NodeInfoResponse *x, const struct sim_node *n)
{
	struct sim_node_timer *t, *mine[TIMERS_MAX];
	uint32_t shown = 0;
	struct sim_NodeTimer *at;

	list_for_each(t, &n->h->timers, link) {
		if (t->n != n)
			continue;
		if (shown < TIMERS_MAX)
			mine[shown++] = t;
		else
			x->more_timers++;
	}
	at = sim_NodeInfoResponse_timers_alloc_in(b, x, shown);
	for (uint32_t i = 0; at && i < shown; i++) {
		node_timer_stats(mine[i], &at[i].fired, &at[i].missed);
		at[i].period = mine[i]->period_dur_ns;
		(void)sim_NodeTimer_name_set_in(b, &at[i], mine[i]->name);
	}
}

/* ---- the answer ---- */

static void put_component(struct sim_NodeInfoResponse *x, const struct sim_component_stats *st)
{
	x->proc = st->proc;
	x->failed = st->failed;
	x->overrun = st->overrun;
	memcpy(x->unmatched, st->unmatched, sizeof(x->unmatched));
	x->busy = st->busy_dur_ns;
	x->longest = st->longest_dur_ns;
	x->in_proc = st->since_mono_ns ? mono_now_ns() - st->since_mono_ns : 0;
}

static int on_info(void *user, struct sim_request *req)
{
	const struct sim_node *n = user;
	struct sim_component_stats st;
	struct sim_builder b;
	struct sim_NodeInfoResponse *x = sim_NodeInfoResponse_init(req->response, req->response_capacity, &b);

	x->pid = (uint32_t)getpid();
	x->parameters = params_of_node(n->h->client, n->name);
	sim_component_stats(n->component, &st);
	put_component(x, &st);
	(void)sim_NodeInfoResponse_name_set(&b, n->name);
	(void)sim_NodeInfoResponse_process_set(&b, program_invocation_short_name);
	(void)sim_NodeInfoResponse_host_set(&b, n->h->name);
	(void)sim_NodeInfoResponse_mode_set(&b, host_simulates(n->h) ? "simulation" : "reality");
	(void)sim_NodeInfoResponse_component_set(&b, n->class_name ? n->class_name : "");
	pthread_mutex_lock(&n->h->lock);
	put_readers(&b, x, n);
	put_writers(&b, x, n);
	put_timers(&b, x, n);
	pthread_mutex_unlock(&n->h->lock);
	if (sim_builder_error(&b) < 0)
		return sim_builder_error(&b);
	req->response_size = sim_builder_size(&b);
	return 0;
}

int node_service_create(struct sim_node *n, struct node_service **ret)
{
	struct node_service *s = MEM_NEW(struct node_service);
	char name[NODE_NAME_MAX + 16];
	int r;

	if (!s)
		return err_nomem();
	snprintf(name, sizeof(name), "%s/node_info", n->name);
	r = sim_service_offer(n->h->client, name, &sim_NodeInfo_service, NULL, on_info, n, &s->service);
	if (r < 0) {
		mem_free(s);
		return err_prefix(r, "node %s", n->name);
	}
	*ret = s;
	return 0;
}

void node_service_destroy(struct node_service *s)
{
	if (!s)
		return;
	sim_service_destroy(s->service);
	mem_free(s);
}
