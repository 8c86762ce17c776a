/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios of other authors, in a real sumo: they begin at any time, their ego departs later or never, their network
 * has no position on the earth, and SUMO teleports. First as world sees them, then as sim-sumo publishes them.
 */
#include "tests/support/stack.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include <sim/msg/CanBus.h>
#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/Gps.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Imu.h>
#include <sim/msg/Transforms.h>
#include <sim/sim.h>

#include "scenario.h"
#include "tools/sources/origin.h"
#include "tools/sources/scene/scene.h"
#include "tools/sources/sumo/world.h"

#define STEP_NS INT64_C(10000000)
#define UTM     "--proj.utm"

static unsigned waits;
static int64_t waited_dur_ns;

static void on_waits(void *user, int64_t dur_ns)
{
	(void)user;
	waits++;
	waited_dur_ns = dur_ns;
}

static int open_world(const char *ego, struct world **ret, char why[SUMO_WHY_MAX])
{
	const struct world_options o = {
		.sumo = { .binary = "sumo", .config = SCENARIO, .step_dur_ns = STEP_NS, .seed = 1 },
		.ego = ego,
		.range_m = 1000,
		.stop_fd = -1,
		.timeout_ms = PATIENT_MS,
		.ego_wait_steps = 6000,
		.waits = on_waits,
	};

	waits = 0;
	*why = '\0';
	return world_open(&o, ret, why);
}

static struct world *world(const struct scenario *s)
{
	char why[SUMO_WHY_MAX];
	struct world *w;

	scenario_write(s);
	if (open_world("ego", &w, why) < 0)
		fail_msg("%s", why);
	return w;
}

static void step(struct world *w)
{
	if (world_step(w) < 0)
		fail_msg("%s", world_why(w));
}

/* Not at 0, 0, where no vehicle departs. */
static void check_on_the_street(const double pos[3])
{
	if (!(pos[0] > 90 && pos[0] < 620 && fabs(pos[1]) < 310))
		fail_msg("it is at %g %g", pos[0], pos[1]);
}

TEST(a_scenario_begins_at_any_time)
{
	static const struct {
		const char *begin;
		double s;
	} rows[] = { { NULL, 0 },
		     { "1", 1 },
		     { "12.34", 12.34 },
		     { "25200", 25200 },
		     { "07:00:00", 25200 },
		     { "86399.99", 86399.99 },
		     { "3:00:00:00", 259200 } };
	const struct world_object *objects;
	size_t n;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = world(&(struct scenario){ .begin = rows[i].begin });
		int64_t first = world_time_sim_ns(w);

		assert_true(first > (int64_t)(rows[i].s * 1e9) && first < (int64_t)(rows[i].s * 1e9) + 1000000000);
		for (int k = 1; k <= 30; k++) {
			step(w);
			assert_true(world_ego(w)->present);
			if (world_scan(w, &objects, &n) < 0)
				fail_msg("begin %s: %s", rows[i].begin, world_why(w));
			if (n != 1) /* the other one, in each run again */
				fail_msg("begin %s: %zu objects", rows[i].begin, n);
			assert_int_equal(world_time_sim_ns(w), first + k * STEP_NS);
		}
		world_close(w);
	}
}

/* Where the ego is after two seconds; no step takes it further than its speed does. */
static void drive_two_seconds(const char *options, double ret_pos[3])
{
	struct world *w = world(&(struct scenario){ .options = options });

	for (int k = 0; k < 200; k++) {
		memcpy(ret_pos, world_ego(w)->pos, 3 * sizeof(*ret_pos));
		step(w);
		if (fabs(hypot(world_ego(w)->pos[0] - ret_pos[0], world_ego(w)->pos[1] - ret_pos[1]) -
			 world_ego(w)->speed * STEP_NS / 1e9) > 0.01)
			fail_msg("%s: it goes from %g %g to %g %g", options, ret_pos[0], ret_pos[1],
				 world_ego(w)->pos[0], world_ego(w)->pos[1]);
	}
	memcpy(ret_pos, world_ego(w)->pos, 3 * sizeof(*ret_pos));
	world_close(w);
}

/*
 * The options for other TraCI clients, the seed and the mesoscopic model are overridden: the run is the same without
 * them.
 */
