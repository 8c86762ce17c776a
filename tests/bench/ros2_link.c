/* SPDX-License-Identifier: Apache-2.0 */
/* See ros2_link.h. Threads: one a process, and Cyclone's. */
#include "ros2_link.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sim/msg/Image.h>

#include "futex.h"
#include "receivers.h"
#include "system/ros2/host.h"
#include "system/ros2/reader.h"
#include "timeutil.h"

#define SAMPLES      4096u
#define WIDTH        2048u
#define HEIGHT       1024u /* 6 MiB of rgb8 */
#define DEPTH        8
#define QUIT         0u
#define PAUSE_DUR_NS (20 * NS_PER_MS)

/* Loopback without multicast, as a namespace has it; then, for a tuned link, what tools/bridge/ros2/domain.c sets. */
#define LOOPBACK \
	"<CycloneDDS><Domain Id=\"any\"><General><Interfaces><NetworkInterface address=\"127.0.0.1\"/></Interfaces>" \
	"<AllowMulticast>false</AllowMulticast></General><Discovery><ParticipantIndex>auto</ParticipantIndex>" \
	"<MaxAutoParticipantIndex>32</MaxAutoParticipantIndex><Peers><Peer address=\"127.0.0.1\"/></Peers></Discovery>"
#define TUNED \
	"<General><MaxMessageSize>65500B</MaxMessageSize><FragmentSize>63000B</FragmentSize></General><Internal><SocketReceiveBufferSize max=\"10MB\"/>" \
	"<HeartbeatInterval min=\"2ms\" minsched=\"3ms\" max=\"1s\">3ms</HeartbeatInterval></Internal>"
#define SMALL "<Internal><SocketReceiveBufferSize max=\"212992B\"/></Internal>"
#define END   "</Domain></CycloneDDS>"

struct ros2_arena {
	_Atomic uint32_t command[ROS2_ALL]; /* bumped by the orchestrator; the meaning is in `count` */
	_Atomic uint32_t done;              /* commands that are finished */
	_Atomic uint32_t ready;             /* processes */
	_Atomic int failed;
	uint32_t count, window;
	_Alignas(64) _Atomic uint32_t taken; /* number of the newest message that was taken */
	_Atomic int64_t sent_mono_ns;
	int64_t elapsed_dur_ns;
	double sample[SAMPLES];
};

struct role {
	struct ros2_link *l;
	struct ros2_arena *a;
	enum ros2_writer who;
	/* of a writer: publish message n */
	int (*write)(struct role *r, uint32_t n);
	struct host host;
	struct sim_bridge *bridge;
	struct sim_bridge_topic *topic;
	struct sim_slot *slot;
	dds_entity_t writer;
	struct seen_image image;
	struct receivers *receivers;
};

#define LINKED_NAME "/bench/linked"

static const char *topic_name(enum ros2_writer who)
{
	return who == ROS2_OURS ? "rt/bench/ours" : who == ROS2_LINKED ? LINKED_NAME : "rt/bench/plain";
}

/* Until message n is taken, for 10 s at most. */
static int await_taken(struct ros2_arena *a, uint32_t n, int64_t dur_ns)
{
	int64_t end_mono_ns = mono_now_ns() + dur_ns;
	uint32_t now;

	while ((int32_t)((now = atomic_load(&a->taken)) - n) < 0) {
		if (mono_now_ns() > end_mono_ns)
			return -ETIMEDOUT;
		futex_wait(&a->taken, now, 10 * NS_PER_MS, FUTEX_BETWEEN_PROCESSES);
	}
	return 0;
}

dds_entity_t ros2_link_participant(enum ros2_settings settings)
{
	static const char *const xml[] = {
		[ROS2_TUNED] = LOOPBACK TUNED END, [ROS2_DEFAULT] = LOOPBACK END, [ROS2_SMALL] = LOOPBACK SMALL END
	};
	dds_domainid_t id = settings == ROS2_TUNED ? 0 : 1;
	dds_entity_t domain = dds_create_domain(id, xml[settings]);

	return domain < 0 ? domain : dds_create_participant(id, NULL, NULL);
}

static dds_qos_t *reliable(void)
{
	dds_qos_t *q = dds_create_qos();

	dds_qset_reliability(q, DDS_RELIABILITY_RELIABLE, DDS_SECS(10));
	dds_qset_history(q, DDS_HISTORY_KEEP_LAST, DEPTH);
	dds_qset_writer_data_lifecycle(q, false);
	return q;
}

/* ---- the link: what simbridge is to it ---- */

#define LOANS 8u

static const char *const linked_writer[] = { "host", "w", "reliable", "[\"*\"]", "depth", "8", NULL };
static const char *const linked_reader[] = { "host", "r", "reliable", "[\"*\"]", "depth", "8", NULL };

