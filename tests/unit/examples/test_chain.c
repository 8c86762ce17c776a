/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three components as a graph, in simulation and without simd: a car on a straight road with a lidar on its roof, a
 * pedestrian beside it or in its way, and the effect of the orders.
 */
#include "tests/support/test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include <sim/component.h>
#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/VehicleControl.h>
#include <sim/point_cloud.h>

#include "tools/sources/scene/scan.h"

#define STEP_NS INT64_C(100000000)
#define COLUMNS 900
#define BEAMS   64
#define POINTS  (COLUMNS * BEAMS)
#define LIDAR_X 1.4
#define LIDAR_Z 1.9
#define FRONT_M 3.6
#define KMH(v)  ((v) / 3.6)

extern const struct sim_component_class sim_component_GridClusters, sim_component_Tracker, sim_component_Stopper;

struct world {
	struct sim_host *host;
	struct sim_node *node;
	struct sim_component *chain[3];
	struct sim_node_writer *clouds, *odometry;
	struct sim_node_reader *obstacles, *tracks, *control;
	struct scan *scan;

	double x, speed, decel;      /* the car */
	double person[2], person_vy; /* where the pedestrian is, and walks */
	unsigned orders;
	uint32_t id, ids; /* of the pedestrian's track; how often it changed */
	double track_vy;
	uint64_t hash;
};

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 1099511628211u;
	return h;
}

static void on_obstacles(void *user, const struct sim_message *m)
{
	struct world *w = user;

	assert_string_equal(m->header.frame_id, "base_link");
	assert_int_equal(m->header.stamp_sim_ns, sim_host_now(w->host));
	w->hash = mix(w->hash, m->body, m->body_size);
}

static void on_tracks(void *user, const struct sim_message *m)
{
	const struct sim_Detected3DObjects *all = sim_Detected3DObjects_from(m->body, m->body_size);
	struct world *w = user;
	uint32_t n;
	const struct sim_Detected3DObject *o = sim_Detected3DObjects_objects(all, m->body_size, &n);

	w->hash = mix(w->hash, m->body, m->body_size);
	for (uint32_t i = 0; i < n; i++) {
		if (hypot(o[i].map_position.x - w->person[0], o[i].map_position.y - w->person[1]) > 1)
			continue;
		assert_string_equal(sim_Detected3DObject_label_in(all, m->body_size, &o[i]), "Pedestrian");
		w->ids += o[i].id != w->id;
		w->id = o[i].id;
		w->track_vy = o[i].map_velocity.y;
	}
}

static void on_control(void *user, const struct sim_message *m)
{
	const struct sim_VehicleControl *c = sim_VehicleControl_from(m->body, m->body_size);
	struct world *w = user;

	assert_true(c->present & SIM_VEHICLE_CONTROL_HAS_TARGET_ACCELERATION);
	assert_true(c->target_acceleration < 0);
	w->decel = (double)-c->target_acceleration;
	w->orders++;
	w->hash = mix(w->hash, m->body, m->body_size);
}

/* ---- the graph ---- */

static int component(struct world *w, int i, const struct sim_component_class *cls, const char *input,
		     const char *config)
{
	struct sim_component_options o = { .size = sizeof(o),
					   .name = cls->name,
					   .config = config,
					   .n_inputs = cls->n_inputs,
					   .input = { { .channel = input }, { .channel = "gps_odometry" } } };

	return sim_component_create(w->host, cls, &o, &w->chain[i]);
}

