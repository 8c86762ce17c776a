# SPDX-License-Identifier: Apache-2.0
VEHICLE_TESTS := accel_map lag model params orders messages
TESTS += $(VEHICLE_TESTS:%=$(B)/test/vehicle-%)
$(VEHICLE_TESTS:%=$(B)/test/vehicle-%): $(B)/test/vehicle-%: $(B)/obj/tests/unit/vehicle/test_%.o $(B)/lib/libvehicle.a \
	$(B)/lib/libintrospect.a $(B)/lib/libschema.a $(B)/lib/libbase.a
$(foreach t,$(VEHICLE_TESTS),$(eval LINK_vehicle-$(t) := -ljansson -lm))
