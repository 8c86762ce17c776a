# SPDX-License-Identifier: Apache-2.0
# The process simd. Every .c file of its folders is in libsimd.a, main.c alone is not, so that tests can run
# the whole daemon. A folder sees its own headers and those of the folders named here: the arrows of README.md.
DAEMON_LIBS_INC := -Ilibclient/base -Ilibclient/ipc -Ilibclient/include -Ischemas -I$(B)/gen
DAEMON_REGISTRY_INC := $(patsubst %,-Idaemon/%,registry time dispatch exec config) $(DAEMON_LIBS_INC)
INC_daemon/exec := -Ilibclient/base
INC_daemon/config := -Ilibclient/base -Ilibclient/include
INC_daemon/time := -Idaemon/exec $(DAEMON_LIBS_INC)
INC_daemon/dispatch := -Idaemon/exec $(DAEMON_LIBS_INC)
INC_daemon/registry := $(DAEMON_REGISTRY_INC)
INC_daemon/control := $(DAEMON_REGISTRY_INC)
INC_daemon/supervise := $(DAEMON_REGISTRY_INC)
INC_daemon := -Idaemon $(DAEMON_REGISTRY_INC)

DAEMON_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard daemon/*/*.c)))
$(B)/lib/libsimd.a: $(DAEMON_OBJS)
LIBS += $(B)/lib/libsimd.a

include $(sort $(wildcard daemon/*/module.mk))

PROGRAMS += $(B)/bin/simd
LINK_simd = $(LIBBASE_LIBS) -ldl -lm
# all but main.o, which knows where things are installed: make install links one of its own (config/install.mk)
SIMD_PARTS := $(B)/obj/daemon/boot.o $(B)/obj/daemon/check.o $(B)/lib/libsimd.a $(B)/lib/libintrospect.a $(B)/lib/libipc.a $(B)/lib/libschema.a \
	$(B)/lib/libbase.a
$(B)/bin/simd: $(B)/obj/daemon/main.o $(SIMD_PARTS)
