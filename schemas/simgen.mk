# SPDX-License-Identifier: Apache-2.0
# Types of one's own, the way a user makes them: $(eval $(call simgen_package,PACKAGE,FILES)) gives
# $(B)/gen/PACKAGE/msg/*.h (-I$(B)/gen) and MSG_OBJS_PACKAGE, the objects of the field tables.
define simgen_package
MSG_OBJS_$(1) := $(patsubst %.msg,$(B)/obj/gen/$(1)/msg/%.o,$(notdir $(2)))
GENERATED += $(B)/gen/$(1)/msg/.stamp
$(B)/gen/$(1)/msg/.stamp: $(2) $(MSGS) $(B)/bin/simgen
	@mkdir -p $$(@D)
	$(B)/bin/simgen -p $(1) -I sim=schemas/msg -o $(B)/gen $(2)
	@touch $$@
$(patsubst %.msg,$(B)/gen/$(1)/msg/%.h,$(notdir $(2))) $(patsubst %.msg,$(B)/gen/$(1)/msg/%.c,$(notdir $(2))): $(B)/gen/$(1)/msg/.stamp ;
$$(MSG_OBJS_$(1)): $(B)/gen/$(1)/msg/.stamp $(MSG_STAMP)
endef
