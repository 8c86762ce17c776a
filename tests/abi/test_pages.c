/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other processes, other compilers and plug-ins built long ago rely on, pinned: sizes and offsets of the slot, the
 * pages, the packets and the ABI of bridges and converters, and the numbers that cross. A line here changes only together with
 * the version beside the struct (SIM_SLOT_VERSION, SIM_CLOCK_PAGE_ABI, WIRE_ABI, SIM_BRIDGE_ABI).
 */
#include "support/test.h"

#include <sim/bridge.h>
#include <sim/lane.h>
#include <sim/clock_page.h>
#include <sim/sim.h>
#include <sim/slot.h>
#include <sim/source.h>
#include "wire/driver.h"
#include "wire/lane.h"
#include "wire/pages.h"
#include "wire/step.h"

#define SIZE(s, n)       assert_int_equal(sizeof(s), n)
#define AT(s, member, n) assert_int_equal(offsetof(s, member), n)

TEST(slot_and_clock_page_are_pinned)
{
	SIZE(struct sim_slot, 128);
	AT(struct sim_slot, magic, 0);
	AT(struct sim_slot, version, 4);
	AT(struct sim_slot, flags, 6);
	AT(struct sim_slot, type_hash, 8);
	AT(struct sim_slot, channel_id, 16);
	AT(struct sim_slot, publisher_id, 20);
	AT(struct sim_slot, sequence, 24);
	AT(struct sim_slot, stamp_sim_ns, 32);
	AT(struct sim_slot, publish_mono_ns, 40);
	AT(struct sim_slot, iox_generation, 48);
	AT(struct sim_slot, clock_generation, 52);
	AT(struct sim_slot, body_size, 56);
	AT(struct sim_slot, token_cell, 64);
	AT(struct sim_slot, credit_cell, 68);
	AT(struct sim_slot, origin_host, 72);
	AT(struct sim_slot, origin_sequence, 80);
	AT(struct sim_slot, frame_id, 88);
	SIZE(struct sim_message, 144);
	AT(struct sim_message, body, 128);
	AT(struct sim_message, body_size, 136);

	SIZE(struct sim_clock_page, 96);
	AT(struct sim_clock_page, seq, 0);
	AT(struct sim_clock_page, abi, 4);
	AT(struct sim_clock_page, magic, 8);
	AT(struct sim_clock_page, flags, 12);
	AT(struct sim_clock_page, sim_ns, 16);
	AT(struct sim_clock_page, mono_ns, 24);
	AT(struct sim_clock_page, rate_e6, 32);
	AT(struct sim_clock_page, clock_generation, 40);
	AT(struct sim_clock_page, source, 44);
	AT(struct sim_clock_page, scale_e6, 48);
	AT(struct sim_clock_page, step, 56);
	AT(struct sim_clock_page, futex, 60);
	AT(struct sim_clock_page, simd_id, 64);
	AT(struct sim_clock_page, jump_old_sim_ns, 72);
	AT(struct sim_clock_page, jump_new_sim_ns, 80);
	AT(struct sim_clock_page, pause_mono_ns, 88);
	SIZE(struct sim_clock_piece, 32);
	AT(struct sim_clock_piece, mono_ns, 0);
	AT(struct sim_clock_piece, sim_ns, 8);
	AT(struct sim_clock_piece, rate_e6, 16);
	AT(struct sim_clock_piece, clock_generation, 24);
	AT(struct sim_clock_piece, flags, 28);
	SIZE(struct sim_clock_history, 64 + 32768 * 32);
	AT(struct sim_clock_history, written, 0);
	AT(struct sim_clock_history, piece, 64);
}

