# SPDX-License-Identifier: Apache-2.0
INTROSPECT_TESTS := types print read paths numbers hostile
TESTS += $(INTROSPECT_TESTS:%=$(B)/test/introspect-%)
INTROSPECT_LIBS := $(B)/lib/libintrospect.a $(B)/lib/libschema.a $(B)/lib/libbase.a
$(INTROSPECT_TESTS:%=$(B)/test/introspect-%): $(B)/test/introspect-%: $(B)/obj/tests/unit/introspect/test_%.o $(INTROSPECT_LIBS)
LINK_introspect-numbers := -lm
