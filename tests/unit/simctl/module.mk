# SPDX-License-Identifier: Apache-2.0
# What of simctl needs no simd.
INC_tests/unit/simctl := -I. -Itests -Itools -Itools/simctl -Ilibclient/include $(ROOMS_INC) -Ischemas -I$(B)/gen
SIMCTL_TESTS := $(patsubst tests/unit/simctl/test_%.c,%,$(sort $(wildcard tests/unit/simctl/test_*.c)))
TESTS += $(SIMCTL_TESTS:%=$(B)/test/simctl-%)
$(SIMCTL_TESTS:%=$(B)/test/simctl-%): $(B)/test/simctl-%: $(B)/obj/tests/unit/simctl/test_%.o $(addprefix $(B)/lib/,libintrospect.a libschema.a libbase.a)
$(foreach t,$(SIMCTL_TESTS),$(eval LINK_simctl-$(t) := -ljansson -lm))
$(foreach t,filter line picture plot,$(eval $(B)/test/simctl-$(t): $(if $(filter plot,$(t)),,$(B)/obj/tools/simctl/$(t).o) $(B)/obj/tools/simctl/json.o $(B)/obj/libclient/src/why.o))
$(B)/test/simctl-picture: $(B)/obj/tools/simctl/picture_cloud.o
LINK_simctl-picture += -lpng
$(B)/test/simctl-top: $(patsubst %,$(B)/obj/tools/simctl/%.o,top_model top_rows top_clock top_proc top_state top_view top_keys table json)
$(B)/test/simctl-plot: $(patsubst %,$(B)/obj/tools/simctl/%.o,plot_model plot_raster plot_field plot_view)
$(B)/test/simctl-trace: $(patsubst %,$(B)/obj/tools/simctl/%.o,trace_model json)