TEST(the_layout_page_is_pinned)
{
	SIZE(struct wire_array, 16);
	AT(struct wire_array, offset, 0);
	AT(struct wire_array, stride, 4);
	AT(struct wire_array, count, 8);

	SIZE(struct wire_shard, 256);
	AT(struct wire_shard, awake, 0);
	AT(struct wire_shard, turns, 8);

	SIZE(struct wire_channel_info, 64);
	AT(struct wire_channel_info, window, 0);
	AT(struct wire_channel_info, shard, 4);
	AT(struct wire_channel_info, bridges, 8);
	AT(struct wire_channel_info, freed, 12);
	AT(struct wire_channel_info, deferred, 16);
	AT(struct wire_channel_info, waited, 20);
	AT(struct wire_channel_info, subscribers, 24);
	AT(struct wire_channel_info, reserved, 28);

	SIZE(struct wire_layout_page, 82240);
	AT(struct wire_layout_page, abi, 0);
	AT(struct wire_layout_page, size, 4);
	AT(struct wire_layout_page, dispatch_size, 8);
	AT(struct wire_layout_page, counter_size, 12);
	AT(struct wire_layout_page, wait_ms, 16);
	AT(struct wire_layout_page, bridges_seq, 20);
	AT(struct wire_layout_page, reserved0, 24);
	AT(struct wire_layout_page, shards, 64);
	AT(struct wire_layout_page, infos, 80);
	AT(struct wire_layout_page, channels, 96);
	AT(struct wire_layout_page, tokens, 112);
	AT(struct wire_layout_page, rows, 128);
	AT(struct wire_layout_page, rung, 144);
	AT(struct wire_layout_page, steppers, 160);
	AT(struct wire_layout_page, turns, 176);
	AT(struct wire_layout_page, grants, 192);
	AT(struct wire_layout_page, reserved, 208);
	AT(struct wire_layout_page, shard, 256);
	AT(struct wire_layout_page, info, 16640);
	AT(struct wire_layout_page, turn, 82176);

	SIZE(struct wire_turn, 64);
	AT(struct wire_turn, seq, 0);
	AT(struct wire_turn, clock_generation, 4);
	AT(struct wire_turn, number, 8);
	AT(struct wire_turn, sim_ns, 16);
	AT(struct wire_turn, dur_ns, 24);
	AT(struct wire_turn, with, 32);
	AT(struct wire_turn, scale_e6, 40);
	AT(struct wire_turn, flags, 48);
}

TEST(the_dispatch_page_is_pinned)
{
	SIZE(struct wire_channel, 1088);
	AT(struct wire_channel, waiters, 0);
	AT(struct wire_channel, hint, 4);
	AT(struct wire_channel, reserved, 8);
	AT(struct wire_channel, cell, 64);

	SIZE(struct wire_rung, 128);
	AT(struct wire_rung, word, 0);

	SIZE(struct wire_stepper, 16);
	AT(struct wire_stepper, done, 0);
	AT(struct wire_stepper, kept, 8);

	SIZE(struct wire_grant, 128);
	AT(struct wire_grant, moved, 0);
	AT(struct wire_grant, number, 8);

	SIZE(struct wire_dispatch_page, 1156352);
	AT(struct wire_dispatch_page, token, 64);
	AT(struct wire_dispatch_page, channel, 32832);
	AT(struct wire_dispatch_page, reserved1, 1146944);
	AT(struct wire_dispatch_page, rung, 1147008);
	AT(struct wire_dispatch_page, stepper, 1155200);
	AT(struct wire_dispatch_page, grant, 1156224);
}

TEST(the_counter_page_is_pinned)
{
	SIZE(struct wire_counters, 384);
	AT(struct wire_counters, publisher_id, 0);
	AT(struct wire_counters, messages, 8);
	AT(struct wire_counters, bytes, 16);
	AT(struct wire_counters, last_mono_ns, 24);
	AT(struct wire_counters, last_stamp_sim_ns, 32);
	AT(struct wire_counters, accepted, 40);
	AT(struct wire_counters, wait_ns, 48);
	AT(struct wire_counters, sequence, 56);
	AT(struct wire_counters, dropped, 64);
	AT(struct wire_counters, origin, 320);

	SIZE(struct wire_counter_page, 196672);
	AT(struct wire_counter_page, abi, 0);
	AT(struct wire_counter_page, size, 4);
	AT(struct wire_counter_page, client_id, 8);
	AT(struct wire_counter_page, reserved, 12);
	AT(struct wire_counter_page, row, 64);
}

