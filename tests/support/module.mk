# SPDX-License-Identifier: Apache-2.0
# The runner, and what tests share.
$(B)/test/run: $(addprefix $(B)/obj/tests/support/,run.o run_machine.o run_hunt.o) $(B)/lib/libbase.a

# main() of the programs of TEST()
$(B)/lib/libtest.a: $(B)/obj/tests/support/test.o

# simd's configuration keys, for tools/dev/check-man
$(B)/test/conf-keys: $(B)/obj/tests/support/conf_keys.o $(SIMD_LIBS) $(B)/lib/libipc.a $(B)/lib/libbase.a
CHECK_HELPERS += $(B)/test/conf-keys

# a log to play, as our own writer makes it
FLAGS_tests/support/native_log.c := -Itools -Itools/record -Itools/bridge

# CBOR, which only peers write
CBOR_WRITER := $(B)/obj/tests/support/enc_cbor.o
FLAGS_tests/support/enc_cbor.c := -Itools/bridge/convert

# scenario_simulator_v2 as the tests play it
SS2_PEER := $(B)/obj/tests/support/ss2_peer.o

# the iceoryx module of processes that are to die at one instruction
# logs to play
FLAGS_tests/support/native_log.c := -Itools -Itools/record -Itools/bridge

ifeq ($(SAN_RUNTIME),)
IPC_FAULT := $(B)/test/lib/ipc_fault.so
$(IPC_FAULT): $(IOX_OBJ) $(B)/obj/tests/support/ipc_fault.o
	@mkdir -p $(@D)
	$(CC) -shared -pthread $(HARDEN_LINK) -Wl,-z,defs -Wl,-soname,ipc_fault.so -o $@ $^ $(IOX_LIBS)
TEST_PROGRAMS += $(IPC_FAULT)
endif

# lgsvl_bridge as the tests play it, as a program for the demo
$(B)/test/lgsvl-peer: $(B)/obj/tests/support/lgsvl_peer.o $(B)/obj/tests/support/lgsvl_server.o
TEST_PROGRAMS += $(B)/test/lgsvl-peer

# and a rosbridge server
ROSBRIDGE_SERVER := $(addprefix $(B)/obj/tests/support/,rosbridge_server.o ws_server.o cbor_tree_write.o)
$(B)/test/rosbridge-peer: $(B)/obj/tests/support/rosbridge_peer.o $(ROSBRIDGE_SERVER)
LINK_rosbridge-peer := -ljansson -lssl -lcrypto
TEST_PROGRAMS += $(B)/test/rosbridge-peer

# and a cyber_bridge, which reads what it gets by protobuf-c
CYBER_SERVER := $(addprefix $(B)/obj/tests/support/,cyber_server.o cyber_types.o)
$(B)/test/cyber-peer: $(B)/obj/tests/support/cyber_peer.o $(B)/obj/tests/support/cyber_print.o $(CYBER_SERVER) $(B)/lib/libapollo10.a
LINK_cyber-peer := -lprotobuf-c
TEST_PROGRAMS += $(B)/test/cyber-peer

# a network switch between namespaces: the part without sockets, and all of it
SWITCH_PURE := $(addprefix $(B)/obj/tests/support/,switch_path.o switch_core.o)
SWITCH := $(SWITCH_PURE) $(addprefix $(B)/obj/tests/support/,switch_net.o switch.o)

# a network in virtual time
VNET := $(B)/obj/tests/support/vnet.o
FLAGS_tests/support/vnet.c := -Ilibclient/loop
VNET_LINK := $(addprefix -Wl$(comma)--wrap=,accept accept4 bind connect getsockname getsockopt listen recv)
