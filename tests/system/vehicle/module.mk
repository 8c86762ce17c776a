# SPDX-License-Identifier: Apache-2.0
# The real sim-vehicle in lock-step under the real simd with a real RouDi, in namespaces of its own.
ifeq ($(SAN_RUNTIME),)
$(B)/test/system-vehicle: $(B)/obj/tests/system/vehicle/test_vehicle.o $(B)/obj/tests/system/simd/run.o \
	$(SIMD_LIBS) $(SIMCLIENT_ARCHIVES) | $(B)/bin/simd $(B)/bin/sim-vehicle $(B)/lib/simd/ipc_iox.so
LINK_system-vehicle := -lm
TESTS_NS += $(B)/test/system-vehicle
endif