TEST(packets_are_pinned)
{
	SIZE(struct lane_head, 8);
	AT(struct lane_head, op, 0);
	AT(struct lane_head, count, 2);
	AT(struct lane_head, length, 4);

	SIZE(struct lane_deliver, 32);
	AT(struct lane_deliver, delivery, 0);
	AT(struct lane_deliver, ref, 8);
	AT(struct lane_deliver, size, 16);
	AT(struct lane_deliver, channel_id, 24);
	AT(struct lane_deliver, iox_generation, 28);

	SIZE(struct lane_ticket, 16);
	AT(struct lane_ticket, ticket, 0);
	AT(struct lane_ticket, predecessor, 8);

	SIZE(struct lane_done, 16);
	AT(struct lane_done, delivery, 0);
	AT(struct lane_done, result, 8);
	AT(struct lane_done, service_us, 12);

	SIZE(struct lane_carries, 16);
	AT(struct lane_carries, channel_id, 0);
	AT(struct lane_carries, result, 4);
	AT(struct lane_carries, name_len, 8);

	SIZE(struct lane_status, 40);
	AT(struct lane_status, status, 0);
	AT(struct lane_status, flags, 4);
	AT(struct lane_status, sent, 8);
	AT(struct lane_status, failed, 16);
	AT(struct lane_status, dropped, 24);
	AT(struct lane_status, bytes, 32);

	SIZE(struct lane_complete, 16);
	AT(struct lane_complete, sequence, 0);
	AT(struct lane_complete, publisher_id, 8);
	AT(struct lane_complete, reason, 12);

	SIZE(struct step_packet, 56);
	AT(struct step_packet, op, 0);
	AT(struct step_packet, flags, 4);
	AT(struct step_packet, number, 8);
	AT(struct step_packet, sim_ns, 16);
	AT(struct step_packet, dur_ns, 24);
	AT(struct step_packet, kept, 32);
	AT(struct step_packet, clock_generation, 36);
	AT(struct step_packet, with, 40);
	AT(struct step_packet, stepper, 48);
	AT(struct step_packet, turn_seq, 52);
	assert_int_equal(STEP_TURN, 1);
	assert_int_equal(STEP_DONE, 2);
	assert_int_equal(STEP_RELEASE, 3);
	assert_int_equal(STEP_RELEASED, 4);
	assert_int_equal(STEP_DROPPED, 5);
	assert_int_equal(STEP_PAGE, 6);
	assert_int_equal(STEP_PACKETS, 7);
	assert_int_equal(STEP_SHARED, 1);
	assert_int_equal(STEP_ON_PAGE, 2);
	SIZE(struct driver_packet, 48);
	AT(struct driver_packet, op, 0);
	AT(struct driver_packet, result, 4);
	AT(struct driver_packet, dur_ns, 8);
	AT(struct driver_packet, sim_ns, 16);
	AT(struct driver_packet, scale_e6, 24);
	AT(struct driver_packet, number, 32);
	AT(struct driver_packet, flags, 40);
	SIZE(struct driver_follow_packet, 56);
	AT(struct driver_follow_packet, op, 0);
	AT(struct driver_follow_packet, flags, 4);
	AT(struct driver_follow_packet, sim_ns, 8);
	AT(struct driver_follow_packet, mono_ns, 16);
	AT(struct driver_follow_packet, rate_e6, 24);
	AT(struct driver_follow_packet, scale_e6, 32);
	AT(struct driver_follow_packet, error_dur_ns, 40);
	AT(struct driver_follow_packet, number, 48);
}

