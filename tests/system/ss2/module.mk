# SPDX-License-Identifier: Apache-2.0
# The real sim-ss2, started by the real simd with a real RouDi, in namespaces of its own.
ifeq ($(SAN_RUNTIME),)
$(B)/test/system-ss2-driver: $(B)/obj/tests/system/ss2/test_driver.o $(B)/obj/tests/system/simd/run.o $(SS2_PEER) \
	$(SIMD_LIBS) $(SIMCLIENT_ARCHIVES) | $(B)/bin/simd $(B)/bin/sim-ss2 $(B)/lib/simd/ipc_iox.so
LINK_system-ss2-driver := -lzmq
TESTS_NS += $(B)/test/system-ss2-driver
endif
