#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a stranger meets before anything is built: make on a bare machine, make deps. In namespaces of its own
# (tests/support/ns.sh).
unset MAKEFLAGS MFLAGS MAKELEVEL STAGE_TIMES SUDO_UID SUDO_GID
fail() { echo "first hour: $1"; cat /tmp/said; exit 1; }
said() { grep -qE "$1" /tmp/said || fail "it does not say \"$1\""; }
program() { cat >"/tmp/fake/$1" && chmod +x "/tmp/fake/$1"; }
mkdir -p /tmp/bare /tmp/fake /tmp/empty

# ---- make, with next to nothing in the path ----
for p in sh sed awk grep cat dirname mkdir touch find make cksum cut head nproc printf sort tr; do ln -s "$(command -v $p)" /tmp/bare/; done
PATH=/tmp/bare make B=/tmp/b >/tmp/said 2>&1 && fail "make succeeds without a compiler"
said '^deps: a compiler \(gcc\) is missing; Debian.s package gcc has it$'
said '^deps: scdoc is missing; Debian.s package scdoc has it$'
said '^deps: protoc-c is missing; Debian.s package protobuf-c-compiler has it$'
tail -n 1 /tmp/said | grep -qF 'run `make deps`' || fail "the last line does not say what to do"
grep -vqE '^deps: .* is missing; |run `make deps`' /tmp/said && fail "it says more than that"
PATH=/tmp/bare make B=/tmp/b help >/tmp/said 2>&1 || fail "make help needs more than make"
grep -q 'gcc: not found' /tmp/said && fail "make help complains"

# ---- a compiler, and no library ----
program cc <<'END'
#!/bin/sh
echo call >>/tmp/calls
exec gcc ${NO_HEADERS:+-nostdinc -I/tmp/empty} "$@"
END
NO_HEADERS=1 make CC=/tmp/fake/cc B=/tmp/b all >/tmp/said 2>&1 && fail "make succeeds without headers"
for h in stdio.h jansson.h dds/dds.h iceoryx/v2.0.3/iceoryx_binding_c/api.h vulkan/vulkan.h; do said "^deps: $h is missing; "; done
grep -q compiler /tmp/said && fail "it names the compiler, which is there"

# ---- with all that is needed it is looked for once: the second make asks the compiler nothing more ----
for n in 1 2; do
	: >/tmp/calls
	make -n CC=/tmp/fake/cc B=/tmp/b all >/tmp/said 2>&1 || fail "make refuses to begin"
	mv /tmp/calls /tmp/calls.$n
done
[ "$(wc -l </tmp/calls.1)" -eq $(($(wc -l </tmp/calls.2) + 1)) ] || fail "make asks the compiler each time"

# ---- make deps: one question to dpkg, none to apt-cache, and it says what it is about ----
program dpkg-query <<'END'
#!/bin/sh
echo "dpkg-query" >>/tmp/asked
for p; do case $p in -*) ;; *) case " $MISSING " in *" $p "*) ;; *) echo "$p installed" ;; esac ;; esac; done
END
program apt-cache <<'END'
#!/bin/sh
echo "apt-cache $*" >>/tmp/asked
END
program apt-get <<'END'
#!/bin/sh
case "$*" in
*update) echo "apt-get update" >>/tmp/asked; touch /tmp/lists; exit ;;
esac
echo "apt-get install" >>/tmp/asked
[ -z "$BROKEN" ] && [ -e /tmp/lists ] || { echo "E: Unable to locate package scdoc"; exit 100; }
echo "0 upgraded, 2 newly installed, 0 to remove and 0 not upgraded."
echo "Need to get 1234 kB of archives."
printf 'Unpacking %s (1) ...\nSetting up %s (1) ...\n' "$@" "$@"
END
deps() { : >/tmp/asked; env PATH="/tmp/fake:$PATH" "$@" >/tmp/said 2>&1; }
asked() { [ "$(tr '\n' ' ' </tmp/asked)" = "$1" ] || { cat /tmp/asked; fail "it asked otherwise"; }; }
deps MISSING='scdoc pkg-config' tools/dev/deps.sh build demo || fail "make deps fails"
asked 'dpkg-query apt-get install apt-get update apt-get install '
said '^deps: installing scdoc pkg-config$'
said '^deps: updating the package lists$'
said '^deps: fetching 1234 kB$'
said '^deps: unpacking 1 of 2$'
said '^deps: setting up 1 of 2$'
deps MISSING=scdoc BROKEN=1 tools/dev/deps.sh && fail "it succeeds where apt-get does not"
said '^E: Unable to locate package scdoc$'
said '^deps: apt-get install failed; install by hand: scdoc$'
deps MISSING= tools/dev/deps.sh check || fail "make deps fails where all is there"
asked 'dpkg-query '
[ ! -s /tmp/said ] || fail "it talks where all is there"
exit 0
