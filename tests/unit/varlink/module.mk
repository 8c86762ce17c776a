# SPDX-License-Identifier: Apache-2.0
TESTS += $(B)/test/varlink-varlink
$(B)/test/varlink-varlink: $(B)/test/varlink-%: $(B)/obj/tests/unit/varlink/test_%.o $(B)/lib/libbase.a
