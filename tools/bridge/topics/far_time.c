/* SPDX-License-Identifier: Apache-2.0 */
/* See far_time.h. */
#include "far_time.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void *far_time_main(void *arg)
{
	struct far_time *t = arg;

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
		/* the host logs an error once; the next stamp tries again */
		(void)t->host->drive(t->host->ctx, sim_ns);
		pthread_mutex_lock(&t->lock);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

void far_time_set(struct far_time *t, int64_t sim_ns)
{
	if (!sim_ns)
		return;
	pthread_mutex_lock(&t->lock);
	t->newest_sim_ns = sim_ns;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

void far_time_gone(struct far_time *t)
{
	pthread_mutex_lock(&t->lock);
	t->newest_sim_ns = 0;
	t->gone = true;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

int far_time_refuse(const struct topic_out *t, const char *whose, char *why, size_t why_size)
{
	snprintf(why, why_size, "use_sim_time is on: /clock comes from %s, and this bridge must not send it", whose);
	if (strcmp(t->channel, "/clock") != 0)
		return -EINVAL;
	log_info(t->topics,
		 "/clock is not sent: use_sim_time takes the time from %s (\"!/clock\" in the bridge's channels "
		 "says so in the rig too)",
		 whose);
	return -EBUSY;
}

int far_time_option(const struct sim_bridge_host *h)
{
	static const char *const words[] = { "false", "true", NULL };

	return bridge_option_word(h, "use_sim_time", words, "true or false");
}

int far_time_open(struct far_time *t, const struct sim_bridge_host *h, const char *name)
{
	int r = far_time_option(h);

	if (r <= 0)
		return r;
	if (!SIM_BRIDGE_HOST_HAS(h, drive)) {
		h->log(h->ctx, 0, "options.use_sim_time: this simbridge is too old to be driven");
		return -ENOTSUP;
	}
	t->host = h;
	t->on = true;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	r = -pthread_create(&t->thread, NULL, far_time_main, t);
	t->running = r == 0;
	if (t->running)
		pthread_setname_np(t->thread, name);
	return r;
}

void far_time_close(struct far_time *t)
{
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
