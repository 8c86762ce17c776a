# SPDX-License-Identifier: Apache-2.0
SENSORS_TESTS := $(patsubst tests/unit/sensors/test_%.c,%,$(sort $(wildcard tests/unit/sensors/test_*.c)))
TESTS += $(SENSORS_TESTS:%=$(B)/test/sensors-%)
$(SENSORS_TESTS:%=$(B)/test/sensors-%): $(B)/test/sensors-%: $(B)/obj/tests/unit/sensors/test_%.o $(addprefix $(B)/lib/,libsensors.a libsources.a \
	libschema.a libbase.a)
$(foreach t,$(SENSORS_TESTS),$(eval LINK_sensors-$(t) := -ljansson -lm))
