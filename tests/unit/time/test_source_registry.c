/* SPDX-License-Identifier: Apache-2.0 */
/* Time sources by word: the built-in ones, a plug-in, and plug-ins that are refused with a sentence. */
#include "rig.h"

TEST(source_names_are_found)
{
	const struct sim_source_ops *s, *again;
	static const char *const plugins[] = { "play", "good" };
	struct source_registry *sources;
	char path[4200];

	assert_int_equal(source_registry_create(rig_plugin_dirs(), &sources), 0);
	assert_int_equal(source_registry_find(sources, "Simulation", false, &s), 0);
	assert_int_equal(s->id, SIM_SOURCE_SIMULATION);
	assert_int_equal(source_registry_find(sources, "2", false, &s), 0);
	assert_int_equal(s->id, SIM_SOURCE_SYSTEM);
	assert_int_equal(source_registry_find(sources, "good", false, &s), 0);
	assert_int_equal(s->id, SIM_SOURCE_PLUGIN);
	assert_int_equal(source_registry_find(sources, "GOOD", false, &again),
			 0); /* loaded once: selecting it again is nothing new */
	assert_ptr_equal(s, again);
	snprintf(path, sizeof(path), "%s/source_good.so", rig_plugin_dirs()[1]);
	assert_int_equal(source_registry_find(sources, path, true, &again), 0);
	assert_ptr_equal(s, again);
	assert_int_equal(source_registry_find(sources, path, false, &again), -EPERM);
	assert_int_equal(source_registry_find(sources, "nosuch", true, &s), -ENOENT);
	assert_non_null(strstr(err_why(), "source_nosuch.so"));
	assert_non_null(strstr(err_why(), "there are unity, ss2, system, simulation, ros2, link, and as plug-ins "));
	for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++)
		assert_non_null(strstr(err_why(), plugins[i]));
	assert_int_equal(source_registry_find(sources, "no such", true, &s), -ENOENT);
	assert_int_equal(source_registry_find(sources, "", true, &s), -ENOENT);
	assert_int_equal(source_registry_find(sources, "/nowhere/at/all.so", true, &s), -ENOENT);
	assert_int_equal(source_registry_find(sources, "9", true, &s), -ENOENT);
	source_registry_destroy(sources);
}

TEST(invalid_source_plug_ins_are_refused)
{
	static const struct {
		const char *name, *why;
		int r;
	} bad[] = {
		{ "SYMBOL", "exports no sim_source_plugin", -ELIBBAD },
		{ "NOTHING", "returned nothing", -ELIBBAD },
		{ "ABI", "interface 42, simd has 1", -EPROTO },
		{ "SIZE", "has 32 bytes, simd needs 40", -EPROTO },
		{ "NAME", "one of simd's own", -EPROTO },
		{ "OTHER", "calls itself `another`: rename the file to source_another.so", -EPROTO },
		{ "ID", "number is 2", -EPROTO },
		{ "KIND", "kind 77", -EPROTO },
		{ "START", "no start value", -EPROTO },
	};
	struct source_registry *sources;
	const struct sim_source_ops *s = NULL;

	assert_int_equal(source_registry_create(rig_plugin_dirs(), &sources), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(source_registry_find(sources, bad[i].name, false, &s), bad[i].r);
		if (!strstr(err_why(), bad[i].why) || !strstr(err_why(), "source_"))
			fail_msg("%s: %s", bad[i].name, err_why());
		assert_null(s);
	}
	source_registry_destroy(sources);
	source_registry_destroy(NULL);
}
