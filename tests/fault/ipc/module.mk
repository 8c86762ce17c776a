# SPDX-License-Identifier: Apache-2.0
INC_tests/fault/ipc := -I. -Ilibclient/ipc -Ilibclient/include -Itests/support
ifeq ($(SAN_RUNTIME),)
$(B)/test/fault-ipc-kills: $(B)/obj/tests/fault/ipc/test_kills.o $(B)/obj/tests/support/roudi.o $(B)/lib/libipc.a $(B)/lib/libbase.a \
	| $(B)/lib/simd/ipc_iox.so
TESTS_FAULT += $(B)/test/fault-ipc-kills
endif
