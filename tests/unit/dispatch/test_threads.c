/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch on a thread of its own, producers and a bridge on theirs, on ipc_mem: with any timing of the threads the
 * doorbell protocol loses no message, and the hand-over no command. For TSan too.
 */
#include "support/test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dispatch/dispatch_private.h"
#include "fd.h"
#include "ipc_mem.h"
#include "log.h"
#include "mem.h"
#include "sim/slot.h"
#include "wire/lane.h"

#define WINDOW    64
#define PRODUCERS 2

struct rig {
	struct exec *work, *owner;
	struct ipc_mem_bus *bus;
	struct ipc *simd;
	struct wire_layout_page *layout;
	struct wire_dispatch_page *page;
	struct sim_clock_page clock;
	struct dispatch *d;
	struct exec_post no_house;
	int lane; /* the bridge's end */
	pthread_t work_thread, bridge_thread;
};

struct producer {
	struct rig *rig;
	uint32_t id, publisher_id;
	int completion, doorbell;
	unsigned messages;
	unsigned burst; /* how many at most before it waits for them */
	bool spin;      /* publish at moments when dispatch is about to fall asleep */
	pthread_t thread;
};

static void *run_exec(void *arg)
{
	exec_run(arg);
	return NULL;
}

/* Answers at once all it gets. */
static void *run_bridge(void *arg)
{
	struct rig *rig = arg;
	static _Alignas(16) unsigned char packet[LANE_PACKET_MAX];
	ssize_t n;

	while ((n = recv(rig->lane, packet, sizeof(packet), 0)) > 0) {
		const struct lane_head *h = (const void *)packet;
		const struct lane_deliver *in = (const void *)(h + 1);
		struct {
			struct lane_head head;
			struct lane_done rec[LANE_BATCH];
		} out = { .head = { .op = LANE_DONE,
				    .count = h->count,
				    .length = h->count * (uint32_t)sizeof(out.rec[0]) } };

		if (h->op != LANE_DELIVER)
			continue;
		for (unsigned i = 0; i < h->count; i++)
			out.rec[i].delivery = in[i].delivery;
		if (send(rig->lane, &out, sizeof(out.head) + out.head.length, MSG_NOSIGNAL) < 0)
			break;
	}
	return NULL;
}

static int claim(struct producer *p, uint64_t sequence)
{
	struct wire_channel *ch = &p->rig->page->channel[0];

	for (uint32_t i = 0; i < WINDOW; i++) {
		uint64_t expect = 0;

		if (atomic_compare_exchange_strong(&ch->cell[i], &expect, wire_claim(p->publisher_id, sequence)))
			return (int)i + 1;
	}
	return -EAGAIN;
}

/*
 * Wake dispatch for nothing, then let some time pass: the next message comes while it is awake, about to fall asleep,
 * or just asleep.
 */
static void lie_in_wait(struct producer *p, uint64_t sequence)
{
	uint64_t one = 1;

	assert_int_equal(write(p->doorbell, &one, sizeof(one)), sizeof(one));
	for (unsigned i = 0; i < 20000 && !atomic_load(&p->rig->layout->shard[0].awake); i++)
		;
	for (volatile uint64_t i = 0; i < (sequence & 1 ? sequence % 307 : sequence * 7919 % 20000); i++)
		;
}

static void publish(struct producer *p, struct ipc_pub *pub, int credit, uint64_t sequence)
{
	uint64_t one = 1;
	struct sim_slot *s;
	void *slot;

	assert_int_equal(ipc_loan(pub, sizeof(*s), &slot), 0);
	s = slot;
	*s = (struct sim_slot){ .magic = SIM_SLOT_MAGIC,
				.version = SIM_SLOT_VERSION,
				.flags = SIM_SLOT_DISPATCH,
				.sequence = sequence,
				.publisher_id = p->publisher_id,
				.credit_cell = (uint32_t)credit };
	if (p->spin)
		lie_in_wait(p, sequence);
	assert_int_equal(ipc_publish(pub, slot), 0);
	wire_rung_set(&p->rig->page->rung[0].word[0], 1);
	if (!atomic_load_explicit(&p->rig->layout->shard[0].awake, memory_order_relaxed) &&
	    !atomic_load_explicit(&p->rig->layout->info[0].deferred, memory_order_relaxed))
		assert_int_equal(write(p->doorbell, &one, sizeof(one)), sizeof(one));
}

/* Reads completions; each exactly once and in order of this producer's publishing, because the bridge keeps it. */
static unsigned read_done(struct producer *p, uint64_t *next)
{
	struct {
		struct lane_head head;
		struct lane_complete rec[LANE_BATCH];
	} packet;
	struct pollfd fd = { .fd = p->completion, .events = POLLIN };

	AWAIT(poll(&fd, 1, 100) == 1); /* fails the test where none arrives */
	assert_true(recv(p->completion, &packet, sizeof(packet), 0) > 0);
	for (unsigned i = 0; i < packet.head.count; i++) {
		assert_int_equal(packet.rec[i].sequence, (*next)++);
		assert_int_equal(packet.rec[i].reason, SIM_REASON_NONE);
	}
	return packet.head.count;
}

