# SPDX-License-Identifier: Apache-2.0
CAMERA_TESTS := $(patsubst tests/unit/camera/test_%.c,%,$(sort $(wildcard tests/unit/camera/test_*.c)))
TESTS += $(CAMERA_TESTS:%=$(B)/test/camera-%)
INC_tests/unit/camera := -Ilibclient/include -I. -Itests -Itools/sources/camera $(ROOMS_INC) -I$(B)/gen
$(CAMERA_TESTS:%=$(B)/test/camera-%): $(B)/test/camera-%: $(B)/obj/tests/unit/camera/test_%.o \
	$(B)/obj/tools/sources/scene/scene.o $(addprefix $(B)/lib/,libcamera.a libintrospect.a libschema.a libbase.a)
$(foreach t,$(CAMERA_TESTS),$(eval LINK_camera-$(t) := -ljansson -lexpat $(LINK_CAMERA)))
