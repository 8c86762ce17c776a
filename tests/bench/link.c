/* SPDX-License-Identifier: Apache-2.0 */
/* The pair of link.h. Threads: one per process. */
#include "link.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <jansson.h>

#include <sim/sim.h>
#include <sim/msg/Ultrasonic.h>

#include "futex.h"
#include "raw_iox.h"
#include "timeutil.h"

const size_t link_sizes[LINK_CLASSES] = { 64, 6u << 20, 24u << 20, 64 };

#define SETTLE_NS       40000 /* from "about to wait" to the send: the receiver is asleep by then */
#define RING_TIMEOUT_NS (10 * NS_PER_S)

struct side { /* one process of the pair */
	struct link_arena *a;
	const struct link_pair *p;
	struct sim_client *client;
	struct sim_publisher *pub[LINK_CLASSES];
	struct sim_subscriber *sub[LINK_CLASSES];
	struct raw_sender *raw_pub;
	struct raw_receiver *raw_sub;
};

static void channel_name(char *buf, size_t size, const char *tag, unsigned class)
{
	snprintf(buf, size, "/bench/%s/%u", tag, class);
}

static int fail(struct side *s, const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, sim_why());
	atomic_store(&s->a->failed, 1);
	return -1;
}

static int connect_side(struct side *s)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "link", .socket = s->p->b->socket };

	return sim_connect(&o, &s->client) < 0 ? fail(s, "connect") : 0;
}

static int64_t faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_minflt + u.ru_majflt;
}

/* The binding has no simd that tells it where the data plane is. */
static void attach_raw(struct side *s)
{
	char name[64], *reply = NULL;
	json_t *info;

	if (sim_call(s->client, "GetInfo", "{}", &reply) < 0 || !(info = json_loads(reply, 0, NULL)))
		abort();
	snprintf(name, sizeof(name), "link-%d", (int)getpid());
	raw_attach(name, json_string_value(json_object_get(info, "plane")));
	json_decref(info);
	free(reply);
}

/* ---- sender ---- */

static int make_publishers(struct side *s)
{
	char name[64];

	for (unsigned i = 0; i < LINK_CLASSES; i++) {
		struct sim_publisher_options o = { .size = sizeof(o),
						   .max_body = link_sizes[i],
						   .flags = SIM_PUB_LOCAL };

		channel_name(name, sizeof(name), s->p->tag, i);
		if (sim_advertise(s->client, name, &sim_Ultrasonic_type, &o, &s->pub[i]) < 0)
			return fail(s, "advertise");
		while (!sim_publisher_has_subscribers(s->pub[i]))
			sched_yield();
	}
	if (s->p->raw) {
		attach_raw(s);
		s->raw_pub = raw_sender_create(s->p->tag);
		while (!raw_sender_connected(s->raw_pub))
			sched_yield();
	}
	return 0;
}

static int send_ours(struct side *s)
{
	struct sim_slot *slot;
	struct sim_publisher *p = s->pub[s->a->size_class];

	if (sim_loan(p, link_sizes[s->a->size_class], &slot) < 0)
		return fail(s, "loan");
	memset(sim_slot_body_mut(slot), 0, 16);
	return sim_publish_local(p, slot) < 0 ? fail(s, "publish") : 0;
}

static int send_one(struct side *s)
{
	struct link_arena *a = s->a;

	atomic_store_explicit(&a->sent_mono_ns, mono_now_ns(), memory_order_relaxed);
	switch (a->mode) {
	case LINK_FUTEX:
		atomic_fetch_add(&a->word, 1);
		futex_wake_all(&a->word, FUTEX_BETWEEN_PROCESSES);
		return 0;
	case LINK_RAW:
		return raw_send(s->raw_pub, link_sizes[a->size_class] + sizeof(struct sim_slot));
	default:
		return send_ours(s);
	}
}

static void send_paced(struct side *s)
{
	struct link_arena *a = s->a;

	for (uint32_t i = 1; i <= a->count && !atomic_load(&a->failed); i++) {
		int64_t until, f0;

		while (atomic_load_explicit(&a->armed, memory_order_acquire) != i && !atomic_load(&a->failed))
			continue;
		until = mono_now_ns() + SETTLE_NS;
		while (mono_now_ns() < until)
			continue;
		f0 = faults();
		if (send_one(s) < 0)
			return;
		if (i == 1)
			a->faults[0] = faults() - f0;
		while (atomic_load_explicit(&a->acked, memory_order_acquire) != i && !atomic_load(&a->failed))
			continue;
	}
}

