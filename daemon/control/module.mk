# SPDX-License-Identifier: Apache-2.0
# The interface file becomes a string, so that org.varlink.service can hand it out.
CONTROL_IFACE := schemas/wire/io.simd.Control.varlink
$(B)/gen/daemon/control_interface.c: $(CONTROL_IFACE) daemon/control/module.mk
	@mkdir -p $(@D)
	@{ echo '/* SPDX-License-Identifier: Apache-2.0 */'; echo 'extern const char control_interface[];'; \
	   echo 'const char control_interface[] ='; \
	   sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $<; echo ';'; } > $@

$(B)/obj/daemon/control/interface.o: $(B)/gen/daemon/control_interface.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(B)/lib/libsimd.a: $(B)/obj/daemon/control/interface.o
