# SPDX-License-Identifier: Apache-2.0
INTROSPECT_TESTS := types print read paths numbers hostile
TESTS += $(INTROSPECT_TESTS:%=$(B)/test/introspect-%)
# the package of tests/unit/schemas/probe, made in that folder's module.mk, which is read later
PROBE_OBJS := $(addprefix $(B)/obj/gen/probe/msg/,Empty.o Every.o Leaf.o)
INTROSPECT_LIBS := $(B)/lib/libintrospect.a $(B)/lib/libschema.a $(B)/lib/libbase.a
$(INTROSPECT_TESTS:%=$(B)/test/introspect-%): $(B)/test/introspect-%: $(B)/obj/tests/unit/introspect/test_%.o $(PROBE_OBJS) $(INTROSPECT_LIBS)
LINK_introspect-numbers := -lm
