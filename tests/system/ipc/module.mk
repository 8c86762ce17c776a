# SPDX-License-Identifier: Apache-2.0
# The data plane against a real RouDi: each trap of iceoryx, generations, and a host that has iceoryx itself.
INC_tests/system/ipc := -I. -Ilibclient/ipc -Ilibclient/include -Itests/support
ifeq ($(SAN_RUNTIME),)
IPC_SYSTEM := traps generations cyclone
$(IPC_SYSTEM:%=$(B)/test/system-ipc-%): $(B)/test/system-ipc-%: $(B)/obj/tests/system/ipc/test_%.o \
	$(B)/obj/tests/support/roudi.o $(B)/lib/libipc.a $(B)/lib/libbase.a | $(B)/lib/simd/ipc_iox.so
LINK_system-ipc-cyclone := -lddsc
TESTS_NS += $(IPC_SYSTEM:%=$(B)/test/system-ipc-%)
endif