TEST(the_bridge_abi_is_pinned)
{
	/* pointers: 64-bit hosts */
	SIZE(void *, 8);
	SIZE(struct sim_bridge_channel, 32);
	AT(struct sim_bridge_channel, id, 0);
	AT(struct sim_bridge_channel, name, 8);
	AT(struct sim_bridge_channel, type, 16);
	AT(struct sim_bridge_channel, options, 24);

	SIZE(struct sim_bridge_option, 24);
	AT(struct sim_bridge_option, name, 0);
	AT(struct sim_bridge_option, deflt, 8);
	AT(struct sim_bridge_option, help, 16);

	SIZE(struct sim_bridge_host, 248);
	AT(struct sim_bridge_host, abi, 0);
	AT(struct sim_bridge_host, size, 4);
	AT(struct sim_bridge_host, ctx, 8);
	AT(struct sim_bridge_host, log, 16);
	AT(struct sim_bridge_host, option, 24);
	AT(struct sim_bridge_host, status, 32);
	AT(struct sim_bridge_host, complete, 40);
	AT(struct sim_bridge_host, now, 48);
	AT(struct sim_bridge_host, publish, 56);
	AT(struct sim_bridge_host, offer, 64);
	AT(struct sim_bridge_host, call, 72);
	AT(struct sim_bridge_host, converter, 80);
	AT(struct sim_bridge_host, drive, 88);
	AT(struct sim_bridge_host, simd_id, 96);
	AT(struct sim_bridge_host, carries, 104);
	AT(struct sim_bridge_host, other_clocks, 112);
	AT(struct sim_bridge_host, in_order, 120);
	AT(struct sim_bridge_host, serve, 128);
	AT(struct sim_bridge_host, answer, 136);
	AT(struct sim_bridge_host, remark, 144);
	AT(struct sim_bridge_host, offer_large, 152);
	AT(struct sim_bridge_host, loan, 160);
	AT(struct sim_bridge_host, publish_loan, 168);
	AT(struct sim_bridge_host, unloan, 176);
	AT(struct sim_bridge_host, bridge, 184);
	AT(struct sim_bridge_host, socket, 192);
	AT(struct sim_bridge_host, offer_from, 200);
	AT(struct sim_bridge_host, publish_from, 208);
	AT(struct sim_bridge_host, withdraw, 216);
	AT(struct sim_bridge_host, max_body, 224);
	AT(struct sim_bridge_host, clock_at, 232);
	AT(struct sim_bridge_host, brings, 240);

	SIZE(struct sim_bridge_ops, 144);
	AT(struct sim_bridge_ops, abi, 0);
	AT(struct sim_bridge_ops, size, 4);
	AT(struct sim_bridge_ops, name, 8);
	AT(struct sim_bridge_ops, type, 16);
	AT(struct sim_bridge_ops, options, 24);
	AT(struct sim_bridge_ops, reg, 32);
	AT(struct sim_bridge_ops, create, 40);
	AT(struct sim_bridge_ops, connect, 48);
	AT(struct sim_bridge_ops, disconnect, 56);
	AT(struct sim_bridge_ops, status, 64);
	AT(struct sim_bridge_ops, open, 72);
	AT(struct sim_bridge_ops, close, 80);
	AT(struct sim_bridge_ops, publish, 88);
	AT(struct sim_bridge_ops, destroy, 96);
	AT(struct sim_bridge_ops, flush, 104);
	AT(struct sim_bridge_ops, listen, 112);
	AT(struct sim_bridge_ops, service, 120);
	AT(struct sim_bridge_ops, flags, 128);
	AT(struct sim_bridge_ops, check, 136);

	SIZE(struct sim_bridge_registry, 40);
	AT(struct sim_bridge_registry, abi, 0);
	AT(struct sim_bridge_registry, size, 4);
	AT(struct sim_bridge_registry, ctx, 8);
	AT(struct sim_bridge_registry, add_publisher, 16);
	AT(struct sim_bridge_registry, add_subscriber, 24);
	AT(struct sim_bridge_registry, add_service, 32);
}

