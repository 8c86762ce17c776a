# SPDX-License-Identifier: Apache-2.0
# The data plane. ipc_iox*.c become a module of their own, the only object that sees iceoryx; it is
# never built with a sanitizer, and sanitized builds run on ipc_mem alone.
INC_libclient/ipc := -Ilibclient/ipc -Ilibclient/include
FLAGS_libclient/ipc/ipc_load.c := -DIPC_MODULE_DIR='"$(PREFIX)/lib/simd"'

IPC_SRC := ipc.c ipc_data.c ipc_ref.c ipc_load.c ipc_roudi.c ipc_mem.c pools.c
$(B)/lib/libipc.a: $(IPC_SRC:%.c=$(B)/obj/libclient/ipc/%.o)
