/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scene of config/rigs/perception.json with real processes: simd, RouDi, sim-sumo, sim-lidar. The host of the components is this
 * test: without their orders the ego drives through people; with them it stops for each, and goes on; and a run repeats bit for bit.
 */
#include "tests/support/stack.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include <sim/component.h>
#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/VehicleControl.h>
#include <sim/sim.h>

#define RIG      "config/rigs/perception.json"
#define CHAIN    "config/rigs/perception/chain.json"
#define FRONT_M  3.6 /* the ego, from base_link */
#define REAR_M   1.0
#define HALF_M   0.92
#define STANDING 0.05 /* m/s */
#define DRIVING  5.0
#define PAUSE_NS (NS_PER_S / 2) /* no order for so long: it was let go */
#define FAST     100.0          /* as fast as it goes */
#define SLOW     0.5            /* workers have time to be late */
#define CLASSES  3
#define READERS  5

extern const struct sim_component_class sim_component_GridClusters, sim_component_Tracker, sim_component_Stopper;

static const struct sim_component_class *const classes[CLASSES] = { &sim_component_GridClusters, &sim_component_Tracker,
								    &sim_component_Stopper };

struct scene {
	pthread_mutex_t lock; /* over all below: in reality readers have threads of their own */
	struct sim_host *host;
	struct sim_component *chain[CLASSES];
	struct sim_node *node;
	struct sim_node_reader *reader[READERS];
	int64_t until_sim_ns;

	/* what came of it */
	unsigned clouds, brakings, stops, goings_on;
	double speed, nearest_m,
		hit_speed; /* to somebody ahead in our way; the highest speed at which somebody was under the car */
	int64_t order_sim_ns, first_stop_sim_ns;
	bool stood;
	uint64_t hash;
};

/* ---- the rig ---- */

static json_t *load(const char *path)
{
	json_error_t e;
	json_t *j = json_load_file(path, 0, &e);

	if (!j)
		fail_msg("%s:%d: %s", path, e.line, e.text);
	return j;
}

/* The rig as it is shipped, but its host is ours: time stands until we are there, and the lidar. */
static pid_t start(double scale)
{
	json_t *rig = load(RIG), *kept = json_array(), *p;
	char conf[8192], *text;
	size_t i;

	json_array_foreach(json_object_get(rig, "processes"), i, p)
		if (strcmp(json_string_value(json_object_get(p, "name")), "chain") != 0)
			json_array_append(kept, p);
	json_object_set_new(rig, "processes", kept);
	text = json_dumps(rig, 0);
	assert_true(snprintf(conf, sizeof(conf), "\"TimeSource\":\"unity\",\"TimeScale\":%g,\"rigs\":[%s]", scale,
			     text) < (int)sizeof(conf));
	free(text);
	json_decref(rig);
	return stack_start(conf);
}

/* ---- the truth ---- */

/* The ego among the people as SUMO has them. */
static void see_objects(struct scene *s, const struct sim_message *m)
{
	const struct sim_Detected3DObjects *all = sim_Detected3DObjects_from(m->body, m->body_size);
	uint32_t n;
	const struct sim_Detected3DObject *o = sim_Detected3DObjects_objects(all, m->body_size, &n);

	for (uint32_t i = 0; i < n; i++) {
		double x = o[i].pose.position.x, y = o[i].pose.position.y;
		const char *label = sim_Detected3DObject_label_in(all, m->body_size, &o[i]);

		if (strcmp(label, "Pedestrian") != 0 || fabs(y) > HALF_M + 0.2)
			continue;
		if (x > FRONT_M)
			s->nearest_m = fmin(s->nearest_m, x - FRONT_M);
		else if (x > -REAR_M)
			s->hit_speed = fmax(s->hit_speed, s->speed);
	}
}

static void see_odometry(struct scene *s, const struct sim_message *m)
{
	s->speed = (double)sim_GpsOdometry_from(m->body, m->body_size)->forward_speed;
	if (!s->stood && s->speed < STANDING && s->order_sim_ns && sim_host_now(s->host) - s->order_sim_ns < PAUSE_NS) {
		s->stood = true;
		s->stops++;
		s->first_stop_sim_ns = s->first_stop_sim_ns ? s->first_stop_sim_ns : m->header.stamp_sim_ns;
	} else if (s->stood && s->speed > DRIVING) {
		s->stood = false;
		s->goings_on++;
	}
	if (m->header.stamp_sim_ns >= s->until_sim_ns)
		sim_host_stop(s->host);
}

/* ---- the output of the chain ---- */

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 1099511628211u;
	return h;
}

static void see_any(struct scene *s, const struct sim_message *m)
{
	s->hash = mix(s->hash, &m->header.stamp_sim_ns, sizeof(m->header.stamp_sim_ns));
	s->hash = mix(s->hash, m->body, m->body_size);
}

static void see_obstacles(struct scene *s, const struct sim_message *m)
{
	s->clouds++;
	see_any(s, m);
}

static void see_orders(struct scene *s, const struct sim_message *m)
{
	s->brakings += !s->order_sim_ns || sim_host_now(s->host) - s->order_sim_ns >= PAUSE_NS;
	s->order_sim_ns = sim_host_now(s->host);
	see_any(s, m);
}

#define HEARS(what) \
	static void on_##what(void *user, const struct sim_message *m) \
	{ \
		struct scene *s = user; \
\
		pthread_mutex_lock(&s->lock); \
		see_##what(s, m); \
		pthread_mutex_unlock(&s->lock); \
	}
HEARS(objects)
HEARS(odometry)
HEARS(obstacles)
HEARS(any)
HEARS(orders)

/* ---- a run ---- */

