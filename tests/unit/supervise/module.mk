# SPDX-License-Identifier: Apache-2.0
SUPERVISE_TESTS := $(patsubst tests/unit/supervise/test_%.c,%,$(sort $(wildcard tests/unit/supervise/test_*.c)))
TESTS += $(SUPERVISE_TESTS:%=$(B)/test/supervise-%)
$(SUPERVISE_TESTS:%=$(B)/test/supervise-%): $(B)/test/supervise-%: $(B)/obj/tests/unit/supervise/test_%.o \
	$(SIMD_LIBS) $(SIMCLIENT_ARCHIVES)