static struct linked { /* the reading side */
	struct ros2_arena *a;
	struct host host;
	struct sim_bridge *bridge;
	_Atomic bool out[LOANS];
	struct sim_slot *slot[LOANS];
} linked;

static int linked_offer(void *ctx, const char *channel, const struct sim_type *type, size_t max_body, const char *from,
			unsigned flags)
{
	(void)ctx;
	(void)type;
	(void)max_body;
	(void)from;
	(void)flags;
	linked.host.ops->listen(linked.bridge, channel, 1);
	return 0;
}

static int linked_loan(void *ctx, const char *channel, const struct sim_type *type, size_t room, void **ret_body)
{
	(void)ctx;
	(void)channel;
	(void)type;
	for (unsigned i = 0; i < LOANS && room <= linked.slot[0]->body_size; i++) {
		if (atomic_exchange(&linked.out[i], true))
			continue;
		*ret_body = sim_slot_body_mut(linked.slot[i]);
		return 0;
	}
	return -ENOBUFS;
}

static void linked_unloan(void *ctx, const char *channel, void *body)
{
	(void)ctx;
	(void)channel;
	for (unsigned i = 0; i < LOANS; i++)
		if (sim_slot_body_mut(linked.slot[i]) == body)
			atomic_store(&linked.out[i], false);
}

static int linked_publish(void *ctx, const char *channel, void *body, size_t size, const struct sim_bridge_origin *o)
{
	struct ros2_arena *a = linked.a;
	uint32_t n = (uint32_t)o->stamp_sim_ns;

	if (size < WIDTH * HEIGHT * 3)
		atomic_store(&a->failed, 1);
	a->sample[n % SAMPLES] = (double)(mono_now_ns() - atomic_load(&a->sent_mono_ns));
	linked_unloan(ctx, channel, body);
	atomic_store(&a->taken, n);
	futex_wake_all(&a->taken, FUTEX_BETWEEN_PROCESSES);
	return 0;
}

static void linked_withdraw(void *ctx, const char *channel)
{
	(void)ctx;
	(void)channel;
}

static size_t linked_max_body(void *ctx, const struct sim_bridge_channel *ch)
{
	(void)ctx;
	(void)ch;
	return WIDTH * HEIGHT * 3 + 4096;
}

static struct sim_bridge *linked_open(struct host *h, const char *plugin, const char *const *options, uint64_t id)
{
	host_init(h, plugin, options);
	h->host.simd_id = id;
	h->host.offer_from = linked_offer;
	h->host.loan = linked_loan;
	h->host.unloan = linked_unloan;
	h->host.publish_from = linked_publish;
	h->host.withdraw = linked_withdraw;
	h->host.max_body = linked_max_body;
	return host_create(h);
}

static void linked_read(const struct ros2_link *l)
{
	linked.a = l->arena;
	for (unsigned i = 0; i < LOANS; i++)
		linked.slot[i] = host_slot(WIDTH * HEIGHT * 3 + 4096, "");
	linked.bridge = linked_open(&linked.host, l->linked, linked_reader, 2);
}

/* ---- the reader ---- */

static void take(struct ros2_arena *a, dds_entity_t reader, struct seen_image *m)
{
	dds_sample_info_t info;
	void *sample = m;
	int64_t now_mono_ns;

	while (dds_take(reader, &sample, &info, 1, 1) > 0) {
		if (!info.valid_data)
			continue;
		now_mono_ns = mono_now_ns();
		if (m->data._length != WIDTH * HEIGHT * 3)
			atomic_store(&a->failed, 1);
		a->sample[m->stamp.nanosec % SAMPLES] = (double)(now_mono_ns - atomic_load(&a->sent_mono_ns));
		atomic_store(&a->taken, m->stamp.nanosec);
		futex_wake_all(&a->taken, FUTEX_BETWEEN_PROCESSES);
	}
}

static int reader_main(void *arg)
{
	struct ros2_link *l = arg;
	dds_entity_t p, set, reader[ROS2_WRITERS];
	struct seen_image *m = calloc(1, sizeof(*m));
	dds_attach_t hit[ROS2_WRITERS];
	dds_qos_t *q;

	bench_pin(1);
	p = ros2_link_participant(ROS2_TUNED);
	set = dds_create_waitset(p);
	q = reliable();
	for (int i = 0; i < ROS2_WRITERS; i++) {
		dds_entity_t t = dds_create_topic(p, &seen_image_desc, topic_name((enum ros2_writer)i), NULL, NULL);

		reader[i] = dds_create_reader(p, t, q, NULL);
		if (!m || dds_waitset_attach(set, dds_create_readcondition(reader[i], DDS_ANY_STATE), reader[i]) < 0)
			return 1;
	}
	dds_delete_qos(q);
	if (l->linked)
		linked_read(l);
	atomic_fetch_add(&l->arena->ready, 1);
	for (;;) { /* ends with its parent's signal */
		int n = dds_waitset_wait(set, hit, ROS2_WRITERS, DDS_SECS(1));

		for (int i = 0; i < n; i++)
			take(l->arena, (dds_entity_t)hit[i], m);
	}
}