/* As the shipped file has it; silent: its orders go to a channel without subscribers. */
static void make_component(struct scene *s, int i, const json_t *spec, const char *orders)
{
	const json_t *readers = json_object_get(spec, "readers");
	struct sim_component_options o = { .size = sizeof(o),
					   .name = json_string_value(json_object_get(spec, "name")),
					   .n_inputs = (uint32_t)json_array_size(readers) };
	json_t *config = json_deep_copy(json_object_get(spec, "config"));
	char *text;

	assert_string_equal(json_string_value(json_object_get(spec, "class")), classes[i]->name);
	if (!strcmp(json_string_value(json_object_get(config, "output")), "control"))
		json_object_set_new(config, "output", json_string(orders));
	for (uint32_t k = 0; k < o.n_inputs; k++)
		o.input[k].channel = json_string_value(json_object_get(json_array_get(readers, k), "channel"));
	o.config = text = json_dumps(config, 0);
	if (sim_component_create(s->host, classes[i], &o, &s->chain[i]) < 0)
		fail_msg("%s: %s", o.name, sim_why());
	free(text);
	json_decref(config);
}

static void listen_to(struct scene *s, int i, const char *channel, const struct sim_type *type, sim_node_reader_fn fn)
{
	if (sim_node_reader_create(s->node, channel, type, NULL, fn, s, &s->reader[i]) < 0)
		fail_msg("%s: %s", channel, sim_why());
}

static void scene_open(struct scene *s, enum sim_run_mode mode, const char *orders)
{
	json_t *dag = load(CHAIN), *module = json_array_get(json_object_get(dag, "modules"), 0), *spec;
	struct sim_host_options o = { .size = sizeof(o),
				      .name = "chain",
				      .socket = STACK_SOCKET,
				      .mode = mode,
				      .rank = (uint32_t)json_integer_value(json_object_get(dag, "rank")) };
	size_t i;

	if (sim_host_create(&o, &s->host) < 0 || sim_node_create(s->host, "judge", &s->node) < 0)
		fail_msg("%s", sim_why());
	json_array_foreach(json_object_get(module, "components"), i, spec)
		make_component(s, (int)i, spec, orders);
	listen_to(s, 0, "objects", &sim_Detected3DObjects_type, on_objects);
	listen_to(s, 1, "gps_odometry", &sim_GpsOdometry_type, on_odometry);
	listen_to(s, 2, "obstacles", &sim_Detected3DObjects_type, on_obstacles);
	listen_to(s, 3, "tracks", &sim_Detected3DObjects_type, on_any);
	listen_to(s, 4, orders, &sim_VehicleControl_type, on_orders);
	json_decref(dag);
	s->nearest_m = INFINITY;
	s->hash = 14695981039346656037u;
}

static void scene_close(struct scene *s)
{
	for (int i = CLASSES - 1; i >= 0; i--)
		sim_component_destroy(s->chain[i]);
	for (int i = 0; i < READERS; i++)
		sim_node_reader_destroy(s->reader[i]);
	sim_node_destroy(s->node);
	sim_host_destroy(s->host);
}

static struct scene run(enum sim_run_mode mode, double scale, const char *orders, int64_t dur_ns)
{
	struct scene s = { .lock = PTHREAD_MUTEX_INITIALIZER, .until_sim_ns = dur_ns };
	pid_t simd = start(scale);

	scene_open(&s, mode, orders);
	if (sim_host_start(s.host) < 0)
		fail_msg("%s", sim_why());
	if (sim_host_run(s.host) < 0)
		fail_msg("%s", sim_why());
	scene_close(&s);
	stack_stop(simd);
	print_message("%u clouds, braked %u times, stood %u times, went on %u times, %.1f m left, %.1f m/s\n", s.clouds,
		      s.brakings, s.stops, s.goings_on, s.nearest_m, s.hit_speed);
	return s;
}

TEST_WITH(without_brake_commands_the_ego_hits_pedestrians, NULL, stack_sweep)
{
	struct scene s = run(SIM_RUN_SIMULATION, FAST, "unheard", 10 * NS_PER_S);

	assert_true(s.clouds > 90 && s.brakings > 0);
	assert_true(s.hit_speed > 10); /* SUMO's driver does not look at them */
}

TEST_WITH(the_ego_stops_for_each_pedestrian_and_continues, NULL, stack_sweep)
{
	struct scene s = run(SIM_RUN_SIMULATION, FAST, "control", 60 * NS_PER_S);

	assert_true(s.clouds > 590);
	assert_true(s.hit_speed < STANDING);
	assert_true(s.brakings >= 2 && s.stops >= 1 && s.goings_on >= 1);
	assert_true(s.nearest_m > 0.5);
	assert_true(s.first_stop_sim_ns < 12 * NS_PER_S); /* within a short demo */
}

TEST_WITH(a_run_repeats_bit_for_bit, NULL, stack_sweep)
{
	struct scene first = run(SIM_RUN_SIMULATION, FAST, "control", 20 * NS_PER_S);
	struct scene second = run(SIM_RUN_SIMULATION, FAST, "control", 20 * NS_PER_S);

	assert_true(first.brakings > 0 && first.clouds == second.clouds);
	assert_true(first.hash == second.hash);
}

/* The same components on a pool of threads, time not waiting for them. */
TEST_WITH(the_ego_stops_on_a_pool_of_threads_as_well, NULL, stack_sweep)
{
	struct scene s = run(SIM_RUN_REALITY, SLOW, "control", 12 * NS_PER_S);

	assert_true(s.brakings >= 1 && s.stops >= 1);
	assert_true(s.hit_speed < STANDING);
}

TEST_PROCESSES()
