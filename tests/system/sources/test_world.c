/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The town scenario in a real sumo: the objects that sensors will see, the ego driven from outside, and every way in
 * which sumo can fail.
 */
#include "tests/support/test.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/bridge/convert/geo.h"
#include "tools/sources/sumo/world.h"

#define TOWN    "config/rigs/demo/town.sumocfg"
#define STEP_NS 10000000

static struct world_options options(uint32_t seed)
{
	return (struct world_options){
		.sumo = { .binary = "sumo", .config = TOWN, .step_dur_ns = STEP_NS, .seed = seed },
		.ego = "ego",
		.range_m = 100,
		.stop_fd = -1,
		.timeout_ms = 30000,
		.ego_wait_steps = 100,
	};
}

static struct world *town(uint32_t seed)
{
	struct world_options o = options(seed);
	char why[SUMO_WHY_MAX] = "";
	struct world *w;
	int r = world_open(&o, &w, why);

	if (r < 0)
		fail_msg("%d: %s", r, why);
	return w;
}

static void steps(struct world *w, int n)
{
	while (n--) {
		if (world_step(w) < 0)
			fail_msg("%s", world_why(w));
	}
}

static void no_child_is_left(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

TEST(the_town_has_traffic)
{
	const struct world_object *objs;
	const struct world_light *lights;
	size_t n, nl, people = 0, green = 0, red = 0;
	struct world *w = town(1);
	double lon, lat;
	struct geo_utm u;

	steps(w, 300);
	assert_true(world_ego(w)->present);
	assert_true(fabs(world_ego(w)->length - 4.6) < 1e-9);
	assert_int_equal(world_scan(w, &objs, &n), 0);
	assert_true(n >= 5 && n < 100);
	for (size_t i = 0; i < n; i++) {
		people += objs[i].kind == WORLD_PEDESTRIAN;
		assert_true(objs[i].kind != WORLD_OTHER);
		assert_true(objs[i].length > 0.2 && objs[i].width > 0.2 && objs[i].height > 1);
		assert_true(hypot(objs[i].pos[0] - world_ego(w)->pos[0], objs[i].pos[1] - world_ego(w)->pos[1]) < 115);
	}
	assert_true(people > 0 && people < n);
	assert_int_equal(world_lights(w, &lights, &nl), 0);
	for (size_t i = 0; i < nl; i++) {
		green += strchr("gG", lights[i].state) != NULL;
		red += strchr("rR", lights[i].state) != NULL;
	}
	assert_true(nl > 50 && green > 10 && red > 10);
	assert_int_equal(world_lonlat(w, world_ego(w)->pos[0], world_ego(w)->pos[1], &lon, &lat), 0);
	assert_int_equal(geo_utm(lon, lat, &u), 0);
	assert_true(fabs(u.easting - 691500 - world_ego(w)->pos[0]) < 0.01);
	assert_true(fabs(u.northing - 5335500 - world_ego(w)->pos[1]) < 0.01);
	world_close(w);
	no_child_is_left();
}

/* The ego is in the middle of its lane, between two lines at equal distance: those that sumo itself keeps to. */
TEST(the_lane_lines_are_where_sumo_drives)
{
	struct lane_line line[LANES_LINES_MAX];
	struct world *w = town(1);
	unsigned on_lane = 0;

	assert_true(world_lanes(w)->n > 100);
	for (int i = 0; i < 100; i++) {
		const struct world_ego *e = world_ego(w);
		double yaw = (90 - e->angle_deg) * M_PI / 180, right = NAN, left = NAN;
		size_t n = lanes_look(world_lanes(w), e->pos[0], e->pos[1], yaw, 50, line);

		for (size_t k = 0; k < n; k++) {
			right = line[k].position == 1 ? line[k].c[0] : right;
			left = line[k].position == -1 ? line[k].c[0] : left;
		}
		on_lane += n >= 2 && fabs(right + 1.6) < 0.05 && fabs(left - 1.6) < 0.05 + LANES_INSET;
		steps(w, 20);
	}
	assert_true(on_lane > 70);
	world_close(w);
}

static void run(uint32_t seed, double ret[4])
{
	const struct world_object *objs;
	struct world *w = town(seed);
	size_t n;

	ret[3] = 0;
	for (int i = 0; i < 60; i++) {
		steps(w, 10);
		assert_int_equal(world_scan(w, &objs, &n), 0);
		for (size_t k = 0; k < n; k++)
			ret[3] += objs[k].pos[0] * (double)(k + 1) + (double)(objs[k].key % 1000);
	}
	memcpy(ret, world_ego(w)->pos, 3 * sizeof(double));
	world_close(w);
}

TEST(the_same_seed_gives_the_same_town)
{
	double a[4], b[4], c[4];

	run(5, a);
	run(5, b);
	run(6, c);
	assert_memory_equal(a, b, sizeof(a));
	assert_true(a[3] != c[3]);
}

/* Driven south from where it is, across the lanes and off the road. */
static void drive_away(struct world *w, double metres, double ret[2])
{
	ret[0] = world_ego(w)->pos[0];
	ret[1] = world_ego(w)->pos[1];
	for (int i = 0; i < 100; i++) {
		ret[1] -= metres / 100;
		assert_int_equal(world_place_ego(w, ret[0], ret[1], 180, 5), 0);
		steps(w, 1);
	}
	assert_true(fabs(world_ego(w)->pos[0] - ret[0]) < 1e-6 && fabs(world_ego(w)->pos[1] - ret[1]) < 1e-6);
}

/* On a road again after one step, at most `within` metres away; then it drives, metre by metre, and is never nowhere. */
static void comes_back(struct world *w, const double from[2], double within)
{
	const struct world_ego *e = world_ego(w);
	double way = 0, last[2];

	assert_int_equal(world_release_ego(w), 0);
	steps(w, 1);
	assert_true(e->present && hypot(e->pos[0] - from[0], e->pos[1] - from[1]) < within);
	for (int i = 0; i < 800; i++) {
		memcpy(last, e->pos, sizeof(last));
		steps(w, 1);
		assert_true(e->present && e->speed >= 0 && e->speed < 20 && e->angle_deg >= 0 && e->angle_deg <= 360);
		assert_true(hypot(e->pos[0] - last[0], e->pos[1] - last[1]) < 0.5);
		way += hypot(e->pos[0] - last[0], e->pos[1] - last[1]);
	}
	assert_true(way > 10);
}

TEST(the_ego_drives_off_the_road_and_returns)
{
	struct world *w = town(1);
	double at[2];

	steps(w, 200);
	drive_away(w, 20, at); /* in the meadow, between two roads */
	comes_back(w, at, 25);
	world_close(w);
}

TEST(the_ego_returns_from_far_away)
{
	struct world *w = town(1);
	double at[2];

	steps(w, 200);
	drive_away(w, 700, at);
	comes_back(w, at, 500);
	world_close(w);
}

TEST(out_of_reach_of_any_road_the_ego_stays_with_its_commands)
{
	struct world *w = town(1);
	double at[2];

	steps(w, 200);
	drive_away(w, 3000, at);
	assert_int_equal(world_release_ego(w), 1);
	for (int i = 0; i < 20; i++) { /* it is not placed: SUMO has it, but no values */
		steps(w, 1);
		assert_true(world_ego(w)->known && !world_ego(w)->present);
		assert_true(world_ego(w)->speed >= 0 && world_ego(w)->speed <= 5);
		assert_true(world_ego(w)->pos[0] == at[0] && world_ego(w)->pos[1] == at[1]);
	}
	world_close(w);
}

/* The lane leads out of town: a vehicle without another target is removed at its end. */
TEST(the_ego_returns_from_a_road_out_of_town)
{
	struct world *w = town(1);

	steps(w, 200);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(world_place_ego(w, 440, 93.4, 90, 8), 0);
		steps(w, 1);
	}
	assert_int_equal(world_release_ego(w), 0);
	for (int i = 0; i < 1500; i++) {
		steps(w, 1);
		assert_true(world_ego(w)->present && world_ego(w)->speed >= 0);
	}
	assert_true(world_ego(w)->pos[0] < 400 && world_ego(w)->speed > 0.1);
	world_close(w);
}

