# SPDX-License-Identifier: Apache-2.0
INC_tests/unit/world := -I. -Itests -Itests/unit/world -Ilibclient -Ilibclient/base -I$(B)/gen
WORLD_TESTS := $(patsubst tests/unit/world/test_%.c,%,$(sort $(wildcard tests/unit/world/test_*.c)))
TESTS += $(WORLD_TESTS:%=$(B)/test/world-%)
$(WORLD_TESTS:%=$(B)/test/world-%): $(B)/test/world-%: $(B)/obj/tests/unit/world/test_%.o $(addprefix $(B)/lib/,libworld.a libsimworldwire.a libbase.a)
LIMIT_world-section := 120

# the protocol as protobuf-c reads it
WORLD_PB := $(B)/gen/wire/world.pb-c
$(WORLD_PB).c $(WORLD_PB).h &: schemas/wire/world.proto
	@mkdir -p $(@D)
	protoc-c --proto_path=schemas --c_out=$(B)/gen wire/world.proto
$(B)/obj/gen/wire/world.pb-c.o: $(WORLD_PB).h
$(B)/obj/tests/unit/world/test_section_pb.o: $(WORLD_PB).h
$(B)/test/world-section_pb: $(B)/obj/gen/wire/world.pb-c.o
LINK_world-section_pb := -lprotobuf-c
$(addprefix $(B)/test/world-,section section_pb): $(B)/obj/tests/unit/world/random_world.o
