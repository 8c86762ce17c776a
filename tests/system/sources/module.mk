# SPDX-License-Identifier: Apache-2.0
# Against a real sumo, and with the whole line of processes; in namespaces of their own, so that ports and RouDis
# never meet.
TESTS_NS += $(B)/test/sources-world $(B)/test/sources-line
$(B)/test/sources-world: $(B)/obj/tests/system/sources/test_world.o $(B)/lib/libsources.a
LINK_sources-world := -lm -ljansson
$(B)/test/sources-line: $(B)/obj/tests/system/sources/test_sources.o $(B)/lib/libsources.a | $(B)/lib/libsimclient.so $(B)/bin/simd \
	$(B)/bin/sim-sumo $(B)/bin/sim-lidar
LINK_sources-line = $(LINK_SIMCLIENT) -lm
