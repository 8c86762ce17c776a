/* SPDX-License-Identifier: Apache-2.0 */
/* compat.h: clients of TR-2016-06 in a world, among themselves and with others. Virtual time. Thread: the test's. */
#include "support/test.h"

#include <math.h>

#include <sim/world.h>

#include "client.h"
#include "err.h"
#include "log.h"
#include "mem.h"
#include "old_client.h"
#include "tools/world/compat.h"

#define MS     INT64_C(1000000)
#define STEP   (10 * MS)
#define N      3
#define WALL_S 1480000000 /* 2016 */

static struct world *w;
static struct compat *compat;
static struct compat_fields fields;
static int64_t now, blocks_before;
static struct {
	struct compat_client *end;
	struct old_client c;
} old[N];
static struct client host; /* of world.md */

static int64_t blocks(void)
{
	struct mem_stats m;

	mem_stats(&m);
	return m.blocks;
}

static void begin_with(const struct access *a)
{
	const struct world_options o = {
		.store = { .objects_max = 2000, .objects_each_max = 500, .section_mm = 100000, .step_dur_ns = STEP },
		.number = 1,
		.barrier = { .pace_permille = 1000 },
		.sessions_max = 200,
		.members_max = 400,
		.radius_mm = INT64_MAX,
		.grace_dur_ns = 1000 * MS,
		.ahead_dur_ns = 100 * MS,
		.access = *a,
	};

	now = 1000 * MS;
	memset(old, 0, sizeof(old));
	memset(&host, 0, sizeof(host));
	compat_fields_default(&fields);
	assert_int_equal(world_create(&o, now, &w), 0);
	assert_int_equal(compat_create(w, &fields, now, &compat), 0);
}

static int begin(void **state)
{
	(void)state;
	blocks_before = blocks();
	begin_with(&(struct access){ .n_entries = 0 });
	return 0;
}

static int end(void **state)
{
	(void)state;
	if (host.s)
		client_lose(&host, now);
	compat_destroy(compat);
	world_destroy(w);
	return blocks() != blocks_before;
}

/* Whatever there is for it is read at once. */
static void take(unsigned i)
{
	const uint8_t *data;
	size_t len;

	while (old[i].end && (len = compat_output(old[i].end, &data))) {
		old_take(&old[i].c, data, len);
		compat_sent(old[i].end, len, now);
	}
}

static void come(unsigned i)
{
	assert_int_equal(compat_open(compat, now, &old[i].end), 0);
	take(i);
	assert_true(old[i].c.numbered);
}

static void send_bytes(unsigned i, const void *data, size_t len)
{
	const uint8_t *at = data;
	uint8_t *room;

	while (len) {
		size_t n = compat_room(old[i].end, &room);

		if (!n)
			return;
		n = n < len ? n : len;
		memcpy(room, at, n);
		compat_add(old[i].end, n, now);
		at += n;
		len -= n;
		take(i);
	}
}

static void say(unsigned i, double x, double yaw, double speed)
{
	uint8_t data[1 + OLD_SIZE];
	size_t n = old_update(&old[i].c, &(struct old_vehicle){ .x = x, .y = 2, .z = 0.5, .yaw = yaw, .speed = speed },
			      data);

	send_bytes(i, data, n);
}

static void tick_of(int64_t dur_ns)
{
	now += dur_ns;
	(void)world_turn(w, now);
	(void)compat_turn(compat, now, WALL_S);
	for (unsigned i = 0; i < N; i++)
		take(i);
}

/* The next tick, which waits for no client. */
static void tick(void)
{
	struct world_info before, after;

	world_info(w, &before);
	do {
		now += MS;
		(void)world_turn(w, now);
		(void)compat_turn(compat, now, WALL_S);
		world_info(w, &after);
	} while (after.tick == before.tick);
	for (unsigned i = 0; i < N; i++)
		take(i);
	if (host.s)
		client_receive(&host, SIZE_MAX, now);
}

static void host_comes(void)
{
	client_connect(&host, w, &(struct client_options){ .role = SIM__WORLD__ROLE__CONSTRAINED, .identity = 7 }, now);
	client_receive(&host, SIZE_MAX, now);
	tick();
	assert_true(host.welcome);
}

