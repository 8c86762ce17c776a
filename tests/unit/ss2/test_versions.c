/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests as each version of scenario_simulator_v2 sends them, recorded as files of tests/fuzz/corpus/ss2: a whole run
 * each, replayed in order; every one is answered under its own number, with success but for the trajectory that the ego is to follow. RECORD=1 in the environment
 * writes the files again, from the peer that the tests share.
 */
#include "world.h"

#include "fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#define CORPUS "tests/fuzz/corpus/ss2"
#define MS     INT64_C(1000000)

/* ---- a run ---- */

struct run {
	int version;
	unsigned count;
	struct peer_buf q;
	void (*take)(struct run *r, uint32_t number, const char *name);
	void *arg;
};

static void take(struct run *r, uint32_t number, const char *name)
{
	if (peer_has(r->version, number))
		r->take(r, number, name);
}

static void attach_all(struct run *r)
{
	static const struct {
		uint32_t number;
		const char *name;
	} sensors[] = { { PEER_ATTACH_IMU, "attach_imu" },
			{ PEER_ATTACH_LIDAR, "attach_lidar" },
			{ PEER_ATTACH_DETECTION, "attach_detection" },
			{ PEER_ATTACH_GRID, "attach_grid" },
			{ PEER_ATTACH_LIGHT_DETECTOR, "attach_lights" } };

	for (size_t i = 0; i < sizeof(sensors) / sizeof(sensors[0]); i++) {
		peer_attach(&r->q, sensors[i].number, "ego");
		take(r, sensors[i].number, sensors[i].name);
	}
}

static void frame(struct run *r, int64_t t_ns, bool started)
{
	const struct peer_status s[] = {
		{ .name = "ego",
		  .action = "waiting_for_engage",
		  .subtype = 1,
		  .pose = { 3750, 73750, 19, 0.6, 0.8, 0, 0 } },
		{ .name = "car_1",
		  .action = "follow_lane",
		  .type = 1,
		  .subtype = 1,
		  .pose = { 3740, 73740, 19, 0, 1, 0, 0 },
		  .speed = 3.5,
		  .yaw_rate = -0.01,
		  .accel = 0.2,
		  .time_s = (double)t_ns / 1e9 },
		{ .name = "bob",
		  .action = "walk_straight",
		  .type = 2,
		  .subtype = 7,
		  .pose = { 3745, 73745, 19, 1, 0, 0, 0 },
		  .speed = 1.2 },
	};
	const struct peer_light l[] = { { .id = 34802, .relation = { 34806 }, .n = 1, .bulb = { { 2, 0, 1, 1 } } },
					{ .id = 34836, .n = 2, .bulb = { { 0, 0, 1, 1 }, { 2, 1, 2, 0.7f } } } };

	peer_update_status(&r->q, r->version, s, 3, started, false);
	take(r, PEER_UPDATE_STATUS, "status");
	peer_lights(&r->q, r->version, l, 2);
	take(r, PEER_UPDATE_LIGHTS, "lights");
	peer_frame(&r->q, (double)t_ns / 1e9, started ? (double)t_ns / 2e9 : (double)NAN, t_ns);
	take(r, PEER_UPDATE_FRAME, "frame");
}

static void walk(struct run *r)
{
	const struct peer_pose at = { 3750, 73750, 19, 0.6, 0.8, 0, 0 };
	const struct peer_status respawn = { .name = "ego", .pose = { 3700, 73700, 19, 0, 1, 0, 0 } };

	peer_initialize(&r->q, 1.0 / 30, 0);
	take(r, PEER_INITIALIZE, "initialize");
	peer_spawn_vehicle(&r->q, "ego", true, &at);
	take(r, PEER_SPAWN_VEHICLE, "spawn_ego");
	attach_all(r);
	peer_spawn_vehicle(&r->q, "car_1", false, &at);
	take(r, PEER_SPAWN_VEHICLE, "spawn_car");
	peer_spawn(&r->q, PEER_SPAWN_PEDESTRIAN, "bob", &at);
	take(r, PEER_SPAWN_PEDESTRIAN, "spawn_pedestrian");
	peer_spawn(&r->q, PEER_SPAWN_OBJECT, "cone", &at);
	take(r, PEER_SPAWN_OBJECT, "spawn_object");
	frame(r, 33 * MS, false);
	peer_follow(&r->q, "car_1");
	take(r, PEER_FOLLOW, "follow");
	frame(r, 66 * MS, true);
	peer_step_time(&r->q, 0.05);
	take(r, PEER_UPDATE_STEP_TIME, "step_time");
	peer_update_status(&r->q, r->version, &respawn, 1, true, true);
	take(r, PEER_UPDATE_STATUS, "respawn");
	peer_despawn(&r->q, "cone");
	take(r, PEER_DESPAWN, "despawn");
	peer_initialize(&r->q, 0.05, 0);
	take(r, PEER_INITIALIZE, "initialize_again");
}

