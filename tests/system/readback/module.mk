# SPDX-License-Identifier: Apache-2.0
# Read-back with drivers that need no GPU (Mesa's lavapipe and llvmpipe), into memory and into slots of a real data plane.
INC_tests/system/readback := $(INC_tests) -I. -Itests -Itests/support -Ilibclient/include $(ROOMS_INC) -I$(B)/gen
ifeq ($(SAN_RUNTIME),)
READBACK_SYSTEM_TESTS := $(patsubst tests/system/readback/test_%.c,%,$(sort $(wildcard tests/system/readback/test_*.c)))
TESTS_NS += $(READBACK_SYSTEM_TESTS:%=$(B)/test/system-readback-%)
$(READBACK_SYSTEM_TESTS:%=$(B)/test/system-readback-%): $(B)/test/system-readback-%: $(B)/obj/tests/system/readback/test_%.o \
	$(addprefix $(B)/obj/tests/support/,stack.o peer.o session.o) $(addprefix $(B)/lib/,libipc.a libbase.a) \
	| $(addprefix $(B)/bin/,simd simctl) $(addprefix $(B)/lib/,libsimclient.so libsimreadback.so simd/ipc_iox.so)
$(B)/test/system-readback-vulkan: $(B)/obj/tests/system/readback/gpu.o
LINK_system-readback-vulkan = $(LINK_READBACK) $(LINK_SIMCLIENT) -lvulkan -ljansson -lz
LINK_system-readback-gles = $(LINK_READBACK) $(LINK_SIMCLIENT) -lEGL -lGLESv2 -ljansson -lz
FLAGS_tests/system/readback/test_example.c := -DCAMERAS='"$(B)/examples/"'
$(B)/test/system-readback-example: | $(B)/examples/camera_gles $(B)/examples/camera_vulkan
LINK_system-readback-example = $(LINK_READBACK) $(LINK_SIMCLIENT) -ljansson -lz
FLAGS_tests/system/readback/test_doctor.c := -DBAD_DRIVER='"$(B)/test/plugins/bad_driver.so"'
$(B)/test/plugins/bad_driver.so: $(B)/obj/tests/system/readback/bad_driver.o
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -o $@ $^
$(B)/test/system-readback-doctor: | $(B)/test/plugins/bad_driver.so
TESTS_ONCE += $(B)/test/system-readback-doctor
LINK_system-readback-doctor = $(LINK_READBACK) $(LINK_SIMCLIENT) -ljansson -lz
endif
