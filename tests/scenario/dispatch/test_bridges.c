/* SPDX-License-Identifier: Apache-2.0 */
/* Bridges: isolation, deadlines, deaths, violations of the protocol. */
#include "scenario/dispatch/bridges.h"

#include <errno.h>
#include <sys/socket.h>

/* ---- several bridges ---- */

TEST(a_message_succeeds_only_if_all_bridges_succeed)
{
	make(8, false, 2, 0, 0);
	publish(2);
	assert_int_equal(bridge_read(a), 2);
	assert_int_equal(bridge_read(b), 2);
	bridge_answer_all(a, 0, 1);
	world_settle(&w);
	assert_int_equal(client_read(c), 0);
	assert_int_equal(world_credits_claimed(&w, 0), 2);
	bridge_answer(b, 1, -EIO);
	bridge_answer(b, 0, 0);
	world_settle(&w);
	client_expect(c, p, 1, SIM_REASON_NONE);
	client_expect(c, p, 2, SIM_REASON_FAILED);
	world_destroy(&w);
}

/* The slow bridge answers nothing at all; the fast one gets every message as soon as it is published. */
TEST(a_slow_bridge_delays_no_other)
{
	static const uint32_t windows[] = { 2, 3, 4, 8, 64 };

	for (unsigned i = 0; i < 5; i++) {
		make(windows[i], false, 2, 0, 0);
		for (uint64_t n = 1; n <= 200; n++) {
			publish(1);
			assert_int_equal(bridge_read(b), 1);
			assert_int_equal(b->held[0].sequence, n);
			bridge_answer(b, 0, 0);
			world_settle(&w);
		}
		client_read(c);
		client_expect(c, p, 200, SIM_REASON_BRIDGE_SLOW);
		world_stats(&w);
		assert_int_equal(w.stats.n_slow, 1);
		assert_int_equal(w.slow_stats[0].bridge_id, 0);
		assert_int_equal(w.slow_stats[0].messages, w.bridge_stats[0].dropped);
		assert_int_equal(w.channel_stats[0].failed[SIM_REASON_BRIDGE_SLOW], w.bridge_stats[0].dropped);
		assert_int_equal(w.bridge_stats[1].sent, 200);
		assert_int_equal(w.bridge_stats[0].dropped + w.bridge_stats[0].queued + w.bridge_stats[0].held, 200);
		world_destroy(&w);
	}
}

static unsigned n_told;

static void count_told(void *user, enum log_level level, const char *topic, const char *text)
{
	(void)user;
	(void)topic;
	n_told += level == LOG_LEVEL_WARN && strstr(text, "bridge-slow") && strstr(text, "/test/ch0") &&
		  strstr(text, "bridge0");
}

/* Missed messages are reported, but do not fill the log. */
TEST(a_slow_bridge_is_named_once)
{
	n_told = 0;
	log_set_spec("warn");
	log_set_handler(count_told, NULL);
	make(4, false, 2, 0, 0);
	for (uint64_t n = 1; n <= 50; n++) {
		publish(1);
		bridge_read(b);
		bridge_answer(b, 0, 0);
		world_settle(&w);
	}
	log_set_handler(NULL, NULL);
	log_set_spec("error");
	assert_int_equal(n_told, 1);
	world_destroy(&w);
}

/* Bridges of the same speed may use the whole window: none loses a message for being a moment behind. */
TEST(equal_bridges_share_the_window)
{
	make(8, false, 2, 0, 0);
	for (unsigned round = 0; round < 20; round++) {
		publish(8);
		assert_int_equal(bridge_read(a), 8);
		assert_int_equal(bridge_read(b), 8);
		bridge_answer_all(a, 0, 1);
		bridge_answer_all(b, 0, 1);
		world_settle(&w);
	}
	for (uint64_t n = 1; n <= 160; n++)
		client_expect(c, p, n, SIM_REASON_NONE);
	world_destroy(&w);
}

TEST(messages_for_a_full_bridge_queue_complete_as_busy)
{
	make(64, false, 1, 5, 0);
	publish(7);
	client_expect(c, p, 6, SIM_REASON_BRIDGE_BUSY);
	client_expect(c, p, 7, SIM_REASON_BRIDGE_BUSY);
	assert_int_equal(c->n_done, 2);
	assert_int_equal(bridge_read(a), 5);
	bridge_answer_all(a, 0, 1);
	world_settle(&w);
	publish(1);
	assert_int_equal(bridge_read(a), 1);
	world_destroy(&w);
}

