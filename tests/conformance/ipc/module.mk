# SPDX-License-Identifier: Apache-2.0
# One suite, stamped on each backend of ipc.h.
INC_tests/conformance/ipc := -I. -Ilibclient/ipc -Ilibclient/include -Itests/conformance/ipc -Itests/support
IPC_SUITE := $(B)/obj/tests/conformance/ipc/suite.o

$(B)/test/conformance-ipc-mem: $(B)/obj/tests/conformance/ipc/mem.o $(IPC_SUITE) $(B)/lib/libipc.a $(B)/lib/libbase.a
TESTS += $(B)/test/conformance-ipc-mem

ifeq ($(SAN_RUNTIME),)
$(B)/test/conformance-ipc-iox: $(B)/obj/tests/conformance/ipc/iox.o $(IPC_SUITE) $(B)/obj/tests/support/roudi.o \
	$(B)/lib/libipc.a $(B)/lib/libbase.a | $(B)/lib/simd/ipc_iox.so
TESTS_NS += $(B)/test/conformance-ipc-iox
endif
