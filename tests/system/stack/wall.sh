#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No wait of simd, its bridges, its clients and simctl is for a moment of the wall clock: tests of whole stacks, in which such a wait is a
# crash (tests/system/ipc/wall.c).
set -u
b=${B:-build}
run()
{
	program=$1
	tests/support/ns.sh env LD_PRELOAD="$PWD/$b/test/lib/wall.so" "$b/test/$program" || code=1
}
code=0
run system-stack-waits
run system-stack-client
run system-stack-step
run system-stack-rosbridge
run system-link-service
run system-ros1-publish
run system-world-host
run readback-order
exit $code