/* Bursts of different lengths, so that dispatch is sometimes caught falling asleep and sometimes busy. */
static void *run_producer(void *arg)
{
	struct producer *p = arg;
	struct ipc_options o = { .backend = "mem", .bus = p->rig->bus };
	uint64_t sequence = 0, next = 1;
	struct ipc_pub *pub;
	struct ipc *ipc;
	char app[16];

	snprintf(app, sizeof(app), "client.%u", p->id);
	o.app = app;
	assert_int_equal(ipc_attach(&o, &ipc), 0);
	assert_int_equal(ipc_pub_create(ipc, "/c", NULL, &pub), 0);
	while (sequence < p->messages) {
		for (unsigned burst = 1 + (unsigned)(sequence % p->burst); burst && sequence < p->messages; burst--) {
			int credit = claim(p, sequence + 1);

			assert_true(credit > 0);
			publish(p, pub, credit, ++sequence);
		}
		while (next <= sequence)
			read_done(p, &next);
	}
	ipc_pub_destroy(pub);
	ipc_detach(ipc);
	return NULL;
}

static void make_page(struct rig *rig)
{
	rig->layout = aligned_alloc(64, sizeof(*rig->layout));
	assert_non_null(rig->layout);
	memset(rig->layout, 0, sizeof(*rig->layout));
	rig->page = aligned_alloc(64, sizeof(*rig->page));
	assert_non_null(rig->page);
	memset(rig->page, 0, sizeof(*rig->page));
	atomic_store(&rig->layout->info[0].window, WINDOW);
}

static void make_channel(struct rig *rig)
{
	struct dispatch_channel ch = { .name = "/c", .type_json = "{}", .window = WINDOW, .depth = 2 * WINDOW };
	struct dispatch_bridge b = { .name = "b", .deadline_dur_ns = INT64_C(60000000000) };
	struct ipc_sub_options so = { .depth = ch.depth };

	assert_int_equal(ipc_sub_create(rig->simd, "/c", &so, &ch.sub), 0);
	assert_int_equal(dispatch_channel_add(rig->d, &ch), 0);
	assert_int_equal(dispatch_bridge_add(rig->d, &b), 0);
	assert_int_equal(dispatch_route(rig->d, 0, 0, NULL), 0);
}

static void attach_bridge(struct rig *rig)
{
	struct {
		struct lane_head head;
		struct lane_status s;
	} up = { { LANE_STATUS, 1, sizeof(up.s) }, { .status = SIM_BRIDGE_CONNECTED } };
	int sv[2];

	assert_int_equal(fd_packet_pair(sv, 0), 0);
	rig->lane = sv[0];
	assert_int_equal(send(sv[0], &up, sizeof(up), 0), sizeof(up));
	assert_int_equal(dispatch_bridge_attach(rig->d, 0, sv[1]), 0);
	pthread_create(&rig->bridge_thread, NULL, run_bridge, rig);
}

/* The look-around once a second would find what the doorbell protocol has lost. */
static void stop_house(void *arg)
{
	exec_timer_cancel(&((struct dispatch *)arg)->house);
}

static void start(struct rig *rig)
{
	struct ipc_mem_pool pools[] = { { 256, 256 } };
	struct ipc_mem_options bus = { .pools = pools, .n_pools = 1 };
	struct ipc_options o = { .backend = "mem", .app = "simd" };
	struct dispatch_options opt = { .clock = &rig->clock };

	memset(rig, 0, sizeof(*rig));
	assert_int_equal(exec_threads_create(&rig->work), 0);
	assert_int_equal(exec_threads_create(&rig->owner), 0);
	assert_int_equal(ipc_mem_bus_create(&bus, &rig->bus), 0);
	o.bus = rig->bus;
	assert_int_equal(ipc_attach(&o, &rig->simd), 0);
	assert_int_equal(ipc_beacon_create(rig->simd), 0);
	make_page(rig);
	opt.exec = rig->work;
	opt.owner = rig->owner;
	opt.layout = rig->layout;
	opt.page = rig->page;
	assert_int_equal(dispatch_create(&opt, &rig->d), 0);
	pthread_create(&rig->work_thread, NULL, run_exec, rig->work);
	assert_int_equal(dispatch_set_ipc(rig->d, rig->simd, 1), 0);
	make_channel(rig);
	exec_post_init(&rig->no_house, rig->work, stop_house, rig->d);
	exec_post(&rig->no_house);
}

static void wait_connected(struct rig *rig)
{
	AWAIT(atomic_load(&rig->layout->info[0].bridges) >> 16 == 1);
}

