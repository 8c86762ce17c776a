/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state left by a killed sim-ss2: an unfinished request is rolled back, however far it was; an answered one stays.
 */
#include "tests/unit/ss2/world.h"

#include <unistd.h>

#define S  INT64_C(1000000000)
#define MS INT64_C(1000000)

static const struct peer_pose ORIGIN = { .qw = 1 };

static void open_world(struct world *w, size_t more)
{
	memset(w, 0, sizeof(*w));
	mem_stats(&w->before);
	assert_int_equal(store_open(&w->store, NULL, more), 0);
	assert_int_equal(server_create(&world_ops, w, &w->store, &w->server), 0);
	peer_initialize(&w->q, 1.0 / 30, 0);
	assert_true(world_ask(w, PEER_INITIALIZE));
	server_remember(w->server, 77, 3);
	server_answered(w->server);
}

static bool spawn(struct world *w, const char *name)
{
	peer_spawn_vehicle(&w->q, name, false, &ORIGIN);
	return world_ask(w, PEER_SPAWN_VEHICLE);
}

static bool despawn(struct world *w, const char *name)
{
	peer_despawn(&w->q, name);
	return world_ask(w, PEER_DESPAWN);
}

/* The next process; its connections know of so many answers. */
static bool next(struct world *w, uint64_t answered)
{
	bool cut = store_settle(&w->store, answered);

	w->store.head->busy = 0; /* it comes again */
	server_destroy(w->server);
	assert_int_equal(server_create(&world_ops, w, &w->store, &w->server), 0);
	assert_int_equal(server_restore(w->server, 77, 3), 1);
	return cut;
}

TEST(an_interrupted_request_is_undone)
{
	struct world w;

	open_world(&w, 0);
	assert_true(spawn(&w, "first") && spawn(&w, "second") && spawn(&w, "third"));
	server_answered(w.server);
	store_begin(&w.store, 5);
	assert_true(despawn(&w, "second")); /* the others have moved up */
	assert_true(next(&w, 4));
	assert_int_equal(world_scene(&w)->n_entities, 3);
	assert_string_equal(world_scene(&w)->entity[1].name, "second");
	assert_true(despawn(&w, "second"));
	server_answered(w.server);
	assert_false(next(&w, 5));
	assert_int_equal(world_scene(&w)->n_entities, 2);
	world_finish(&w);
}

TEST(an_answered_request_is_kept)
{
	struct world w;

	open_world(&w, 0);
	assert_true(spawn(&w, "first"));
	server_answered(w.server);
	store_begin(&w.store, 5);
	assert_true(spawn(&w, "second"));
	assert_false(next(&w, 5)); /* killed before it noted that it has answered */
	assert_int_equal(world_scene(&w)->n_entities, 2);
	world_finish(&w);
}

TEST(counters_and_lights_are_restored)
{
	const struct peer_light light = { .id = 34802, .relation = { 34806 }, .n = 1, .bulb = { { 2, 0, 2, 1 } } };
	struct world w;

	open_world(&w, 0);
	peer_lights(&w.q, 250020, &light, 1);
	assert_true(world_ask(&w, PEER_UPDATE_LIGHTS));
	server_answered(w.server);
	store_begin(&w.store, 1);
	peer_lights(&w.q, 250020, &light, 0);
	assert_true(world_ask(&w, PEER_UPDATE_LIGHTS) && spawn(&w, "car"));
	assert_true(next(&w, 0));
	assert_int_equal(world_scene(&w)->n_bulbs, 1);
	assert_int_equal(world_scene(&w)->bulb[0].group, 34806);
	assert_true(spawn(&w, "car"));
	assert_int_equal(world_scene(&w)->entity[0].id, 1);
	world_finish(&w);
}

/* A client that continues on an earlier connection still owns what it owned. */
TEST(the_owner_of_the_scenario_is_kept)
{
	struct world w;

	open_world(&w, 0);
	server_peer(w.server, "1.2.3.4:5");
	peer_initialize(&w.q, 1.0 / 30, 0);
	assert_true(world_ask(&w, PEER_INITIALIZE));
	server_answered(w.server);
	assert_false(next(&w, 0));
	assert_string_equal(server_owner(w.server), "1.2.3.4:5");
	server_peer(w.server, "1.2.3.4:6");
	assert_false(spawn(&w, "car"));
	server_peer(w.server, "1.2.3.4:5");
	assert_true(spawn(&w, "car"));
	world_finish(&w);
}

/* ---- the vehicle on board, which is all that lies behind the scene ---- */

static uint64_t *vehicle(struct world *w)
{
	return w->store.more;
}

static void move(struct world *w, uint64_t to)
{
	store_move(&w->store);
	*vehicle(w) = to;
}

TEST(a_vehicle_is_restored_to_its_state_before_an_interrupted_request)
{
	struct world w;

	open_world(&w, sizeof(uint64_t));
	*vehicle(&w) = 1;
	store_begin(&w.store, 1);
	move(&w, 2);
	store_moved(&w.store); /* the request goes on */
	move(&w, 3);
	assert_true(next(&w, 0));
	assert_int_equal(*vehicle(&w), 1);
	store_begin(&w.store, 1);
	move(&w, 2);
	assert_false(next(&w, 1));
	assert_int_equal(*vehicle(&w), 2);
	store_begin(&w.store, 2); /* that does not move it */
	assert_true(next(&w, 1));
	assert_int_equal(*vehicle(&w), 2);
	world_finish(&w);
}

TEST(an_interrupted_sensor_turn_is_due_again)
{
	struct world w;

	open_world(&w, sizeof(uint64_t));
	*vehicle(&w) = 1;
	w.store.head->turn = STORE_TURN_DUE;
	move(&w, 2);
	assert_false(next(&w, 0));
	assert_int_equal(*vehicle(&w), 1);
	assert_int_equal(w.store.head->turn, STORE_TURN_DUE);
	move(&w, 2);
	store_moved(&w.store);
	assert_false(next(&w, 0));
	assert_int_equal(*vehicle(&w), 2);
	assert_int_equal(w.store.head->turn, STORE_TURN_MOVED); /* it is to be shown */
	world_finish(&w);
}

/* A restore is finished by the next process, if this one is killed meanwhile. */
TEST(an_interrupted_restore_is_repeated_by_the_next_process)
{
	char path[TEST_PATH_MAX];
	struct store s;

	assert_ok(store_open(&s, test_path(path, "scene"), 8));
	s.head->last_id = 7;
	store_begin(&s, 3);
	s.head->last_id = 8;
	store_close(&s);
	assert_ok(store_open(&s, path, 8));
	assert_true(store_settle(&s, 2));
	assert_int_equal(s.head->last_id, 7);
	assert_false(store_settle(&s, 2));
	s.head->request = 4;
	s.copy->n_entities = SCENE_ENTITIES_MAX + 1;
	store_close(&s);
	assert_ok(store_open(&s, path, 8));
	assert_int_equal(s.head->last_id, 0); /* a copy that does not hold: nothing does */
	store_close(&s);
	assert_int_equal(unlink(path), 0);
}
