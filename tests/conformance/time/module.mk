# SPDX-License-Identifier: Apache-2.0
# One suite, stamped on every time source.
TESTS += $(B)/test/conformance-time
$(B)/test/conformance-time: $(B)/obj/tests/conformance/time/test_sources.o $(SIMD_LIBS) $(B)/lib/libbase.a
$(B)/test/conformance-time: | $(B)/test/plugins/source_good.so $(B)/lib/simd/source_play.so
