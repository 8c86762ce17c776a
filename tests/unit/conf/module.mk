# SPDX-License-Identifier: Apache-2.0
TESTS += $(B)/test/conf-conf
$(B)/test/conf-conf: $(B)/test/conf-%: $(B)/obj/tests/unit/conf/test_%.o $(B)/lib/libbase.a
