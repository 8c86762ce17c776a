# SPDX-License-Identifier: Apache-2.0
INC_tests/unit/readback := -Ilibclient/include -I. -Itests -Itests/unit/readback -Ilibclient/readback $(ROOMS_INC) -I$(B)/gen
READBACK_TESTS := $(patsubst tests/unit/readback/test_%.c,%,$(sort $(wildcard tests/unit/readback/test_*.c)))
TESTS += $(READBACK_TESTS:%=$(B)/test/readback-%)
$(READBACK_TESTS:%=$(B)/test/readback-%): $(B)/test/readback-%: $(B)/obj/tests/unit/readback/test_%.o \
	$(addprefix $(B)/obj/tests/unit/readback/,stand_in.o slots.o) $(addprefix $(B)/lib/,libsimreadback.a libbase.a)

# A driver of CUDA for test_cuda*.c, which load it by its path, so that libcuda.so.1 is that one from then on.
CUDA_STAND_IN := $(B)/test/cuda/libcuda.so.1
$(CUDA_STAND_IN): $(addprefix $(B)/obj/tests/unit/readback/,cuda_stand_in.o cuda_stand_in_memory.o)
	@mkdir -p $(@D)
	$(CC) -shared $(ALL_LDFLAGS) -Wl,-soname,libcuda.so.1 -o $@ $^
READBACK_CUDA_TESTS := $(patsubst test_%.c,%,$(notdir $(sort $(wildcard tests/unit/readback/test_cuda*.c))))
$(READBACK_CUDA_TESTS:%=$(B)/test/readback-%): $(B)/obj/tests/unit/readback/cuda_fixture.o | $(CUDA_STAND_IN)
FLAGS_tests/unit/readback/cuda_fixture.c := -DCUDA_STAND_IN='"$(CUDA_STAND_IN)"'