static void send_bursts(struct side *s)
{
	struct link_arena *a = s->a;

	for (uint32_t i = 0; i < a->count && !atomic_load(&a->failed); i++) {
		int64_t start;

		while (atomic_load_explicit(&a->acked, memory_order_acquire) != i && !atomic_load(&a->failed))
			continue;
		start = mono_now_ns();
		for (int n = 0; n < LINK_BURST; n++) {
			int r = a->mode == LINK_RAW_RATE ? raw_send(s->raw_pub, 64 + sizeof(struct sim_slot))
							 : send_ours(s);

			if (r < 0)
				return;
		}
		a->sample[i] = (double)(mono_now_ns() - start);
		atomic_store_explicit(&a->armed, i + 1, memory_order_release);
	}
}

/* ---- receiver ---- */

static int make_subscribers(struct side *s)
{
	char name[64];

	for (unsigned i = 0; i < LINK_CLASSES; i++) {
		struct sim_subscriber_options o = { .size = sizeof(o), .depth = link_sizes[i] > 64 ? 2 : 64 };

		o.spin_dur_ns = i == LINK_64B_SPIN ? NS_PER_S : 0;
		channel_name(name, sizeof(name), s->p->tag, i);
		if (sim_subscribe(s->client, name, &sim_Ultrasonic_type, &o, &s->sub[i]) < 0)
			return fail(s, "subscribe");
	}
	if (s->p->raw) {
		attach_raw(s);
		s->raw_sub = raw_receiver_create(s->p->tag);
	}
	return 0;
}

static int take_ours(struct side *s, struct sim_subscriber *sub, int64_t *ret_mono_ns)
{
	const struct sim_message *slot;
	int r;

	while ((r = sim_wait(sub, RING_TIMEOUT_NS)) == 1 && (r = sim_take(sub, &slot)) == -EAGAIN)
		continue;
	if (r < 0)
		return fail(s, "receive");
	*ret_mono_ns = mono_now_ns();
	return sim_release(sub, slot);
}

static void drain(struct sim_subscriber *sub)
{
	const struct sim_message *slot;

	while (sim_take(sub, &slot) == 0)
		sim_release(sub, slot);
}

static int receive_one(struct side *s, uint32_t i, int64_t *ret_mono_ns)
{
	struct link_arena *a = s->a;
	const void *chunk;
	uint32_t word = atomic_load(&a->word);

	atomic_store_explicit(&a->armed, i, memory_order_release);
	switch (a->mode) {
	case LINK_FUTEX:
		while (atomic_load(&a->word) == word && !atomic_load(&a->failed))
			futex_wait(&a->word, word, NS_PER_S, FUTEX_BETWEEN_PROCESSES);
		*ret_mono_ns = mono_now_ns();
		return 0;
	case LINK_RAW:
		while (!raw_wait_take(s->raw_sub, &chunk))
			if (atomic_load(&a->failed))
				return -1;
		*ret_mono_ns = mono_now_ns();
		raw_release(s->raw_sub, chunk);
		return 0;
	default:
		return take_ours(s, s->sub[a->size_class], ret_mono_ns);
	}
}

static void receive_paced(struct side *s)
{
	struct link_arena *a = s->a;
	int64_t now = mono_now_ns(); /* and this program's own page with that function is there */

	for (uint32_t i = 1; i <= a->count && !atomic_load(&a->failed); i++) {
		int64_t f0 = faults();

		if (receive_one(s, i, &now) < 0)
			return;
		if (i == 1)
			a->faults[1] = faults() - f0;
		a->sample[i - 1] = (double)(now - atomic_load_explicit(&a->sent_mono_ns, memory_order_relaxed));
		atomic_store_explicit(&a->acked, i, memory_order_release);
	}
}