TEST(run_options_in_a_scenario_are_overridden)
{
	static const char *const rows[] = {
		"<random_number><random value=\"true\"/></random_number>",
		"<random_number><seed value=\"77\"/></random_number>",
		"<traci_server><num-clients value=\"2\"/></traci_server>",
		"<traci_server><remote-port value=\"8813\"/></traci_server>",
		"<mesoscopic><mesosim value=\"true\"/></mesoscopic>",
	};
	double usual[3], is[3];

	drive_two_seconds("", usual);
	assert_true(usual[0] > 100);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		drive_two_seconds(rows[i], is);
		if (memcmp(is, usual, sizeof(is)) != 0)
			fail_msg("%s: %.9g, without it %.9g", rows[i], is[0], usual[0]);
	}
}

TEST(an_ego_that_departs_later_is_awaited)
{
	struct world *w = world(&(struct scenario){ .begin = "300", .departs = "310.5" });

	assert_true(world_ego(w)->present);
	check_on_the_street(world_ego(w)->pos);
	assert_true(world_time_sim_ns(w) >= 310500000000 && world_time_sim_ns(w) < 311000000000);
	assert_true(waits >= 10 && waited_dur_ns > 9000000000);
	world_close(w);
}

/* The ego is known from the beginning, or not, and is not on the road within the time limit. */
TEST(an_ego_that_never_departs_is_named)
{
	static const struct {
		const char *departs, *ego, *says;
	} rows[] = {
		{ "120", "ego",
		  "vehicle \"ego\" is not on the road in the first 60 s of the scenario: let it depart earlier" },
		{ "0", "me", "vehicle \"me\" is not on the road" },
		{ "0", "me", "none of that name has come up" },
		{ "0", "me", "there is ego" },
	};
	char why[SUMO_WHY_MAX];
	struct world *w;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		scenario_write(&(struct scenario){ .departs = rows[i].departs });
		assert_int_equal(open_world(rows[i].ego, &w, why), -ESRCH);
		if (!strstr(why, rows[i].says))
			fail_msg("\"%s\" does not say \"%s\"", why, rows[i].says);
	}
}

TEST(a_network_has_a_projection_or_no_position_on_earth)
{
	double lat = 1, lon = 2;
	struct world *w = world(&(struct scenario){ 0 });

	assert_int_equal(world_lonlat(w, 50, 50, &lon, &lat), -ENODATA);
	assert_true(lat == 1 && lon == 2);
	world_close(w);
	w = world(&(struct scenario){ .projected = UTM });
	assert_int_equal(world_lonlat(w, 50, 50, &lon, &lat), 0);
	assert_true(fabs(lat - 48.14) < 0.01 && fabs(lon - 11.58) < 0.01);
	world_close(w);
}

/* ---- what sim-sumo publishes ---- */

struct line {
	pid_t simd;
	struct sim_client *client;
	struct sim_subscriber *gps, *odometry, *can_bus, *imu, *tf, *tf_static, *objects;
};

static struct sim_subscriber *hear(struct line *l, const char *channel, const struct sim_type *type)
{
	const struct sim_subscriber_options so = { .size = sizeof(so), .depth = 256 };
	struct sim_subscriber *s;

	assert_int_equal(sim_subscribe(l->client, channel, type, &so, &s), 0);
	return s;
}

static void line_open(struct line *l)
{
	const struct sim_client_options co = { .size = sizeof(co), .name = "test", .socket = STACK_SOCKET };

	l->simd = stack_start("\"TimeSource\":\"unity\",\"pools\":[{\"size\":\"1KiB\",\"count\":4000},"
			      "{\"size\":\"66KiB\",\"count\":700}],\"rigs\":[{\"name\":\"rig\"}]");
	assert_int_equal(sim_connect(&co, &l->client), 0);
	l->gps = hear(l, "/gps", &sim_Gps_type);
	l->odometry = hear(l, "/gps_odometry", &sim_GpsOdometry_type);
	l->can_bus = hear(l, "/can_bus", &sim_CanBus_type);
	l->imu = hear(l, "/imu", &sim_Imu_type);
	l->tf = hear(l, "/tf", &sim_Transforms_type);
	l->tf_static = hear(l, "/tf_static", &sim_Transforms_type);
	l->objects = hear(l, "/objects", &sim_Detected3DObjects_type);
}

