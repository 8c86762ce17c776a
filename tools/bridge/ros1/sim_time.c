/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use_sim_time: /clock of the other nodes drives simd's time source `ros2`. Of several publishers the one that was heard first is followed
 * until it is gone; never one of this simd: its bridges say in their header who they are.
 */
#include <errno.h>
#include <string.h>

#include "map_in.h"
#include "ros1.h"

static void *sim_time_main(void *arg)
{
	struct sim_bridge *b = arg;
	struct sim_time *t = &b->sim_time;

	pthread_mutex_lock(&t->lock);
	while (!t->stop) {
		int64_t sim_ns = t->gone ? SIM_BRIDGE_CLOCK_GONE : t->newest_sim_ns;

		if (!sim_ns) {
			pthread_cond_wait(&t->changed, &t->lock);
			continue;
		}
		t->gone = false;
		if (sim_ns != SIM_BRIDGE_CLOCK_GONE)
			t->newest_sim_ns = 0;
		pthread_mutex_unlock(&t->lock);
		(void)b->host->drive(b->host->ctx, sim_ns); /* the host logs errors, once; the next stamp tries again */
		pthread_mutex_lock(&t->lock);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

void sim_time_take(struct sim_bridge *b, struct link *from, const void *data, size_t len)
{
	struct sim_time *t = &b->sim_time;
	int64_t sim_ns = 0;
	int r = map_in_clock(WIRE_ROS1, data, len, &sim_ns);

	if (r < 0) {
		log_limited(b, 1, "/clock: a message of %s is dropped: %s", from->connection->node, topics_reason(r));
		return;
	}
	if (!t->followed) {
		t->followed = from;
		log_info(b, "the time is taken from /clock of %s", from->connection->node);
	}
	if (t->followed != from || !sim_ns) /* 0 is "no time yet" */
		return;
	pthread_mutex_lock(&t->lock);
	t->newest_sim_ns = sim_ns;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

void sim_time_lost(struct sim_bridge *b, const struct link *from)
{
	struct sim_time *t = &b->sim_time;

	if (t->followed != from)
		return;
	t->followed = NULL;
	log_warn(b, "lost the publisher of /clock at %s: clock stopped until there is one", from->uri);
	pthread_mutex_lock(&t->lock);
	t->newest_sim_ns = 0;
	t->gone = true;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

int sim_time_open(struct sim_bridge *b)
{
	static const char *const words[] = { "false", "true", NULL };
	struct sim_time *t = &b->sim_time;
	int r = bridge_option_word(b->host, "use_sim_time", words, "true or false");

	if (r <= 0)
		return r;
	if (!SIM_BRIDGE_HOST_HAS(b->host, drive)) {
		log_error(b, "options.use_sim_time: this simbridge is too old to be driven");
		return -ENOTSUP;
	}
	t->on = true;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	r = -pthread_create(&t->thread, NULL, sim_time_main, b);
	t->running = r == 0;
	if (t->running)
		pthread_setname_np(t->thread, "ros1-sim-time");
	return r;
}

void sim_time_close(struct sim_bridge *b)
{
	struct sim_time *t = &b->sim_time;

	if (!t->on)
		return;
	if (t->running) {
		pthread_mutex_lock(&t->lock);
		t->stop = true;
		pthread_cond_signal(&t->changed);
		pthread_mutex_unlock(&t->lock);
		pthread_join(t->thread, NULL);
	}
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
}
