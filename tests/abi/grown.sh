#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# grown.sh DIR: in DIR, a library of a later release, from a copy of this tree in which each struct of options has one more member at its end, and
# sim/Imu one more field before all others. DIR/lib is laid out as an installation has it; its sim_version() is 0.9.9.
set -e
unset MAKEFLAGS MFLAGS MAKELEVEL B
here=${BUILD:-build}
rm -rf "$1"
mkdir -p "$1/lib"
cp -r Makefile .clang-format config daemon libclient schemas tests tools "$1"
sed -i 's/^VERSION *:= .*/VERSION := 0.9.9/' "$1/Makefile"
for h in "$1"/libclient/include/sim/*.h; do
	awk '/^struct sim_[a-z_0-9]* \{/ { options = 0; members = 0 }
		/;/ && ++members == 1 && /\tsize_t size;/ { options = 1 }
		/^\};/ && options { print "\tint64_t added_later;"; options = 0; n++ }
		{ print }
		END { if (n) print FILENAME ": " n >"/dev/stderr" }' "$h" >"$h.new"
	mv "$h.new" "$h"
done
sed -i '0,/^Quaternion/s//float64 added_later # [-] of a later release\nQuaternion/' "$1/schemas/msg/Imu.msg"
grep -qx "VERSION := 0.9.9" "$1/Makefile"
grep -q added_later "$1/schemas/msg/Imu.msg"
grep -q added_later "$1/libclient/include/sim/client.h"
make -s -C "$1" -j2 B=build OPT=-O0 build/lib/libsimclient.so
cp -P "$1"/build/lib/libsimclient.so* "$1/lib"
ln -sf "$(realpath "$here")/lib/simd" "$1/lib/simd"