/* A loop of many laps: sumo gets as much of it back as a request holds. */
TEST(the_ego_returns_to_a_route_of_thousands_of_edges)
{
	char net[TEST_PATH_MAX + 64], rou[TEST_PATH_MAX], conf[TEST_PATH_MAX], why[SUMO_WHY_MAX] = "",
									       cwd[TEST_PATH_MAX];
	struct world_options o = options(1);
	const struct world_ego *e;
	struct world *w;
	FILE *f;

	assert_non_null(getcwd(cwd, sizeof(cwd)));
	snprintf(net, sizeof(net), "%s/config/rigs/perception/street.net.xml", cwd);
	f = fopen(test_path(rou, "long.rou.xml"), "w");
	assert_non_null(f);
	fprintf(f,
		"<routes><vehicle id=\"ego\" depart=\"0\" departLane=\"best\">"
		"<route edges=\"sw_south south_se se_ne ne_north north_nw nw_sw\" repeat=\"2000\"/></vehicle></routes>\n");
	assert_int_equal(fclose(f), 0);
	f = fopen(test_path(conf, "long.sumocfg"), "w");
	assert_non_null(f);
	fprintf(f, "<configuration><net-file value=\"%s\"/><route-files value=\"%s\"/></configuration>\n", net, rou);
	assert_int_equal(fclose(f), 0);
	o.sumo.config = conf;
	if (world_open(&o, &w, why) < 0)
		fail_msg("%s", why);
	e = world_ego(w);
	steps(w, 10);
	assert_int_equal(world_place_ego(w, e->pos[0] + 1, e->pos[1], 90, 5), 0);
	steps(w, 2);
	if (world_release_ego(w) != 0)
		fail_msg("%s", world_why(w));
	steps(w, 500);
	assert_true(e->present && e->speed > 5);
	world_close(w);
	no_child_is_left();
	remove(rou);
	remove(conf);
}

