/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use_sim_time: the graph's /clock drives simd's time source `ros2`. Of several publishers one is followed until it is gone: the
 * one with the lowest GUID of those there are then, so that all who look choose the same. Never one of this simd: participants
 * of its bridges carry a mark.
 *
 * Thread: "ros2-sim-time" reads and drives; it may block on lock-step. The others: the host's main thread.
 */
#include <errno.h>
#include <string.h>

#include <dds/ddsi/ddsi_serdata.h>

#include "sertype.h"
#include "ros2.h"
#include "ros/ros_type.h"

#define CLOCK_TYPE  "rosgraph_msgs/Clock"
#define TAKE        8
#define WRITERS_MAX 32 /* publishers of /clock that are looked at */

static void say(struct sim_bridge *b, int64_t sim_ns)
{
	struct ros2_sim_time *t = &b->sim_time;

	/* what is wrong the host has told, once; the next stamp tries again */
	t->thr.driving = b->host->drive(b->host->ctx, sim_ns) == 0 && sim_ns != SIM_BRIDGE_CLOCK_GONE;
}

/* ---- whom to follow ---- */

struct writer {
	dds_instance_handle_t handle;
	dds_guid_t guid;
};

/* Fills w with those that may be followed. Returns how many. */
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
		if (ros2_log_allowed(&t->thr.lines))
			log_warn(b, "the publisher of /clock, %s, is gone: time holds until there is one", t->thr.gid);
		t->thr.followed = 0;
		say(b, SIM_BRIDGE_CLOCK_GONE);
		return;
	}
	t->thr.followed = w->handle;
	ros2_print_gid(&w->guid, t->thr.gid);
	if (ros2_log_allowed(&t->thr.lines))
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
	if (n > 1 && n != t->thr.n && ros2_log_allowed(&t->thr.lines))
		log_warn(b, "%u publishers of /clock in the graph: %s is followed, the others are not; end those", n,
			 t->thr.gid);
	t->thr.n = n;
}

/* ---- time ---- */

static void drop(struct sim_bridge *b, int r)
{
	uint64_t n = ++b->sim_time.thr.dropped;

	if ((n & (n - 1)) == 0) /* the first, then ever more rarely */
		log_warn(b, "/clock: a message is dropped: %s (%llu so far)", strerror(-r), (unsigned long long)n);
}

/* ret: 0, "no time yet", is none either. */
static int read_stamp(const struct ddsi_serdata *d, int64_t *ret)
{
	size_t len = ddsi_serdata_size(d);
	ddsrt_iovec_t ref;
	struct ddsi_serdata *held = ddsi_serdata_to_ser_ref(d, 0, len, &ref);
	int r = len ? map_in_clock(WIRE_CDR, ref.iov_base, len, ret) : -EMSGSIZE;

	ddsi_serdata_to_ser_unref(held, &ref);
	return r;
}

/* The newest stamp of the one that is followed; 0: there is none. */
static int64_t take(struct sim_bridge *b)
{
	struct ddsi_serdata *data[TAKE];
	dds_sample_info_t info[TAKE];
	int64_t newest_sim_ns = 0;
	int n, r;

	while ((n = dds_takecdr(b->sim_time.reader, data, TAKE, info, DDS_ANY_STATE)) > 0)
		for (int i = 0; i < n; i++) {
			if (info[i].valid_data && info[i].publication_handle == b->sim_time.thr.followed &&
			    (r = read_stamp(data[i], &newest_sim_ns)) < 0)
				drop(b, r);
			ddsi_serdata_unref(data[i]);
		}
	return newest_sim_ns;
}

static void *sim_time_main(void *arg)
{
	struct sim_bridge *b = arg;
	struct ros2_sim_time *t = &b->sim_time;

	while (!atomic_load(&t->stop)) {
		dds_subscription_matched_status_t matched;
		int64_t sim_ns;
		bool poked;

		dds_waitset_wait(t->set, NULL, 0, DDS_INFINITY);
		dds_take_guardcondition(t->poke, &poked);
		if (dds_get_subscription_matched_status(t->reader, &matched) == 0 &&
		    (matched.total_count_change || matched.current_count_change))
			choose(b);
		sim_ns = take(b);
		if (atomic_load(&b->status) != SIM_BRIDGE_CONNECTED)
			sim_ns = t->thr.driving ? SIM_BRIDGE_CLOCK_GONE : 0;
		if (sim_ns && !atomic_load(&t->stop))
			say(b, sim_ns);
	}
	return NULL;
}