/* The one object that the host sees. */
static const struct object_state *seen_by_host(void)
{
	assert_int_equal(client_count(&host), 1);
	for (unsigned i = 0; i < host.n_sections; i++)
		if (host.sections[i]->count)
			return &host.sections[i]->objects[0];
	return NULL;
}

static bool close_to(double a, double b)
{
	return fabs(a - b) < 2e-3;
}

TEST_WITH(two_clients_see_each_other, begin, end)
{
	const struct old_seen *s;

	come(0);
	come(1);
	assert_int_equal(old[0].c.number, 0);
	assert_int_equal(old[1].c.number, 1);
	say(0, 10, 0, 0);
	say(1, 30, 0, 0);
	tick();
	assert_int_equal(old[0].c.replies, 1);
	assert_int_equal(old[0].c.n_seen, 0); /* no client was there yet */
	say(0, 11, 0, 0);
	say(1, 31, 0, 0);
	assert_int_equal(old[0].c.n_seen, 1);
	assert_int_equal(old[1].c.n_seen, 1);
	s = old_find(&old[0].c, 1);
	assert_non_null(s);
	assert_true(close_to(s->x, 30) && close_to(s->y, 2) && close_to(s->z, 0.5) && s->timestamp == WALL_S);
	assert_non_null(old_find(&old[1].c, 0));
}

/* Turned by a quarter, the vehicle moves to +y; its wheels are where the client has put them. */
TEST_WITH(a_compat_client_is_a_vehicle_for_other_hosts, begin, end)
{
	const struct object_state *o;
	struct sim_world_vehicle v;
	struct sim_world_part parts[4];

	host_comes();
	come(0);
	say(0, 50, M_PI / 2, 8);
	tick();
	o = seen_by_host();
	assert_int_equal(o->code, SIM_WORLD_VEHICLE);
	assert_int_equal(o->motion.v[MOTION_POSITION], 50000);
	assert_true(labs(o->motion.v[MOTION_VELOCITY]) < 10);
	assert_true(o->motion.v[MOTION_VELOCITY + 1] > 7990);
	assert_int_equal(sim_world_vehicle_read(o->body->data, o->body->len, &v, parts, 4), 0);
	assert_int_equal(v.n_parts, 4);
	assert_true(close_to(parts[0].position[0], 2) && close_to(parts[0].position[1], 1));
	assert_true(close_to(parts[3].position[0], -2) && close_to(parts[3].position[1], -1));
	assert_true(close_to(parts[0].rotation[0], 1));
	assert_true(close_to(v.shape.size[0], 4 + 1.6) && close_to(v.shape.size[1], 2 + 0.25)); /* around its wheels */
	assert_true(close_to(v.shape.offset[0], 0) && v.shape.size[2] > 1);
}

TEST_WITH(a_compat_client_sees_vehicles_of_hosts_and_their_wheels, begin, end)
{
	const struct old_seen *s;
	double before;

	host_comes();
	come(0);
	come(1);
	say(1, 20, M_PI / 2, 3); /* a client with known wheels */
	client_object(&host, 0, 5, 6, now);
	tick();
	say(0, 0, 0, 0);
	assert_int_equal(old[0].c.n_seen, 2);
	s = old_find(&old[0].c, 127);
	assert_non_null(s);
	assert_true(close_to(s->x, 5) && close_to(s->y, 6) && close_to(s->wheel[0][0], 5) && s->rot[0] == 1);
	s = old_find(&old[0].c, 1);
	assert_true(close_to(s->speed, 3) && close_to(s->rot[3], sqrt(0.5)));
	assert_true(close_to(s->wheel[0][0], 19) && close_to(s->wheel[0][1], 4)); /* 2 ahead, 1 to the left */
	before = s->ch_time;
	tick();
	say(0, 0, 0, 0);
	assert_true(close_to(old_find(&old[0].c, 1)->ch_time - before, 0.01)); /* simulated time */
}

static char logged[LOG_LINE_MAX];
static unsigned lines;

static void take_line(void *user, enum log_level level, const char *topic, const char *text)
{
	(void)user, (void)level, (void)topic;
	snprintf(logged, sizeof(logged), "%s", text);
	lines++;
}

