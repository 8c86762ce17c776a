/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishers: creation, registration, proof of the connection, loans. The hot path is in queue.c. Thread: see
 * publisher.h.
 */
#include "publisher.h"
#include "sized.h"
#include "step.h"

#include <errno.h>
#include <string.h>

#include <sim/introspect.h>

#include "clockmap.h"
#include "err.h"
#include "jsonx.h"
#include "mem.h"
#include "proc_cpu.h"
#include "timeutil.h"
#include "value.h"
#include "tsan.h"

#define PROVE_DUR_NS (2 * NS_PER_S)
#define PROBE_DUR_NS (2 * NS_PER_MS)

/* Clients reconnect to a new simd within a second or two: see the back-off of recover.c */
#define UNSURE_DUR_NS (5 * NS_PER_S)

#define STRING_BODY   64
#define STRING_END    8 /* its NUL, and the alignment of the next one */
#define VARIABLE_BODY 3072
/*
 * Longest pause between two probes. They take no credit: while simd does not read, only few may pile up in its queue.
 */
#define PAUSE_MAX_DUR_NS (256 * NS_PER_MS)

/* ---- registration ---- */

static struct list *bucket(struct sim_client *c, uint32_t publisher_id)
{
	return &c->regs[(publisher_id >> WIRE_SHARD_BITS) % (sizeof(c->regs) / sizeof(c->regs[0]))];
}

struct pub_reg *pub_reg_find(struct sim_client *c, uint32_t publisher_id)
{
	struct pub_reg *reg;

	list_for_each(reg, bucket(c, publisher_id), hash) {
		if (reg->publisher_id == publisher_id)
			return reg;
	}
	return NULL;
}

void pub_reg_destroy(struct pub_reg *reg)
{
	struct sim_client *c;

	if (!reg)
		return;
	c = reg->pub->c;
	pthread_mutex_lock(&c->lock);
	list_remove(&reg->hash);
	pthread_mutex_unlock(&c->lock);
	pub_port_unref(reg->port);
	session_unref(reg->session);
	mem_free(reg);
}

static int advertise_params(const struct sim_publisher *p, json_t **ret)
{
	json_t *type;
	int r = type_to_value(p->type, &type);

	if (r < 0)
		return err_set(r, "channel %s: its type cannot be described: %s", p->channel, err_text(r));
	*ret = json_pack("{ss so sI si}", "channel", p->channel, "type", type, "max_body", (json_int_t)p->max_body,
			 "flags", (int)p->flags);
	if (*ret && *p->host && json_object_set_new(*ret, "host", json_string(p->host)) < 0) {
		json_decref(*ret);
		*ret = NULL;
	}
	return *ret ? 0 : err_nomem();
}

