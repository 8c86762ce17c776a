# SPDX-License-Identifier: Apache-2.0
# Harnesses: fuzz_<name>.c, corpus/<name>/, an optional <name>.dict. `make fuzz` runs them for a while; their
# corpus is a test of every run (replay.c).
FUZZERS += conf varlink
FUZZ_LIBS_conf    := $(B)/lib/libbase.a
FUZZ_LIBS_varlink := $(B)/lib/libbase.a

TESTS += $(FUZZERS:%=$(B)/test/fuzz-%)