/* The client's message has four wheels: a vehicle with more or fewer is logged once. */
TEST_WITH(a_vehicle_without_four_wheels_is_named_in_the_log, begin, end)
{
	host_comes();
	come(0);
	client_object(&host, 0, 5, 6, now);
	client_object(&host, 1, 7, 6, now);
	tick();
	lines = 0;
	log_set_handler(take_line, NULL);
	for (unsigned i = 0; i < 10; i++) {
		say(0, i, 0, 0);
		tick();
	}
	log_set_handler(NULL, NULL);
	assert_int_equal(old[0].c.n_seen, 2);
	assert_int_equal(lines, 1);
	assert_non_null(strstr(logged,
			       " has 0 wheels, and the message of tr2016 four: those that it lacks are said to be "
			       "where its chassis is, and more than four are left out"));
}

TEST_WITH(a_heartbeat_comes_each_second_of_wall_time, begin, end)
{
	come(0);
	for (unsigned i = 0; i < 1999; i++)
		tick_of(MS);
	assert_int_equal(old[0].c.beats, 1);
	tick_of(MS);
	assert_int_equal(old[0].c.beats, 2);
	now += 5500 * MS; /* missed messages are not sent all at once */
	(void)compat_turn(compat, now, WALL_S);
	take(0);
	assert_int_equal(old[0].c.beats, 3);
	assert_int_equal(compat_turn(compat, now, WALL_S) - now, 500 * MS);
}

TEST_WITH(a_message_may_arrive_byte_by_byte, begin, end)
{
	uint8_t data[1 + OLD_SIZE];

	come(0);
	come(1);
	say(1, 0, 0, 0);
	tick();
	(void)old_update(&old[0].c, &(struct old_vehicle){ .x = 1 }, data);
	for (size_t i = 0; i < sizeof(data); i++) {
		assert_int_equal(old[0].c.replies, 0);
		send_bytes(0, data + i, 1);
	}
	assert_int_equal(old[0].c.replies, 1);
	assert_int_equal(old[0].c.n_seen, 1);
}

TEST_WITH(a_kept_vehicle_stays_where_it_was, begin, end)
{
	host_comes();
	come(0);
	say(0, 9, 0, 0);
	tick();
	send_bytes(0, "\4\0\0\0\0", 5);
	tick();
	assert_int_equal(old[0].c.replies, 2);
	assert_int_equal(seen_by_host()->motion.v[0], 9000);
}

TEST_WITH(a_client_cannot_move_the_vehicle_of_another, begin, end)
{
	struct compat_info info;
	uint8_t data[1 + OLD_SIZE];

	host_comes();
	come(0);
	come(1);
	say(0, 9, 0, 0);
	(void)old_update_of(0, &(struct old_vehicle){ .x = 500 }, data);
	send_bytes(1, data, sizeof(data));
	tick();
	assert_int_equal(seen_by_host()->motion.v[0], 9000);
	assert_int_equal(old[1].c.replies, 1);
	compat_info(compat, &info);
	assert_true(info.clients == 2 && info.updates == 1 && info.foreign == 1);
}

/* At the next tick, whether it said goodbye or lost its connection: if it returns, it has another number. */
TEST_WITH(a_client_that_leaves_takes_its_vehicle_along, begin, end)
{
	host_comes();
	come(0);
	come(1);
	say(0, 1, 0, 0);
	say(1, 2, 0, 0);
	tick();
	assert_int_equal(client_count(&host), 2);
	send_bytes(0, "\1", 1);
	assert_string_equal(compat_ends(old[0].end), "it has ended the session");
	compat_close(old[0].end, now);
	old[0].end = NULL;
	tick();
	assert_int_equal(client_count(&host), 1);
	compat_close(old[1].end, now);
	old[1].end = NULL;
	tick();
	assert_int_equal(client_count(&host), 0);
}

TEST_WITH(a_client_silent_for_60_s_is_removed, begin, end)
{
	host_comes();
	come(0);
	come(1);
	say(0, 1, 0, 0);
	for (unsigned i = 0; i < 59; i++) {
		tick_of(1000 * MS);
		say(1, 2, 0, 0);
	}
	tick();
	assert_null(compat_ends(old[0].end));
	assert_int_equal(client_count(&host), 2);
	tick_of(1000 * MS);
	assert_string_equal(compat_ends(old[0].end), "it has sent nothing for 60 s");
	assert_null(compat_ends(old[1].end));
	assert_true(compat_over(old[0].end, now)); /* so its connection is closed at once, and its vehicle goes */
	compat_close(old[0].end, now);
	old[0].end = NULL;
	tick();
	assert_int_equal(seen_by_host()->motion.v[MOTION_POSITION], 2000);
}