TEST(the_converter_abi_is_pinned)
{
	SIZE(struct sim_enc_header, 24);
	AT(struct sim_enc_header, stamp_sim_ns, 0);
	AT(struct sim_enc_header, seq, 8);
	AT(struct sim_enc_header, frame, 16);

	SIZE(struct sim_enc, 16);
	AT(struct sim_enc, ops, 0);
	AT(struct sim_enc, err, 8);

	SIZE(struct sim_enc_ops, 88);
	AT(struct sim_enc_ops, abi, 0);
	AT(struct sim_enc_ops, size, 4);
	AT(struct sim_enc_ops, value, 8);
	AT(struct sim_enc_ops, string, 16);
	AT(struct sim_enc_ops, time, 24);
	AT(struct sim_enc_ops, array, 32);
	AT(struct sim_enc_ops, room, 40);
	AT(struct sim_enc_ops, begin, 48);
	AT(struct sim_enc_ops, end, 56);
	AT(struct sim_enc_ops, list, 64);
	AT(struct sim_enc_ops, list_end, 72);
	AT(struct sim_enc_ops, header, 80);

	SIZE(struct sim_dec, 16);
	AT(struct sim_dec, ops, 0);
	AT(struct sim_dec, err, 8);

	SIZE(struct sim_dec_ops, 88);
	AT(struct sim_dec_ops, abi, 0);
	AT(struct sim_dec_ops, size, 4);
	AT(struct sim_dec_ops, value, 8);
	AT(struct sim_dec_ops, string, 16);
	AT(struct sim_dec_ops, time, 24);
	AT(struct sim_dec_ops, array, 32);
	AT(struct sim_dec_ops, begin, 40);
	AT(struct sim_dec_ops, end, 48);
	AT(struct sim_dec_ops, list, 56);
	AT(struct sim_dec_ops, list_end, 64);
	AT(struct sim_dec_ops, header, 72);
	AT(struct sim_dec_ops, has, 80);

	SIZE(struct sim_converter_in, 40);
	AT(struct sim_converter_in, size, 0);
	AT(struct sim_converter_in, body_size, 4);
	AT(struct sim_converter_in, body, 8);
	AT(struct sim_converter_in, header, 16);

	SIZE(struct sim_converter, 48);
	AT(struct sim_converter, size, 0);
	AT(struct sim_converter, reserved, 4);
	AT(struct sim_converter, type, 8);
	AT(struct sim_converter, foreign, 16);
	AT(struct sim_converter, definition, 24);
	AT(struct sim_converter, emit, 32);
	AT(struct sim_converter, read, 40);

	SIZE(struct sim_converter_plugin, 24);
	AT(struct sim_converter_plugin, abi, 0);
	AT(struct sim_converter_plugin, size, 4);
	AT(struct sim_converter_plugin, name, 8);
	AT(struct sim_converter_plugin, converters, 16);
}

#define IS(name, number) \
	{ \
#name, (int64_t)(name), number \
	}

