# SPDX-License-Identifier: Apache-2.0
# The real sim-world, and clients by TCP: written from the protocol (tcp; tls), and the library (host).
INC_tests/system/world := $(INC_tests) -I. -Itests -Itests/support -Ilibclient -Ilibclient/include -Ilibclient/base -I$(B)/gen
FLAGS_tests/system/world/server.c := -DSIM_WORLD='"$(B)/bin/sim-world"'
FLAGS_tests/system/world/test_tcp.c := -DSIM_WORLD='"$(B)/bin/sim-world"'
FLAGS_tests/system/world/test_tls.c := -DSIM_WORLD='"$(B)/bin/sim-world"'
WORLD_SYSTEM_TESTS := $(patsubst tests/system/world/test_%.c,%,$(sort $(wildcard tests/system/world/test_*.c)))
TESTS_NS += $(WORLD_SYSTEM_TESTS:%=$(B)/test/system-world-%)
$(WORLD_SYSTEM_TESTS:%=$(B)/test/system-world-%): $(B)/test/system-world-%: $(B)/obj/tests/system/world/test_%.o \
	$(B)/obj/tests/system/world/server.o | $(B)/bin/sim-world
$(B)/test/system-world-tcp: $(B)/obj/tests/unit/world/client.o $(addprefix $(B)/lib/,libworld.a libsimworldwire.a libbase.a)
LINK_system-world-tcp = $(LINK_WORLD)
$(B)/test/system-world-tls: $(B)/obj/tests/unit/world/client.o $(addprefix $(B)/lib/,libworld.a libsimworldwire.a libbase.a)
LINK_system-world-tls = $(LINK_WORLD_NET)
FLAGS_tests/system/world/test_replay.c := -DSIM_WORLD='"$(B)/bin/sim-world"'
$(B)/test/system-world-replay: $(B)/obj/tests/unit/world/client.o $(addprefix $(B)/lib/,libworld.a libsimworldwire.a libbase.a)
LINK_system-world-replay = $(LINK_WORLD)
# simctl world
FLAGS_tests/system/world/test_control.c := -DSIM_WORLD='"$(B)/bin/sim-world"' -DSIMCTL='"$(B)/bin/simctl"'
$(B)/test/system-world-control: $(B)/obj/tests/unit/world/client.o $(addprefix $(B)/lib/,libworld.a libsimworldwire.a libbase.a) \
	| $(B)/bin/simctl $(B)/lib/libsimclient.so
LINK_system-world-control = $(LINK_WORLD)
FLAGS_tests/system/world/test_host.c := -DCONVOY='"$(B)/examples/convoy"' $(if $(VEHICLE_HOST),-DVEHICLE_HOST='"$(VEHICLE_HOST)"')
$(B)/test/system-world-host: | $(B)/lib/libsimworld.so $(B)/examples/convoy $(VEHICLE_HOST)
LINK_system-world-host = -L$(B)/lib -lsimworld -Wl,-rpath,'$$ORIGIN/../lib'
# a rig that is a host
$(B)/test/system-world-join: $(addprefix $(B)/obj/tests/support/,stack.o peer.o session.o) $(addprefix $(B)/lib/,libipc.a libbase.a) \
	| $(addprefix $(B)/bin/,simd simctl sim-vehicle sim-join sim-sumo) $(B)/lib/libsimclient.so $(B)/lib/libsimworld.so $(B)/lib/simd/ipc_iox.so
LINK_system-world-join = $(LINK_SIMCLIENT) -lsimworld -ljansson -lm
# handshakes that nobody ends, until their time is over
LIMIT_system-world-tls := 180
