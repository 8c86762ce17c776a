# SPDX-License-Identifier: Apache-2.0
CORE_TESTS := $(patsubst tests/unit/core/test_%.c,%,$(sort $(wildcard tests/unit/core/test_*.c)))
TESTS += $(CORE_TESTS:%=$(B)/test/core-%)
$(CORE_TESTS:%=$(B)/test/core-%): $(B)/test/core-%: $(B)/obj/tests/unit/core/test_%.o $(B)/lib/libsimd.a $(SIMCLIENT_ARCHIVES)
