# SPDX-License-Identifier: Apache-2.0
# libkeys.a: authorities of one's own, and what they sign.
INC_tools/keys := -Ilibclient/base -Itools/keys
LIBS += $(B)/lib/libkeys.a
$(B)/lib/libkeys.a: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tools/keys/*.c)))