static void line_close(struct line *l)
{
	struct sim_subscriber *all[] = { l->gps, l->odometry, l->can_bus, l->imu, l->tf, l->tf_static, l->objects };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		sim_subscriber_destroy(all[i]);
	sim_disconnect(l->client);
	/* not stack_stop(): this process is a client, and leaves its runtime's files when it ends */
	assert_int_equal(kill(l->simd, SIGTERM), 0);
	assert_int_equal(stack_wait(l->simd), 0);
}

/* sim-sumo, so many steps of it; with one more option. */
static const struct ctl_result *drive(const char *steps, const char *option, const char *value)
{
	return stack_run((const char *const[]){ "sim-sumo", "--simd-socket", STACK_SOCKET, "--config", SCENARIO,
						"--free-run", "--steps", steps, option, value, NULL });
}

static void expect(const struct ctl_result *r, int code, const char *says)
{
	if (r->code != code || (says && !strstr(r->err, says)))
		fail_msg("exit %d, not %d, or \"%s\" is not in: %s", r->code, code, says ? says : "", r->err);
}

static unsigned drain(struct sim_subscriber *s)
{
	const struct sim_message *m;
	unsigned n = 0;

	for (; sim_take(s, &m) == 0; n++)
		assert_int_equal(sim_release(s, m), 0);
	return n;
}

/* All that has come of the satellites. How many. */
static unsigned check_fixes(struct line *l, int8_t status, double lat, double lon)
{
	const struct sim_message *m;
	unsigned n = 0;

	for (; sim_take(l->gps, &m) == 0; n++, (void)sim_release(l->gps, m)) {
		const struct sim_Gps *g = sim_Gps_from(m->body, m->body_size);

		assert_int_equal(g->status, status);
		assert_true(fabs(g->latitude - lat) < 0.01 && fabs(g->longitude - lon) < 0.02);
		check_on_the_street((double[]){ g->easting, g->northing, 0 });
	}
	for (; sim_take(l->odometry, &m) == 0; n++, (void)sim_release(l->odometry, m)) {
		const struct sim_GpsOdometry *g = sim_GpsOdometry_from(m->body, m->body_size);

		assert_true(fabs(g->latitude - lat) < 0.01 && fabs(g->longitude - lon) < 0.02);
	}
	for (; sim_take(l->can_bus, &m) == 0; n++, (void)sim_release(l->can_bus, m)) {
		const struct sim_CanBus *c = sim_CanBus_from(m->body, m->body_size);

		assert_true(fabs(c->latitude - lat) < 0.01 && fabs(c->longitude - lon) < 0.02);
	}
	return n;
}

TEST_WITH(of_a_vehicle_that_is_not_on_the_road_nothing_is_published, NULL, stack_sweep)
{
	struct line l;

	line_open(&l);
	scenario_write(&(struct scenario){ .departs = "120" });
	expect(drive("100", NULL, NULL), 1, "is not on the road in the first 60 s");
	assert_int_equal(drain(l.gps) + drain(l.odometry) + drain(l.can_bus) + drain(l.imu) + drain(l.tf) +
				 drain(l.tf_static) + drain(l.objects),
			 0);
	scenario_write(&(struct scenario){ .departs = "20", .projected = UTM });
	expect(drive("150", NULL, NULL), 0, "time waits for vehicle \"ego\" to depart");
	assert_true(check_fixes(&l, SIM_GPS_STATUS_FIX, 48.14, 11.58) > 0);
	assert_true(drain(l.imu) > 0 && drain(l.tf) > 0 && drain(l.tf_static) > 0 && drain(l.objects) > 0);
	line_close(&l);
}

TEST_WITH(the_status_shows_what_a_driver_waits_for, NULL, stack_sweep)
{
	const struct ctl_result *r;
	struct sim_driver *driver;
	struct line l;
	char *reply;

	line_open(&l);
	assert_int_equal(sim_driver_acquire(l.client, 0, &driver), 0);
	assert_int_equal(sim_call_within(l.client, "DriverWaits", "{\"what\": \"a scene to be loaded\"}", -1, &reply),
			 0);
	free(reply);
	r = stack_ctl("clock", "status", NULL);
	assert_non_null(strstr(r->out, "waits for:  a scene to be loaded, says the driver\n"));
	sim_driver_release(driver);
	line_close(&l);
}

/* ---- the frame "odom" ---- */

