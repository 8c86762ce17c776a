# SPDX-License-Identifier: Apache-2.0
DISPATCH_UNITS := $(patsubst tests/unit/dispatch/test_%.c,%,$(sort $(wildcard tests/unit/dispatch/test_*.c)))
TESTS += $(DISPATCH_UNITS:%=$(B)/test/dispatch-%)
$(DISPATCH_UNITS:%=$(B)/test/dispatch-%): $(B)/test/dispatch-%: $(B)/obj/tests/unit/dispatch/test_%.o $(DISPATCH_LIBS)
