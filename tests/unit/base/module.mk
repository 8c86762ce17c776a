# SPDX-License-Identifier: Apache-2.0
BASE_TESTS := $(patsubst tests/unit/base/test_%.c,%,$(sort $(wildcard tests/unit/base/test_*.c)))
TESTS += $(BASE_TESTS:%=$(B)/test/base-%)
$(BASE_TESTS:%=$(B)/test/base-%): $(B)/test/base-%: $(B)/obj/tests/unit/base/test_%.o $(B)/lib/libbase.a
