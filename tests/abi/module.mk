# SPDX-License-Identifier: Apache-2.0
TESTS += $(B)/test/abi-pages
$(B)/test/abi-pages: $(B)/obj/tests/abi/test_pages.o
