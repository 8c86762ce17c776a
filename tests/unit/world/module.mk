# SPDX-License-Identifier: Apache-2.0
INC_tests/unit/world := -Ilibclient/include -I. -Itests -Itests/unit/world -Ilibclient $(ROOMS_INC) -I$(B)/gen
WORLD_TESTS := $(patsubst tests/unit/world/test_%.c,%,$(sort $(wildcard tests/unit/world/test_*.c)))
TESTS += $(WORLD_TESTS:%=$(B)/test/world-%)
$(WORLD_TESTS:%=$(B)/test/world-%): $(B)/test/world-%: $(B)/obj/tests/unit/world/test_%.o $(addprefix $(B)/lib/,libworld.a libsimworldwire.a liblooptls.a libbase.a)
# its server on real sockets, in virtual time
$(B)/test/world-net $(B)/test/world-line: $(addprefix $(B)/obj/tools/world/,net.o net_udp.o) $(B)/lib/libloop.a
# and with hosts, by the network in virtual time
$(B)/test/world-line: $(VNET)
# under the thread sanitizer
$(foreach t,$(WORLD_TESTS),$(eval LINK_world-$(t) = $(LINK_WORLD_NET)))
LINK_world-line += $(VNET_LINK)
$(addprefix $(B)/test/world-,access bounds threats world): $(B)/obj/tests/unit/world/client.o
# its control socket, held against its interface file
$(B)/test/world-control: $(addprefix $(B)/obj/tests/unit/,world/client.o control/idl.o)
$(foreach t,control events input_log,$(eval LINK_world-$(t) = $(LINK_WORLD) $(LIBBASE_LIBS)))
LINK_world-input_log += -Wl,--wrap=write # a disk that takes nothing
$(addprefix $(B)/test/world-,section section_pb): $(B)/obj/tests/unit/world/random_world.o
$(addprefix $(B)/test/world-,datagram datagram_format): $(B)/obj/tests/unit/world/datagram_pair.o
# clients of TR-2016-06: their message by protobuf itself
OLD_PB := $(B)/gen/unit/world/tr2016.pb-c
$(OLD_PB).c $(OLD_PB).h &: tests/unit/world/tr2016.proto
	@mkdir -p $(@D)
	protoc-c --proto_path=tests --c_out=$(B)/gen unit/world/tr2016.proto
GENERATED += $(OLD_PB).h
$(addprefix $(B)/test/world-,compat compat_message): $(addprefix $(B)/obj/,tests/unit/world/old_client.o gen/unit/world/tr2016.pb-c.o)
$(B)/test/world-compat: $(B)/obj/tests/unit/world/client.o