/* ---- deadlines ---- */

TEST(slot_and_token_stay_in_use_past_the_deadline)
{
	make(4, false, 1, 0, 0);
	assert_int_equal(client_try(c, p, 9), 0);
	world_settle(&w);
	assert_int_equal(bridge_read(a), 1);
	world_run(&w, 999 * MS);
	assert_int_equal(client_read(c), 0);
	world_run(&w, 2 * MS);
	client_expect(c, p, 1, SIM_REASON_DEADLINE);
	assert_true(world_token_claimed(&w, 9));
	assert_int_equal(world_credits_claimed(&w, 0), 1);
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots + 1);
	assert_int_equal(client_try(c, p, 9), -EBUSY);
	bridge_answer(a, 0, 0);
	world_settle(&w);
	assert_false(world_token_claimed(&w, 9));
	assert_int_equal(world_credits_claimed(&w, 0), 0);
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots);
	client_expect(c, p, 1, SIM_REASON_DEADLINE); /* still exactly one */
	world_destroy(&w);
}

TEST(a_late_slot_comes_back_when_its_bridge_ends)
{
	make(4, false, 1, 0, 0);
	assert_int_equal(client_try(c, p, 9), 0);
	world_run(&w, 1100 * MS);
	client_expect(c, p, 1, SIM_REASON_DEADLINE);
	assert_int_equal(w.n_stuck, 0);
	world_run(&w, 4500 * MS);
	assert_int_equal(w.n_stuck, 0);
	world_run(&w, 3 * S);
	assert_in_range(w.n_stuck, 2, 4); /* about once a second */
	bridge_closes(a);                 /* a closed socket does not prove that the process has ended */
	world_run(&w, 100 * MS);
	assert_int_equal(w.n_broken, 1);
	assert_int_equal(w.status[0], SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED);
	assert_true(world_token_claimed(&w, 9));
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots + 1);
	bridge_dies(a);
	world_settle(&w);
	assert_false(world_token_claimed(&w, 9));
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots);
	assert_int_equal(c->n_done, 1);
	world_destroy(&w);
}

TEST(queued_messages_expire_without_being_held)
{
	make(64, false, 1, 0, 0);
	publish(20); /* 8 go out, 12 stay queued */
	world_run(&w, 500 * MS);
	publish(1);
	world_run(&w, 510 * MS);
	assert_int_equal(client_read(c), 20);
	assert_int_equal(world_credits_claimed(&w, 0), 9);
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots + 9);
	world_run(&w, 500 * MS);
	assert_int_equal(client_read(c), 1);
	bridge_read(a);
	bridge_answer_all(a, 0, 1);
	world_settle(&w);
	world_stats(&w);
	assert_int_equal(w.bridge_stats[0].failed, 8);
	assert_int_equal(w.bridge_stats[0].dropped, 13);
	assert_int_equal(w.bridge_stats[0].sent, 0);
	world_destroy(&w);
}

/* ---- deaths ---- */

TEST(a_dead_bridge_answers_died)
{
	make(64, false, 2, 0, 0);
	publish(20);
	bridge_read(b);
	bridge_answer_all(b, 0, 1);
	world_settle(&w);
	bridge_read(b);
	bridge_answer_all(b, 0, 1);
	bridge_dies(a);
	world_settle(&w);
	assert_int_equal(client_read(c), 20);
	for (uint64_t n = 1; n <= 20; n++)
		client_expect(c, p, n, SIM_REASON_BRIDGE_DIED);
	assert_int_equal(ipc_mem_slots_used(w.bus), w.base_slots);
	a = bridge_attach(&w, 0);
	publish(1);
	assert_int_equal(bridge_read(a), 1);
	bridge_answer(a, 0, 0);
	bridge_read(b);
	bridge_answer(b, 0, 0);
	world_settle(&w);
	client_expect(c, p, 21, SIM_REASON_NONE);
	world_stats(&w);
	assert_int_equal(w.bridge_stats[0].restarts, 1);
	world_destroy(&w);
}

