/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_idle: bytes of data that leave a machine with a busy channel (64 bytes, 1000 a second) while no client of the
 * other machine subscribes to it. Counted are packets that leave its device, as a packet socket there has them: of RTPS
 * each DATA and DATA_FRAG, whole, that no writer of discovery has sent. So what manifests and other machines' messages
 * take would count, discovery, heartbeats and acknowledgements do not: link_idle_wire is all bytes that leave, against
 * as long a time before the channel was there. A subscriber on the other machine at the end shows that the count works:
 * without data then, the case fails.
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <sim/sim.h>

#include "machines.h"

#define CHANNEL      "/busy"
#define BODY         64u
#define PERIOD_NS    NS_PER_MS
#define SETTLE_NS    (NS_PER_S / 2)
#define UDP_HEAD     8u
#define RTPS_HEAD    20u
#define RTPS_DATA    0x15
#define RTPS_FRAG    0x16
#define WRITER_AT    12u   /* of a submessage: its writer's entity, whose last byte is its kind */
#define KIND_BUILTIN 0xc0u /* those bits: of discovery */

struct arena {
	struct bench_pair data[BENCH_PAIRS_MAX], wire[BENCH_PAIRS_MAX];
	unsigned n;
	int64_t window_dur_ns;
	_Atomic bool counting, stop;
	_Atomic uint64_t bytes, data_bytes; /* that have left; of those data */
	_Atomic uint64_t sent, received;    /* messages: by the publisher, by the subscriber */
};

struct role {
	struct bench *b;
	struct arena *a;
};

/* ---- packets ---- */

static size_t data_of(const uint8_t *p, size_t n)
{
	size_t sum = 0;

	if (n < RTPS_HEAD || memcmp(p, "RTPS", 4) != 0)
		return 0;
	for (size_t at = RTPS_HEAD, len; at + 4 <= n; at += len) {
		bool little = p[at + 1] & 1, data = p[at] == RTPS_DATA || p[at] == RTPS_FRAG;

		len = little ? p[at + 2] + 256u * p[at + 3] : p[at + 3] + 256u * p[at + 2];
		len = len ? len + 4 : n - at; /* 0: up to the end */
		if (data && at + WRITER_AT + 4 <= n && (p[at + WRITER_AT + 3] & KIND_BUILTIN) != KIND_BUILTIN)
			sum += len;
	}
	return sum;
}

/* From the head of IPv4 on. */
static void count_packet(struct arena *a, const uint8_t *p, size_t n)
{
	size_t head = 4u * (p[0] & 15);

	if (n < head + UDP_HEAD || p[9] != IPPROTO_UDP)
		return;
	atomic_fetch_add(&a->bytes, n);
	atomic_fetch_add(&a->data_bytes, data_of(p + head + UDP_HEAD, n - head - UDP_HEAD));
}

static int count_main(void *arg)
{
	struct arena *a = arg;
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd = socket(AF_PACKET, SOCK_DGRAM, 0);
	struct pollfd p = { fd, POLLIN, 0 };
	uint8_t packet[65536];

	at.sll_ifindex = (int)if_nametoindex("wire");
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
		perror("bench: packet socket");
		return 1;
	}
	atomic_store(&a->counting, true);
	while (!atomic_load(&a->stop)) {
		struct sockaddr_ll from;
		socklen_t len = sizeof(from);
		ssize_t n = poll(&p, 1, 100) == 1
				    ? recvfrom(fd, packet, sizeof(packet), 0, (struct sockaddr *)&from, &len)
				    : 0;

		if (n > 0 && from.sll_pkttype == PACKET_OUTGOING && from.sll_protocol == htons(ETH_P_IP))
			count_packet(a, packet, (size_t)n);
	}
	close(fd);
	return 0;
}

/* ---- clients ---- */

static int publish_main(void *arg)
{
	const struct role *x = arg;
	const struct sim_client_options o = { .size = sizeof(o), .name = "busy" };
	struct sim_publisher *p;
	struct sim_client *c;
	int64_t due_mono_ns;

	if (sim_connect(&o, &c) < 0) {
		fprintf(stderr, "bench: publisher: %s\n", sim_why());
		return 1;
	}
	p = bench_advertise(c, CHANNEL, BODY, 0);
	for (due_mono_ns = mono_now_ns(); !atomic_load(&x->a->stop); due_mono_ns += PERIOD_NS) {
		if (bench_queue(p, BODY, NULL, NULL, NULL) == 0)
			atomic_fetch_add(&x->a->sent, 1);
		mono_sleep_until(due_mono_ns);
	}
	sim_disconnect(c);
	return 0;
}

