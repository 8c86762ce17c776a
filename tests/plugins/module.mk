# SPDX-License-Identifier: Apache-2.0
# The shelf: one object per way of being wrong, and a good one, all from bad.c.
INC_tests/plugins := -Ilibclient/include -I$(B)/gen
BAD_KINDS := SYMBOL NOTHING ABI SIZE NULL REG OLD GOOD
SHELF := $(BAD_KINDS:%=$(B)/test/plugins/bridge_%.so)

$(B)/test/plugins/bridge_%.so: tests/plugins/bad.c $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INC_tests/plugins) -DBAD_$* -shared -o $@ $<

# What was built on the day when the ABI was frozen: no header of ours.
SHELF += $(B)/test/plugins/bridge_FROZEN.so
$(B)/test/plugins/bridge_FROZEN.so: tests/plugins/frozen.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -shared -o $@ $<

CONVERTER_KINDS := SYMBOL NOTHING ABI SIZE NAME EMPTY ONE TYPE FOREIGN WORD NEITHER DEFINITION FAIL FIELDS ORDER GOOD
CONVERTER_SHELF := $(CONVERTER_KINDS:%=$(B)/test/plugins/converter_%.so)
$(B)/test/plugins/converter_%.so: tests/plugins/converter.c $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INC_tests/plugins) -DBAD_$* -shared -o $@ $<

SOURCE_KINDS := SYMBOL NOTHING ABI SIZE NAME OTHER ID KIND START good
SOURCE_PLUGINS := $(SOURCE_KINDS:%=$(B)/test/plugins/source_%.so)
$(B)/test/plugins/source_%.so: tests/plugins/source.c libclient/include/sim/source.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INC_tests/plugins) -DBAD_$* -shared -o $@ $<

# Slow, silent, crashing, ... as its options say; for a bench as well.
TEST_PROGRAMS += $(B)/test/plugins/bridge_faulty.so
FAULTY := $(B)/test/plugins/bridge_faulty.so
$(FAULTY): tests/plugins/faulty.c $(GENERATED) | $(B)/lib/libsimclient.so
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(INC_tests/plugins) -shared -o $@ $< $(LINK_SIMCLIENT) -Wl,-rpath,'$$ORIGIN/../../lib'

# A tool of the benches.
TEST_PROGRAMS += $(B)/test/plugins/stamp.so
$(B)/test/plugins/stamp.so: tests/plugins/stamp.c tests/plugins/stamp.h $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INC_tests/plugins) -Itests -shared -o $@ $<

# Waits for the test that has loaded it.
GATE := $(B)/test/plugins/bridge_gate.so
$(GATE): tests/plugins/gate.c tests/plugins/gate.h $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INC_tests/plugins) -Itests -shared -o $@ $<

# Components for simhost; the same with another factor, and with none.
COMPONENT_SHELF := $(B)/test/plugins/components.so $(B)/test/plugins/components_3.so $(B)/test/plugins/components_0.so
$(COMPONENT_SHELF): tests/plugins/components.c $(GENERATED) | $(B)/lib/libsimclient.so
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(INC_tests/plugins) $(patsubst components_%,-DFACTOR=%,$(filter components_%,$(basename $(@F)))) \
		-shared -o $@ $< $(LINK_SIMCLIENT) -Wl,-rpath,'$$ORIGIN/../../lib'

# Components whose graph is the test's own.
GRAPH := $(B)/test/plugins/graph.so
$(GRAPH): tests/plugins/graph.c $(GENERATED) | $(B)/lib/libsimclient.so
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(INC_tests/plugins) -shared -o $@ $< $(LINK_SIMCLIENT) -Wl,-rpath,'$$ORIGIN/../../lib'

# What a component must not do; and a library that crashes while it is loaded.
BAD_COMPONENTS := $(B)/test/plugins/bad_component.so $(B)/test/plugins/bad_component_LOAD.so
$(B)/test/plugins/bad_component.so $(B)/test/plugins/bad_component_LOAD.so: tests/plugins/bad_component.c $(GENERATED) | $(B)/lib/libsimclient.so
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(INC_tests/plugins) $(patsubst bad_component_%,-DBAD_%,$(filter bad_component_%,$(basename $(@F)))) \
		-shared -o $@ $< $(LINK_SIMCLIENT) -Wl,-rpath,'$$ORIGIN/../../lib'

# Components as classes of C++, where there is a compiler for it.
ifneq ($(and $(if $(SAN_RUNTIME),,plain),$(shell command -v g++)),)
CXX_COMPONENT := $(B)/test/plugins/component_cxx.so
$(CXX_COMPONENT): tests/plugins/component_cxx.cpp libclient/include/sim/component.hpp $(GENERATED) | $(B)/lib/libsimclient.so
	@mkdir -p $(@D)
	g++ -std=c++17 -O2 -Wall -Wextra $(if $(WERROR),-Werror) -fPIC -pthread -shared -Ilibclient/include -I$(B)/gen -o $@ $< $(LINK_SIMCLIENT) \
		-Wl,-rpath,'$$ORIGIN/../../lib'
BAD_COMPONENTS += $(B)/test/plugins/bad_component_cxx.so
$(B)/test/plugins/bad_component_cxx.so: tests/plugins/bad_component_cxx.cpp $(GENERATED) | $(B)/lib/libsimclient.so
	@mkdir -p $(@D)
	g++ -std=c++17 -O2 -g -Wall -Wextra $(if $(WERROR),-Werror) -fPIC -shared $(INC_tests/plugins) -o $@ $< $(LINK_SIMCLIENT) -Wl,-rpath,'$$ORIGIN/../../lib'
endif