static const struct {
	const char *name;
	int64_t have, want;
} numbers[] = {
	IS(SIM_SLOT_MAGIC, 0x4c4d4953),
	IS(SIM_SLOT_VERSION, 1),
	IS(SIM_SLOT_DISPATCH, 1),
	IS(SIM_SLOT_CLOCK_STALE, 2),
	IS(SIM_SLOT_PROBE, 4),
	IS(SIM_SLOT_LATCHED, 8),
	IS(SIM_FRAME_ID_MAX, 39),
	IS(SIM_CLOCK_PAGE_MAGIC, 0x4b4c4353),
	IS(SIM_CLOCK_PAGE_ABI, 2),
	IS(SIM_CLOCK_PAGE_SIZE, 4096),
	IS(SIM_CLOCK_PIECES, 32768),
	IS(SIM_RATE_ONE, 1000000),
	IS(SIM_CLOCK_PAUSED, 1),
	IS(SIM_CLOCK_STEPPING, 2),
	IS(SIM_CLOCK_FREEWHEEL, 4),
	IS(SIM_DRIVER_PACED, 1),
	IS(SIM_DRIVER_FREEWHEEL, 2),
	IS(SIM_DRIVER_LOCKSTEP, 4),
	IS(SIM_CLOCK_DRIVEN, 8),
	IS(SIM_CLOCK_DRIVER_LOST, 16),
	IS(SIM_CLOCK_STALE, 32),
	IS(SIM_CLOCK_STARTED, 64),
	IS(SIM_CLOCK_LOCKSTEP, 128),
	IS(SIM_CLOCK_NO_DRIVER, 256),
	IS(WIRE_ABI, 5),
	IS(WIRE_CHANNELS_MAX, 1024),
	IS(WIRE_WINDOW_MAX, 128),
	IS(WIRE_TOKENS_MAX, 4096),
	IS(WIRE_SHARDS_MAX, 64),
	IS(WIRE_ROWS_MAX, 512),
	IS(WIRE_REASONS, 32),
	IS(LANE_BATCH, 64),
	IS(LANE_DELIVER, 1),
	IS(LANE_DONE, 2),
	IS(LANE_CHANNEL, 3),
	IS(LANE_STATUS, 4),
	IS(LANE_OPEN, 5),
	IS(LANE_CLOSE, 6),
	IS(LANE_COMPLETE, 7),
	IS(LANE_IDLE, 8),
	IS(LANE_CONNECT, 9),
	IS(LANE_CARRIES, 10),
	IS(LANE_FLUSH, 11),
	IS(LANE_ROW_SHIFT, 40),
	IS(LANE_NOT_CARRIED, INT32_MIN),
	IS(SIM_LANE_NOT_CARRIED, INT32_MIN),
	IS(LANE_CARRIES_MAX, 640),
	IS(DRIVER_ADVANCE, 1),
	IS(DRIVER_GRANT, 2),
	IS(DRIVER_LOST, 3),
	IS(DRIVER_SET, 4),
	IS(DRIVER_JUMP, 5),
	IS(DRIVER_RELEASE, 6),
	IS(DRIVER_FOLLOW, 7),
	IS(DRIVER_FOLLOW_JUMP, 1),
	IS(DRIVER_FOLLOW_PAUSED, 2),
	IS(DRIVER_FOLLOW_STEPS, 4),
	IS(DRIVER_FOLLOW_LOST, 8),
	IS(SIM_BRIDGE_ABI, 2),
	IS(SIM_BRIDGE_KEEPS_DATA, 1),
	IS(SIM_BRIDGE_IN_ORDER, 2),
	IS(SIM_LANE_KEEPS_DATA, 1),
	IS(LANE_STATUS_KEEPS_DATA, 1),
	IS(SIM_CONVERTER_ABI, 1),
	IS(SIM_ENC_ABI, 1),
	IS(SIM_DEC_ABI, 1),
	IS(SIM_REASON_NONE, 0),
	IS(SIM_REASON_PAUSED, 1),
	IS(SIM_REASON_TOKEN, 2),
	IS(SIM_REASON_NO_CREDIT, 3),
	IS(SIM_REASON_TIMEOUT, 4),
	IS(SIM_REASON_NO_BRIDGE, 5),
	IS(SIM_REASON_DISCONNECTED, 6),
	IS(SIM_REASON_BRIDGE_BUSY, 7),
	IS(SIM_REASON_FAILED, 8),
	IS(SIM_REASON_DEADLINE, 9),
	IS(SIM_REASON_BRIDGE_DIED, 10),
	IS(SIM_REASON_SHUTDOWN, 11),
	IS(SIM_REASON_RESTART, 12),
	IS(SIM_REASON_LOST, 13),
	IS(SIM_REASON_POOL, 14),
	IS(SIM_REASON_INVALID, 15),
	IS(SIM_REASON_BRIDGE_SLOW, 16),
	IS(SIM_REASON_MISSING, 17),
	IS(SIM_SOURCE_UNITY, 0),
	IS(SIM_SOURCE_SS2, 1),
	IS(SIM_SOURCE_SYSTEM, 2),
	IS(SIM_SOURCE_SIMULATION, 3),
	IS(SIM_SOURCE_ROS2, 4),
	IS(SIM_SOURCE_PLUGIN, 5),
	IS(SIM_SOURCE_LINK, 6),
	IS(SIM_BRIDGE_DISCONNECTED, 0),
	IS(SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED, 1),
	IS(SIM_BRIDGE_CONNECTING, 2),
	IS(SIM_BRIDGE_CONNECTED, 3),
	IS(SIM_BRIDGE_DISCONNECTING, 4),
};

