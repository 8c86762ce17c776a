# SPDX-License-Identifier: Apache-2.0
SIMHOST_TESTS := $(patsubst tests/unit/simhost/test_%.c,%,$(sort $(wildcard tests/unit/simhost/test_*.c)))
TESTS += $(SIMHOST_TESTS:%=$(B)/test/simhost-%)
$(SIMHOST_TESTS:%=$(B)/test/simhost-%): $(B)/test/simhost-%: $(B)/obj/tests/unit/simhost/test_%.o $(B)/lib/libsimhost.a \
	$(B)/lib/libsimcomponent.a $(B)/lib/libbase.a
$(foreach t,$(SIMHOST_TESTS),$(eval LINK_simhost-$(t) = $(LINK_test) $(LINK_SIMHOST)))
$(B)/test/simhost-check: | $(B)/bin/simhost $(B)/examples/libperception.so
$(B)/test/simhost-launcher: | $(B)/bin/simhost
