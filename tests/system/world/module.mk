# SPDX-License-Identifier: Apache-2.0
# The real sim-world, and clients by TCP: written from the protocol (tcp; tls), and the library (host).
INC_tests/system/world := $(INC_tests) -I. -Itests -Itests/support -Ilibclient -Ilibclient/include $(ROOMS_INC) -I$(B)/gen
FLAGS_tests/system/world/server.c := -DSIM_WORLD='"$(B)/bin/sim-world"'
FLAGS_tests/system/world/test_tcp.c := -DSIM_WORLD='"$(B)/bin/sim-world"'
FLAGS_tests/system/world/test_tls.c := -DSIM_WORLD='"$(B)/bin/sim-world"'
WORLD_SYSTEM_TESTS := $(patsubst tests/system/world/test_%.c,%,$(sort $(wildcard tests/system/world/test_*.c)))
TESTS_NS += $(WORLD_SYSTEM_TESTS:%=$(B)/test/system-world-%)
$(WORLD_SYSTEM_TESTS:%=$(B)/test/system-world-%): $(B)/test/system-world-%: $(B)/obj/tests/system/world/test_%.o \
	$(B)/obj/tests/system/world/server.o | $(B)/bin/sim-world
$(B)/test/system-world-tcp: $(B)/obj/tests/unit/world/client.o $(addprefix $(B)/lib/,libworld.a libsimworldwire.a libbase.a)
LINK_system-world-tcp = $(LINK_WORLD)
$(B)/test/system-world-tls: $(B)/obj/tests/unit/world/client.o $(addprefix $(B)/lib/,libworld.a libsimworldwire.a liblooptls.a libbase.a)
LINK_system-world-tls = $(LINK_WORLD_NET)
FLAGS_tests/system/world/test_access.c := -DSIM_WORLD='"$(B)/bin/sim-world"'
$(B)/test/system-world-access: | $(B)/lib/libsimworld.so
LINK_system-world-access = $(LINK_system-world-host)
# what clients cannot do to it
FLAGS_tests/system/world/test_bounds.c := -DSIM_WORLD='"$(B)/bin/sim-world"'
$(B)/test/system-world-bounds: $(B)/obj/tests/unit/world/client.o $(addprefix $(B)/lib/,libworld.a libsimworldwire.a libbase.a)
LINK_system-world-bounds = $(LINK_WORLD)
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
FLAGS_tests/system/world/test_host_tls.c := -DSIM_WORLD='"$(B)/bin/sim-world"' -DCONVOY='"$(B)/examples/convoy"'
$(B)/test/system-world-host_tls: | $(B)/lib/libsimworld.so $(B)/examples/convoy
LINK_system-world-host_tls = $(LINK_system-world-host)
# a rig that is a host
$(B)/test/system-world-join: $(addprefix $(B)/obj/tests/support/,stack.o peer.o session.o) $(addprefix $(B)/lib/,libipc.a libbase.a) \
	| $(addprefix $(B)/bin/,simd simctl sim-vehicle sim-join sim-sumo) $(B)/lib/libsimclient.so $(B)/lib/libsimworld.so $(B)/lib/simd/ipc_iox.so
LINK_system-world-join = $(LINK_SIMCLIENT) -lsimworld -ljansson -lm
# on a bad network
FLAGS_tests/system/world/test_loss.c := -DSIM_WORLD='"$(B)/bin/sim-world"'
$(B)/test/system-world-loss: $(SWITCH) $(B)/lib/libbase.a | $(B)/lib/libsimworld.so
LINK_system-world-loss = $(LINK_system-world-host)
TESTS_SOAK += $(B)/test/system-world-loss
TESTS_ONCE += $(addprefix $(B)/test/system-world-,loss states tls)
# clients that come to harm
FLAGS_tests/system/world/test_states.c := -DSIM_WORLD='"$(B)/bin/sim-world"'
$(B)/test/system-world-states: $(B)/obj/tests/system/world/far.o $(SWITCH) $(addprefix $(B)/lib/,libworld.a libsimworldwire.a liblooptls.a libbase.a) \
	| $(B)/lib/libsimworld.so
LINK_system-world-states = $(LINK_system-world-host) $(LINK_WORLD_NET)
# handshakes that nobody ends, until their time is over
# clients of TR-2016-06
FLAGS_tests/system/world/test_compat.c := -DSIM_WORLD='"$(B)/bin/sim-world"'
$(B)/test/system-world-compat: $(B)/obj/tests/unit/world/client.o $(addprefix $(B)/obj/,tests/unit/world/old_client.o gen/unit/world/tr2016.pb-c.o) $(addprefix $(B)/lib/,libworld.a libsimworldwire.a libbase.a)
LINK_system-world-compat = $(LINK_WORLD)
