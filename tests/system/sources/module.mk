# SPDX-License-Identifier: Apache-2.0
# Against a real sumo; each run in namespaces of its own, so that ports never meet.
TESTS_NS += $(B)/test/sources-world
$(B)/test/sources-world: $(B)/obj/tests/system/sources/test_world.o $(B)/lib/libsources.a
LINK_sources-world := -lm -ljansson
