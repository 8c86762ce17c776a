/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use_sim_time: the graph's /clock drives simd's time source `ros2`. Of several publishers one is followed until it
 * disappears: the one with the lowest GUID at the time of choice, so that all observers choose the same. Publishers of
 * this simd are never followed: its bridges mark their participants.
 *
 * Thread: "ros2-sim-time" reads and drives, and may block on lock-step. All other functions: the host's main thread.
 */
#include <errno.h>
#include <string.h>

#include "ros2.h"
#include "ros/ros_type.h"

#define CLOCK_TYPE  "rosgraph_msgs/Clock"
#define WRITERS_MAX 32 /* publishers of /clock that are looked at */

static void drive(struct sim_bridge *b, int64_t sim_ns)
{
	struct ros2_sim_time *t = &b->sim_time;

	/* the host logs an error once; the next stamp tries again */
	t->thr.driving = b->host->drive(b->host->ctx, sim_ns) == 0 && sim_ns != SIM_BRIDGE_CLOCK_GONE;
}

/* ---- which clock to follow ---- */

struct writer {
	dds_instance_handle_t handle;
	dds_guid_t guid;
};

/* Fills w with the writers that may be followed. Returns their number. */
static unsigned list_writers(struct sim_bridge *b, struct writer w[WRITERS_MAX])
{
	dds_instance_handle_t handles[WRITERS_MAX];
	int all = dds_get_matched_publications(b->sim_time.reader, handles, WRITERS_MAX);
	unsigned n = 0;

	for (int i = 0; i < all && i < WRITERS_MAX; i++) {
		dds_builtintopic_endpoint_t *e = dds_get_matched_publication_data(b->sim_time.reader, handles[i]);

		if (!e)
			continue;
		if (!ros2_is_ours(b, e->participant_instance_handle))
			w[n++] = (struct writer){ handles[i], e->key };
		dds_builtintopic_free_endpoint(e);
	}
	return n;
}

static void follow(struct sim_bridge *b, const struct writer *w)
{
	struct ros2_sim_time *t = &b->sim_time;

	if (!w) {
		if (limit_allows(&t->thr.lines))
			log_warn(b, "lost the publisher of /clock, %s: clock stopped until there is one", t->thr.gid);
		t->thr.followed = 0;
		drive(b, SIM_BRIDGE_CLOCK_GONE);
		return;
	}
	t->thr.followed = w->handle;
	ros2_print_gid(&w->guid, t->thr.gid);
	if (limit_allows(&t->thr.lines))
		log_info(b, "the time is taken from /clock of %s", t->thr.gid);
}

static void choose(struct sim_bridge *b)
{
	struct ros2_sim_time *t = &b->sim_time;
	struct writer w[WRITERS_MAX], *best = NULL;
	unsigned n = list_writers(b, w);
	bool still = false;

	for (unsigned i = 0; i < n; i++) {
		still |= w[i].handle == t->thr.followed;
		if (!best || memcmp(w[i].guid.v, best->guid.v, sizeof(best->guid.v)) < 0)
			best = &w[i];
	}
	if (!still && (best || t->thr.followed))
		follow(b, best);
	if (n > 1 && n != t->thr.n && limit_allows(&t->thr.lines))
		log_warn(b, "%u publishers of /clock in the graph: %s is followed, the others are ignored; stop those",
			 n, t->thr.gid);
	t->thr.n = n;
}

/* ---- time ---- */

static void drop(struct sim_bridge *b, int r)
{
	uint64_t n = ++b->sim_time.thr.dropped;

	if ((n & (n - 1)) == 0) /* logs counts 1, 2, 4, 8, ... */
		log_warn(b, "/clock: a message is dropped: %s (%llu so far)", strerror(-r), (unsigned long long)n);
}

struct newest {
	struct sim_bridge *bridge;
	int64_t sim_ns; /* 0: none, or a stamp of 0, which means that there is no time yet */
};

/* Reads a stamp of the publisher that is followed; the newest one remains. */
static void read_stamp(void *arg, const struct endpoint_sample *s)
{
	struct newest *newest = arg;
	int r;

	if (s->info->publication_handle != newest->bridge->sim_time.thr.followed)
		return;
	r = s->len ? map_in_clock(WIRE_CDR, s->bytes, s->len, &newest->sim_ns) : -EMSGSIZE;
	if (r < 0)
		drop(newest->bridge, r);
}

static void *sim_time_main(void *arg)
{
	struct sim_bridge *b = arg;
	struct ros2_sim_time *t = &b->sim_time;

	while (!atomic_load(&t->waiter.stop)) {
		dds_subscription_matched_status_t matched;
		struct newest newest = { .bridge = b };

		waiter_wait(&t->waiter, DDS_INFINITY);
		if (dds_get_subscription_matched_status(t->reader, &matched) == 0 &&
		    (matched.total_count_change || matched.current_count_change))
			choose(b);
		endpoint_take(t->reader, read_stamp, &newest);
		if (atomic_load(&b->status) != SIM_BRIDGE_CONNECTED)
			newest.sim_ns = t->thr.driving ? SIM_BRIDGE_CLOCK_GONE : 0;
		if (newest.sim_ns && !atomic_load(&t->waiter.stop))
			drive(b, newest.sim_ns);
	}
	return NULL;
}

/* ---- open ---- */

/* Creates the reader with rclcpp's QoS. The participant owns all of it. */
static int create_entities(struct sim_bridge *b)
{
	static const struct ros2_qos newest = { .reliable = false, .transient_local = false, .depth = 1 };
	const struct ros_type *type = ros_type_find(ros2_types, CLOCK_TYPE);
	struct endpoint e = {
		.name = "rt/clock", .type = type, .qos = ros2_qos_create(&newest, type->hash), .reads = true
	};
	struct ros2_sim_time *t = &b->sim_time;

	if (e.qos)
		dds_qset_ignorelocal(e.qos, DDS_IGNORELOCAL_PARTICIPANT);
	t->reader = endpoint_create(b->participant, &e);
	return t->reader < 0 ? dds_errno(t->reader) : waiter_open(&t->waiter, b->participant, t->reader);
}

int ros2_sim_time_open(struct sim_bridge *b)
{
	static const char *const words[] = { "false", "true", NULL };
	struct ros2_sim_time *t = &b->sim_time;
	int r = bridge_option_word(b->host, "use_sim_time", words, "true or false");

	if (r <= 0)
		return r;
	if (!SIM_BRIDGE_HOST_HAS(b->host, drive)) {
		log_error(b, "options.use_sim_time: this simbridge is too old to be driven");
		return -ENOTSUP;
	}
	t->on = true;
	r = create_entities(b);
	if (r == 0)
		r = waiter_start(&t->waiter, "ros2-sim-time", sim_time_main, b);
	if (r < 0) {
		log_error(b, "/clock of the graph cannot be read: %s", strerror(-r));
		return r;
	}
	pthread_mutex_lock(&b->lock);
	ros2_graph_publish(b);
	pthread_mutex_unlock(&b->lock);
	return 0;
}
