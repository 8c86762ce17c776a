# SPDX-License-Identifier: Apache-2.0
# The world: libworld.a without sockets, and sim-world.
INC_tools/world := -Ilibclient/base -Ilibclient -Itools/world -I$(B)/gen

WORLD_MAIN := main net net_tls
LIBS += $(B)/lib/libworld.a
$(B)/lib/libworld.a: $(patsubst %.c,$(B)/obj/%.o,$(filter-out $(WORLD_MAIN:%=tools/world/%.c),$(sort $(wildcard tools/world/*.c))))

PROGRAMS += $(B)/bin/sim-world
$(B)/bin/sim-world: $(WORLD_MAIN:%=$(B)/obj/tools/world/%.o) $(addprefix $(B)/lib/,libworld.a libsimworldwire.a libbase.a)
LINK_sim-world = $(LINK_WORLD_NET) $(LIBBASE_LIBS)
