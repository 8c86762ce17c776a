# SPDX-License-Identifier: Apache-2.0
INC_tools/sources/camera := -Ilibclient/include -I$(B)/gen -Ilibclient/base -Ilibclient/options -Itools

# what needs no GPU
$(B)/lib/libcamera.a: $(addprefix $(B)/obj/tools/sources/camera/,lens.o info.o boxes.o sun.o encode.o picture.o)
LINK_CAMERA := -lturbojpeg -lpng -lm

# sim-camera; libcamera.a is what tests reach without a GPU, libcameragpu.a what draws
CAMERA_PURE := net.o mesh.o streets.o forms.o stage.o cameras.o
$(B)/lib/libcamera.a: $(addprefix $(B)/obj/tools/sources/camera/,$(CAMERA_PURE))
$(B)/lib/libcameragpu.a: $(addprefix $(B)/obj/tools/sources/camera/,gpu.o pipelines.o render.o view.o snapshot.o)

# GLSL to words of SPIR-V in headers
CAMERA_SHADERS := $(wildcard tools/sources/camera/shaders/*.vert tools/sources/camera/shaders/*.frag)
camera_header = $(B)/gen/camera/$(subst .,_,$(notdir $(1))).h
define camera_shader
$(call camera_header,$(1)): $(1) $(wildcard tools/sources/camera/shaders/*.glsl) tools/sources/camera/materials.h tools/sources/camera/module.mk
	@mkdir -p $$(@D)
	glslangValidator -V --quiet --target-env vulkan1.2 --vn $(subst .,_,$(notdir $(1))) -o $$@ $$<
endef
$(foreach s,$(CAMERA_SHADERS),$(eval $(call camera_shader,$(s))))
$(B)/obj/tools/sources/camera/pipelines.o: | $(foreach s,$(CAMERA_SHADERS),$(call camera_header,$(s)))

PROGRAMS += $(B)/bin/sim-camera
$(B)/bin/sim-camera: $(addprefix $(B)/obj/tools/sources/,camera/main.o camera/capture.o scene/scene.o stop.o outlet.o rate.o) \
	$(addprefix $(B)/lib/,libcameragpu.a libcamera.a libbase.a) | $(B)/lib/libsimclient.so $(B)/lib/libsimreadback.so
LINK_sim-camera = $(LINK_READBACK) $(LINK_SIMCLIENT) -ljansson -lexpat -ldl $(LINK_CAMERA)