static int subscribe_main(void *arg)
{
	const struct role *x = arg;
	const struct sim_client_options o = { .size = sizeof(o), .name = "listener" };
	const struct sim_message *m;
	struct sim_subscriber *s;
	struct sim_client *c;

	if (sim_connect(&o, &c) < 0 || sim_subscribe(c, CHANNEL, NULL, NULL, &s) < 0) {
		fprintf(stderr, "bench: subscriber: %s\n", sim_why());
		return 1;
	}
	while (!atomic_load(&x->a->stop)) {
		if (sim_wait(s, NS_PER_S / 10) == 1 && sim_take(s, &m) == 0) {
			atomic_fetch_add(&x->a->received, 1);
			(void)!sim_release(s, m);
		}
	}
	sim_disconnect(c);
	return 0;
}

/* ---- windows ---- */

struct counted {
	uint64_t bytes, data, sent;
};

static struct counted window(struct arena *a)
{
	struct counted c = { atomic_load(&a->bytes), atomic_load(&a->data_bytes), atomic_load(&a->sent) };

	mono_sleep_until(mono_now_ns() + a->window_dur_ns);
	c.bytes = atomic_load(&a->bytes) - c.bytes;
	c.data = atomic_load(&a->data_bytes) - c.data;
	c.sent = atomic_load(&a->sent) - c.sent;
	return c;
}

static int control(struct rig *r, struct role *x)
{
	pid_t reader = rig_fork(r, 1, subscribe_main, x);
	struct arena *a = x->a;
	struct counted heard;

	BENCH_UNTIL(20, atomic_load(&a->received));
	heard = window(a);
	printf("  with a subscriber %llu bytes of data for %llu messages\n", (unsigned long long)heard.data,
	       (unsigned long long)heard.sent);
	atomic_store(&a->stop, true);
	bench_wait(reader);
	return heard.data >= heard.sent * BODY / 2 && heard.sent ? 0 : -EIO;
}

static int measure(struct rig *r)
{
	struct arena *a = r->arg;
	struct role x = { r->b, a };
	pid_t counter = rig_fork(r, 0, count_main, a), sender;
	struct counted quiet[BENCH_PAIRS_MAX], busy;
	int e;

	for (unsigned i = 0; i < 2; i++)
		rig_start(r, i, true, "simulation", "");
	BENCH_UNTIL(20, atomic_load(&a->counting));
	BENCH_UNTIL(20,
		    machine_logged(&r->m[0], "machine b is linked") && machine_logged(&r->m[1], "machine a is linked"));
	mono_sleep_until(mono_now_ns() + SETTLE_NS);
	for (unsigned i = 0; i < a->n; i++)
		quiet[i] = window(a);
	sender = rig_fork(r, 0, publish_main, &x);
	BENCH_UNTIL(20, machine_says(&r->m[1], "list", CHANNEL));
	BENCH_UNTIL(20, atomic_load(&a->sent) > 100);
	mono_sleep_until(mono_now_ns() + SETTLE_NS); /* its manifest is acknowledged */
	for (unsigned i = 0; i < a->n; i++) {
		busy = window(a);
		a->data[i] = (struct bench_pair){ (double)busy.data, 0 };
		a->wire[i] = (struct bench_pair){ (double)busy.bytes, (double)quiet[i].bytes };
		printf("  %llu messages: %llu bytes of data, %llu of all; %llu before\n", (unsigned long long)busy.sent,
		       (unsigned long long)busy.data, (unsigned long long)busy.bytes,
		       (unsigned long long)quiet[i].bytes);
	}
	e = control(r, &x);
	bench_wait(sender);
	bench_wait(counter);
	return e;
}

static int run_link_idle(struct bench *b)
{
	struct arena *a = bench_arena(sizeof(*a));
	int r;

	a->n = bench_runs(b, 5);
	a->window_dur_ns = b->smoke ? NS_PER_S : 5 * NS_PER_S;
	r = rig_run(b, 2, measure, a);
	if (r == 0) {
		bench_report(b, "link_idle", "B", "none", BENCH_VALUE, a->data, a->n, 0);
		bench_report(b, "link_idle_wire", "B", "without a publisher", BENCH_COST, a->wire, a->n, 0);
	}
	bench_arena_free(a, sizeof(*a));
	return r < 0 ? r : 0;
}

const struct bench_case bench_link_idle = { "link_idle", run_link_idle, NULL };
