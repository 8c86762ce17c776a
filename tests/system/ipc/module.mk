# SPDX-License-Identifier: Apache-2.0
# The data plane against a real RouDi: each trap of iceoryx, generations, and a host that has iceoryx itself.
INC_tests/system/ipc := -I. -Ilibclient/ipc $(ROOMS_INC) -Ilibclient/include -Itests/support
ifeq ($(SAN_RUNTIME),)
IPC_SYSTEM := traps starved generations cyclone lost deaths stopped sparse lacks
$(IPC_SYSTEM:%=$(B)/test/system-ipc-%): $(B)/test/system-ipc-%: $(B)/obj/tests/system/ipc/test_%.o \
	$(B)/obj/tests/support/roudi.o $(B)/lib/libipc.a $(B)/lib/libbase.a | $(B)/lib/simd/ipc_iox.so
$(B)/test/system-ipc-deaths $(B)/test/system-ipc-stopped: | $(IPC_FAULT)
# An iceoryx application that has nothing of simd.
FLAGS_tests/system/ipc/waiter.c := -isystem /usr/include/iceoryx/v2.0.3
$(B)/test/lib/waiter: $(B)/obj/tests/system/ipc/waiter.o
	@mkdir -p $(@D)
	$(CC) $(HARDEN_LINK) -o $@ $^ $(IOX_LIBS)
TEST_PROGRAMS += $(B)/test/lib/waiter
$(B)/test/system-ipc-stopped: | $(B)/test/lib/waiter
LINK_system-ipc-cyclone := -lddsc
# It stands before the module, which it needs.
FLAGS_tests/system/ipc/test_lost.c := -DDYING='"$(B)/test/dying.so"'
$(B)/test/dying.so: $(B)/obj/tests/system/ipc/dying.o $(B)/lib/simd/ipc_iox.so
	$(CC) -shared -Wl,-z,now -Wl,-rpath,'$$ORIGIN/../lib/simd' -o $@ $< -L$(B)/lib/simd -Wl,--no-as-needed -l:ipc_iox.so
$(B)/test/system-ipc-lost: | $(B)/test/dying.so
# A process that lacks something while it attaches, and whose wall clock is set.
FLAGS_tests/system/ipc/test_lacks.c := -DLACKING='"$(B)/test/lacking.so"' -DWALL='"$(B)/test/lib/wall.so"'
$(B)/test/lib/wall.so: $(B)/obj/tests/system/ipc/wall.o
	@mkdir -p $(@D)
	$(CC) -shared $(HARDEN_LINK) -o $@ $<
$(B)/test/system-ipc-wall: $(B)/obj/tests/system/ipc/test_wall.o $(B)/obj/tests/system/ipc/wall.o
LINK_system-ipc-wall := -ldl
TESTS += $(B)/test/system-ipc-wall
$(B)/test/lacking.so: $(B)/obj/tests/system/ipc/lacking.o $(B)/obj/tests/system/ipc/wall.o $(B)/lib/simd/ipc_iox.so
	$(CC) -shared -Wl,-z,now -Wl,-rpath,'$$ORIGIN/../lib/simd' -o $@ $(filter %.o,$^) -L$(B)/lib/simd -Wl,--no-as-needed -l:ipc_iox.so
$(B)/test/system-ipc-lacks: | $(B)/test/lacking.so $(B)/test/lib/wall.so
# What a RouDi that writes nothing over its pools has in memory.
FLAGS_tests/system/ipc/test_sparse.c := -DSPARSE='"$(B)/test/lib/sparse.so"'
$(B)/test/lib/sparse.so: $(B)/obj/tests/system/ipc/sparse.o
	@mkdir -p $(@D)
	$(CC) -shared $(HARDEN_LINK) -o $@ $<
$(B)/test/system-ipc-sparse: | $(B)/test/lib/sparse.so
TESTS_NS += $(IPC_SYSTEM:%=$(B)/test/system-ipc-%)
endif
