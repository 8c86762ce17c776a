/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ros2_default_peer_loss: images from the ROS 2 plug-in to best-effort readers with Cyclone's own settings, typed and
 * in processes of their own, as nodes of ROS are: lost images in percent, at worst over sizes and numbers of readers.
 * _busy: with a busy loop for each CPU; _reliable: from a reliable writer; _208k: to readers with the largest buffers
 * that an untuned kernel allows. Threads: main of each process, the plug-in's and Cyclone's.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sim/msg/Image.h>

#include "bench.h"
#include "ros2_link.h"
#include "system/ros2/host.h"
#include "system/ros2/reader.h"
#include "timeutil.h"

#define READERS_MAX 5u
#define STEP        3000u /* bytes of a row */
#define RATE_HZ     10
#define MEET_DUR_NS (30 * NS_PER_S)

static const uint32_t sizes[] = { 2700000, 5400000, 6219000 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

struct peer {
	const char *plugin;
	uint32_t size; /* bytes of an image */
	unsigned readers;
	bool reliable; /* the writer */
	bool small;    /* the readers' buffers */
	bool busy;     /* with a process that computes on each CPU */
	int64_t dur_ns;
	uint64_t sent;
	_Atomic uint64_t received[READERS_MAX];
};

struct reader_role {
	struct peer *p;
	unsigned number;
};

static int reader_main(void *arg)
{
	const struct reader_role *role = arg;
	struct seen_image *m = calloc(1, sizeof(*m));
	dds_entity_t participant = ros2_link_participant(role->p->small ? ROS2_SMALL : ROS2_DEFAULT), reader;
	dds_qos_t *q = dds_create_qos();

	dds_qset_reliability(q, DDS_RELIABILITY_BEST_EFFORT, 0);
	dds_qset_history(q, DDS_HISTORY_KEEP_LAST, 5); /* as rmw_qos_profile_sensor_data */
	reader = dds_create_reader(participant, dds_create_topic(participant, &seen_image_desc, "rt/peer", NULL, NULL),
				   q, NULL);
	dds_delete_qos(q);
	if (reader < 0 || !m)
		return 1;
	for (;;) { /* ends with its parent's signal */
		dds_sample_info_t info;
		void *sample = m;

		reader_wait(participant, reader);
		while (dds_take(reader, &sample, &info, 1, 1) > 0)
			if (info.valid_data)
				atomic_fetch_add(&role->p->received[role->number], 1);
	}
}

static bool all_came(struct peer *p)
{
	for (unsigned i = 0; i < p->readers; i++)
		if (!atomic_load(&p->received[i]))
			return false;
	return true;
}

static int publish_for(struct peer *p, struct host *h, struct sim_bridge *b, struct sim_bridge_topic *t,
		       struct sim_slot *s, int64_t dur_ns, bool until_met)
{
	int64_t start_mono_ns = mono_now_ns(), due_mono_ns = start_mono_ns;

	p->sent = 0;
	while (due_mono_ns < start_mono_ns + dur_ns && !(until_met && all_came(p))) {
		if (host_publish(h, b, t, s) < 0)
			return -1;
		p->sent++;
		due_mono_ns += NS_PER_S / RATE_HZ;
		mono_sleep_until(due_mono_ns);
	}
	return 0;
}

static int writer_main(void *arg)
{
	static const char *const options[] = { "ros_distro", "humble", "domain", "1", NULL };
	static struct host h;
	struct peer *p = arg;
	struct sim_slot *s = host_image(STEP / 3, p->size / STEP);
	struct sim_bridge_topic *t;
	struct sim_bridge *b;
	int r;

	host_init(&h, p->plugin, options);
	b = host_create(&h);
	t = host_open(&h, b, "/peer", &sim_Image_type,
		      p->reliable ? "{\"ros2\":{\"reliability\":\"reliable\"}}" : "{}");
	r = publish_for(p, &h, b, t, s, MEET_DUR_NS, true);
	if (r < 0 || !all_came(p))
		return 1;
	mono_sleep_until(mono_now_ns() + NS_PER_S); /* messages still on their way */
	for (unsigned i = 0; i < p->readers; i++)
		atomic_store(&p->received[i], 0);
	r = publish_for(p, &h, b, t, s, p->dur_ns, false);
	mono_sleep_until(mono_now_ns() + NS_PER_S);
	h.ops->destroy(b);
	return r < 0;
}

static void print(const struct peer *p, uint64_t received)
{
	printf("  %u bytes, %u %s, %s%s%s: %llu of %llu\n", p->size, p->readers, p->readers > 1 ? "readers" : "reader",
	       p->reliable ? "reliable" : "best effort", p->small ? ", small buffers" : "", p->busy ? ", busy" : "",
	       (unsigned long long)received, (unsigned long long)p->sent * p->readers);
	fflush(stdout);
}

/* Percent lost, of all readers together; negative: not measured. */
static double measure(struct peer *p)
{
	uint64_t received = 0;

	if (bench_wait(bench_fork(writer_main, p)) || !p->sent)
		return -1;
	for (unsigned i = 0; i < p->readers; i++)
		received += atomic_load(&p->received[i]);
	print(p, received);
	return 100.0 * (1.0 - (double)received / (double)(p->sent * p->readers));
}

static double loss(struct bench *b, const struct peer *what)
{
	struct peer *p = bench_arena(sizeof(*p));
	struct bench_burners burners = { .n = 0 };
	pid_t pid[READERS_MAX];
	double percent;

	memcpy(p, what, sizeof(*p));
	p->dur_ns = (b->smoke ? 1 : 30) * NS_PER_S;
	p->plugin = b->ros2_plugin;
	for (unsigned i = 0; i < p->readers; i++)
		pid[i] = bench_fork(reader_main, &(struct reader_role){ p, i });
	if (p->busy)
		bench_burn_start(&burners, false);
	percent = measure(p);
	bench_burn_stop(&burners);
	for (unsigned i = 0; i < p->readers; i++) {
		kill(pid[i], SIGKILL);
		bench_wait(pid[i]);
	}
	bench_arena_free(p, sizeof(*p));
	return percent;
}

static int worst(struct bench *b, const char *name, struct peer what, double bar)
{
	struct bench_pair p = { 0, 0 };

	for (unsigned i = b->smoke ? SIZES - 1 : 0; i < SIZES; i++)
		for (unsigned readers = 1; readers <= READERS_MAX; readers += READERS_MAX - 1) {
			double percent;

			what.size = sizes[i];
			what.readers = readers;
			percent = loss(b, &what);
			if (percent < 0)
				return -1;
			p.ours = percent > p.ours ? percent : p.ours;
		}
	bench_report(b, name, "%", "none", BENCH_VALUE, &p, 1, bar);
	return 0;
}

static int run_peer(struct bench *b)
{
	int r = worst(b, "ros2_default_peer_loss", (struct peer){ 0 }, 0);

	if (r == 0)
		r = worst(b, "ros2_default_peer_loss_reliable", (struct peer){ .reliable = true }, 0);
	if (r == 0)
		r = worst(b, "ros2_default_peer_loss_208k", (struct peer){ .small = true }, 0);
	if (r == 0)
		r = worst(b, "ros2_default_peer_loss_busy", (struct peer){ .busy = true }, 2);
	return r;
}

const struct bench_case bench_peer = { "peer", run_peer, "ros2_default_peer_loss" };