/* ---- recording ---- */

static void record_one(struct run *r, uint32_t number, const char *name)
{
	char path[200];
	int fd;

	(void)number;
	snprintf(path, sizeof(path), CORPUS "/%06d_%02u_%s", r->version, r->count++, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || fd_write_all(fd, r->q.data, r->q.len) < 0)
		perror(path);
	close(fd);
}

static int record(void)
{
#define X(v) walk(&(struct run){ .version = v, .take = record_one });
	PEER_VERSIONS(X)
#undef X
	return 0;
}

/* ---- replaying ---- */

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int recorded(const struct dirent *e)
{
	return e->d_name[0] >= '0' && e->d_name[0] <= '9';
}

static void expect(const struct world *w, const char *name, size_t n_status)
{
	if (w->a.success != !strstr(name, "follow"))
		fail_msg("%s: %s", name, w->a.description);
	if (n_status && w->a.n != n_status)
		fail_msg("%s: %zu statuses, not %zu", name, w->a.n, n_status);
}

static void replay_one(struct world *w, const char *name)
{
	char path[400];
	char *bytes;
	size_t len;

	snprintf(path, sizeof(path), CORPUS "/%s", name);
	assert_int_equal(fd_read_file(path, 1 << 20, &bytes, &len), 0);
	(void)world_send(w, bytes, len);
	assert_int_equal(w->a.number, (uint8_t)bytes[0] >> 3); /* the tag of the envelope's member */
	expect(w, name, strstr(name, "_status") ? 3 : strstr(name, "_respawn") ? 1 : 0);
	mem_free(bytes);
}

TEST(recorded_runs_of_all_versions_are_answered)
{
	struct dirent **list;
	int n = scandir(CORPUS, &list, recorded, by_name), versions = 0;
	static struct world w;

	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		if (strstr(list[i]->d_name, "_00_initialize")) {
			versions++;
			if (i)
				world_finish(&w);
			world_init(&w);
		}
		replay_one(&w, list[i]->d_name);
		if (strstr(list[i]->d_name, "initialize_again"))
			assert_true(w.jumps == 2 && w.sets == 2 && world_scene(&w)->n_entities == 0);
		free(list[i]);
	}
	world_finish(&w);
	free(list);
	assert_int_equal(versions, 8);
}

static void replay_live(struct run *r, uint32_t number, const char *name)
{
	struct world *w = r->arg;

	(void)world_send(w, r->q.data, r->q.len);
	assert_int_equal(w->a.number, number);
	expect(w, name, 0);
	r->count++;
}

/* The files are the peer's output: neither of the two was changed alone. */
static void compare_one(struct run *r, uint32_t number, const char *name)
{
	char path[400];
	char *bytes;
	size_t len;

	snprintf(path, sizeof(path), CORPUS "/%06d_%02u_%s", r->version, r->count, name);
	assert_int_equal(fd_read_file(path, 1 << 20, &bytes, &len), 0);
	assert_int_equal(len, r->q.len);
	assert_memory_equal(bytes, r->q.data, len);
	mem_free(bytes);
	replay_live(r, number, name);
}

static void compare_all(int version)
{
	static struct world w;
	static struct run r;

	r = (struct run){ .version = version, .take = compare_one, .arg = &w };
	world_init(&w);
	walk(&r);
	world_finish(&w);
}

TEST(the_recordings_match_what_the_peer_sends)
{
#define X(v) compare_all(v);
	PEER_VERSIONS(X)
#undef X
}

static int write_the_record(void **state)
{
	(void)state;
	return getenv("RECORD") ? record() : 0;
}

TEST_GROUP(write_the_record, NULL)