struct seen_tf {
	int64_t stamp_sim_ns;
	struct scene_pose base, odom, own; /* base_link and odom in the map, base_link in odom */
};

/* All that has come of /tf, which has both frames in each message. How many. */
static size_t take_frames(struct line *l, struct seen_tf *seen, size_t most)
{
	const struct sim_message *m;
	size_t n = 0;

	for (; sim_take(l->tf, &m) == 0; n++, (void)sim_release(l->tf, m)) {
		const struct sim_Transforms *t = sim_Transforms_from(m->body, m->body_size);

		assert_true(n < most);
		seen[n].stamp_sim_ns = m->header.stamp_sim_ns;
		assert_int_equal(scene_pose_of(t, m->body_size, "map", "base_link", &seen[n].base), 0);
		assert_int_equal(scene_pose_of(t, m->body_size, "map", "odom", &seen[n].odom), 0);
		assert_int_equal(scene_pose_of(t, m->body_size, "odom", "base_link", &seen[n].own), 0);
	}
	return n;
}

/* Each message of s is at the place that /tf has for its stamp: of base_link in the map, or in odom. How many. */
static unsigned check_places(struct sim_subscriber *s, const struct seen_tf *seen, size_t n, bool in_map)
{
	const struct sim_message *m;
	unsigned found = 0;

	for (; sim_take(s, &m) == 0; (void)sim_release(s, m)) {
		const struct sim_GpsOdometry *g = sim_GpsOdometry_from(m->body, m->body_size);

		for (size_t i = 0; i < n; i++) {
			const struct scene_pose *p = in_map ? &seen[i].base : &seen[i].own;

			if (seen[i].stamp_sim_ns != m->header.stamp_sim_ns)
				continue;
			assert_true(fabs(g->easting - p->x) < 1e-6 && fabs(g->northing - p->y) < 1e-6);
			assert_true(fabs(remainder(scene_yaw_of(&g->orientation) - p->yaw, 2 * M_PI)) < 1e-6);
			assert_string_equal(m->header.frame_id, in_map ? "map" : "odom");
			found++;
		}
	}
	return found;
}

TEST_WITH(the_ego_is_in_a_frame_that_drifts, NULL, stack_sweep)
{
	static struct seen_tf seen[256];
	const struct sim_message *m;
	struct sim_subscriber *odom;
	struct scene_pose *first, *last, p;
	struct line l;
	size_t n;

	line_open(&l);
	odom = hear(&l, "/odom", &sim_GpsOdometry_type);
	scenario_write(&(struct scenario){ .projected = UTM });
	expect(drive("10", "--odom", "0.6"), 2, "it must be the error of a distance, within 0.5 of it");
	expect(drive("300", "--odom", "0.1,0.002"), 0, NULL);
	n = take_frames(&l, seen, 256);
	assert_in_range(n, 100, 151);
	assert_true(check_places(odom, seen, n, false) > 100);
	assert_true(check_places(l.odometry, seen, n, true) > 20);
	first = &seen[0].own;
	last = &seen[n - 1].own;
	assert_true(hypot(first->x, first->y) < 0.5 && hypot(last->x, last->y) > 3); /* it begins at 0 */
	for (size_t i = 1; i < n; i++)                                               /* and has no gaps */
		assert_true(hypot(seen[i].own.x - seen[i - 1].own.x, seen[i].own.y - seen[i - 1].own.y) < 0.5);
	p = seen[n - 1].odom; /* what it is off by now: a tenth of the way */
	assert_true(hypot(p.x - seen[0].odom.x, p.y - seen[0].odom.y) > 0.05 * hypot(last->x, last->y));
	expect(drive("50", NULL, NULL), 0, NULL);
	assert_int_equal(sim_take(l.tf, &m), 0);
	assert_int_equal(scene_pose_of(m->body, m->body_size, "map", "odom", &p), -ENOENT);
	(void)sim_release(l.tf, m);
	assert_int_equal(drain(odom), 0);
	sim_subscriber_destroy(odom);
	line_close(&l);
}