static uint32_t less(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Number of channels that all arrays of the pages have room for; shards_max(): of shards. */
static int64_t channels_max(const struct wire_layout_page *l)
{
	return less(less(l->channels.count, l->infos.count), 8 * l->rung.stride);
}

static int64_t shards_max(const struct wire_layout_page *l)
{
	return less(less(l->shards.count, l->rung.count), WIRE_SHARDS_MAX);
}

/* Sets how many loans the publisher may have out at once. */
static int loans_reply(struct sim_publisher *p, const json_t *o)
{
	int64_t n;
	int r = jsonx_opt_int(o, "loans", 1, IPC_LOANS_MAX, IPC_LOANS_MAX, &n);

	if (r == 0)
		atomic_store(&p->loans_max, (uint32_t)n);
	return r;
}

static int advertise_reply(struct pub_reg *reg, const json_t *o, struct varlink_msg *m)
{
	struct session *s = reg->session;
	const struct wire_layout_page *l = s->layout;
	int64_t channel_id, publisher_id, row, shard;
	const char *name;
	int r;

	if ((r = jsonx_string(o, "channel", SIM_CHANNEL_MAX, &name)) < 0 ||
	    (r = jsonx_int(o, "channel_id", 0, channels_max(l) - 1, &channel_id)) < 0 ||
	    (r = jsonx_int(o, "publisher_id", 1, UINT32_MAX, &publisher_id)) < 0 ||
	    (r = jsonx_int(o, "row", 0, (int64_t)l->rows.count - 1, &row)) < 0 ||
	    (r = jsonx_int(o, "shard", 0, shards_max(l) - 1, &shard)) < 0 || (r = loans_reply(reg->pub, o)) < 0)
		return err_prefix(r, "simd's answer to Advertise");
	snprintf(reg->name, sizeof(reg->name), "%s", name);
	reg->channel_id = (uint32_t)channel_id;
	reg->publisher_id = (uint32_t)publisher_id;
	reg->counters = session_row(s, (uint32_t)row);
	reg->info = session_info(s, (uint32_t)channel_id);
	if ((reg->pub->flags & SIM_PUB_LOCAL) || json_is_true(json_object_get(o, "local")))
		return 0;
	reg->channel = session_channel(s, (uint32_t)channel_id);
	reg->rung = session_rung(s, (uint32_t)shard) + channel_id / 64;
	reg->rung_bit = UINT64_C(1) << (channel_id % 64);
	reg->cells = (l->channels.stride - (uint32_t)offsetof(struct wire_channel, cell)) /
		     (uint32_t)sizeof(reg->channel->cell[0]);
	return session_bell(reg->pub->c, s, (uint32_t)shard, m, &reg->bell);
}

static int reg_advertise(struct pub_reg *reg, struct attachment *l, const struct pub_reg *prior)
{
	struct sim_publisher *p = reg->pub;
	struct varlink_msg m;
	json_t *params, *reply;
	int r = advertise_params(p, &params);

	if (r < 0)
		return r;
	if (prior) /* recovery retries it later */
		r = session_call(p->c, reg->session, "Advertise", params, &m, &reply);
	else
		r = session_call_again(p->c, reg->session, "Advertise", params, p->max_body, &m, &reply);
	if (r < 0)
		return r;
	r = advertise_reply(reg, reply, &m);
	if (r == 0)
		client_populate(p->c, l, reply);
	varlink_msg_finish(&m);
	return r;
}

/* Copies the registration's numbers: only the data plane is new. */
static void reg_copy(struct pub_reg *reg, const struct pub_reg *prior)
{
	reg->channel = prior->channel;
	reg->info = prior->info;
	reg->rung = prior->rung;
	reg->rung_bit = prior->rung_bit;
	reg->bell = prior->bell;
	reg->cells = prior->cells;
	reg->counters = prior->counters;
	reg->publisher_id = prior->publisher_id;
	reg->channel_id = prior->channel_id;
	snprintf(reg->name, sizeof(reg->name), "%s", prior->name);
}

/* Maps the slot of the first message, with all that a loan touches. */
static void warm_up(struct pub_reg *reg)
{
	void *slot;

	if (ipc_loan(reg->port->pub, sizeof(struct sim_slot) + reg->pub->max_body, &slot) == 0)
		(void)ipc_unloan(reg->port->pub, slot);
}

int pub_reg_create(struct sim_publisher *p, struct session *s, struct attachment *l, struct pub_reg *prior,
		   struct pub_reg **ret)
{
	struct pub_reg *reg = MEM_NEW(struct pub_reg);
	int r = 0;

	if (!reg)
		return err_nomem();
	list_init(&reg->hash);
	reg->pub = p;
	reg->session = session_ref(s);
	if (prior && prior->session == s && prior->publisher_id)
		reg_copy(reg, prior);
	else
		r = reg_advertise(reg, l, prior);
	if (r < 0)
		goto err;
	if (prior && prior->session != s)
		reg->unsure_until_mono_ns = ns_add(client_now(p->c), UNSURE_DUR_NS);
	else if (prior)
		reg->unsure_until_mono_ns = prior->unsure_until_mono_ns;
	/* a number near the next sequence is enough */
	if (prior && prior->counters && prior->counters != reg->counters)
		atomic_store(&reg->counters->sequence, atomic_load(&prior->counters->sequence));
	if (prior && prior->port && prior->port->att == l && strcmp(prior->name, reg->name) == 0)
		reg->port = pub_port_ref(prior->port);
	else
		r = pub_port_create(l, reg->name, p->flags & SIM_PUB_LATCH ? 1 : 0, &reg->port);
	if (r < 0)
		goto err;
	/* before its first loan: by this simd finds slots that are lost if this process dies */
	atomic_store_explicit(&reg->counters->origin, ipc_pub_origin(reg->port->pub), memory_order_relaxed);
	if (!prior && !(p->c->flags & SIM_CLIENT_NO_PREFAULT))
		warm_up(reg);
	pthread_mutex_lock(&p->c->lock);
	list_prepend(bucket(p->c, reg->publisher_id), &reg->hash);
	pthread_mutex_unlock(&p->c->lock);
	*ret = reg;
	return 0;
err:
	if (reg->publisher_id && (!prior || prior->session != s))
		session_post(p->c, s, "Unadvertise", json_pack("{sI}", "publisher_id", (json_int_t)reg->publisher_id),
			     0);
	pub_reg_destroy(reg);
	return r;
}

/* ---- proof ---- */

static void header_init(const struct pub_reg *reg, struct sim_slot *slot, size_t body_size)
{
	memset(slot, 0, sizeof(*slot));
	slot->magic = SIM_SLOT_MAGIC;
	slot->version = SIM_SLOT_VERSION;
	slot->type_hash = reg->pub->type->hash;
	slot->channel_id = reg->channel_id;
	slot->publisher_id = reg->publisher_id;
	slot->iox_generation = reg->port->att->iox_generation;
	slot->body_size = body_size;
}

/* Prepares the header that all loans of the present registration begin with. */
static void header_begin(struct sim_publisher *p)
{
	header_init(p->reg, &p->header, 0);
	memcpy(p->header.frame_id, p->frame_id, sizeof(p->header.frame_id));
}

bool pub_reg_probe(struct pub_reg *reg)
{
	int64_t now = client_now(reg->pub->c);
	struct sim_slot *slot;
	void *mem;

	if (!reg->channel || atomic_load_explicit(&reg->proved, memory_order_acquire))
		return true;
	if (now < reg->probe_due_mono_ns)
		return false;
	if (!ipc_pub_has_subscribers(reg->port->pub) || ipc_loan(reg->port->pub, sizeof(*slot), &mem) < 0)
		/* simd's subscriber is not connected yet, or the port is in use at the moment: probed again soon */
		return false;
	slot = mem;
	header_init(reg, slot, 0);
	slot->flags = SIM_SLOT_PROBE;
	slot->publish_mono_ns = now;
	if (ipc_publish(reg->port->pub, slot) < 0) {
		ipc_unloan(reg->port->pub, slot);
		return false;
	}
	pub_reg_rung(reg);
	session_doorbell(reg->bell, NULL);
	reg->probe_pause_dur_ns = reg->probe_pause_dur_ns ? 2 * reg->probe_pause_dur_ns : PROBE_DUR_NS;
	if (reg->probe_pause_dur_ns > PAUSE_MAX_DUR_NS)
		reg->probe_pause_dur_ns = PAUSE_MAX_DUR_NS;
	reg->probe_due_mono_ns = ns_add(now, reg->probe_pause_dur_ns);
	return false;
}

static int prove(struct sim_publisher *p, struct pub_reg *reg)
{
	struct sim_client *c = p->c;
	struct proc_wait w = { .pid = { ipc_roudi_pid(reg->port->att->ipc), reg->session->simd } };

	proc_wait_begin(&w, client_now(c), PROVE_DUR_NS, c->env ? 0 : PROC_SPARE_DUR_NS);
	while (!pub_reg_probe(reg)) {
		int64_t now = client_now(c);
		struct timespec t = timespec_from_ns(now + PROBE_DUR_NS);

		if (reg->session->dead)
			return err_set(-ENOTCONN, "channel %s: disconnected from simd", reg->name);
		if (!ipc_alive(reg->port->att->ipc))
			return err_set(-ESTALE, "channel %s: the data plane is being restarted; try in a moment",
				       reg->name);
		if (proc_wait_over(&w, now))
			return err_set(-ETIMEDOUT,
				       "channel %s: the data plane did not connect it to simd within 2 s; "
				       "is iox-roudi overloaded or stopped?",
				       reg->name);
		if (client_pumps(c)) {
			client_sleep(c, reg->session->completion, POLLIN, PROBE_DUR_NS);
			client_pump(c);
			continue;
		}
		pthread_mutex_lock(&c->lock);
		if (!atomic_load(&reg->proved))
			pthread_cond_timedwait(&c->changed, &c->lock, &t);
		pthread_mutex_unlock(&c->lock);
	}
	return 0;
}

/* ---- create and destroy ---- */

static int check_options(const char *channel, const struct sim_type *type, const struct sim_publisher_options *o)
{
	if (!channel || !*channel || strlen(channel) > SIM_CHANNEL_MAX)
		return err_set(-EINVAL, "sim_advertise: a channel's name has 1 to %d characters", SIM_CHANNEL_MAX);
	if (!type || type->abi != SIM_TYPE_ABI)
		return err_set(-EINVAL,
			       "channel %s: no type was given, or one of another ABI; use the one that simgen made",
			       channel);
	if (o->frame_id && strlen(o->frame_id) > SIM_FRAME_ID_MAX)
		return err_set(-EINVAL, "channel %s: frame_id is longer than %d characters", channel, SIM_FRAME_ID_MAX);
	if (o->flags & ~(unsigned)(SIM_PUB_NO_WAIT | SIM_PUB_LATCH | SIM_PUB_LOCAL | SIM_PUB_INBOUND))
		return err_set(-EINVAL, "channel %s: unknown publisher flags %#x", channel, o->flags);
	if (o->max_body && o->max_body < type->fixed_size)
		return err_set(-EINVAL, "channel %s: max_body %zu is less than the fixed part of %s, %u bytes", channel,
			       o->max_body, type->name, type->fixed_size);
	if (o->max_body > SIM_BODY_MAX)
		return err_set(-EMSGSIZE, "channel %s: max_body %zu is larger than any message can be", channel,
			       o->max_body);
	return 0;
}

/*
 * Default for max_body: the fixed part, the strings at their bounds (64 bytes without a bound), and VARIABLE_BODY once
 * for all arrays.
 */
static size_t variable_room(const struct sim_type *type, bool *arrays)
{
	size_t room = 0;

	for (uint32_t i = 0; i < type->n_fields; i++) {
		const struct sim_field *f = &type->fields[i];
		size_t n = f->array == SIM_ARRAY_FIXED ? f->count : 1;

		if (f->array == SIM_ARRAY_BOUNDED || f->array == SIM_ARRAY_VARIABLE)
			*arrays = true;
		else if (f->type)
			room += n * variable_room(f->type, arrays);
		else if (f->kind == SIM_KIND_STRING)
			room += n * ((f->string_max ? f->string_max : STRING_BODY) + STRING_END);
	}
	return room;
}

size_t sim_publisher_default_body(const struct sim_type *type)
{
	bool arrays = false;
	size_t room = variable_room(type, &arrays);

	return type->fixed_size + room + (arrays ? VARIABLE_BODY : 0);
}

static int publisher_new(struct sim_client *c, const char *channel, const struct sim_type *type,
			 const struct sim_publisher_options *o, const char *host, struct sim_publisher **ret)
{
	struct sim_publisher *p = MEM_NEW(struct sim_publisher);

	if (!p)
		return err_nomem();
	p->c = c;
	p->h.alive = c->alive;
	list_init(&p->link);
	if (records_init(&p->records, p) < 0) {
		mem_free(p);
		return err_nomem();
	}
	p->type = sim_type_ref(type);
	p->max_body = o->max_body ? o->max_body : sim_publisher_default_body(type);
	p->flags = o->flags;
	snprintf(p->channel, sizeof(p->channel), "%s", channel);
	snprintf(p->frame_id, sizeof(p->frame_id), "%s", o->frame_id ? o->frame_id : "");
	snprintf(p->host, sizeof(p->host), "%s", host);
	*ret = p;
	return 0;
}

void publisher_free(struct sim_publisher *p)
{
	while (p->n_loans)
		publisher_unloan(p, 0);
	pub_reg_destroy(p->proving);
	pub_reg_destroy(atomic_exchange(&p->next, NULL));
	pub_reg_destroy(p->reg);
	records_finish(&p->records);
	sim_type_unref(p->type);
	mem_free(p->latched);
	mem_free(p);
}

static int advertise(struct sim_publisher *p)
{
	struct sim_client *c = p->c;
	struct session *s;
	struct attachment *l;
	int r = client_session(c, &s);

	if (r < 0)
		return r;
	r = client_attachment(c, &l);
	if (r == 0) {
		r = pub_reg_create(p, s, l, NULL, &p->reg);
		if (r == 0)
			r = prove(p, p->reg);
		if (r < 0 && p->reg)
			session_post(c, s, "Unadvertise",
				     json_pack("{sI}", "publisher_id", (json_int_t)p->reg->publisher_id), 0);
		client_doubt(c, l);
		attachment_unref(l);
	}
	session_unref(s);
	if (r < 0)
		return r;
	header_begin(p);
	p->newest = p->reg;
	atomic_store(&p->reg->state, REG_UP);
	pthread_mutex_lock(&c->lock);
	list_append(&c->pubs, &p->link);
	pthread_mutex_unlock(&c->lock);
	return 0;
}

static int advertise_from(struct sim_client *c, const char *channel, const struct sim_type *type,
			  const struct sim_publisher_options *given, const char *host, struct sim_publisher **ret)
{
	struct sim_publisher_options o;
	struct sim_publisher *p = NULL;
	int r = client_guard(c);

	if (r == 0)
		r = SIZED_TAKE(&o, given, "channel %.63s: the options", channel ? channel : "?");
	if (r == 0)
		r = check_options(channel, type, &o);
	if (r == 0 && !ret)
		r = err_set(-EINVAL, "sim_advertise: the output pointer is NULL");
	if (r == 0)
		r = publisher_new(c, channel, type, &o, host, &p);
	if (r < 0)
		return r;
	client_setup_lock(c);
	r = advertise(p);
	client_setup_unlock(c);
	if (r < 0) {
		publisher_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

int sim_advertise(struct sim_client *c, const char *channel, const struct sim_type *type,
		  const struct sim_publisher_options *o, struct sim_publisher **ret)
{
	return advertise_from(c, channel, type, o, "", ret);
}

int sim_advertise_from(struct sim_client *c, const char *channel, const struct sim_type *type,
		       const struct sim_publisher_options *o, const char *host, struct sim_publisher **ret)
{
	if (!host || !*host || strlen(host) > SIM_HOST_NAME_MAX)
		return err_set(-EINVAL, "channel %s: the name of the machine that it comes from has 1 to %d characters",
			       channel ? channel : "", SIM_HOST_NAME_MAX);
	return advertise_from(c, channel, type, o, host, ret);
}

void sim_publisher_destroy(struct sim_publisher *p)
{
	struct sim_client *c;

	if (!p || !client_alive(p->c))
		return;
	c = p->c;
	step_drop_kept(c, p);
	client_setup_lock(c);
	publisher_progress(p); /* under setup, as recovery changes reg */
	while (p->n_loans)
		publisher_unloan(p, 0);
	pub_reg_destroy(p->proving);
	p->proving = NULL;
	pub_reg_destroy(atomic_exchange(&p->next, NULL));
	p->newest = p->reg;
	pub_port_unref(p->reg->port); /* accepted messages complete without it */
	p->reg->port = NULL;
	sim_type_unref(p->type); /* the type may be unloaded from here on, with the shared object that defines it */
	p->type = NULL;
	pthread_mutex_lock(&c->lock);
	list_remove(&p->link);
	list_append(&c->zombies, &p->link);
	pthread_mutex_unlock(&c->lock);
	client_reap(c); /* at once when nothing is outstanding, else after its last completion */
	client_setup_unlock(c);
}

/* ---- latched messages ---- */

void publisher_keep_latched(struct sim_publisher *p, const struct sim_slot *slot)
{
	size_t size = sizeof(*slot) + slot->body_size;
	struct sim_slot *copy = mem_realloc(p->latched, size);

	if (!copy) { /* the previous message would be wrong */
		mem_free(p->latched);
		p->latched = NULL;
		return;
	}
	memcpy(copy, slot, size);
	p->latched = copy;
}

/*
 * A port's history ends with its generation, and the probes of a registration push the message out of it. So it is
 * published again, unchanged except for simd's numbers; subscribers that had it skip it. If there is no slot for it,
 * the next message is latched.
 */
static void latch_again(struct sim_publisher *p)
{
	size_t size = sizeof(*p->latched) + p->latched->body_size;
	struct sim_slot *slot;
	void *mem;
	int r;

	PORT_RETRY(r, ipc_loan(p->reg->port->pub, size, &mem));
	if (r < 0)
		return;
	memcpy(mem, p->latched, size);
	slot = mem;
	slot->flags &= SIM_SLOT_CLOCK_STALE | SIM_SLOT_LATCHED;
	slot->channel_id = p->reg->channel_id;
	slot->publisher_id = p->reg->publisher_id;
	slot->iox_generation = p->reg->port->att->iox_generation;
	slot->token_cell = slot->credit_cell = 0;
	tsan_release(slot);
	PORT_RETRY(r, ipc_publish(p->reg->port->pub, slot));
	if (r < 0)
		PORT_RETRY(r, ipc_unloan(p->reg->port->pub, slot));
}

/* ---- adoption ---- */

static void adopt(struct sim_publisher *p)
{
	struct pub_reg *reg = atomic_exchange(&p->next, NULL), *old = p->reg;

	if (!reg)
		return;
	for (uint32_t i = 0; i < p->n_loans; i++) { /* the old registration no longer keeps their port */
		if (!p->loans[i].owned && p->loans[i].port != reg->port) {
			pub_port_ref(p->loans[i].port);
			p->loans[i].owned = true;
		}
	}
	p->reg = reg;
	header_begin(p);
	if (p->latched)
		latch_again(p);
	pub_reg_destroy(old);
}

void publisher_attend(struct sim_publisher *p)
{
	atomic_store(&p->attention, false);
	adopt(p);
	for (int i = 0; i < IPC_LOANS_MAX; i++) {
		struct sim_slot *slot = atomic_exchange(&p->orphans[i], NULL);
		int at = slot ? publisher_loan_index(p, slot) : -1;

		if (at >= 0)
			publisher_unloan(p, at);
	}
}

int publisher_enter(struct sim_publisher *p)
{
	int r = handle_enter(&p->h, "publisher");

	if (r == 0 && __builtin_expect(atomic_load_explicit(&p->attention, memory_order_acquire), 0))
		publisher_attend(p);
	return r;
}

void publisher_post(struct sim_publisher *p, struct pub_reg *reg)
{
	atomic_store(&reg->state, REG_UP);
	p->newest = reg;
	pub_reg_destroy(atomic_exchange(&p->next, reg));
	atomic_store(&p->attention, true);
	p->c->unsettled = true;
	publisher_settle(p);
}

bool publisher_settle(struct sim_publisher *p)
{
	if (!atomic_load(&p->next))
		return true;
	if (!handle_try_library(&p->h))
		return false;
	publisher_attend(p);
	handle_leave(&p->h);
	return true;
}

/* ---- messages longer than max_body ---- */

static int ask_larger(struct sim_publisher *p, struct attachment *l, size_t body_size)
{
	json_t *params = json_pack("{sI sI}", "publisher_id", (json_int_t)p->reg->publisher_id, "max_body",
				   (json_int_t)body_size);
	struct varlink_msg m;
	json_t *reply;
	int64_t max_body;
	int r = params ? session_call_again(p->c, p->reg->session, "Enlarge", params, body_size, &m, &reply)
		       : err_nomem();

	if (r < 0)
		return r;
	r = jsonx_int(reply, "max_body", (int64_t)body_size, SIM_BODY_MAX, &max_body);
	if (r == 0)
		r = loans_reply(p, reply);
	if (r == 0) {
		p->max_body = (size_t)max_body; /* recovery reads it, under setup */
		client_populate(p->c, l, reply);
	} else {
		err_prefix(r, "simd's answer to Enlarge");
	}
	varlink_msg_finish(&m);
	return r;
}

int publisher_enlarge(struct sim_publisher *p, size_t body_size)
{
	struct attachment *l;
	int r;

	if (body_size > SIM_BODY_MAX)
		return err_set(-EMSGSIZE, "channel %s: a message of %zu bytes is larger than any message can be",
			       p->channel, body_size);
	client_setup_lock(p->c);
	publisher_attend(p); /* while this is locked recovery creates no other registration */
	r = client_attachment(p->c, &l);
	if (r == 0) {
		r = ask_larger(p, l, body_size);
		attachment_unref(l);
	}
	client_setup_unlock(p->c);
	return r < 0 ? err_prefix(r, "channel %s: a message of %zu bytes, longer than the %zu that were announced",
				  p->channel, body_size, p->max_body)
		     : 0;
}

/* ---- loans ---- */

int publisher_loan_index(const struct sim_publisher *p, const struct sim_slot *slot)
{
	for (uint32_t i = 0; i < p->n_loans; i++) {
		if (p->loans[i].slot == slot)
			return (int)i;
	}
	return -1;
}

void publisher_unloan(struct sim_publisher *p, int i)
{
	struct loan loan = p->loans[i];
	int r;

	PORT_RETRY(r, ipc_unloan(loan.port->pub, loan.slot));
	(void)r; /* its attachment is dead: the slot died with it */
	publisher_forget_loan(p, i);
}

void publisher_forget_loan(struct sim_publisher *p, int i)
{
	if (__builtin_expect(p->loans[i].owned, 0))
		pub_port_unref(p->loans[i].port);
	p->loans[i] = p->loans[--p->n_loans];
}

struct pub_port *publisher_loan_port(struct sim_publisher *p, int i)
{
	return pub_port_ref(p->loans[i].port);
}

static void loan_header(const struct sim_publisher *p, struct sim_slot *slot, size_t body_size)
{
	struct sim_clock_sample now;

	*slot = p->header; /* copied first: its cache lines are fetched from a reader's cache meanwhile */
	clock_sample(p->c, &now);
	slot->body_size = body_size;
	slot->flags = (uint16_t)((now.flags & SIM_CLOCK_STALE ? SIM_SLOT_CLOCK_STALE : 0) |
				 (p->flags & SIM_PUB_LATCH ? SIM_SLOT_LATCHED : 0));
	slot->stamp_sim_ns = now.sim_ns;
	slot->clock_generation = now.clock_generation;
}

int publisher_loan(struct sim_publisher *p, size_t body_size, struct sim_slot **ret)
{
	void *mem;
	int r;

	if (__builtin_expect(body_size > p->max_body, 0)) {
		r = publisher_enlarge(p, body_size);
		if (r < 0)
			return r;
	}
	if (p->n_loans + p->n_kept >= atomic_load_explicit(&p->loans_max, memory_order_relaxed))
		return err_set(-ENOBUFS, "channel %s: %u loans are out%s; publish or release one first", p->reg->name,
			       p->n_loans + p->n_kept,
			       p->n_kept ? " (what is published in a turn counts until it ends)" : "");
	PORT_RETRY(r, ipc_loan(p->reg->port->pub, sizeof(struct sim_slot) + body_size, &mem));
	if (r < 0)
		return err_set(r, "channel %s: %s", p->reg->name, ipc_why());
	tsan_acquire(&tsan_lanes);
	loan_header(p, mem, body_size);
	p->loans[p->n_loans++] = (struct loan){ .slot = mem, .port = p->reg->port };
	*ret = mem;
	return 0;
}

int sim_loan(struct sim_publisher *p, size_t body_size, struct sim_slot **ret)
{
	uint32_t state;
	int r;

	if (!p || !ret)
		return err_set(-EINVAL, "sim_loan: no publisher, or the output pointer is NULL");
	r = publisher_enter(p);
	if (r < 0)
		return r;
	state = atomic_load_explicit(&p->reg->state, memory_order_acquire); /* load it before reg->error */
	if (__builtin_expect(state == REG_STALE, 0))
		r = err_set(-ESTALE,
			    "channel %s: the data plane was restarted; the library attaches again, try in a moment",
			    p->reg->name);
	else if (__builtin_expect(state == REG_FAILED, 0))
		r = err_set(p->reg->error, "channel %s: simd refused it after a restart: %s", p->reg->name,
			    err_text(p->reg->error));
	else
		r = publisher_loan(p, body_size, ret);
	handle_leave(&p->h);
	return r;
}

int sim_unloan(struct sim_publisher *p, struct sim_slot *slot)
{
	int i, r;

	if (!p || !slot)
		return err_set(-EINVAL, "sim_unloan: no publisher or no slot was given");
	r = publisher_enter(p);
	if (r < 0)
		return r;
	i = publisher_loan_index(p, slot);
	if (i >= 0)
		publisher_unloan(p, i);
	else
		r = err_set(-EINVAL,
			    "channel %s: the slot is not a loan of this publisher (published or released before?)",
			    p->channel);
	handle_leave(&p->h);
	return r;
}

int sim_slot_set_size(struct sim_slot *slot, size_t body_size)
{
	if (!slot || slot->magic != SIM_SLOT_MAGIC)
		return err_set(-EINVAL, "sim_slot_set_size: not a slot");
	if (body_size > slot->body_size)
		return err_set(-EMSGSIZE,
			       "sim_slot_set_size: %zu bytes are more than the %llu of the loan; it can only shrink",
			       body_size, (unsigned long long)slot->body_size);
	slot->body_size = body_size;
	return 0;
}
