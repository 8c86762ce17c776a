# SPDX-License-Identifier: Apache-2.0
# The world's wire format, for sim-world and its clients.
INC_libclient/world := -Ilibclient/base

LIBS += $(B)/lib/libsimworldwire.a
$(B)/lib/libsimworldwire.a: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard libclient/world/*.c)))