/* ---- life ---- */

static int read_option(struct sim_bridge *b, bool *ret)
{
	const char *s = b->host->option(b->host->ctx, "use_sim_time");

	if (!s || (strcmp(s, "true") && strcmp(s, "false"))) {
		log_error(b, "options.use_sim_time: \"%.20s\" is not true or false", s ? s : "");
		return -EINVAL;
	}
	*ret = strcmp(s, "true") == 0;
	if (*ret && !SIM_BRIDGE_HOST_HAS(b->host, drive)) {
		log_error(b, "options.use_sim_time: this simbridge is too old to be driven");
		return -ENOTSUP;
	}
	return 0;
}

/* As rclcpp asks for it. */
static dds_entity_t create_reader(struct sim_bridge *b)
{
	static const struct ros2_qos newest = { .reliable = false, .transient_local = false, .depth = 1 };
	const struct ros_type *type = ros_type_find(ros2_types, CLOCK_TYPE);
	dds_qos_t *qos = ros2_qos_create(&newest, type->hash);
	dds_entity_t reader = DDS_RETCODE_OUT_OF_RESOURCES;
	char type_name[128];

	if (qos && ros_type_dds_name(type, type_name, sizeof(type_name)) == 0) {
		dds_qset_ignorelocal(qos, DDS_IGNORELOCAL_PARTICIPANT);
		b->sim_time.topic = sertype_topic_create(b->participant, "rt/clock", type_name, NULL);
		reader = b->sim_time.topic < 0 ? b->sim_time.topic
					       : dds_create_reader(b->participant, b->sim_time.topic, qos, NULL);
	}
	dds_delete_qos(qos);
	return reader;
}

/* The participant owns all of it. */
static int create_entities(struct sim_bridge *b)
{
	struct ros2_sim_time *t = &b->sim_time;
	dds_entity_t data;
	int r = 0;

	t->reader = create_reader(b);
	if (t->reader < 0)
		return ros2_errno(t->reader);
	t->set = dds_create_waitset(b->participant);
	t->poke = dds_create_guardcondition(b->participant);
	data = dds_create_readcondition(t->reader, DDS_ANY_STATE);
	if (t->set < 0 || t->poke < 0 || data < 0)
		return -ENOMEM;
	if ((r = dds_set_status_mask(t->reader, DDS_SUBSCRIPTION_MATCHED_STATUS)) < 0 ||
	    (r = dds_waitset_attach(t->set, t->reader, 0)) < 0 || (r = dds_waitset_attach(t->set, data, 0)) < 0 ||
	    (r = dds_waitset_attach(t->set, t->poke, 0)) < 0)
		return ros2_errno(r);
	return 0;
}

int ros2_sim_time_open(struct sim_bridge *b)
{
	struct ros2_sim_time *t = &b->sim_time;
	int r = read_option(b, &t->on);

	if (r < 0 || !t->on)
		return r;
	r = create_entities(b);
	if (r == 0)
		r = -pthread_create(&t->thread, NULL, sim_time_main, b);
	if (r < 0) {
		log_error(b, "/clock of the graph cannot be read: %s", strerror(-r));
		return r;
	}
	t->running = true;
	pthread_setname_np(t->thread, "ros2-sim-time");
	pthread_mutex_lock(&b->lock);
	ros2_graph_publish(b);
	pthread_mutex_unlock(&b->lock);
	return 0;
}

void ros2_sim_time_poke(struct sim_bridge *b)
{
	if (b->sim_time.running)
		dds_set_guardcondition(b->sim_time.poke, true);
}

void ros2_sim_time_close(struct sim_bridge *b)
{
	struct ros2_sim_time *t = &b->sim_time;

	if (!t->running)
		return;
	atomic_store(&t->stop, true);
	ros2_sim_time_poke(b);
	pthread_join(t->thread, NULL);
	t->running = false;
}
