/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-ss2 against any request, in a run that is under way: there is an answer, under a number, that reads back;
 * a refusal has a sentence; all numbers in the scene stay finite. Thread: one.
 */
#include "err.h"
#include "log.h"
#include "mem.h"
#include "tests/support/ss2_peer.h"
#include "tools/sources/ss2/messages.h"
#include "tools/sources/ss2/server.h"
#include "tools/sources/space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sim/introspect.h>
#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/TrafficSignals.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_time(void *ctx, int64_t sim_ns)
{
	(void)ctx;
	if (sim_ns < 0)
		abort();
	return 0;
}

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void on_show(void *ctx, const struct scene *s, int64_t sim_ns)
{
	size_t cap = message_objects_max(s->n_entities), n;
	void *body = mem_alloc(cap);

	(void)ctx;
	n = body ? message_objects(s, sim_ns, body, cap) : 0;
	check(n && sim_msg_check(&sim_Detected3DObjects_type, body, n) == 0);
	mem_free(body);
	cap = message_signals_max(s->n_bulbs);
	body = mem_alloc(cap);
	n = body ? message_signals(s, body, cap) : 0;
	check(n && sim_msg_check(&sim_TrafficSignals_type, body, n) == 0);
	mem_free(body);
	for (size_t i = 0; i < s->n_entities; i++) {
		const struct scene_entity *e = &s->entity[i];

		check(isfinite(e->pose.position.x) && isfinite(e->pose.orientation.w) && isfinite(e->twist.linear.x));
		check(isfinite(e->box_size.z) && isfinite(e->accel.angular.y));
	}
}

static int on_attach(void *ctx, const struct sensors_config *c)
{
	(void)ctx;
	(void)c;
	return 0;
}

static void on_sense(void *ctx, const struct server_sensed *x, int64_t sim_ns)
{
	(void)ctx;
	(void)sim_ns;
	for (uint32_t i = 0; x->cloud && i < x->cloud->n; i++)
		check(isfinite(x->cloud->point[i].x) && isfinite(x->cloud->point[i].z));
	check(!x->detected || x->detected->n <= SENSORS_OBJECTS_MAX);
}

static bool on_place(void *ctx, const struct server_place *p)
{
	(void)ctx;
	return p->ego != NULL;
}

static bool on_vehicle(void *ctx, struct vehicle_state *ret)
{
	(void)ctx;
	*ret = (struct vehicle_state){ .pose.orientation.w = 1 };
	return true;
}

static void on_ground(void *ctx, const struct sim_Pose *p)
{
	(void)ctx;
	check(space_vector_ok(&p->position));
}

static void on_advance(void *ctx, int64_t to_sim_ns)
{
	(void)ctx;
	(void)to_sim_ns;
}

static void on_log(void *user, enum log_level level, const char *topic, const char *text)
{
	(void)user;
	(void)level;
	(void)topic;
	check(text != NULL);
}

static void ask(struct server *s, const void *data, size_t len)
{
	struct peer_answer a;
	uint8_t *bytes;
	size_t n;
	int r;

	err_clear();
	r = server_handle(s, data, len, &bytes, &n);
	if (r < 0)
		return; /* no memory */
	check(peer_read(bytes, n, &a) && a.number && a.success == (r == 1));
	check(r == 1 || *a.description);
	mem_free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct server_ops ops = { .jump = on_time,
					       .set = on_time,
					       .show = on_show,
					       .vehicle = on_vehicle,
					       .ground = on_ground,
					       .advance = on_advance,
					       .attach = on_attach,
					       .sense = on_sense,
					       .place = on_place };
	static const struct peer_pose at = { .x = 3750, .qw = 1 };
	static struct peer_buf q;
	static struct store store;
	struct server *s;

	log_set_handler(on_log, NULL);
	if (!store.head && store_open(&store, NULL, 0) < 0)
		return 0;
	store_reset(&store);
	if (server_create(&ops, NULL, &store, &s) < 0)
		return 0;
	peer_initialize(&q, 0.03, 0);
	ask(s, q.data, q.len);
	peer_spawn_vehicle(&q, "ego", true, &at);
	ask(s, q.data, q.len);
	peer_spawn_vehicle(&q, "car_1", false, &at);
	ask(s, q.data, q.len);
	peer_spawn(&q, PEER_SPAWN_PEDESTRIAN, "bob", &at);
	ask(s, q.data, q.len);
	ask(s, data, size);
	peer_frame(&q, 1, 1, 1);
	ask(s, q.data, q.len);
	server_destroy(s);
	return 0;
}
