# SPDX-License-Identifier: Apache-2.0
# The real sim-world, and clients by TCP.
INC_tests/system/world := -I. -Itests -Ilibclient -Ilibclient/base -I$(B)/gen
FLAGS_tests/system/world/test_tcp.c := -DSIM_WORLD='"$(B)/bin/sim-world"'
$(B)/test/system-world-tcp: $(B)/obj/tests/system/world/test_tcp.o $(B)/obj/tests/unit/world/client.o \
	$(addprefix $(B)/lib/,libworld.a libsimworldwire.a libbase.a) | $(B)/bin/sim-world
LINK_system-world-tcp = $(LINK_WORLD)
TESTS_NS += $(B)/test/system-world-tcp
