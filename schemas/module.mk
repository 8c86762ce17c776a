# SPDX-License-Identifier: Apache-2.0
# Definitions and what is made of them: $(B)/bin/simgen, $(B)/gen/sim/{msg,srv}/*.h; libschema.a has what simgen and the library compute alike.
# Everything that includes <sim/msg/...> or <sim/srv/...> needs -I$(B)/gen; GENERATED makes the headers come first.
INC_schemas := -Ischemas -Ilibclient/include -Ilibclient/base -Ilibclient/options -I$(B)/gen

MSGS := $(sort $(wildcard schemas/msg/*.msg))
MSG_NAMES := $(basename $(notdir $(MSGS))) all
SRVS := $(sort $(wildcard schemas/srv/*.srv))
SRV_NAMES := $(basename $(notdir $(SRVS))) all
SCHEMA_NAMES := $(MSG_NAMES:%=gen/sim/msg/%) $(SRV_NAMES:%=gen/sim/srv/%)
MSG_STAMP := $(B)/gen/sim/msg/.stamp
GENERATED += $(MSG_STAMP)

# libmsggen.a: the generator without main(), for tests and other generators.
GEN_OBJS := $(addprefix $(B)/obj/schemas/,gen/arena.o gen/msgdef.o gen/typeset.o gen/rosdef.o gen/emit_check.o gen/emit_text.o gen/emit_header.o gen/emit_table.o)
TYPEDESC_OBJ := $(B)/obj/schemas/msg/typedesc.o
$(B)/lib/libmsggen.a: $(GEN_OBJS) $(TYPEDESC_OBJ)
$(B)/bin/simgen: $(B)/obj/schemas/gen/simgen.o $(B)/lib/libmsggen.a $(B)/lib/libbase.a
LINK_simgen = $(LIBBASE_LIBS)
PROGRAMS += $(B)/bin/simgen

# Of these objects nothing waits for generated headers: they make them.
$(B)/obj/schemas/%.o: schemas/%.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INC_schemas) -MMD -MP -c $< -o $@

# A definition that has gone is not in what was generated either.
schema_files := $(strip $(MSGS) $(SRVS))
ifneq ($(file <$(B)/gen/schemas),$(schema_files))
$(shell mkdir -p $(B)/gen)$(file >$(B)/gen/schemas,$(schema_files))
endif
$(MSG_STAMP): $(MSGS) $(SRVS) $(B)/gen/schemas $(B)/bin/simgen
	@mkdir -p $(@D)
	$(B)/bin/simgen -s -l -p sim -o $(B)/gen $(MSGS) $(SRVS)
	@touch $@
$(SCHEMA_NAMES:%=$(B)/%.h): $(MSG_STAMP) ;

$(B)/obj/gen/%.o: $(B)/gen/%.c $(MSG_STAMP) $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Ilibclient/include -I$(B)/gen -MMD -MP -c $< -o $@

# this file too: an object that left is still in the archive of an older build
$(B)/lib/libschema.a: $(TYPEDESC_OBJ) schemas/module.mk
LIBS += $(B)/lib/libschema.a

# Types of one's own, the way a user makes them: $(eval $(call simgen_package,PACKAGE,FILES)) gives
# $(B)/gen/PACKAGE/msg/*.h (-I$(B)/gen).
define simgen_package
GENERATED += $(B)/gen/$(1)/msg/.stamp
$(B)/gen/$(1)/msg/.stamp: $(2) $(MSGS) $(B)/bin/simgen
	@mkdir -p $$(@D)
	$(B)/bin/simgen -p $(1) -I sim=schemas/msg -o $(B)/gen $(2)
	@touch $$@
$(patsubst %.msg,$(B)/gen/$(1)/msg/%.h,$(notdir $(2))): $(B)/gen/$(1)/msg/.stamp ;
endef
# The custom type of the examples.
$(eval $(call simgen_package,example,libclient/examples/FloatArray.msg))

include schemas/ros/module.mk schemas/apollo/module.mk