TEST_WITH(without_a_projection_a_fix_needs_an_origin, NULL, stack_sweep)
{
	struct line l;

	line_open(&l);
	scenario_write(&(struct scenario){ 0 });
	expect(drive("150", NULL, NULL), 0, "the network has no projection: no satellite fix");
	assert_true(check_fixes(&l, SIM_GPS_STATUS_NO_FIX, 0, 0) > 0);
	assert_int_equal(drain(l.tf_static), 0);
	assert_true(drain(l.tf) > 0);
	expect(drive("150", "--origin", "-33.86,151.2"), 0, NULL);
	assert_true(check_fixes(&l, SIM_GPS_STATUS_FIX, -33.86, 151.2) > 0);
	assert_true(drain(l.tf_static) > 0);
	expect(drive("150", "--origin", "198.4,20"), 2, "is not a position on the earth");
	line_close(&l);
}

/* ---- where utm is ---- */

/* PROJ, which SUMO brings: what another one makes of the same point. */
struct proj {
	void *lib;
	void *(*create)(void *context, const char *definition);
	struct proj_coord {
		double v[4];
	} (*trans)(void *proj, int direction, struct proj_coord c);
};
enum { PROJ_TO_DEGREES = -1, PROJ_FROM_DEGREES = 1 };

static void proj_open(struct proj *p)
{
	char name[32];
	void *create, *trans;

	p->lib = NULL;
	for (int i = 40; i > 10 && !p->lib; i--) {
		snprintf(name, sizeof(name), "libproj.so.%d", i);
		p->lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	}
	create = p->lib ? dlsym(p->lib, "proj_create") : NULL;
	trans = p->lib ? dlsym(p->lib, "proj_trans") : NULL;
	if (!create || !trans)
		fail_msg("no libproj, which Debian's package sumo depends on");
	memcpy(&p->create, &create, sizeof(create));
	memcpy(&p->trans, &trans, sizeof(trans));
}

/* By two projections, from the plane of one to that of the other. */
static void reproject(const struct proj *p, const char *from, const char *to, const double at[2], double ret[2])
{
	void *a = p->create(NULL, from), *b = p->create(NULL, to);
	struct proj_coord c = { { at[0], at[1], 0, 0 } };

	assert_true(a && b);
	c = p->trans(b, PROJ_FROM_DEGREES, p->trans(a, PROJ_TO_DEGREES, c));
	ret[0] = c.v[0];
	ret[1] = c.v[1];
}

/* The last place of the ego, and the last transform of utm, that have come. */
static bool take_places(struct line *l, double ret_at[2], struct sim_Transform *ret_utm)
{
	const struct sim_message *m;
	bool gps = false, utm = false;
	uint32_t n;

	for (; sim_take(l->gps, &m) == 0; (void)sim_release(l->gps, m)) {
		const struct sim_Gps *g = sim_Gps_from(m->body, m->body_size);

		assert_int_equal(g->status, SIM_GPS_STATUS_FIX);
		ret_at[0] = g->easting;
		ret_at[1] = g->northing;
		gps = true;
	}
	for (; sim_take(l->tf_static, &m) == 0; (void)sim_release(l->tf_static, m)) {
		*ret_utm = *sim_Transforms_transforms(sim_Transforms_from(m->body, m->body_size), m->body_size, &n);
		utm = n == 1;
	}
	return gps && utm;
}

/* From utm to map: as a reader of tf_static does. */
static void to_map(const struct sim_Transform *t, const double utm[2], double ret[2])
{
	double yaw = 2 * atan2(t->rotation.z, t->rotation.w);

	ret[0] = t->translation.x + utm[0] * cos(yaw) - utm[1] * sin(yaw);
	ret[1] = t->translation.y + utm[0] * sin(yaw) + utm[1] * cos(yaw);
}

#define ABSOLUTE " --offset.disable-normalization"
#define LAMBERT  "+proj=lcc +lat_1=49 +lat_2=44 +lat_0=46.5 +lon_0=3 +x_0=700000 +y_0=6600000 +ellps=GRS80"
#define LV95 \
	"+proj=somerc +lat_0=46.95240555555556 +lon_0=7.439583333333333 +k_0=1 +x_0=2600000 +y_0=1200000 +ellps=bessel"
#define MERCATOR     "+proj=merc +a=6378137 +b=6378137"
#define UTM_OF(zone) "+proj=utm +zone=" zone " +ellps=WGS84"
#define SYDNEY       UTM_OF("56") " +south"

