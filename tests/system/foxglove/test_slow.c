/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that stops reading: its slots are released, other clients get everything, its queue is bounded, and it is
 * told which messages it has missed.
 */
#include "support/test.h"

#include <sim/msg/Image.h>
#include <sim/msg/Imu.h>

#include "line.h"

static const char *const plain[] = { NULL };

static long memory_kib(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*d %ld", &pages), 1);
	fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

TEST(a_client_that_stands_still_costs_a_bounded_amount)
{
	struct sim_slot *s = host_image(1920, 1080);
	struct sim_bridge_topic *image, *imu;
	struct watcher *p, *other;
	char text[80];
	unsigned later, n = 0;
	long before;

	if (!watcher_possible())
		return;
	line_up(plain);
	image = host_open(&line_host, line_bridge, "camera", &sim_Image_type, "{}");
	imu = host_open(&line_host, line_bridge, "imu", &sim_Imu_type, "{}");
	p = line_client("");
	other = line_client("");
	watcher_say(p, "watch /camera");
	watcher_say(other, "watch /imu");
	watcher_sync(p);
	watcher_sync(other);
	/* every message is answered, so each slot is released, though one client has stopped */
	assert_int_equal(host_publish(&line_host, line_bridge, image, s), 0);
	watcher_hears(p, "message /camera ");
	watcher_say(p, "stall");
	watcher_hears(p, "stalled");
	before = memory_kib();
	later = line_host.n_later;
	for (int i = 0; i < 10; i++) /* alone: messages answered later are for the stopped client */
		assert_int_equal(host_publish(&line_host, line_bridge, image, s), 0);
	/* once the stopped client holds a few slots, further messages for it are copied, not kept in their slots */
	assert_in_range(line_host.n_later - later, 0, 5);
	watcher_say(other, "watch /camera");
	watcher_sync(other);
	for (int i = 1; i <= 20; i++) {
		s->stamp_sim_ns++;
		assert_int_equal(host_publish(&line_host, line_bridge, image, s), 0);
		snprintf(text, sizeof(text), "message /camera %lld", (long long)s->stamp_sim_ns);
		watcher_hears(other, text);
	}
	assert_in_range(memory_kib() - before + 1024, 0, 40 * 1024);
	watcher_say(p, "resume");
	do { /* messages in the socket, and the one being sent; then the newest */
		n++;
	} while (!strstr(watcher_hears(p, "message /camera "), text + strlen("message /camera ")));
	assert_in_range(n, 1, 4);
	watcher_hears_of(p, "status 1 /camera: ", "messages dropped");
	watcher_end(p);
	watcher_end(other);
	line_host.ops->close(line_bridge, imu);
	line_host.ops->close(line_bridge, image);
	line_down();
	free(s);
}

/* What is latched may be the last message: who was too slow for it gets it afterwards. */
TEST(what_is_latched_is_not_lost)
{
	struct sim_slot *big = host_image(3200, 3495),
			*s = host_image(100, 100); /* both are more than 32 MiB, by 28 KB */
	struct sim_bridge_topic *image, *map;
	struct watcher *p;

	if (!watcher_possible())
		return;
	line_up(plain);
	image = host_open(&line_host, line_bridge, "camera", &sim_Image_type, "{}");
	map = host_open(&line_host, line_bridge, "map", &sim_Image_type, "{\"foxglove\":{\"latch\":true}}");
	p = line_client("");
	watcher_say(p, "watch /camera");
	watcher_say(p, "watch /map");
	watcher_sync(p);
	watcher_say(p, "stall");
	watcher_hears(p, "stalled");
	assert_int_equal(host_publish(&line_host, line_bridge, image, big), 0);
	assert_int_equal(host_publish(&line_host, line_bridge, map, s), 0);
	watcher_say(p, "resume");
	watcher_hears(p, "message /camera ");
	watcher_hears(p, "message /map ");
	watcher_end(p);
	line_host.ops->close(line_bridge, map);
	line_host.ops->close(line_bridge, image);
	line_down();
	free(s);
	free(big);
}

/* Small ones wait in their order, up to `queue`. */
TEST(small_messages_wait_in_their_order)
{
	static const char *const five[] = { "queue", "5", NULL };
	struct sim_slot *big = host_image(1920, 1080), *s = host_slot(sizeof(struct sim_Imu), "base");
	struct sim_bridge_topic *image, *imu;
	struct watcher *p;
	int64_t last;

	if (!watcher_possible())
		return;
	memset(sim_slot_body_mut(s), 0, sizeof(struct sim_Imu));
	line_up(five);
	image = host_open(&line_host, line_bridge, "camera", &sim_Image_type, "{}");
	imu = host_open(&line_host, line_bridge, "imu", &sim_Imu_type, "{}");
	p = line_client("");
	watcher_say(p, "watch /camera");
	watcher_say(p, "watch /imu");
	watcher_sync(p);
	watcher_say(p, "stall");
	watcher_hears(p, "stalled");
	for (int i = 0; i < 4; i++) /* more than the socket takes */
		assert_int_equal(host_publish(&line_host, line_bridge, image, big), 0);
	for (int i = 0; i < 50; i++) {
		s->stamp_sim_ns++;
		assert_int_equal(host_publish(&line_host, line_bridge, imu, s), 0);
	}
	last = s->stamp_sim_ns;
	watcher_say(p, "resume");
	for (int64_t at = last - 4; at <= last; at++) {
		char text[80];

		snprintf(text, sizeof(text), "message /imu %lld", (long long)at);
		watcher_hears(p, text);
	}
	watcher_hears_of(p, "status 1 /imu: ", "45 messages dropped");
	watcher_end(p);
	line_host.ops->close(line_bridge, imu);
	line_host.ops->close(line_bridge, image);
	line_down();
	free(s);
	free(big);
}
