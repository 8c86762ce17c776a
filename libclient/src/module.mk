# SPDX-License-Identifier: Apache-2.0
# libsimclient: the static archive (tests and our own tools that need its insides) and the shared library,
# which exports sim_* only.
INC_libclient/src := -Ilibclient/src -Ilibclient/include -Ilibclient/base -Ilibclient/ipc -Ischemas -I$(B)/gen

SIMCLIENT_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard libclient/src/*.c)))
LIBS += $(B)/lib/libsimclient.a

$(B)/lib/libsimclient.a: $(SIMCLIENT_OBJS)