/* ---- the plain writer's pace: that of tools/bridge/dds/large.c ---- */

#define PART (128 << 10)

static _Thread_local struct {
	struct receivers *receivers; /* NULL: what this thread sends is not paced */
	size_t sent;
	int left;
} pace;

typedef ssize_t sendmsg_fn(int fd, const struct msghdr *m, int flags);

/* Replaces the C library's function, for Cyclone too: packets sent on the writing thread, to one reader. */
__attribute__((visibility("default"), used)) ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	static sendmsg_fn *next;
	ssize_t n;

	if (!next)
		memcpy(&next, &(void *){ dlsym(RTLD_NEXT, "sendmsg") }, sizeof(next));
	n = next(fd, m, flags);
	if (!pace.receivers || n <= 0)
		return n;
	if (pace.sent / PART != (pace.sent + (size_t)n) / PART && (pace.left -= PART) < PART)
		pace.left = receivers_wait(pace.receivers, PART);
	pace.sent += (size_t)n;
	return n;
}

static dds_return_t write_paced(dds_entity_t writer, const void *sample, struct receivers *receivers)
{
	dds_return_t r;

	receivers_begin(receivers, false);
	pace.sent = 0;
	pace.left = receivers_wait(receivers, PART);
	pace.receivers = receivers;
	r = dds_write(writer, sample);
	pace.receivers = NULL;
	return r;
}

/* ---- writers ---- */

static int write_ours(struct role *r, uint32_t n)
{
	r->slot->stamp_sim_ns = n;
	return host_publish(&r->host, r->bridge, r->topic, r->slot);
}

static int open_ours(struct role *r)
{
	static const char *const options[] = { "ros_distro", "humble", NULL };

	host_init(&r->host, r->l->plugin, options);
	r->bridge = host_create(&r->host);
	r->topic = host_open(&r->host, r->bridge, "/bench/ours", &sim_Image_type,
			     "{\"ros2\":{\"reliability\":\"reliable\",\"depth\":8}}");
	r->slot = host_image(WIDTH, HEIGHT);
	r->write = write_ours;
	return 0;
}

static int open_linked(struct role *r)
{
	r->bridge = linked_open(&r->host, r->l->linked, linked_writer, 1);
	r->topic = host_open(&r->host, r->bridge, LINKED_NAME, &sim_Image_type, "{}");
	r->slot = host_image(WIDTH, HEIGHT);
	r->slot->type_hash = sim_Image_type.hash;
	r->slot->sequence = 1;
	r->write = write_ours;
	return 0;
}

static int write_plain(struct role *r, uint32_t n)
{
	r->image.stamp.nanosec = n;
	return write_paced(r->writer, &r->image, r->receivers);
}

static int open_plain(struct role *r)
{
	dds_entity_t p = ros2_link_participant(ROS2_TUNED), t;
	dds_qos_t *q = reliable();
	uint8_t *data = malloc(WIDTH * HEIGHT * 3);

	t = dds_create_topic(p, &seen_image_desc, topic_name(ROS2_PLAIN), NULL, NULL);
	r->writer = dds_create_writer(p, t, q, NULL);
	dds_delete_qos(q);
	if (r->writer < 0 || !data || receivers_open(100 * NS_PER_MS, &r->receivers) < 0)
		return -1;
	memset(data, 7, WIDTH * HEIGHT * 3);
	r->image = (struct seen_image){
		.frame_id = strdup("camera"),
		.encoding = strdup("rgb8"),
		.height = HEIGHT,
		.width = WIDTH,
		.step = WIDTH * 3,
		.data = { ._maximum = WIDTH * HEIGHT * 3, ._length = WIDTH * HEIGHT * 3, ._buffer = data }
	};
	r->write = write_plain;
	return 0;
}

/* Messages until one has come: then both know each other. */
static int meet(struct role *r)
{
	for (uint32_t n = 1; n < 2000; n++) {
		int e = r->write(r, n);

		if (e < 0)
			return e;
		if (await_taken(r->a, 1, 10 * NS_PER_MS) == 0)
			return await_taken(r->a, n, 10 * NS_PER_S);
	}
	return -ETIMEDOUT;
}

