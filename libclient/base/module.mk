# SPDX-License-Identifier: Apache-2.0
# libbase.a: leaf helpers, and the rooms that stand on them alone; shared by library, daemon, tools and tests, static, never installed.
BASE_ROOMS := base conf options process varlink
$(foreach r,$(BASE_ROOMS),$(eval INC_libclient/$(r) := $(sort -Ilibclient/$(r) -Ilibclient/base)))
# tests may see all of them
ROOMS_INC := $(BASE_ROOMS:%=-Ilibclient/%)

BASE_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard $(BASE_ROOMS:%=libclient/%/*.c))))
LIBS += $(B)/lib/libbase.a
# what a program that links libbase.a needs beside it
LIBBASE_LIBS := -ljansson

$(B)/lib/libbase.a: $(BASE_OBJS)

# simgen has its command line from here, so nothing here waits for generated headers.
$(BASE_OBJS): $(B)/obj/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INC_$(patsubst %/,%,$(dir $<))) $(call flags_of,$<) -MMD -MP -c $< -o $@