static void receive_bursts(struct side *s)
{
	struct link_arena *a = s->a;
	const void *chunk;

	for (uint32_t i = 1; i <= a->count && !atomic_load(&a->failed); i++) {
		int64_t start;

		while (atomic_load_explicit(&a->armed, memory_order_acquire) != i && !atomic_load(&a->failed))
			continue;
		start = mono_now_ns();
		if (a->mode == LINK_OURS_RATE)
			drain(s->sub[LINK_64B]);
		while (a->mode == LINK_RAW_RATE && raw_take(s->raw_sub, &chunk))
			raw_release(s->raw_sub, chunk);
		a->taken[i - 1] = (double)(mono_now_ns() - start);
		atomic_store_explicit(&a->acked, i, memory_order_release);
	}
}

/* ---- both ---- */

static bool failed(struct link_arena *a)
{
	return atomic_load(&a->failed);
}

static bool is_rate(uint32_t mode)
{
	return mode == LINK_OURS_RATE || mode == LINK_RAW_RATE;
}

static int obey(struct side *s, unsigned who, void (*paced)(struct side *), void (*bursts)(struct side *))
{
	struct link_arena *a = s->a;
	uint32_t seen = 0;

	atomic_store(&a->ready[who], 1);
	for (;;) {
		AWAIT_BELL(&a->bell, atomic_load_explicit(&a->command, memory_order_acquire) != seen);
		seen = atomic_load(&a->command);
		if (a->mode == LINK_STOP)
			break;
		(is_rate(a->mode) ? bursts : paced)(s);
		atomic_store_explicit(&a->done[who], seen, memory_order_release);
	}
	sim_disconnect(s->client);
	return 0;
}

static int sender_main(void *arg)
{
	struct link_pair *p = arg;
	struct side s = { .a = p->arena, .p = p };

	bench_pin(0);
	if (connect_side(&s) < 0 || make_publishers(&s) < 0)
		return 1;
	return obey(&s, 0, send_paced, send_bursts);
}

static int receiver_main(void *arg)
{
	struct link_pair *p = arg;
	struct side s = { .a = p->arena, .p = p };

	bench_pin(1);
	if (connect_side(&s) < 0 || make_subscribers(&s) < 0)
		return 1;
	return obey(&s, 1, receive_paced, receive_bursts);
}

int link_start(struct bench *b, const char *tag, bool raw, struct link_pair *ret)
{
	*ret = (struct link_pair){ .b = b, .raw = raw };
	snprintf(ret->tag, sizeof(ret->tag), "%s", tag);
	ret->arena = bench_arena(sizeof(*ret->arena));
	ret->pid[1] = bench_fork(receiver_main, ret);
	ret->pid[0] = bench_fork(sender_main, ret);
	return HOLDS_WITHIN(30000, failed(ret->arena) || (atomic_load(&ret->arena->ready[0]) &&
							  atomic_load(&ret->arena->ready[1]))) &&
			       !failed(ret->arena)
		       ? 0
		       : -1;
}

void link_stop(struct link_pair *p)
{
	p->arena->mode = LINK_STOP;
	atomic_fetch_add(&p->arena->command, 1);
	bell_ring(&p->arena->bell);
	if (atomic_load(&p->arena->failed))
		atomic_store(&p->arena->failed, 2);
	bench_wait(p->pid[0]);
	bench_wait(p->pid[1]);
	bench_arena_free(p->arena, sizeof(*p->arena));
}

int link_run(struct link_pair *p, enum link_mode mode, unsigned size_class, unsigned count)
{
	struct link_arena *a = p->arena;
	uint32_t n;

	a->mode = mode;
	a->size_class = size_class;
	a->count = count;
	atomic_store(&a->armed, 0);
	atomic_store(&a->acked, 0);
	n = atomic_fetch_add(&a->command, 1) + 1;
	bell_ring(&a->bell);
	return HOLDS_WITHIN(120000, failed(a) || (atomic_load(&a->done[0]) == n && atomic_load(&a->done[1]) == n)) &&
			       !failed(a)
		       ? 0
		       : -1;
}

double link_latency(struct link_pair *p, enum link_mode mode, unsigned size_class, unsigned count)
{
	if (link_run(p, mode, size_class, count) < 0)
		return -1;
	return bench_median(p->arena->sample, count);
}

double link_rate(struct link_pair *p, enum link_mode mode, unsigned bursts)
{
	if (link_run(p, mode, LINK_64B, bursts) < 0)
		return -1;
	return LINK_BURST * 1e9 / (bench_median(p->arena->sample, bursts) + bench_median(p->arena->taken, bursts));
}
