# SPDX-License-Identifier: Apache-2.0
IPC_TESTS := $(patsubst tests/unit/ipc/test_%.c,%,$(sort $(wildcard tests/unit/ipc/test_*.c)))
TESTS += $(IPC_TESTS:%=$(B)/test/ipc-%)
$(IPC_TESTS:%=$(B)/test/ipc-%): $(B)/test/ipc-%: $(B)/obj/tests/unit/ipc/test_%.o $(B)/lib/libipc.a $(B)/lib/libbase.a
