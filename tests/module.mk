# SPDX-License-Identifier: Apache-2.0
# Tests may include anything. Each folder of tests has a module.mk of its own.
INC_tests := -I. -Itests $(INC_daemon) $(ROOMS_INC) -Ilibclient/ipc -Ilibclient/include -Ischemas -I$(B)/gen

LINK_test = -lcmocka $(LIBBASE_LIBS) -lz

# support first: what it names, the others list as prerequisites
include tests/support/module.mk $(filter-out tests/support/module.mk,$(sort $(wildcard tests/*/module.mk tests/*/*/module.mk)))

$(filter $(B)/test/%,$(TESTS) $(TESTS_NS) $(TESTS_FAULT)): $(B)/lib/libtest.a
