/* SPDX-License-Identifier: Apache-2.0 */
/* Which rigs are one shard. */
#include "tests/support/test.h"

#include "config/config.h"
#include "registry/rig.h"
#include "registry/simd.h"

#define BRIDGE(name, list) "{\"name\": \"" name "\", \"plugin\": \"null\", \"channels\": [" list "]}"
#define RIG(name, bridges) "{\"name\": \"" name "\", \"prefix\": \"" name "\", \"bridges\": [" bridges "]}"

static void expect(const char *rigs, unsigned n_shards, const char *shards)
{
	char text[2048];
	struct config_sources src = { .text = text };
	struct simd s = { 0 };
	struct conf *c;

	snprintf(text, sizeof(text), "{\"rigs\": [%s]}", rigs);
	assert_int_equal(config_load(&src, &c), 0);
	s.root = conf_root(c);
	assert_int_equal(rig_create_all(&s), 0);
	assert_int_equal(s.n_shards, n_shards);
	assert_int_equal(s.n_rigs, strlen(shards));
	for (unsigned i = 0; i < s.n_rigs; i++)
		assert_int_equal(s.rigs[i].shard, shards[i] - '0');
	rig_destroy_all(&s);
	conf_destroy(c);
}

TEST(without_rigs_there_is_one_shard)
{
	expect("", 1, "");
	expect(RIG("a", ""), 1, "0");
}

TEST(rigs_whose_bridges_use_only_their_prefix_have_own_shards)
{
	expect(RIG("a", BRIDGE("x", "\"*\"")) "," RIG("b", BRIDGE("y", "\"*\"") "," BRIDGE("z", "\"imu\"")), 2, "01");
	expect(RIG("a", "") "," RIG("b", BRIDGE("y", "\"*\"")) "," RIG("c", BRIDGE("z", "\"*\"")), 2, "001");
}

TEST(rigs_whose_bridges_share_a_channel_share_a_shard)
{
	expect(RIG("a", BRIDGE("x", "\"*\"")) "," RIG("b", BRIDGE("y", "\"/a/imu\"")), 1, "00");
	expect(RIG("a", BRIDGE("x", "\"/tf\"")) "," RIG("b", BRIDGE("y", "\"/tf\", \"*\"")), 1, "00");
	/* no pattern matches the other, but /a/x/raw is of both */
	expect(RIG("a", BRIDGE("x", "\"*\"")) "," RIG("b", BRIDGE("y", "\"/*/raw\"")), 1, "00");
	/* through a third, whatever their order */
	expect(RIG("a", BRIDGE("x", "\"*\"")) "," RIG("b", BRIDGE("y", "\"*\"")) "," RIG(
		       "c", BRIDGE("z", "\"*\"")) "," RIG("d", BRIDGE("w", "\"/c/imu\", \"/b/imu\"")),
	       2, "0111");
}

TEST(the_clock_and_exclusions_join_no_rigs)
{
	expect(RIG("a", BRIDGE("x", "\"*\", \"/clock\"")) "," RIG("b", BRIDGE("y", "\"*\", \"/clock\"")), 2, "01");
	expect(RIG("a", BRIDGE("x", "\"*\", \"!/b/imu\"")) "," RIG("b", BRIDGE("y", "\"*\"")), 2, "01");
}