static int send_all(struct role *r)
{
	struct ros2_arena *a = r->a;
	int64_t start_mono_ns = mono_now_ns();
	int e = 0;

	for (uint32_t n = 1; e >= 0 && n <= a->count; n++) {
		if (n > a->window)
			e = await_taken(a, n - a->window, 10 * NS_PER_S);
		if (a->window == 1)
			mono_sleep_until(mono_now_ns() + PAUSE_DUR_NS);
		atomic_store(&a->sent_mono_ns, mono_now_ns());
		e = e < 0 ? e : r->write(r, n);
	}
	if (e >= 0)
		e = await_taken(a, a->count, 10 * NS_PER_S);
	a->elapsed_dur_ns = mono_now_ns() - start_mono_ns;
	return e;
}

static int writer_main(void *arg)
{
	struct role *r = arg;
	struct ros2_arena *a = r->a;
	uint32_t seen = 0;
	int e;

	bench_pin(0);
	e = r->who == ROS2_OURS ? open_ours(r) : r->who == ROS2_LINKED ? open_linked(r) : open_plain(r);
	if (e == 0)
		e = meet(r);
	atomic_fetch_add(&a->ready, 1);
	while (e >= 0) {
		futex_wait(&a->command[r->who], seen, 100 * NS_PER_MS, FUTEX_BETWEEN_PROCESSES);
		if (atomic_load(&a->command[r->who]) == seen)
			continue;
		seen = atomic_load(&a->command[r->who]);
		if (a->count == QUIT)
			break;
		e = send_all(r);
		atomic_fetch_add(&a->done, 1);
	}
	if (e < 0) {
		fprintf(stderr, "bench: %s: %d\n", topic_name(r->who), e);
		atomic_store(&a->failed, 1);
	}
	if (r->bridge)
		r->host.ops->destroy(r->bridge);
	return e < 0;
}

/* ---- the orchestrator ---- */

static int await(struct ros2_arena *a, _Atomic uint32_t *word, uint32_t n)
{
	BENCH_UNTIL(60, atomic_load(word) == n || atomic_load(&a->failed));
	return atomic_load(&a->failed) ? -EIO : 0;
}

static int start_writer(struct ros2_link *l, enum ros2_writer who, uint32_t ready)
{
	struct role r = { .l = l, .a = l->arena, .who = who };

	atomic_store(&l->arena->taken, 0);
	l->writer[who] = bench_fork(writer_main, &r);
	return await(l->arena, &l->arena->ready, ready);
}

int ros2_link_start(struct bench *b, const char *linked_plugin, struct ros2_link *ret)
{
	uint32_t ready = 1;
	int r;

	*ret = (struct ros2_link){ .arena = bench_arena(sizeof(*ret->arena)) };
	ret->plugin = b->ros2_plugin;
	ret->linked = linked_plugin;
	ret->reader = bench_fork(reader_main, ret);
	r = await(ret->arena, &ret->arena->ready, ready);
	for (int i = 0; r == 0 && i < ROS2_ALL; i++)
		if (i == ROS2_PLAIN || i == (linked_plugin ? ROS2_LINKED : ROS2_OURS))
			r = start_writer(ret, (enum ros2_writer)i, ++ready);
	return r;
}

void ros2_link_stop(struct ros2_link *l)
{
	l->arena->count = QUIT;
	for (int i = 0; i < ROS2_ALL; i++) {
		if (l->writer[i] <= 0)
			continue;
		if (atomic_load(&l->arena->failed))
			kill(l->writer[i], SIGKILL);
		atomic_fetch_add(&l->arena->command[i], 1);
		futex_wake_all(&l->arena->command[i], FUTEX_BETWEEN_PROCESSES);
		bench_wait(l->writer[i]);
	}
	kill(l->reader, SIGKILL);
	bench_wait(l->reader);
	bench_arena_free(l->arena, sizeof(*l->arena));
}

int ros2_link_run(struct ros2_link *l, enum ros2_writer who, unsigned count, unsigned window, struct ros2_run *ret)
{
	struct ros2_arena *a = l->arena;
	int64_t cpu_ns = bench_cpu_ns(l->writer[who]);
	uint32_t done = atomic_load(&a->done);
	int r;

	a->count = count < SAMPLES ? count : SAMPLES - 1;
	a->window = window;
	atomic_store(&a->taken, 0);
	atomic_fetch_add(&a->command[who], 1);
	futex_wake_all(&a->command[who], FUTEX_BETWEEN_PROCESSES);
	r = await(a, &a->done, done + 1);
	if (r < 0)
		return r;
	*ret = (struct ros2_run){ .latency_ns = bench_median(a->sample + 1, a->count),
				  .rate = a->count / ((double)a->elapsed_dur_ns / 1e9),
				  .cpu_ns = (double)(bench_cpu_ns(l->writer[who]) - cpu_ns) / a->count };
	return 0;
}
