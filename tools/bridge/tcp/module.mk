# SPDX-License-Identifier: Apache-2.0
# libtcplink.a: a client of a peer that speaks frames over TCP.
INC_tools/bridge/tcp := -Itools/bridge/tcp -Itools/bridge/convert -Ilibclient/include -Ilibclient/loop -Ilibclient/base -I$(B)/gen
LIBS += $(B)/lib/libtcplink.a
$(B)/lib/libtcplink.a: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tools/bridge/tcp/*.c)))
