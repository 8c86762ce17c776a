# SPDX-License-Identifier: Apache-2.0
# The process simd. Every .c file of its folders is in libsimd.a, main.c alone is not, so that tests can run
# the whole daemon. A folder sees its own headers and those of the folders named here: the arrows of README.md.
DAEMON_LIBS_INC := $(ROOMS_INC) -Ilibclient/loop -Ilibclient/ipc -Ilibclient/include -Ischemas -I$(B)/gen
DAEMON_REGISTRY_INC := $(patsubst %,-Idaemon/%,registry time dispatch config) $(DAEMON_LIBS_INC)
INC_daemon/config := -Ilibclient/base -Ilibclient/conf -Ilibclient/include
INC_daemon/time := $(DAEMON_LIBS_INC)
INC_daemon/dispatch := $(DAEMON_LIBS_INC)
INC_daemon/registry := $(DAEMON_REGISTRY_INC)
INC_daemon/control := $(DAEMON_REGISTRY_INC)
INC_daemon/supervise := $(DAEMON_REGISTRY_INC)
INC_daemon := -Idaemon $(DAEMON_REGISTRY_INC)

DAEMON_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard daemon/*/*.c)))
$(B)/lib/libsimd.a: $(DAEMON_OBJS)
LIBS += $(B)/lib/libsimd.a
# what a program that links libsimd.a has with it
SIMD_LIBS := $(B)/lib/libsimd.a $(B)/lib/libloop.a

include $(sort $(wildcard daemon/*/module.mk))

PROGRAMS += $(B)/bin/simd
LINK_simd = $(LIBBASE_LIBS) -ldl -lm
# all but main.o, which knows where things are installed: make install links one of its own (config/install.mk)
SIMD_PARTS := $(B)/obj/daemon/boot.o $(B)/obj/daemon/check.o $(SIMD_LIBS) $(B)/lib/libintrospect.a $(B)/lib/libipc.a $(B)/lib/libschema.a \
	$(B)/lib/libbase.a
$(B)/bin/simd: $(B)/obj/daemon/main.o $(SIMD_PARTS)
