# SPDX-License-Identifier: Apache-2.0
# The data plane. ipc_iox*.c become a module of their own, the only object that sees iceoryx; it is
# never built with a sanitizer that has a run-time library: such builds run on ipc_mem alone.
INC_libclient/ipc := -Ilibclient/ipc -Ilibclient/include -Ilibclient/base -Ilibclient/process

IPC_SRC := ipc.c ipc_data.c ipc_ref.c ipc_scan.c ipc_load.c ipc_roudi.c ipc_mem.c ipc_mem_gen.c ipc_mem_pool.c ipc_mem_port.c
$(B)/lib/libipc.a: $(IPC_SRC:%.c=$(B)/obj/libclient/ipc/%.o)

IOX_SRC := ipc_iox.c ipc_iox_hooks.c ipc_iox_attach.c ipc_iox_pool.c ipc_iox_seg.c iox_fast.c iox_plane.c iox_robust.c iox_stopped.c
IOX_OBJ := $(IOX_SRC:%.c=$(B)/obj/libclient/ipc/%.o)
# glibc's FILE, the thread pointer and a jump out of iceoryx: gcc and clang alike, no such sanitizer.
IOX_CFLAGS = $(WARN) $(HARDEN) $(if $(SAN_RUNTIME),,$(SAN_FLAGS)) -g -fPIC -fvisibility=hidden -fno-common -pthread -D_GNU_SOURCE -Ilibclient/ipc -Ilibclient/base -Ilibclient/process -Ilibclient/include $(CFLAGS)
IOX_LIBS := -liceoryx_binding_c -liceoryx_posh -liceoryx_hoofs
$(IOX_OBJ): $(B)/obj/libclient/ipc/%.o: libclient/ipc/%.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(IOX_CFLAGS) -isystem /usr/include/iceoryx/v2.0.3 $(OPT) -MMD -MP -c $< -o $@

# The module: found at run time beside the library or the program (ipc_load.c).
ifeq ($(SAN_RUNTIME),)
LIBS += $(B)/lib/simd/ipc_iox.so $(B)/lib/simd/roudi_robust.so
endif
$(B)/lib/simd/ipc_iox.so: $(IOX_OBJ)
	@mkdir -p $(@D)
	$(CC) -shared -pthread $(HARDEN_LINK) $(LDFLAGS) -Wl,-z,defs -Wl,-soname,ipc_iox.so -o $@ $^ $(IOX_LIBS)

# What simd preloads into RouDi: the same cures on its side.
$(B)/lib/simd/roudi_robust.so: $(addprefix $(B)/obj/libclient/ipc/,iox_robust.o iox_stopped.o iox_plane.o iox_roudi.o)
	@mkdir -p $(@D)
	$(CC) -shared -pthread $(HARDEN_LINK) $(LDFLAGS) -Wl,-z,defs -Wl,-soname,roudi_robust.so -o $@ $^ -liceoryx_posh -liceoryx_hoofs
