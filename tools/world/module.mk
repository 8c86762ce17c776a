# SPDX-License-Identifier: Apache-2.0
# The world: libworld.a without sockets, and sim-world.
INC_tools/world := -Ilibclient/base -Ilibclient/conf -Ilibclient/options -Ilibclient/varlink -Ilibclient -Ilibclient/include -Itools/world -Itools/keys -I$(B)/gen

WORLD_MAIN := main config net net_compat net_udp

# the interface of its control socket becomes a string, as simd's does
$(B)/gen/tools/world_interface.c: schemas/wire/io.simd.World.varlink tools/world/module.mk
	@mkdir -p $(@D)
	@{ echo '/* SPDX-License-Identifier: Apache-2.0 */'; echo 'extern const char world_interface[];'; \
	   echo 'const char world_interface[] ='; \
	   sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $<; echo ';'; } > $@

$(B)/obj/tools/world/interface.o: $(B)/gen/tools/world_interface.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@
LIBS += $(B)/lib/libworld.a
$(B)/lib/libworld.a: $(patsubst %.c,$(B)/obj/%.o,$(filter-out $(WORLD_MAIN:%=tools/world/%.c),$(sort $(wildcard tools/world/*.c)))) $(B)/obj/tools/world/interface.o $(B)/obj/tools/keys/pair.o

PROGRAMS += $(B)/bin/sim-world
$(B)/bin/sim-world: $(WORLD_MAIN:%=$(B)/obj/tools/world/%.o) $(addprefix $(B)/lib/,libworld.a liblooptls.a libloop.a libsimworldwire.a libbase.a)
LINK_sim-world = $(LINK_WORLD_NET) $(LIBBASE_LIBS)
