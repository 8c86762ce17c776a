# SPDX-License-Identifier: Apache-2.0
# Leaf helpers shared by library, daemon, tools and tests; static, never installed.
INC_libclient/base := -Ilibclient/base

BASE_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard libclient/base/*.c)))
LIBS += $(B)/lib/libbase.a
# what a program that links libbase.a needs beside it
LIBBASE_LIBS := -ljansson

$(B)/lib/libbase.a: $(BASE_OBJS)

# simgen has its command line from here, so nothing here waits for generated headers.
$(B)/obj/libclient/base/%.o: libclient/base/%.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INC_libclient/base) $(call flags_of,$<) -MMD -MP -c $< -o $@