/* The last status text of a bridge that gives up can be read until the next bridge attaches; a crash removes it. */
TEST(the_last_status_text_of_a_bridge_stays_until_the_next_attaches)
{
	make(4, false, 1, 0, 0);
	publish(1); /* unread: its socket is reset, not just closed */
	bridge_status(a, SIM_BRIDGE_DISCONNECTED);
	bridge_closes(a);
	world_settle(&w);
	bridge_dies(a);
	world_settle(&w);
	assert_int_equal(w.status[0], SIM_BRIDGE_DISCONNECTED);
	assert_string_equal(w.detail[0], "fine");
	a = bridge_attach_quiet(&w, 0);
	assert_string_equal(w.detail[0], "");
	bridge_status(a, SIM_BRIDGE_CONNECTED);
	world_settle(&w);
	assert_string_equal(w.detail[0], "fine");
	bridge_dies(a);
	world_settle(&w);
	assert_int_equal(w.status[0], SIM_BRIDGE_DISCONNECTED);
	assert_string_equal(w.detail[0], "");
	world_destroy(&w);
}

TEST(an_answer_in_the_socket_of_a_dead_bridge_counts)
{
	make(4, false, 1, 0, 0);
	publish(1);
	bridge_read(a);
	bridge_answer(a, 0, 0);
	bridge_closes(a); /* DONE was sent before */
	world_settle(&w);
	client_expect(c, p, 1, SIM_REASON_NONE);
	bridge_dies(a);
	world_destroy(&w);
}

TEST(losing_the_connection_fails_queued_messages)
{
	make(64, false, 1, 0, 0);
	publish(20);
	bridge_read(a);
	bridge_status(a, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED);
	world_settle(&w);
	assert_int_equal(client_read(c), 12);
	client_expect(c, p, 20, SIM_REASON_DISCONNECTED);
	bridge_answer_all(a, -EPIPE, 1);
	world_settle(&w);
	client_expect(c, p, 1, SIM_REASON_FAILED);
	bridge_status(a, SIM_BRIDGE_CONNECTED);
	world_settle(&w);
	publish(1);
	assert_int_equal(bridge_read(a), 1);
	world_destroy(&w);
}

TEST(the_connection_string_is_kept)
{
	make(4, false, 1, 0, 0);
	assert_int_equal(dispatch_bridge_connect(w.d, 0, "host:1234", true), 0);
	world_settle(&w);
	bridge_read(a);
	assert_string_equal(a->connection, "host:1234");
	bridge_dies(a);
	world_settle(&w);
	a = bridge_attach(&w, 0);
	bridge_read(a);
	assert_int_equal(a->connects, 1);
	assert_string_equal(a->connection, "host:1234");
	assert_int_equal(dispatch_bridge_connect(w.d, 0, NULL, true), 0);
	world_settle(&w);
	bridge_read(a);
	assert_string_equal(a->connection, "");
	world_destroy(&w);
}

/* ---- bridges that break the protocol ---- */

static uint64_t violations(uint32_t bridge)
{
	world_stats(&w);
	return w.bridge_stats[bridge].violations;
}

TEST(answering_twice_is_detected)
{
	uint64_t d;

	make(8, false, 1, 0, 0);
	publish(2);
	bridge_read(a);
	d = a->held[0].delivery;
	bridge_send_done(a, 0, d, 0);
	bridge_send_done(a, 0, d, -EIO);
	world_settle(&w);
	client_expect(c, p, 1, SIM_REASON_NONE);
	assert_int_equal(violations(0), 1);
	publish(1); /* its place is used again: the old number must not hit it */
	bridge_send_done(a, 0, d, -EIO);
	world_settle(&w);
	assert_int_equal(client_read(c), 0);
	assert_int_equal(violations(0), 2);
	bridge_read(a);
	assert_int_equal(a->n_held, 3);
	bridge_answer(a, 1, 0);
	bridge_answer(a, 1, 0);
	world_settle(&w);
	client_expect(c, p, 2, SIM_REASON_NONE);
	client_expect(c, p, 3, SIM_REASON_NONE);
	world_destroy(&w);
}

