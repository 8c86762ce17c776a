# SPDX-License-Identifier: Apache-2.0
# The perception example: its arithmetic alone, and its components in a host without simd (chain)
EXAMPLES_TESTS := $(patsubst tests/unit/examples/test_%.c,%,$(sort $(wildcard tests/unit/examples/test_*.c)))
TESTS += $(EXAMPLES_TESTS:%=$(B)/test/examples-%)
$(EXAMPLES_TESTS:%=$(B)/test/examples-%): $(B)/test/examples-%: $(B)/obj/tests/unit/examples/test_%.o $(PERCEPTION_CORE) $(B)/lib/libsources.a $(B)/lib/libbase.a
$(foreach t,$(EXAMPLES_TESTS),$(eval LINK_examples-$(t) := -ljansson -lm))
$(B)/test/examples-chain: $(PERCEPTION_CLASSES) $(SIMCLIENT_ARCHIVES)