/* A map of another scale meets the grid where the ego departs: some metres from where it is when it is looked at. */
TEST_WITH(utm_positions_agree_with_proj, NULL, stack_sweep)
{
	static const struct {
		const char *options, *map, *utm;
		double lon, lat, most_m;
		bool same; /* the map is the grid */
	} rows[] = {
		{ UTM ABSOLUTE, UTM_OF("32"), UTM_OF("32"), 11.58, 48.14, 0.002, true },
		{ "--proj '" SYDNEY "'" ABSOLUTE, SYDNEY, SYDNEY, 151.2, -33.86, 0.002, true },
		/* SUMO's own option counts northing from the equator, in the south too */
		{ UTM ABSOLUTE, UTM_OF("56"), SYDNEY, 151.2, -33.86, 0.002, false },
		{ UTM ABSOLUTE, UTM_OF("60"), UTM_OF("60") " +south", 179.995, -17, 0.002, false },
		{ UTM ABSOLUTE, UTM_OF("32"), UTM_OF("33"), 11.9995, 48.14, 0.1, false },
		{ "--proj '" LAMBERT "'" ABSOLUTE, LAMBERT, UTM_OF("31"), 2.35, 48.85, 0.1, false },
		{ "--proj '" LV95 "'" ABSOLUTE, LV95, UTM_OF("32"), 7.44, 46.95, 0.1, false },
		{ "--proj '" MERCATOR "'" ABSOLUTE, MERCATOR, UTM_OF("33"), 13.4, 52.5, 15, false },
	};
	struct proj proj;
	struct line l;

	proj_open(&proj);
	line_open(&l);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double at[2], beside[2], utm[2], utm_beside[2], map[2], map_beside[2], turn;
		struct sim_Transform t;

		scenario_write(
			&(struct scenario){ .projected = rows[i].options, .lon = rows[i].lon, .lat = rows[i].lat });
		expect(drive("150", NULL, NULL), 0, NULL);
		if (!take_places(&l, at, &t))
			fail_msg("row %zu: no place, or no utm", i);
		beside[0] = at[0] + 1;
		beside[1] = at[1];
		reproject(&proj, rows[i].map, rows[i].utm, at, utm);
		reproject(&proj, rows[i].map, rows[i].utm, beside, utm_beside);
		to_map(&t, utm, map);
		to_map(&t, utm_beside, map_beside);
		turn = atan2(map_beside[1] - map[1], map_beside[0] - map[0]);
		if (hypot(map[0] - at[0], map[1] - at[1]) > rows[i].most_m || fabs(turn) > 1e-5)
			fail_msg("row %zu: %.3f %.3f is at %.3f %.3f by tf_static, turned by %g", i, at[0], at[1],
				 map[0], map[1], turn);
		if (rows[i].same && (hypot(t.translation.x, t.translation.y) > 0.002 || t.rotation.z != 0))
			fail_msg("row %zu: the grid is %g %g beside itself", i, t.translation.x, t.translation.y);
	}
	line_close(&l);
}

#define BLOCKED \
	"<vehicle id=\"b0\" type=\"c\" route=\"all\" depart=\"0\" departLane=\"0\" departPos=\"250\"><stop lane=\"ab_0\" " \
	"endPos=\"280\" duration=\"9999\"/></vehicle><vehicle id=\"b1\" type=\"c\" route=\"all\" depart=\"0\" departLane=\"1\" " \
	"departPos=\"250\"><stop lane=\"ab_1\" endPos=\"280\" duration=\"9999\"/></vehicle>"
#define SOON "<processing><time-to-teleport value=\"5\"/></processing>"

TEST_WITH(a_teleport_of_the_ego_is_named, NULL, stack_sweep)
{
	const struct ctl_result *r;
	struct line l;

	line_open(&l);
	scenario_write(&(struct scenario){ .others = BLOCKED, .options = SOON });
	r = drive("4000", NULL, NULL);
	expect(r, 0, "SUMO has teleported the ego by ");
	assert_null(strstr(strstr(r->err, "SUMO has teleported") + 1, "SUMO has teleported"));
	scenario_write(&(struct scenario){ .others = BLOCKED, .options = SOON, .ego = "timeToTeleport=\"-1\"" });
	r = drive("4000", NULL, NULL);
	expect(r, 0, NULL);
	assert_null(strstr(r->err, "teleported"));
	line_close(&l);
}

/*
 * Crossing a junction without lanes does not count as a teleport; where the network has such lanes the configuration
 * cannot remove them.
 */
