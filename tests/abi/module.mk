# SPDX-License-Identifier: Apache-2.0
TESTS += $(B)/test/abi-pages
$(B)/test/abi-pages: $(B)/obj/tests/abi/test_pages.o

# iceoryx's own headers are C++; without them, or without a compiler, there is nothing to hold the offsets against.
IOX_HEADERS := /usr/include/iceoryx/v2.0.3
ifneq ($(and $(wildcard $(IOX_HEADERS)/iceoryx_posh/internal/mepoo/mem_pool.hpp),$(shell command -v g++)),)
TESTS += $(B)/test/abi-iceoryx
TESTS_NOSAN += $(B)/test/abi-iceoryx
$(B)/test/abi-iceoryx: tests/abi/test_iceoryx.cpp libclient/ipc/ipc_iox_layout.h libclient/ipc/iox_queue.h
	@mkdir -p $(@D)
	g++ -std=c++17 -Wall -Wextra -Wno-invalid-offsetof $(if $(WERROR),-Werror) -fno-access-control -Ilibclient/ipc -isystem $(IOX_HEADERS) \
		-o $@ $< -liceoryx_posh -liceoryx_hoofs

TESTS += $(B)/test/abi-iox-fast
TESTS_NOSAN += $(B)/test/abi-iox-fast
$(B)/test/abi-iox-fast: tests/abi/test_iox_fast.cpp $(B)/obj/libclient/ipc/iox_fast.o
	@mkdir -p $(@D)
	g++ -std=c++17 -Wall -Wextra $(if $(WERROR),-Werror) -fno-access-control -Ilibclient/ipc -isystem $(IOX_HEADERS) -rdynamic \
		-o $@ $^ -liceoryx_posh -liceoryx_hoofs -ldl
endif
