# SPDX-License-Identifier: Apache-2.0
# libsimcomponent: nodes, components, the scheduler. The static archive is for tests, which need its insides; the shared
# library exports sim_* only and stands on libsimclient.so.
INC_libclient/component := -Ilibclient/include -Ilibclient/base -I$(B)/gen

LIBS += $(B)/lib/libsimcomponent.a
$(B)/lib/libsimcomponent.a: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard libclient/component/*.c))) libclient/component/module.mk