static void graph_open(struct world *w)
{
	struct sim_host_options o = {
		.size = sizeof(o), .name = "test", .mode = SIM_RUN_SIMULATION, .flags = SIM_HOST_OFFLINE
	};
	struct sim_node_writer_options cloud = { .size = sizeof(cloud), .max_body = sim_point_cloud_size(POINTS) };
	struct sim_node_writer_options odometry = { .size = sizeof(odometry), .max_body = sim_GpsOdometry_size(16) };

	assert_int_equal(sim_host_create(&o, &w->host), 0);
	assert_int_equal(component(w, 0, &sim_component_GridClusters, "cloud", NULL), 0);
	assert_int_equal(component(w, 1, &sim_component_Tracker, "obstacles", NULL), 0);
	assert_int_equal(component(w, 2, &sim_component_Stopper, "tracks", "{\"margin_m\": 2.5}"), 0);
	assert_int_equal(sim_node_create(w->host, "world", &w->node), 0);
	assert_int_equal(sim_node_writer_create(w->node, "cloud", &sim_PointCloud_type, &cloud, &w->clouds), 0);
	assert_int_equal(sim_node_writer_create(w->node, "gps_odometry", &sim_GpsOdometry_type, &odometry,
						&w->odometry),
			 0);
	assert_int_equal(sim_node_reader_create(w->node, "obstacles", &sim_Detected3DObjects_type, NULL, on_obstacles,
						w, &w->obstacles),
			 0);
	assert_int_equal(sim_node_reader_create(w->node, "tracks", &sim_Detected3DObjects_type, NULL, on_tracks, w,
						&w->tracks),
			 0);
	assert_int_equal(sim_node_reader_create(w->node, "control", &sim_VehicleControl_type, NULL, on_control, w,
						&w->control),
			 0);
	assert_int_equal(sim_host_start(w->host), 0);
}

static void graph_close(struct world *w)
{
	for (int i = 2; i >= 0; i--)
		sim_component_destroy(w->chain[i]);
	sim_node_reader_destroy(w->obstacles);
	sim_node_reader_destroy(w->tracks);
	sim_node_reader_destroy(w->control);
	sim_node_writer_destroy(w->clouds);
	sim_node_writer_destroy(w->odometry);
	sim_node_destroy(w->node);
	sim_host_destroy(w->host);
}

/* ---- the world ---- */

static void tell_odometry(struct world *w)
{
	struct sim_GpsOdometry *g;
	struct sim_builder b;
	struct sim_slot *slot;

	assert_int_equal(sim_node_loan(w->odometry, sizeof(*g), &slot), 0);
	g = sim_GpsOdometry_init(sim_slot_body_mut(slot), sizeof(*g), &b);
	g->easting = w->x;
	g->orientation.w = 1;
	g->velocity.x = w->speed;
	g->forward_speed = (float)w->speed;
	assert_int_equal(sim_node_write(w->odometry, slot), 0);
}

/* The pedestrian, and a house on the other side, as the lidar sees them. */
static void look(struct world *w)
{
	const struct scan_box boxes[] = {
		{ .x = w->person[0] - w->x - LIDAR_X,
		  .y = w->person[1],
		  .z = 0.875 - LIDAR_Z,
		  .length = 0.4,
		  .width = 0.5,
		  .height = 1.75,
		  .reflectivity = 0.4 },
		{ .x = 40 - w->x - LIDAR_X,
		  .y = 12,
		  .z = 3 - LIDAR_Z,
		  .length = 30,
		  .width = 8,
		  .height = 6,
		  .reflectivity = 0.4 },
	};
	struct sim_builder b;
	struct sim_slot *slot;
	size_t cap = sim_point_cloud_size(POINTS);
	struct sim_Point *p;

	assert_int_equal(sim_node_loan(w->clouds, cap, &slot), 0);
	p = sim_point_cloud_begin(sim_slot_body_mut(slot), cap, POINTS, &b);
	sim_point_cloud_trim(&b, (uint32_t)scan_turn(w->scan, boxes, 2, p));
	assert_int_equal(sim_slot_set_size(slot, sim_builder_size(&b)), 0);
	assert_int_equal(sim_node_write(w->clouds, slot), 0);
}

static void step(struct world *w, int64_t now_sim_ns)
{
	assert_int_equal(sim_host_advance(w->host, now_sim_ns), 0);
	w->decel = 0;
	tell_odometry(w);
	look(w);
	for (int i = 0; i < 10; i++) { /* until the next cloud; without an order the driver holds his speed */
		w->x += w->speed * 0.01;
		w->speed = fmax(0, w->speed - w->decel * 0.01);
	}
	w->person[1] += w->person_vy * 0.1;
}

static struct world drive(double x, double y, double vy, int steps)
{
	struct world w = { .speed = KMH(50), .person = { x, y }, .person_vy = vy, .hash = 14695981039346656037u };
	struct scan_params p = scan_params_default();