TEST(the_source_abi_is_pinned)
{
	SIZE(struct sim_source_ops, 40);
	AT(struct sim_source_ops, abi, 0);
	AT(struct sim_source_ops, size, 4);
	AT(struct sim_source_ops, name, 8);
	AT(struct sim_source_ops, id, 16);
	AT(struct sim_source_ops, kind, 20);
	AT(struct sim_source_ops, flags, 24);
	AT(struct sim_source_ops, start, 32);
	assert_string_equal(SIM_SOURCE_SYMBOL, "sim_source_plugin");
}

TEST(type_tables_are_pinned)
{
	SIZE(struct sim_type, 72);
	AT(struct sim_type, abi, 0);
	AT(struct sim_type, size, 4);
	AT(struct sim_type, name, 8);
	AT(struct sim_type, comment, 16);
	AT(struct sim_type, hash, 24);
	AT(struct sim_type, fixed_size, 32);
	AT(struct sim_type, align, 36);
	AT(struct sim_type, n_fields, 40);
	AT(struct sim_type, n_constants, 44);
	AT(struct sim_type, flags, 48);
	AT(struct sim_type, reserved, 52);
	AT(struct sim_type, fields, 56);
	AT(struct sim_type, constants, 64);

	SIZE(struct sim_field, 56);
	AT(struct sim_field, name, 0);
	AT(struct sim_field, type, 8);
	AT(struct sim_field, unit, 16);
	AT(struct sim_field, comment, 24);
	AT(struct sim_field, offset, 32);
	AT(struct sim_field, count, 36);
	AT(struct sim_field, elem_size, 40);
	AT(struct sim_field, string_max, 44);
	AT(struct sim_field, kind, 48);
	AT(struct sim_field, array, 49);
	AT(struct sim_field, elem_align, 50);
	AT(struct sim_field, reserved, 51);

	SIZE(struct sim_constant, 24);
	AT(struct sim_constant, name, 0);
	AT(struct sim_constant, value, 8);
	AT(struct sim_constant, kind, 16);
	AT(struct sim_constant, reserved, 17);

	SIZE(struct sim_service_type, 40);
	AT(struct sim_service_type, abi, 0);
	AT(struct sim_service_type, size, 4);
	AT(struct sim_service_type, name, 8);
	AT(struct sim_service_type, comment, 16);
	AT(struct sim_service_type, request, 24);
	AT(struct sim_service_type, response, 32);
}

TEST(numbers_shared_between_processes_are_pinned)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].have != numbers[i].want)
			fail_msg("%s is %lld, others know it as %lld", numbers[i].name, (long long)numbers[i].have,
				 (long long)numbers[i].want);
	assert_true(SIM_REASON_COUNT <= WIRE_REASONS);
	assert_string_equal(SIM_BRIDGE_SYMBOL, "sim_bridge_plugin");
	assert_string_equal(SIM_CONVERTER_SYMBOL, "sim_converter_plugin");
}
