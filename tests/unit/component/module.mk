# SPDX-License-Identifier: Apache-2.0
COMPONENT_TESTS := $(patsubst tests/unit/component/test_%.c,%,$(sort $(wildcard tests/unit/component/test_*.c)))
TESTS += $(COMPONENT_TESTS:%=$(B)/test/component-%)
$(COMPONENT_TESTS:%=$(B)/test/component-%): $(B)/test/component-%: $(B)/obj/tests/unit/component/test_%.o \
	$(B)/lib/libsimcomponent.a $(SIMCLIENT_ARCHIVES)
