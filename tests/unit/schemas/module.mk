# SPDX-License-Identifier: Apache-2.0
SCHEMAS_TESTS := parser simgen layout hashes ros rostext ros_all
TESTS += $(SCHEMAS_TESTS:%=$(B)/test/schemas-%)
$(eval $(call simgen_package,probe,$(sort $(wildcard tests/unit/schemas/probe/*.msg))))
FLAGS_tests/unit/schemas/test_simgen.c := -DSIMGEN='"$(B)/bin/simgen"'
$(B)/test/schemas-simgen: | $(B)/bin/simgen

SCHEMAS_LIBS := $(B)/lib/libros.a $(B)/lib/libmsggen.a $(B)/lib/libintrospect.a $(B)/lib/libschema.a $(B)/lib/libbase.a
$(SCHEMAS_TESTS:%=$(B)/test/schemas-%): $(B)/test/schemas-%: $(B)/obj/tests/unit/schemas/test_%.o $(SCHEMAS_LIBS)
