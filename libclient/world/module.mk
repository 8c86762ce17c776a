# SPDX-License-Identifier: Apache-2.0
# The world's wire format, for sim-world and its clients, and the library of the latter, libsimworld.
INC_libclient/world := -Ilibclient -Ilibclient/base -Ilibclient/include -I$(B)/gen

# the protocol's messages
WORLD_PB := $(B)/gen/wire/world.pb-c
$(WORLD_PB).c $(WORLD_PB).h &: schemas/wire/world.proto
	@mkdir -p $(@D)
	protoc-c --proto_path=schemas --c_out=$(B)/gen wire/world.proto
GENERATED += $(WORLD_PB).h

LIBS += $(B)/lib/libsimworldwire.a
$(B)/lib/libsimworldwire.a: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard libclient/world/*.c))) $(B)/obj/gen/wire/world.pb-c.o
LINK_WORLD := -lprotobuf-c -lsodium
# with TLS
LINK_WORLD_NET := $(LINK_WORLD) $(LINK_LOOP_TLS)

LIBS += $(B)/lib/libsimworld.so
WORLD_SONAME   := libsimworld.so.$(SOVERSION)
WORLD_REALNAME := libsimworld.so.$(VERSION)
$(B)/lib/libsimworld.so: libclient/world/libsimworld.map libclient/world/module.mk $(addprefix $(B)/lib/,libsimworldwire.a liblooptls.a libbase.a)
	@mkdir -p $(@D)
	$(CC) -shared $(ALL_LDFLAGS) -Wl,-soname,$(WORLD_SONAME) -Wl,--version-script,$< $(if $(SAN_RUNTIME),,-Wl,-z,defs) \
		-o $(@D)/$(WORLD_REALNAME) -Wl,--whole-archive $(B)/lib/libsimworldwire.a -Wl,--no-whole-archive \
		$(addprefix $(B)/lib/,liblooptls.a libbase.a) $(LINK_WORLD_NET) $(LIBBASE_LIBS) -lm
	@ln -sf $(WORLD_REALNAME) $(@D)/$(WORLD_SONAME) && ln -sf $(WORLD_SONAME) $@
