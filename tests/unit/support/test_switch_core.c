/* SPDX-License-Identifier: Apache-2.0 */
/* The test network's switch without devices, in virtual time. Thread: the test's. */
#include "support/test.h"

#include "err.h"
#include "switch_core.h"
#include "timeutil.h"

#define GROUP 0xff /* in place of a host: broadcast */

struct frame {
	unsigned char to[6], from[6], type[2], text[16];
};

static struct switch_core *core(uint64_t seed, unsigned ports)
{
	struct switch_core *c;

	assert_ok(switch_core_create(seed, &c));
	for (unsigned i = 0; i < ports; i++)
		assert_int_equal(switch_core_add_port(c), i);
	return c;
}

static struct frame frame(unsigned char from, unsigned char to)
{
	struct frame f = { .to = { 2, 0, 0, 0, 0, to }, .from = { 2, 0, 0, 0, 0, from }, .type = { 8, 0 } };

	if (to == GROUP)
		memset(f.to, 0xff, sizeof(f.to));
	return f;
}

/* Host `from` is behind the port of its number. */
static void push(struct switch_core *c, int64_t now, unsigned char from, unsigned char to)
{
	struct frame f = frame(from, to);

	switch_core_push(c, from, now, &f, sizeof(f));
}

/* The ports that get something by then, as bits; from `from` in each frame. */
static uint32_t reached(struct switch_core *c, int64_t now, unsigned char from)
{
	const void *bytes;
	uint32_t ports = 0;
	size_t len;
	int port;

	while ((port = switch_core_pop(c, now, &bytes, &len)) >= 0) {
		assert_int_equal(len, sizeof(struct frame));
		assert_int_equal(((const struct frame *)bytes)->from[5], from);
		assert_false(ports >> port & 1);
		ports |= UINT32_C(1) << port;
	}
	return ports;
}

TEST(frames_to_a_learned_address_reach_only_its_port)
{
	struct switch_core *c = core(1, 4);

	push(c, 0, 0, 2);
	assert_int_equal(reached(c, 0, 0), 0xe); /* unknown: flooded, but not back */
	push(c, 0, 2, 0);
	assert_int_equal(reached(c, 0, 2), 0x1);
	push(c, 0, 0, 2);
	assert_int_equal(reached(c, 0, 0), 0x4);
	push(c, 0, 1, GROUP);
	assert_int_equal(reached(c, 0, 1), 0xd);
	push(c, 0, 1, 1);
	assert_int_equal(reached(c, 0, 1), 0); /* to itself */
	switch_core_destroy(c);
}

TEST(an_address_that_moves_is_learned_again)
{
	struct switch_core *c = core(1, 3);
	struct frame f = frame(0, GROUP);

	push(c, 0, 0, GROUP);
	assert_int_equal(reached(c, 0, 0), 0x6);
	switch_core_push(c, 2, 0, &f, sizeof(f));
	assert_int_equal(reached(c, 0, 0), 0x3);
	push(c, 0, 1, 0);
	assert_int_equal(reached(c, 0, 1), 0x4);
	switch_core_destroy(c);
}

TEST(the_delays_of_both_directions_add_up)
{
	struct switch_rules in = { .delay_dur_ns = 100 }, out = { .delay_dur_ns = 30 };
	struct switch_core *c = core(1, 2);

	assert_ok(switch_core_set(c, 0, SWITCH_IN, &in));
	assert_ok(switch_core_set(c, 1, SWITCH_OUT, &out));
	assert_int_equal(switch_core_next(c), INT64_MAX);
	push(c, 0, 0, 1);
	assert_int_equal(switch_core_next(c), 100);
	assert_int_equal(reached(c, 100, 0), 0);
	assert_int_equal(switch_core_next(c), 130);
	assert_int_equal(reached(c, 129, 0), 0);
	assert_int_equal(reached(c, 130, 0), 0x2);
	push(c, 200, 1, 0); /* the other way has no rules */
	assert_int_equal(reached(c, 200, 1), 0x1);
	switch_core_destroy(c);
}

TEST(partitions_follow_their_schedule)
{
	struct switch_core *c = core(1, 4);

	assert_ok(switch_core_part(c, 0x3, 100, 200));
	assert_ok(switch_core_part(c, 0x1, 150, INT64_MAX));
	assert_int_equal(switch_core_part(c, 0x1, 100, 100), -EINVAL);
	push(c, 99, 0, GROUP);
	assert_int_equal(reached(c, 99, 0), 0xe);
	push(c, 100, 0, GROUP);
	assert_int_equal(reached(c, 100, 0), 0x2);
	push(c, 149, 3, GROUP);
	assert_int_equal(reached(c, 149, 3), 0x4);
	push(c, 150, 0, GROUP);
	assert_int_equal(reached(c, 150, 0), 0);
	push(c, 200, 1, GROUP);
	assert_int_equal(reached(c, 200, 1), 0xc);
	assert_int_equal(switch_core_parted(c, 2), 2); /* at 100 and 150 */
	switch_core_heal(c);
	push(c, 201, 1, GROUP);
	assert_int_equal(reached(c, 201, 1), 0xd);
	switch_core_destroy(c);
}

