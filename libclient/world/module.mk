# SPDX-License-Identifier: Apache-2.0
# The world's wire format, for sim-world and its clients.
INC_libclient/world := -Ilibclient/base -I$(B)/gen

# the protocol's messages
WORLD_PB := $(B)/gen/wire/world.pb-c
$(WORLD_PB).c $(WORLD_PB).h &: schemas/wire/world.proto
	@mkdir -p $(@D)
	protoc-c --proto_path=schemas --c_out=$(B)/gen wire/world.proto
GENERATED += $(WORLD_PB).h

LIBS += $(B)/lib/libsimworldwire.a
$(B)/lib/libsimworldwire.a: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard libclient/world/*.c))) $(B)/obj/gen/wire/world.pb-c.o
LINK_WORLD := -lprotobuf-c
