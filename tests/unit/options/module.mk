# SPDX-License-Identifier: Apache-2.0
TESTS += $(B)/test/options-opt
$(B)/test/options-opt: $(B)/test/options-%: $(B)/obj/tests/unit/options/test_%.o $(B)/lib/libbase.a