TEST(answering_for_another_bridge_is_detected)
{
	make(8, false, 2, 0, 0);
	publish(1);
	bridge_read(a);
	bridge_read(b);
	bridge_send_done(a, 0, b->held[0].delivery, 0);
	bridge_send_done(a, 0, UINT64_MAX, 0);
	bridge_send_done(a, 0, 0, 0);
	world_settle(&w);
	assert_int_equal(client_read(c), 0);
	assert_int_equal(violations(0), 3);
	assert_int_equal(violations(1), 0);
	bridge_answer(a, 0, 0);
	bridge_answer(b, 0, 0);
	world_settle(&w);
	client_expect(c, p, 1, SIM_REASON_NONE);
	world_destroy(&w);
}

struct bad_packet {
	struct lane_head head;
	unsigned char body[96];
	size_t len; /* 0: as in the head */
};

static const struct bad_packet bad_packets[] = {
	{ .head = { LANE_DONE, 1, 16 }, .len = 3 },
	{ .head = { LANE_DONE, 1, 16 }, .len = sizeof(struct lane_head) },
	{ .head = { LANE_DONE, 2, 16 } },
	{ .head = { LANE_DONE, 0, 0 } },
	{ .head = { LANE_DONE, 65, 16 } },
	{ .head = { LANE_DONE, 1, UINT32_MAX }, .len = 24 },
	{ .head = { LANE_STATUS, 1, 8 } },
	{ .head = { LANE_STATUS, 1, 40 }, .body = { 99 } },
	{ .head = { LANE_DELIVER, 1, 32 } },
	{ .head = { LANE_COMPLETE, 1, 16 } },
	{ .head = { 0, 0, 0 } },
	{ .head = { 0xffff, 0xffff, 64 } },
};

TEST(a_malformed_packet_closes_the_lane)
{
	for (unsigned i = 0; i < sizeof(bad_packets) / sizeof(bad_packets[0]); i++) {
		const struct bad_packet *bad = &bad_packets[i];

		make(8, false, 2, 0, 0);
		publish(1);
		bridge_read(a);
		bridge_read(b);
		bridge_send_raw(a, 0, bad, bad->len ? bad->len : sizeof(bad->head) + bad->head.length);
		world_settle(&w);
		assert_int_equal(w.n_broken, 1);
		assert_int_equal(violations(0), 1);
		bridge_answer(b, 0, 0);
		world_settle(&w);
		assert_int_equal(client_read(c), 0); /* a may still be reading the slot */
		bridge_dies(a);
		world_settle(&w);
		client_expect(c, p, 1, SIM_REASON_BRIDGE_DIED);
		world_destroy(&w);
	}
}

TEST(an_endless_packet_closes_the_lane)
{
	static unsigned char much[100000];

	make(8, false, 1, 0, 0);
	bridge_send_raw(a, 0, much, sizeof(much));
	world_settle(&w);
	assert_int_equal(w.n_broken, 1);
	world_destroy(&w);
}

/* Valid packets without end: bounded events, and others still get their turn. */
TEST(a_flood_of_status_is_contained)
{
	unsigned before;

	make(8, false, 2, 0, 0);
	before = w.n_status;
	for (unsigned i = 0; i < 200; i++) {
		bridge_status(a, i & 1 ? SIM_BRIDGE_CONNECTED : SIM_BRIDGE_CONNECTING);
		world_settle(&w);
	}
	assert_true(w.n_status - before <= 20);
	bridge_status(a, SIM_BRIDGE_CONNECTING);
	world_run(&w, 2 * S);
	assert_int_equal(w.status[0], SIM_BRIDGE_CONNECTING); /* the last one is reported in the end */
	world_destroy(&w);
}

TEST(a_second_process_is_refused)
{
	struct test_bridge copy;

	make(8, false, 1, 0, 0);
	copy = *a;
	a->alive = false;
	bridge_attach_quiet(&w, 0);
	assert_int_equal(send(a->lanes[0], "x", 1, MSG_NOSIGNAL), -1);
	bridge_closes(a);
	*a = copy;
	publish(1);
	assert_int_equal(bridge_read(a), 1);
	bridge_answer(a, 0, 0);
	world_settle(&w);
	client_expect(c, p, 1, SIM_REASON_NONE);
	world_destroy(&w);
}

TEST_GROUP(prepare, NULL)
