# SPDX-License-Identifier: Apache-2.0
# One small program per use, from what is installed only: the public headers, libsimclient.so, and simgen for
# the type of their own (its package is made in schemas/module.mk).
INC_libclient/examples := -Ilibclient/include -I$(B)/gen
EXAMPLE_NAMES := $(filter-out converter_%,$(basename $(notdir $(sort $(wildcard libclient/examples/*.c)))))
EXAMPLES += $(EXAMPLE_NAMES:%=$(B)/examples/%)

LINK_examples = -L$(B)/lib -lsimclient -Wl,-rpath,'$$ORIGIN/../lib'
$(EXAMPLE_NAMES:%=$(B)/examples/%): $(B)/examples/%: $(B)/obj/libclient/examples/%.o $(B)/lib/libsimclient.so

# A converter plug-in is loaded, not run.
EXAMPLES += $(B)/examples/converter_float_array.so
$(B)/examples/converter_float_array.so: $(B)/obj/libclient/examples/converter_float_array.o
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -o $@ $^

# a host of a world, from the other library
EXAMPLES += $(B)/examples/convoy
$(B)/examples/convoy: $(B)/obj/libclient/examples/world/convoy.o | $(B)/lib/libsimworld.so
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -pie -o $@ $(filter %.o,$^) -L$(B)/lib -lsimworld -Wl,-rpath,'$$ORIGIN/../lib' -lm
INC_libclient/examples/world := -Ilibclient/include

# a camera, read back by the third one
EXAMPLES += $(B)/examples/camera_gles $(B)/examples/camera_vulkan
$(B)/examples/camera_gles $(B)/examples/camera_vulkan: $(B)/examples/%: $(B)/obj/libclient/examples/readback/%.o | $(B)/lib/libsimclient.so $(B)/lib/libsimreadback.so
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -pie -o $@ $(filter %.o,$^) -L$(B)/lib -lsimreadback -lsimclient -Wl,-rpath,'$$ORIGIN/../lib' $(if $(filter %gles,$@),-lEGL -lGLESv2,-lvulkan)
INC_libclient/examples/readback := -Ilibclient/include -I$(B)/gen

# a host in C++, where there is a compiler for it; what tests start
ifneq ($(and $(if $(SAN_RUNTIME),,plain),$(shell command -v g++)),)
VEHICLE_HOST := $(B)/examples/vehicle_host
TEST_PROGRAMS += $(VEHICLE_HOST)
$(VEHICLE_HOST): libclient/examples/world/vehicle_host.cpp libclient/include/sim/world.h | $(B)/lib/libsimworld.so
	@mkdir -p $(@D)
	g++ -std=c++17 -O2 -g -Wall -Wextra -Wshadow $(if $(WERROR),-Werror) -Ilibclient/include -o $@ $< -L$(B)/lib -lsimworld -Wl,-rpath,'$$ORIGIN/../lib'
endif

include libclient/examples/perception/module.mk
