# SPDX-License-Identifier: Apache-2.0
COMPONENT_TESTS := $(filter-out cxx,$(patsubst tests/unit/component/test_%.c,%,$(sort $(wildcard tests/unit/component/test_*.c))))
TESTS += $(COMPONENT_TESTS:%=$(B)/test/component-%)
$(COMPONENT_TESTS:%=$(B)/test/component-%): $(B)/test/component-%: $(B)/obj/tests/unit/component/test_%.o \
	$(B)/lib/libsimcomponent.a $(SIMCLIENT_ARCHIVES)

# Classes of C++, loaded by a program that links the shared library, as users' do.
ifneq ($(CXX_COMPONENT),)
FLAGS_tests/unit/component/test_cxx.c := -DCXX_COMPONENT='"$(CXX_COMPONENT)"'
$(B)/test/component-cxx: $(B)/obj/tests/unit/component/test_cxx.o $(B)/lib/libsimclient.so | $(CXX_COMPONENT)
LINK_component-cxx = $(LINK_SIMCLIENT) $(LINK_test) -ldl
TESTS += $(B)/test/component-cxx
endif