static void add_producer(struct rig *rig, struct producer *p, uint32_t id, unsigned messages, unsigned burst)
{
	int sv[2], bell = eventfd(0, EFD_CLOEXEC);

	*p = (struct producer){ .rig = rig, .id = id, .publisher_id = 100 + id, .messages = messages };
	p->burst = burst;
	p->spin = burst == 1;
	assert_int_equal(fd_packet_pair(sv, 0), 0);
	p->completion = sv[0];
	p->doorbell = dup(bell);
	assert_int_equal(dispatch_client_add(rig->d, id, "c", sv[1], bell, NULL), 0);
	assert_int_equal(dispatch_publisher_add(rig->d, p->publisher_id, 0, id, 0, NULL), 0);
}

static void quit(void *arg)
{
	exec_quit(arg);
}

static void stop(struct rig *rig)
{
	shutdown(rig->lane, SHUT_RDWR);
	pthread_join(rig->bridge_thread, NULL);
	assert_int_equal(dispatch_bridge_gone(rig->d, 0), 0);
	assert_int_equal(dispatch_shutdown(rig->d, false, quit, rig->owner), 0);
	assert_int_equal(exec_run(rig->owner), 0);
	assert_int_equal(dispatch_outstanding(rig->d), 0);
	exec_quit(rig->work);
	pthread_join(rig->work_thread, NULL);
	dispatch_destroy(rig->d);
	close(rig->lane);
	ipc_detach(rig->simd);
	ipc_mem_bus_destroy(rig->bus);
	exec_destroy(rig->work);
	exec_destroy(rig->owner);
	free(rig->page);
	free(rig->layout);
}

static void run_producers(unsigned n, unsigned messages, unsigned burst)
{
	struct producer p[PRODUCERS];
	struct rig rig;

	start(&rig);
	for (uint32_t i = 0; i < n; i++)
		add_producer(&rig, &p[i], i + 1, messages, burst);
	attach_bridge(&rig); /* the last mail: once it is connected, dispatch knows the producers */
	wait_connected(&rig);
	for (unsigned i = 0; i < n; i++)
		pthread_create(&p[i].thread, NULL, run_producer, &p[i]);
	for (unsigned i = 0; i < n; i++) {
		pthread_join(p[i].thread, NULL);
		close(p[i].completion);
		close(p[i].doorbell);
	}
	for (uint32_t i = 0; i < WINDOW; i++)
		assert_int_equal(atomic_load(&rig.page->channel[0].cell[i]), 0);
	assert_int_equal(ipc_mem_slots_used(rig.bus), 1); /* the beacon */
	stop(&rig);
}

TEST(no_message_is_left_in_the_feed)
{
	run_producers(PRODUCERS, 4000, 4);
}

/* So many at once that the bridge is busy and the feed deferred, while producers rely on not having to ring. */
TEST(no_message_is_left_in_a_deferred_feed)
{
	run_producers(PRODUCERS, 20000, WINDOW / PRODUCERS);
}

/* One message at a time: if dispatch overlooks one, nothing else wakes it. */
TEST(dispatch_never_misses_a_wake_up)
{
	run_producers(1, 20000, 1);
}

TEST(unread_commands_and_events_are_freed)
{
	struct ipc_options o = { .backend = "mem", .app = "simd" };
	struct mem_stats before, after;
	struct dispatch_options opt = { 0 };
	struct rig rig = { 0 };

	assert_int_equal(exec_sim_create(1, 0, &rig.work), 0);
	assert_int_equal(exec_sim_create(1, 0, &rig.owner), 0);
	assert_int_equal(ipc_mem_bus_create(NULL, &rig.bus), 0);
	o.bus = rig.bus;
	assert_int_equal(ipc_attach(&o, &rig.simd), 0);
	make_page(&rig);
	opt.exec = rig.work;
	opt.owner = rig.owner;
	opt.layout = rig.layout;
	opt.page = rig.page;
	opt.clock = &rig.clock;
	mem_stats(&before);
	assert_int_equal(dispatch_create(&opt, &rig.d), 0);
	assert_int_equal(dispatch_set_ipc(rig.d, rig.simd, 1), 0);
	make_channel(&rig);
	assert_true(exec_sim_settle(rig.work) > 0);
	assert_int_equal(dispatch_shutdown(rig.d, false, quit, rig.owner), 0);
	assert_true(exec_sim_settle(rig.work) > 0); /* its answer waits in the owner's event loop */
	assert_int_equal(dispatch_shutdown(rig.d, false, quit, rig.owner), 0);
	dispatch_destroy(rig.d);
	mem_stats(&after);
	assert_int_equal(after.blocks, before.blocks);
	assert_int_equal(exec_sim_settle(rig.work) + exec_sim_settle(rig.owner), 0);
	ipc_detach(rig.simd);
	ipc_mem_bus_destroy(rig.bus);
	exec_destroy(rig.work);
	exec_destroy(rig.owner);
	free(rig.page);
	free(rig.layout);
}

static int prepare(void **state)
{
	(void)state;
	log_set_spec("error");
	return 0;
}

TEST_GROUP(prepare, NULL)
