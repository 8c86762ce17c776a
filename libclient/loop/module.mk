# SPDX-License-Identifier: Apache-2.0
# The event loop, shared by the daemon, bridges and tools; static, never installed.
INC_libclient/loop := -Ilibclient/loop -Ilibclient/base

LIBS += $(B)/lib/libloop.a
$(B)/lib/libloop.a: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard libclient/loop/*.c)))
