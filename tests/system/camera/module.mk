# SPDX-License-Identifier: Apache-2.0
# Cameras with a driver that needs no GPU (Mesa's lavapipe): pixels without simd, and the process with a real data plane.
INC_tests/system/camera := $(INC_tests) -Itests/support -Itools/sources/camera -Ilibclient/include $(ROOMS_INC) -I$(B)/gen
ifeq ($(SAN_RUNTIME),)
CAMERA_SYSTEM_TESTS := $(patsubst tests/system/camera/test_%.c,%,$(sort $(wildcard tests/system/camera/test_*.c)))
TESTS_NS += $(CAMERA_SYSTEM_TESTS:%=$(B)/test/system-camera-%)
$(CAMERA_SYSTEM_TESTS:%=$(B)/test/system-camera-%): $(B)/test/system-camera-%: $(B)/obj/tests/system/camera/test_%.o \
	$(addprefix $(B)/obj/tests/support/,stack.o peer.o session.o) $(addprefix $(B)/lib/,libcameragpu.a libcamera.a) \
	$(B)/obj/tools/sources/scene/scene.o $(addprefix $(B)/lib/,libipc.a libbase.a) \
	| $(addprefix $(B)/bin/,simd simctl sim-camera) $(addprefix $(B)/lib/,libsimclient.so libsimreadback.so simd/ipc_iox.so)
$(foreach t,$(CAMERA_SYSTEM_TESTS),$(eval LINK_system-camera-$(t) = $$(LINK_READBACK) $$(LINK_SIMCLIENT) -ljansson -lexpat $$(LINK_CAMERA) -lz -ldl))
FLAGS_tests/system/camera/test_process.c := -DBIN='"$(B)/bin"'
FLAGS_tests/system/camera/test_golden.c := -DBIN='"$(B)/bin"'
endif
