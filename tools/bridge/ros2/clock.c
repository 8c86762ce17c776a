/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /clock: simulated time at a steady wall rate, whatever the time scale; the frozen stamp in pause; nothing before time is
 * above 0, which ROS reads as "no time yet". Absolute deadlines: a late wake-up is one message, never a burst.
 */
#include <errno.h>
#include <time.h>

#include "ros2.h"
#include "sim/msg/Clock.h"

static void publish(struct sim_bridge *b)
{
	int64_t now_sim_ns = b->host->now(b->host->ctx);
	struct sim_Clock body = { .clock = now_sim_ns };
	struct map_in in = { &body, sizeof(body), { now_sim_ns, 0, "" }, NULL };

	if (now_sim_ns > 0)
		ros2_topic_write(b, b->clock.topic, &in);
}

static void *clock_main(void *arg)
{
	struct sim_bridge *b = arg;
	int64_t period_dur_ns = 1000000000 / b->clock.hz, next_mono_ns;
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	next_mono_ns = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
	while (!atomic_load(&b->clock.stop)) {
		int64_t now_mono_ns;

		publish(b);
		clock_gettime(CLOCK_MONOTONIC, &t);
		now_mono_ns = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
		next_mono_ns += ((now_mono_ns - next_mono_ns) / period_dur_ns + 1) * period_dur_ns;
		t.tv_sec = next_mono_ns / 1000000000;
		t.tv_nsec = next_mono_ns % 1000000000;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
			continue;
	}
	return NULL;
}

int ros2_clock_start(struct sim_bridge *b)
{
	static const struct sim_bridge_channel ch = { .name = "/clock", .type = &sim_Clock_type };
	static const struct wish w = { .points = -1, .encoding = -1, .reliability = 1, .durability = 0, .depth = 1 };
	char why[256];
	int r;

	if (!b->clock.hz)
		return 0;
	r = ros2_topic_open(b, &ch, &w, &b->clock.topic, why, sizeof(why));
	if (r < 0)
		return r;
	r = -pthread_create(&b->clock.thread, NULL, clock_main, b);
	b->clock.running = r == 0;
	if (b->clock.running)
		pthread_setname_np(b->clock.thread, "ros2-clock");
	return r;
}

void ros2_clock_stop(struct sim_bridge *b)
{
	if (b->clock.running) {
		atomic_store(&b->clock.stop, 1);
		pthread_join(b->clock.thread, NULL);
	}
	if (b->clock.topic)
		ros2_topic_close(b, b->clock.topic);
	b->clock.running = false;
	b->clock.topic = NULL;
}