/* Of several messages in one tick the last counts. */
TEST_WITH(the_last_of_a_burst_counts, begin, end)
{
	host_comes();
	come(0);
	for (unsigned i = 1; i <= 20; i++)
		say(0, i, 0, 0);
	tick();
	assert_int_equal(seen_by_host()->motion.v[MOTION_POSITION], 20000);
}

static void ends_with(const void *data, size_t len, const char *why)
{
	come(0);
	send_bytes(0, data, len);
	if (!compat_ends(old[0].end) || !strstr(compat_ends(old[0].end), why))
		fail_msg("%s, not %s", compat_ends(old[0].end), why);
	assert_true(old[0].c.disconnected);
	compat_close(old[0].end, now);
	memset(&old[0], 0, sizeof(old[0]));
}

TEST_WITH(another_protocol_ends_the_connection_with_the_reason, begin, end)
{
	uint8_t data[1 + OLD_SIZE];
	const double wrong[] = { NAN, INFINITY, 1e300 };
	const struct old_client zero = { .number = 0 };

	ends_with("GET / HTTP/1.1\r\n", 16, "unknown code 71");
	ends_with("\0", 1, "unknown code 0");
	ends_with("\2\xff\xff", 3, "malformed VehicleMessage");
	for (unsigned i = 0; i < 3; i++) {
		struct old_client as = zero;

		as.number = (int32_t)(3 + i);
		(void)old_update(&as, &(struct old_vehicle){ .speed = wrong[i] }, data);
		ends_with(data, sizeof(data), "object ");
	}
	(void)old_update_of(6, &(struct old_vehicle){ .yaw = NAN }, data);
	ends_with(data, sizeof(data), "chassisRot is not a unit quaternion");
	(void)old_update_of(7, &(struct old_vehicle){ .x = 1e12 }, data);
	ends_with(data, sizeof(data), "range");
}

/* The server reads nothing from a client that does not read, and the data that waits for it is bounded. */
TEST_WITH(a_client_that_does_not_read_is_not_read_from, begin, end)
{
	const uint8_t *data;
	uint8_t *room, update[1 + OLD_SIZE];
	size_t n, most;

	host_comes();
	for (uint32_t i = 0; i < 126; i++)
		client_object(&host, i, i, 0, now);
	tick();
	come(0);
	tick();
	(void)old_update(&old[0].c, &(struct old_vehicle){ .x = 1 }, update);
	for (unsigned i = 0; (n = compat_room(old[0].end, &room)); i++) {
		assert_true(i < 100);
		n = n < sizeof(update) ? n : sizeof(update);
		memcpy(room, update, n);
		compat_add(old[0].end, n, now);
	}
	most = compat_output(old[0].end, &data);
	assert_true(most > 65536 && most < 65536 + 127 * (1 + OLD_SIZE) + 8);
	for (unsigned i = 0; i < 9; i++)
		(void)compat_turn(compat, now += 1000 * MS, WALL_S);
	assert_int_equal(compat_output(old[0].end, &data), most); /* no heartbeats */
	take(0);
	assert_true(old[0].c.replies > 10);
	assert_int_equal(old[0].c.n_seen, 126);
	assert_true(compat_room(old[0].end, &room) > 0);
}

TEST_WITH(a_client_that_reads_nothing_for_10_s_is_removed, begin, end)
{
	const uint8_t *data;

	come(0);
	send_bytes(0, "\4\0\0\0\0", 5);
	for (unsigned i = 0; i < 20; i++) /* heartbeats, which it reads */
		tick_of(1000 * MS);
	assert_null(compat_ends(old[0].end));
	for (unsigned i = 0; i < 11; i++) {
		assert_null(compat_ends(old[0].end));
		(void)compat_turn(compat, now += 1000 * MS, WALL_S);
	}
	assert_string_equal(compat_ends(old[0].end), "it does not read the data sent to it");
	/* the part that it would not take: 11 heartbeats and the last byte */
	assert_true(compat_over(old[0].end, now)); /* what it would not take: 11 heartbeats and the last byte */
	assert_int_equal(compat_output(old[0].end, &data), 12);
}

