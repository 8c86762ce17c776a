# SPDX-License-Identifier: Apache-2.0
# What of tests/support is worth tests of its own.
INC_tests/unit/support := $(INC_tests) -Itests/support
SUPPORT_TESTS := $(patsubst tests/unit/support/test_%.c,%,$(sort $(wildcard tests/unit/support/test_*.c)))
TESTS += $(SUPPORT_TESTS:%=$(B)/test/support-%)
$(SUPPORT_TESTS:%=$(B)/test/support-%): $(B)/test/support-%: $(B)/obj/tests/unit/support/test_%.o $(SWITCH_PURE) $(B)/lib/libbase.a
TESTS += tests/unit/support/runner.sh
