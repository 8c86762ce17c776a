/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that were built with older or newer headers: each structure that they pass has its own size in it. In
 * virtual time.
 */
#include "scenario/client/world.h"

#include "scenario/client/imu.h"
#include "sim/srv/Empty.h"
#include "tests/support/sizes.h"

static struct world w;
static struct sim_client *c;

static int setup(void **state)
{
	(void)state;
	world_create(&w, 1, "");
	c = world_client(&w, "of_any_age", 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_disconnect(c);
	world_destroy(&w);
	return 0;
}

/* The last 8 bytes hold the flags, without which there would be a thread: they are put back where the struct is a shorter one. */
static int connects(const void *options, void *arg)
{
	struct sim_client_options o;
	struct sim_client *other;
	size_t size;
	int r;

	(void)arg;
	memcpy(&size, options, sizeof(size));
	if (size == sizeof(o) - 8)
		return 0;
	r = client_connect(options, &w.env, &other);
	if (r == 0)
		sim_disconnect(other);
	return r;
}

static int advertises(const void *options, void *arg)
{
	struct sim_publisher *p = NULL;
	int r = sim_advertise(c, "/a", arg, options, &p);

	sim_publisher_destroy(p);
	return r;
}

static int subscribes(const void *options, void *arg)
{
	struct sim_subscriber *s = NULL;
	int r = sim_subscribe(c, "/a", arg, options, &s);

	sim_subscriber_destroy(s);
	return r;
}

static int answers(void *user, struct sim_request *req)
{
	(void)user;
	(void)req;
	return 0;
}

static int offers(const void *options, void *arg)
{
	struct sim_service *s = NULL;
	int r = sim_service_offer(c, "/s", arg, options, answers, NULL, &s);

	sim_service_destroy(s);
	return r;
}

TEST_WITH(programs_built_with_other_struct_sizes_are_served, setup, teardown)
{
	struct sim_client_options co = {
		.size = sizeof(co), .name = "other", .socket = w.path, .flags = SIM_CLIENT_NO_THREAD
	};
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = 4096 };
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 2 };
	struct sim_service_options vo = { .size = sizeof(vo), .queue = 2 };

	sizes_check(&co, sizeof(co), connects, NULL);
	sizes_check(&po, sizeof(po), advertises, (void *)(uintptr_t)&sim_Imu_type);
	sizes_check(&so, sizeof(so), subscribes, (void *)(uintptr_t)&sim_Imu_type);
	sizes_check(&vo, sizeof(vo), offers, (void *)(uintptr_t)&sim_Empty_service);
}