/* Says that its vehicle is where it was. */
static void keep(struct compat_client *cl)
{
	uint8_t *room;

	assert_true(compat_room(cl, &room) >= 5);
	memcpy(room, "\4\0\0\0\0", 5);
	compat_add(cl, 5, now);
}

TEST_WITH(connections_that_never_spoke_make_room, begin, end)
{
	static struct compat_client *all[128];
	struct compat_client *more;

	for (unsigned i = 0; i < 128; i++) {
		assert_int_equal(compat_open(compat, now, &all[i]), 0);
		if (i != 70 && i != 90)
			keep(all[i]);
	}
	for (unsigned i = 70; i <= 90; i += 20) {
		assert_int_equal(compat_open(compat, now, &more), 0);
		assert_int_equal(compat_number(more), i);
		keep(more);
		assert_non_null(strstr(compat_ends(all[i]), "it has sent nothing"));
		compat_close(all[i], now);
	}
	assert_int_equal(compat_open(compat, now, &more), -ENOSPC);
}

TEST_WITH(there_are_128_vehicle_numbers, begin, end)
{
	static struct compat_client *all[128];
	struct compat_client *more;
	struct compat_info info;

	for (unsigned i = 0; i < 128; i++) {
		assert_int_equal(compat_open(compat, now, &all[i]), 0);
		assert_int_equal(compat_number(all[i]), i);
		keep(all[i]);
	}
	assert_int_equal(compat_open(compat, now, &more), -ENOSPC);
	assert_non_null(strstr(err_why(), "128 numbers"));
	compat_close(all[5], now);
	compat_close(all[4], now);
	come(0);
	assert_int_equal(old[0].c.number, 4);
	host_comes();
	client_object(&host, 0, 1, 1, now);
	client_object(&host, 1, 2, 1, now);
	tick();
	say(0, 0, 0, 0);
	assert_int_equal(old[0].c.n_seen, 1); /* number 5 */
	compat_info(compat, &info);
	assert_int_equal(info.left_out, 1);
}

/* A number that was another vehicle's comes again as late as can be, and not while that may still be thought of. */
TEST_WITH(numbers_of_vehicles_that_left_are_reused, begin, end)
{
	host_comes();
	come(0);
	for (uint32_t i = 0; i < 300; i++) {
		Sim__World__Gone gone = SIM__WORLD__GONE__INIT;

		client_object(&host, i, 1, 1, now);
		tick();
		say(0, 0, 0, 0);
		assert_int_equal(old[0].c.n_seen, 1);
		assert_int_equal(old[0].c.seen[0].id, 127 - i % 127);
		gone.id = (uint64_t)host.connection << 40 | (uint64_t)i << 16;
		client_send(&host, 36, &gone.base, now);
		now += 100 * MS;
		tick();
	}
}

/* Where there is a list, the one entry that they all come by is "tr2016". */
TEST_WITH(the_access_list_applies_to_compat_clients, begin, end)
{
	static const struct access_entry cars = { .certificate = "car", .role = BARRIER_REGULATING, .objects = 1 };
	static const struct access_entry them = {
		.certificate = "tr2016", .role = BARRIER_CONSTRAINED, .codes = { [0] = 1u << 2 }, .objects = 1
	};
	struct compat_client *cl;

	compat_destroy(compat);
	world_destroy(w);
	begin_with(&(struct access){ .entries = &cars, .n_entries = 1 });
	assert_int_equal(compat_open(compat, now, &cl), -EACCES);
	compat_destroy(compat);
	world_destroy(w);
	begin_with(&(struct access){ .entries = &them, .n_entries = 1 });
	come(0);
	come(1);
	say(0, 1, 0, 0);
	tick();
	say(1, 2, 0, 0);
	assert_int_equal(old[1].c.n_seen, 1);
}

TEST_WITH(a_removed_client_is_notified, begin, end)
{
	come(0);
	tick();
	assert_int_equal(world_kick(w, 1, "enough"), 0);
	tick();
	assert_true(old[0].c.disconnected);
	assert_non_null(strstr(compat_ends(old[0].end), "enough"));
}
