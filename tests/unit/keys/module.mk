# SPDX-License-Identifier: Apache-2.0
# Keys of machines that a link joins. What sim-world has: tests/unit/world.
INC_tests/unit/keys := -I. -Itests -Itools/keys $(ROOMS_INC)
TESTS += $(B)/test/keys-link_keys
$(B)/test/keys-link_keys: $(B)/obj/tests/unit/keys/test_link_keys.o $(B)/lib/libkeys.a $(B)/lib/libbase.a
LINK_keys-link_keys = -lcrypto $(LIBBASE_LIBS)