TEST(an_ended_partition_frees_its_place)
{
	struct switch_core *c = core(1, 2);

	for (unsigned i = 0; i < SWITCH_PARTITIONS_MAX; i++)
		assert_ok(switch_core_part(c, 1, 0, 10));
	assert_int_equal(switch_core_part(c, 1, 0, 10), -ENOSPC);
	assert_int_equal(reached(c, 10, 0), 0);
	assert_ok(switch_core_part(c, 1, 20, 30));
	switch_core_destroy(c);
}

TEST(each_port_and_direction_has_its_own_random_sequence)
{
	struct switch_rules r = { .loss = 0.5 };
	struct switch_core *c = core(test_seed(3), 3);
	uint32_t seen[16] = { 0 };
	unsigned kinds = 0;

	assert_ok(switch_core_set(c, 1, SWITCH_OUT, &r));
	assert_ok(switch_core_set(c, 2, SWITCH_OUT, &r));
	for (int64_t i = 0; i < 200; i++) {
		push(c, i, 0, GROUP);
		seen[reached(c, i, 0)]++;
	}
	for (unsigned i = 0; i < 16; i++)
		kinds += seen[i] != 0;
	assert_int_equal(kinds, 4); /* both, either, none: the two do not go together */
	switch_core_destroy(c);
}

TEST(the_same_seed_carries_the_same)
{
	struct switch_rules r = {
		.loss = 0.3, .jitter_dur_ns = 500, .duplicate = 0.1, .reorder = 0.2, .hold_dur_ns = 700
	};
	uint64_t hash[2] = { 0 };

	for (unsigned run = 0; run < 2; run++) {
		struct switch_core *c = core(test_seed(4), 3);
		const void *bytes;
		size_t len;

		for (unsigned i = 0; i < 3; i++)
			assert_ok(switch_core_set(c, i, i & 1, &r));
		for (int64_t now = 0; now < 100000; now += 50) {
			int port;

			push(c, now, (unsigned char)((now / 50) % 3), (unsigned char)((now / 150) % 4));
			while ((port = switch_core_pop(c, now, &bytes, &len)) >= 0)
				hash[run] = (hash[run] ^ (uint64_t)(now * 4 + port)) * UINT64_C(0x100000001b3);
		}
		switch_core_destroy(c);
	}
	assert_true(hash[0] == hash[1] && hash[0]);
}

TEST(invalid_frames_and_ports_are_refused)
{
	struct switch_rules r = { .loss = 2 };
	struct switch_core *c = core(1, SWITCH_PORTS_MAX);
	struct switch_counts counts;

	assert_int_equal(switch_core_add_port(c), -ENOSPC);
	assert_int_equal(switch_core_set(c, SWITCH_PORTS_MAX, SWITCH_IN, &r), -ENOENT);
	assert_int_equal(switch_core_set(c, 0, SWITCH_IN, &r), -EINVAL);
	assert_int_equal(switch_core_counts(c, SWITCH_PORTS_MAX, SWITCH_IN, &counts), -ENOENT);
	switch_core_push(c, 0, 0, "shorter", 8);
	switch_core_push(c, SWITCH_PORTS_MAX, 0, &(struct frame){ 0 }, sizeof(struct frame));
	assert_int_equal(switch_core_next(c), INT64_MAX);
	switch_core_destroy(c);
}

TEST(addresses_beyond_the_table_are_flooded)
{
	struct switch_core *c = core(1, 3);

	for (unsigned i = 0; i < SWITCH_ADDRESSES_MAX + 1; i++) {
		struct frame f = frame(0, GROUP);

		f.from[4] = (unsigned char)(i >> 8);
		f.from[5] = (unsigned char)i;
		f.from[3] = 1;
		switch_core_push(c, 0, 0, &f, sizeof(f));
	}
	for (const void *bytes; switch_core_pop(c, 0, &bytes, &(size_t){ 0 }) >= 0;)
		continue;
	for (unsigned last = 0; last < 2; last++) {
		struct frame f = frame(1, 0);

		f.to[3] = 1;
		f.to[4] = (unsigned char)(last ? SWITCH_ADDRESSES_MAX >> 8 : 0);
		switch_core_push(c, 1, 0, &f, sizeof(f));
		assert_int_equal(reached(c, 0, 1), last ? 0x5 : 0x1);
	}
	switch_core_destroy(c);
}
