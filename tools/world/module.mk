# SPDX-License-Identifier: Apache-2.0
# The world: what a tick is made of.
INC_tools/world := -Ilibclient/base -Ilibclient -Itools/world

LIBS += $(B)/lib/libworld.a
$(B)/lib/libworld.a: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tools/world/*.c)))
