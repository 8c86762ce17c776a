# SPDX-License-Identifier: Apache-2.0
CONFIG_TESTS := $(patsubst tests/unit/config/test_%.c,%,$(sort $(wildcard tests/unit/config/test_*.c)))
TESTS += $(CONFIG_TESTS:%=$(B)/test/config-%)
$(CONFIG_TESTS:%=$(B)/test/config-%): $(B)/test/config-%: $(B)/obj/tests/unit/config/test_%.o $(SIMD_LIBS) $(SIMCLIENT_ARCHIVES)