	p.columns = COLUMNS;
	p.beams = BEAMS;
	assert_int_equal(scan_create(&p, &w.scan, NULL), 0);
	graph_open(&w);
	for (int i = 1; i <= steps; i++)
		step(&w, i * STEP_NS);
	graph_close(&w);
	scan_destroy(w.scan);
	return w;
}

TEST(from_50_kmh_the_chain_stops_for_a_standing_pedestrian)
{
	struct world w = drive(40 + FRONT_M, 0, 0, 80);

	assert_true(w.orders > 10 && w.speed < 0.01);
	assert_true(w.x + FRONT_M < w.person[0] - 1);
	assert_true(w.x + FRONT_M > w.person[0] - 4);
	assert_int_equal(w.ids, 1);
}

TEST(a_pedestrian_on_the_pavement_is_passed)
{
	struct world w = drive(60, -3.2, 0, 80);

	assert_int_equal(w.orders, 0);
	assert_true(w.x > 100);
}

TEST(a_pedestrian_stepping_onto_the_road_is_one_track_and_braked_for)
{
	struct world w = drive(60, -5, 1.2, 45);

	assert_true(w.orders > 5 && w.x + FRONT_M < 60);
	assert_int_equal(w.ids, 1);
	assert_true(fabs(w.track_vy - 1.2) < 0.2);
}

TEST(the_same_world_gives_the_same_bytes)
{
	struct world a = drive(60, -5, 1.2, 60), b = drive(60, -5, 1.2, 60);

	assert_true(a.orders > 0 && a.orders == b.orders);
	assert_true(a.hash == b.hash);
}

/* ---- invalid messages ---- */

static void refused(const struct sim_component_class *cls, const char *config, const char *words)
{
	struct sim_host_options o = {
		.size = sizeof(o), .name = "test", .mode = SIM_RUN_SIMULATION, .flags = SIM_HOST_OFFLINE
	};
	struct world w = { 0 };

	assert_int_equal(sim_host_create(&o, &w.host), 0);
	assert_int_equal(component(&w, 0, cls, "in", config), -EINVAL);
	if (!strstr(sim_why(), words))
		fail_msg("\"%s\" does not say \"%s\"", sim_why(), words);
	sim_host_destroy(w.host);
}

TEST(an_invalid_configuration_is_refused)
{
	refused(&sim_component_GridClusters, "{\"cell\": 1}", "\"cell\": no such key");
	refused(&sim_component_GridClusters, "{\"cell_m\": 0}", "cell_m: 0.05 to 5");
	refused(&sim_component_Tracker, "{\"gate_m\": \"far\"}", "\"gate_m\": not a number");
	refused(&sim_component_Tracker, "{\"confirm\": 0}", "confirm");
	refused(&sim_component_Stopper, "{\"decel\": 9}", "max_decel");
}

/*
 * Clouds of another layout, and odometry with values that are not finite: the message is dropped and counted, and the
 * next one is used.
 */
TEST(invalid_messages_are_counted_and_do_no_harm)
{
	struct world w = { .speed = NAN, .person = { 20, 0 }, .hash = 1 };
	struct scan_params p = scan_params_default();
	struct sim_component_stats s[3];
	struct sim_PointCloud *other;
	struct sim_builder b;
	struct sim_slot *slot;

	p.columns = COLUMNS;
	assert_int_equal(scan_create(&p, &w.scan, NULL), 0);
	graph_open(&w);
	assert_int_equal(sim_node_loan(w.clouds, 4096, &slot), 0);
	other = sim_PointCloud_init(sim_slot_body_mut(slot), 4096, &b);
	other->width = 10;
	other->height = 1;
	assert_int_equal(sim_node_write(w.clouds, slot), 0);
	tell_odometry(&w);
	look(&w);
	w.speed = 5;
	step(&w, STEP_NS);
	for (int i = 0; i < 3; i++)
		sim_component_stats(w.chain[i], &s[i]);
	assert_true(s[0].proc == 3 && s[0].failed == 1);
	assert_true(s[1].proc == 2 && s[1].failed == 1);
	assert_true(s[2].proc == 1 && s[2].failed == 0);
	graph_close(&w);
	scan_destroy(w.scan);
}
