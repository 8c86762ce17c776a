# SPDX-License-Identifier: Apache-2.0
# Against a real sumo, and with the whole line of processes; in namespaces of their own, so that ports and RouDis
# never meet.
TESTS_NS += $(B)/test/system-sources-world $(B)/test/system-sources-line
$(B)/test/system-sources-world: $(B)/obj/tests/system/sources/test_world.o $(B)/lib/libsources.a $(B)/lib/libbase.a
LINK_system-sources-world := -lm -ljansson -pthread
$(B)/test/system-sources-line: $(B)/obj/tests/system/sources/test_line.o $(B)/lib/libsources.a $(B)/lib/libbase.a | $(B)/lib/libsimclient.so $(B)/bin/simd \
	$(B)/bin/sim-sumo $(B)/bin/sim-lidar $(B)/bin/sim-vehicle
LINK_system-sources-line = $(LINK_SIMCLIENT) -lm
# real processes, and one vehicle that leaves the town: 20 s alone, 90 s were seen on a busy machine
# the scene of the perception rig, with the components of the example in the test
INC_tests/system/sources := $(INC_tests) -Itests/support
TESTS_NS += $(B)/test/system-sources-perception
TESTS_ONCE += $(B)/test/system-sources-perception
TESTS_FULL += $(B)/test/system-sources-perception
$(B)/test/system-sources-perception: $(addprefix $(B)/obj/tests/,system/sources/test_perception.o support/stack.o support/peer.o support/session.o) \
	$(PERCEPTION_CLASSES) $(PERCEPTION_CORE) $(B)/lib/libipc.a $(B)/lib/libbase.a | $(B)/lib/libsimclient.so $(B)/lib/simd/ipc_iox.so $(B)/bin/simd \
	$(B)/bin/simctl $(B)/bin/sim-sumo $(B)/bin/sim-lidar
LINK_system-sources-perception = $(LINK_SIMCLIENT) -ljansson -lm
# four runs of a scenario, one of them at half the wall's pace; 50 s alone
# every source of an ego
ifeq ($(SAN_RUNTIME),)
FLAGS_tests/system/sources/test_motion.c := -Itests
TESTS_NS += $(B)/test/system-sources-motion
# ten minutes of the town: 70 s of CPU
LIMIT_system-sources-motion := 900
$(B)/test/system-sources-motion: $(addprefix $(B)/obj/tests/,system/sources/test_motion.o system/world/server.o $(addprefix support/,stack.o peer.o session.o)) \
	$(SS2_PEER) $(B)/lib/libipc.a $(B)/lib/libbase.a | $(B)/lib/libsimclient.so $(B)/lib/simd/ipc_iox.so \
	$(addprefix $(B)/bin/,simd simctl sim-sumo sim-vehicle sim-ss2 sim-join sim-world)
LINK_system-sources-motion = $(LINK_SIMCLIENT) -lzmq -ljansson -lm
endif
# scenarios of the tests' own
TESTS_NS += $(B)/test/system-sources-scenario
$(B)/test/system-sources-scenario: $(addprefix $(B)/obj/tests/,system/sources/test_scenario.o support/stack.o support/peer.o support/session.o) \
	$(addprefix $(B)/lib/,libsources.a libipc.a libbase.a) | $(B)/lib/libsimclient.so $(B)/lib/simd/ipc_iox.so \
	$(B)/bin/simd $(B)/bin/simctl $(B)/bin/sim-sumo
LINK_system-sources-scenario = $(LINK_SIMCLIENT) -ljansson -lm
