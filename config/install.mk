# SPDX-License-Identifier: Apache-2.0
# make install: what is built goes below $(DESTDIR)$(PREFIX). Included by the top Makefile.
#
#?  make install      DESTDIR= PREFIX=/usr/local SYSCONFDIR= UNITDIR=; nothing is built as another user
#?  make uninstall    the same switches; configuration stays

BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
PLUGINDIR   = $(LIBDIR)/simd
INCLUDEDIR ?= $(PREFIX)/include
DATADIR    ?= $(PREFIX)/share
MANDIR     ?= $(DATADIR)/man
# /usr keeps its configuration in /etc, any other prefix in its own etc
SYSCONFDIR ?= $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)
UNITDIR    ?= $(if $(filter /usr,$(PREFIX)),/lib,$(PREFIX)/lib)/systemd/system

INSTALL ?= install
D := $(DESTDIR)

INSTALL_LIBS     := $(filter $(B)/lib/libsimclient.so,$(LIBS))
INSTALL_PLUGINS  := $(filter $(B)/lib/simd/%.so,$(LIBS))
INSTALL_PROGRAMS := $(filter $(B)/bin/%,$(PROGRAMS))
# programs with a manual page of section 1 or 8 have an option table, so they can print their completion
WITH_COMPLETION  := $(filter $(foreach m,$(filter %.1 %.8,$(MANUALS)),$(B)/bin/$(basename $(notdir $(m)))),$(INSTALL_PROGRAMS))
subst_paths = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@BINDIR@|$(BINDIR)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' \
	-e 's|@INCLUDEDIR@|$(INCLUDEDIR)|g' -e 's|@SYSCONFDIR@|$(SYSCONFDIR)|g' -e 's|@PLUGINDIR@|$(PLUGINDIR)|g' \
	-e 's|@DATADIR@|$(DATADIR)|g' -e 's|@VERSION@|$(VERSION)|g'

install: all
	$(INSTALL) -d $(D)$(BINDIR) $(D)$(LIBDIR)/pkgconfig $(D)$(PLUGINDIR) $(D)$(INCLUDEDIR)/sim/msg $(D)$(INCLUDEDIR)/sim/srv \
		$(D)$(DATADIR)/simd/msg/sim $(D)$(DATADIR)/simd/srv/sim
	$(INSTALL) -m 755 $(INSTALL_PROGRAMS) $(D)$(BINDIR)
	$(if $(INSTALL_LIBS),$(INSTALL) -m 644 $(INSTALL_LIBS) $(D)$(LIBDIR))
	$(if $(INSTALL_PLUGINS),$(INSTALL) -m 644 $(INSTALL_PLUGINS) $(D)$(PLUGINDIR))
	$(INSTALL) -m 644 libclient/include/sim/*.h $(D)$(INCLUDEDIR)/sim
	$(INSTALL) -m 644 $(B)/gen/sim/msg/*.h $(D)$(INCLUDEDIR)/sim/msg
	$(INSTALL) -m 644 $(B)/gen/sim/srv/*.h $(D)$(INCLUDEDIR)/sim/srv
	$(INSTALL) -m 644 schemas/msg/*.msg $(D)$(DATADIR)/simd/msg/sim
	$(INSTALL) -m 644 schemas/srv/*.srv $(D)$(DATADIR)/simd/srv/sim
	$(subst_paths) config/packaging/simclient.pc.in >$(D)$(LIBDIR)/pkgconfig/simclient.pc
	@for m in $(MANUALS); do \
		dir=$(D)$(MANDIR)/man$${m##*.}; $(INSTALL) -d $$dir && $(INSTALL) -m 644 $$m $$dir || exit 1; done
	@$(INSTALL) -d $(D)$(DATADIR)/bash-completion/completions
	@for p in $(WITH_COMPLETION); do \
		$$p --completion-bash >$(D)$(DATADIR)/bash-completion/completions/$${p##*/} || exit 1; done
	$(INSTALL) -d $(D)$(SYSCONFDIR)/simd/simd.json.d $(D)$(UNITDIR)
	@# an administrator's file is not overwritten: the new one is put beside it
	@if [ -f config/simd.json ]; then f=$(D)$(SYSCONFDIR)/simd/simd.json; \
		if [ -f $$f ] && ! cmp -s config/simd.json $$f; then f=$$f.new; echo "kept your simd.json; the new one is $$f"; fi; \
		$(INSTALL) -m 644 config/simd.json $$f; fi
	@for u in config/systemd/*.service; do \
		$(subst_paths) $$u >$(D)$(UNITDIR)/$${u##*/} || exit 1; done
	$(INSTALL) -m 644 config/ros2/cyclonedds.xml $(D)$(DATADIR)/simd
	@[ ! -d config/rigs ] || { $(INSTALL) -d $(D)$(DATADIR)/simd && cp -r config/rigs $(D)$(DATADIR)/simd/; }
	@# a rig is read from anywhere: what it names lies beside it
	@for r in config/rigs/*.json; do \
		sed 's|"config/rigs/|"$(DATADIR)/simd/rigs/|g' $$r >$(D)$(DATADIR)/simd/rigs/$${r##*/} || exit 1; done
	@# the loader has to hear of a library that is new on this machine; a package does that itself
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ! command -v ldconfig >/dev/null || ldconfig

uninstall:
	rm -f $(INSTALL_PROGRAMS:$(B)/bin/%=$(D)$(BINDIR)/%) $(INSTALL_LIBS:$(B)/lib/%=$(D)$(LIBDIR)/%)
	rm -rf $(D)$(PLUGINDIR) $(D)$(INCLUDEDIR)/sim $(D)$(DATADIR)/simd
	rm -f $(D)$(LIBDIR)/pkgconfig/simclient.pc $(D)$(UNITDIR)/simd.service $(D)$(UNITDIR)/simbridge@.service
	rm -f $(foreach m,$(notdir $(MANUALS)),$(D)$(MANDIR)/man$(patsubst .%,%,$(suffix $(m)))/$(m))
	rm -f $(WITH_COMPLETION:$(B)/bin/%=$(D)$(DATADIR)/bash-completion/completions/%)

.PHONY: install uninstall