TEST_WITH(a_jump_over_a_junction_is_reported_once, NULL, stack_sweep)
{
	static const char says[] = "the network has no lanes inside of its junctions: the ego jumps over each of them";
	const struct ctl_result *r;
	struct line l;

	line_open(&l);
	scenario_write(&(struct scenario){ .bare = "--no-internal-links --default.junctions.radius 10", .bent = true });
	r = drive("8000", NULL, NULL);
	expect(r, 0, says);
	assert_null(strstr(strstr(r->err, says) + 1, says));
	assert_null(strstr(r->err, "teleported"));
	scenario_write(&(struct scenario){ .options = "<processing><no-internal-links value=\"true\"/></processing>" });
	r = drive("8000", NULL, NULL);
	expect(r, 0, NULL);
	if (strstr(r->err, "jump") || strstr(r->err, "teleported"))
		fail_msg("%s", r->err);
	line_close(&l);
}

/* In lock-step, and in the background. */
static pid_t drive_on(void)
{
	const char *b = getenv("B");
	char path[256];
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	snprintf(path, sizeof(path), "%s/bin/sim-sumo", b ? b : "build");
	execl(path, path, "--simd-socket", STACK_SOCKET, "--config", SCENARIO, "--lockstep", "--free-run",
	      (char *)NULL);
	_exit(127);
}

static bool status_says(const char *text)
{
	return strstr(stack_ctl("clock", "status", NULL)->out, text) != NULL;
}

/* A program that reads all that comes, and throws it away. */
static pid_t drink(int fd)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	(void)dup2(fd, STDIN_FILENO);
	(void)dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
	execlp("cat", "cat", (char *)NULL);
	_exit(127);
}

/*
 * SUMO writes a line for each step into a pipe: some seconds of the scenario before the ego departs it blocks, until
 * the pipe is read.
 */
TEST_WITH(the_status_shows_that_the_ego_is_waited_for, NULL, stack_sweep)
{
	struct line l;
	pid_t sumo, reader;
	int fd;

	line_open(&l);
	scenario_write(&(struct scenario){
		.departs = "50", .options = "<output><summary-output value=\"" SCENARIO_DIR "/held\"/></output>" });
	assert_int_equal(mkfifo(SCENARIO_DIR "/held", 0600), 0);
	fd = open(SCENARIO_DIR "/held", O_RDONLY | O_NONBLOCK);
	assert_true(fd >= 0 && fcntl(fd, F_SETFL, 0) == 0);
	sumo = drive_on();
	AWAIT(status_says("waits for:  vehicle \"ego\" to depart: "));
	assert_true(status_says(" of 60 s of the scenario have passed, says the driver\n"));
	assert_int_equal(sim_now(l.client), 0);
	reader = drink(fd);
	AWAIT(sim_now(l.client) > 0);
	assert_false(status_says("waits for:"));
	assert_int_equal(kill(sumo, SIGINT), 0);
	assert_int_equal(stack_wait(sumo), 0);
	assert_int_equal(stack_wait(reader), 0);
	close(fd);
	line_close(&l);
}

/* A process killed after the grace period exits with 0 as well, but has not released the lease. */
TEST_WITH(a_signal_in_a_pause_ends_a_run_in_order, NULL, stack_sweep)
{
	struct line l;
	pid_t pid;

	line_open(&l);
	scenario_write(&(struct scenario){ 0 });
	pid = drive_on();
	AWAIT(sim_now(l.client) > 10 * STEP_NS);
	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	assert_int_equal(kill(pid, SIGINT), 0);
	assert_int_equal(stack_wait(pid), 0);
	assert_int_equal(stack_count("has released", "the driver lease"), 1);
	pid = drive_on(); /* before its first step: a second run asks for a jump, which waits too */
	AWAIT(stack_int("GetClock", "clock/driver/pid") == pid);
	assert_int_equal(kill(pid, SIGINT), 0);
	assert_int_equal(stack_wait(pid), 0);
	assert_int_equal(stack_count("has released", "the driver lease"), 2);
	assert_int_equal(stack_ctl("clock", "resume", NULL)->code, 0);
	line_close(&l);
}

/*
 * Each test in a process of its own, as real clients are: mappings of a data plane are only released when the process
 * exits.
 */
TEST_PROCESSES()