TEST(a_killed_sumo_is_an_error)
{
	struct world *w = town(1);
	char line[64] = "";
	pid_t sumo = 0;
	FILE *f;

	snprintf(line, sizeof(line), "/proc/self/task/%d/children", (int)gettid());
	f = fopen(line, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &sumo), 1);
	fclose(f);
	assert_int_equal(kill(sumo, SIGKILL), 0);
	while (world_step(w) == 0) /* an answer may be on its way */
		;
	assert_non_null(strstr(world_why(w), "sumo has exited"));
	world_close(w);
	no_child_is_left();
}

static void refused(struct world_options o, int want, const char *words)
{
	char why[SUMO_WHY_MAX] = "";
	struct world *w = NULL;
	int r = world_open(&o, &w, why);

	if (r != want || !strstr(why, words))
		fail_msg("%d \"%s\" is not %d \"%s\"", r, why, want, words);
	assert_null(w);
	no_child_is_left();
}

TEST(failures_have_an_error_text)
{
	struct world_options o = options(1);
	char path[TEST_PATH_MAX];
	FILE *f;

	o.sumo.config = "no/such.sumocfg";
	refused(o, -ENOENT, "scenario no/such.sumocfg");
	o = options(1);
	o.ego = "nobody";
	refused(o, -ESRCH, "--ego");
	o = options(1);
	o.sumo.binary = "no-such-sumo";
	refused(o, -EPIPE, "cannot run no-such-sumo");
	o = options(1);
	o.sumo.step_dur_ns = 1500;
	refused(o, -EINVAL, "step");
	o = options(1);
	o.sumo.config = test_path(path, "broken.sumocfg");
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("<configuration><input><net-file value=\"nowhere.net.xml\"/></input></configuration>\n", f);
	fclose(f);
	refused(o, -EPIPE, "sumo has exited");
}

TEST(a_stop_signal_is_obeyed_during_the_start)
{
	struct world_options o = options(1);
	int fd = eventfd(1, EFD_CLOEXEC);

	o.stop_fd = fd;
	refused(o, -ECANCELED, "");
	close(fd);
}
