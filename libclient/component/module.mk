# SPDX-License-Identifier: Apache-2.0
# Nodes, components, the scheduler: part of libsimclient.so, on whose public interface alone they stand.
INC_libclient/component := -Ilibclient/include -Ilibclient/base -Ilibclient/process -I$(B)/gen

LIBS += $(B)/lib/libsimcomponent.a
$(B)/lib/libsimcomponent.a: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard libclient/component/*.c))) libclient/component/module.mk
