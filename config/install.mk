# SPDX-License-Identifier: Apache-2.0
# make install: what is built goes below $(DESTDIR)$(PREFIX). make dist: the sources of a release. Included by the top Makefile.
#
#?  make install      DESTDIR= PREFIX=/usr/local SYSCONFDIR= UNITDIR=; give make the same, then it has nothing to build
#?  make uninstall    the same switches; configuration stays, enabled services do not
#?  make wheel        $(B)/wheel/simclient-*.whl, the Python package; from what this machine has (python3-pip, -setuptools, -wheel)
#?  make dist         $(B)/simd-VERSION.tar.gz: what is committed, in the same bytes wherever it is made; it builds without git
#?  make deb          $(B)/deb/*.deb: Debian packages of what is committed, in the same bytes wherever they are made; DEB_VERSION=
#?  make apt-repo     $(B)/apt: those packages as a repository for apt, a folder that a web server can serve

BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
PLUGINDIR   = $(LIBDIR)/simd
INCLUDEDIR ?= $(PREFIX)/include
DATADIR    ?= $(PREFIX)/share
MANDIR     ?= $(DATADIR)/man
BASHDIR    ?= $(DATADIR)/bash-completion/completions
ZSHDIR     ?= $(DATADIR)/zsh/site-functions
FISHDIR    ?= $(DATADIR)/fish/vendor_completions.d
DOCDIR     ?= $(DATADIR)/doc/simd
# /usr and /usr/local keep their configuration in /etc, any other prefix in its own etc
SYSCONFDIR ?= $(if $(filter /usr /usr/local,$(PREFIX)),/etc,$(PREFIX)/etc)
CONFDIR     = $(SYSCONFDIR)/simd
# systemd looks into these below /usr and /usr/local
UNITDIR    ?= $(if $(filter /usr,$(PREFIX)),/lib,$(PREFIX)/lib)/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d

INSTALL ?= install
D := $(DESTDIR)

INSTALL_LIBS     := $(filter $(B)/lib/libsimclient.so,$(LIBS))
# each by the name that the loader asks for
SO_NAMES         := $(SONAME)=$(SO_REALNAME) $(WORLD_SONAME)=$(WORLD_REALNAME) $(READBACK_SONAME)=$(READBACK_REALNAME)
INSTALL_PLUGINS  := $(filter $(B)/lib/simd/%.so,$(LIBS))
INSTALL_PROGRAMS := $(filter $(B)/bin/%,$(PROGRAMS))
INSTALL_EXAMPLES := $(sort $(wildcard libclient/examples/*.c libclient/examples/*.msg)) libclient/examples/Makefile libclient/examples/CMakeLists.txt
INSTALL_PAGES    := README.md CHANGELOG.md $(sort $(shell find config daemon libclient schemas tools -name '*.md'))
# programs with a manual page of section 1 or 8 have an option table, so they can print their completion
WITH_COMPLETION  := $(filter $(foreach m,$(filter %.1 %.8,$(MANUALS)),$(B)/bin/$(basename $(notdir $(m)))),$(INSTALL_PROGRAMS))
# the units name the programs
subst_bindir = sed 's|@BINDIR@|$(BINDIR)|g'

# From a folder of the files for pkg-config and CMake to the prefix, and from there on: what is staged works as it lies, and may be moved.
from = $(shell realpath -sm --relative-to='$(1)' '$(2)')
subst_relative = sed -e 's|@PREFIX@|$(call from,$(1),$(PREFIX))|g' -e 's|@VERSION@|$(VERSION)|g' -e 's|@SONAME@|$(SONAME)|g' \
	$(foreach v,BINDIR LIBDIR INCLUDEDIR DATADIR PLUGINDIR,-e 's|@$(v)@|$(call from,$(PREFIX),$($(v)))|g')

# simd knows where its configuration and its plug-ins are installed. So the one to install is linked apart: the build tree's
# stays as it is, whatever prefix is installed to.
INSTALLED := $(B)/installed/$(firstword $(shell echo '$(CONFDIR) $(PLUGINDIR)' | cksum))
$(INSTALLED)/main.o: daemon/main.c $(B)/flags | $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(call inc_of,$<) -DSIMD_CONFDIR='"$(CONFDIR)"' -DSIMD_PLUGINDIR='"$(PLUGINDIR)"' -MMD -MP -c $< -o $@
$(INSTALLED)/simd: $(INSTALLED)/main.o $(SIMD_PARTS)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -pie -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LINK_simd)
all: $(INSTALLED)/simd
-include $(INSTALLED)/main.d

install: all
	$(INSTALL) -d $(D)$(BINDIR) $(D)$(LIBDIR)/pkgconfig $(D)$(PLUGINDIR) $(D)$(INCLUDEDIR)/sim/msg $(D)$(INCLUDEDIR)/sim/srv \
		$(D)$(DATADIR)/simd/msg/sim $(D)$(DATADIR)/simd/srv/sim $(D)$(DATADIR)/simd/examples/bridge \
		$(D)$(DATADIR)/simd/examples/perception $(D)$(DATADIR)/simd/examples/world \
		$(D)$(DATADIR)/simd/examples/readback $(D)$(DATADIR)/simd/examples/python $(D)$(DATADIR)/simd/python/simclient $(D)$(DOCDIR)
	$(INSTALL) -m 755 $(filter-out %/simd,$(INSTALL_PROGRAMS)) $(INSTALLED)/simd $(D)$(BINDIR)
	$(if $(INSTALL_LIBS),for so in $(SO_NAMES); do name=$${so%=*}; \
		$(INSTALL) -m 644 $(B)/lib/$${so#*=} $(D)$(LIBDIR) && \
		ln -sf $${so#*=} $(D)$(LIBDIR)/$$name && ln -sf $$name $(D)$(LIBDIR)/$${name%.*} || exit 1; done)
	$(if $(INSTALL_PLUGINS),$(INSTALL) -m 644 $(INSTALL_PLUGINS) $(D)$(PLUGINDIR))
	$(INSTALL) -m 644 libclient/include/sim/*.h libclient/include/sim/*.hpp $(D)$(INCLUDEDIR)/sim
	$(INSTALL) -m 644 $(B)/gen/sim/msg/*.h $(D)$(INCLUDEDIR)/sim/msg
	$(INSTALL) -m 644 $(B)/gen/sim/srv/*.h $(D)$(INCLUDEDIR)/sim/srv
	$(INSTALL) -m 644 schemas/msg/*.msg $(D)$(DATADIR)/simd/msg/sim
	$(INSTALL) -m 644 schemas/srv/*.srv $(D)$(DATADIR)/simd/srv/sim
	$(INSTALL) -m 644 schemas/wire/io.simd.Control.varlink schemas/wire/io.simd.World.varlink $(D)$(DATADIR)/simd
	$(INSTALL) -m 644 $(INSTALL_EXAMPLES) $(D)$(DATADIR)/simd/examples
	$(INSTALL) -m 644 $(wildcard libclient/examples/perception/*.[ch]) libclient/examples/perception/Makefile $(D)$(DATADIR)/simd/examples/perception
	$(INSTALL) -m 644 libclient/examples/world/convoy.c libclient/examples/world/vehicle_host.cpp libclient/examples/world/Makefile $(D)$(DATADIR)/simd/examples/world
	$(INSTALL) -m 644 libclient/examples/readback/camera_gles.c libclient/examples/readback/camera_vulkan.c libclient/examples/readback/Makefile $(D)$(DATADIR)/simd/examples/readback
	$(INSTALL) -m 644 $(wildcard libclient/examples/python/*.py) $(D)$(DATADIR)/simd/examples/python
	$(INSTALL) -m 644 libclient/python/pyproject.toml libclient/python/README.md $(D)$(DATADIR)/simd/python
	$(INSTALL) -m 644 $(wildcard libclient/python/simclient/*.py) $(D)$(DATADIR)/simd/python/simclient
	$(INSTALL) -m 644 $(B)/examples/libperception.so $(D)$(PLUGINDIR)
	$(INSTALL) -m 644 tools/bridge/null/null.c tools/bridge/null/Makefile $(D)$(DATADIR)/simd/examples/bridge
	$(INSTALL) -m 644 config/packaging/LICENSE $(D)$(DOCDIR)
	@# in folders as here, so that their links to each other hold
	@for f in $(INSTALL_PAGES); do $(INSTALL) -D -m 644 $$f $(D)$(DOCDIR)/$$f || exit 1; done
	@for pc in simclient simworld simreadback; do \
		$(call subst_relative,$(LIBDIR)/pkgconfig) config/packaging/$$pc.pc.in >$(D)$(LIBDIR)/pkgconfig/$$pc.pc || exit 1; done
	$(INSTALL) -d $(D)$(LIBDIR)/cmake/simclient
	@for c in config/packaging/*.cmake.in; do f=$${c##*/}; \
		$(call subst_relative,$(LIBDIR)/cmake/simclient) $$c >$(D)$(LIBDIR)/cmake/simclient/$${f%.in} || exit 1; done
	@# the pages say /etc/simd, /usr/share/doc/simd and /usr/share/simd
	@for m in $(MANUALS); do \
		dir=$(D)$(MANDIR)/man$${m##*.}; $(INSTALL) -d $$dir && sed -e 's|/etc/simd|$(CONFDIR)|g' -e 's|/usr/share/doc/simd|$(DOCDIR)|g' \
			-e 's|/usr/share/simd|$(DATADIR)/simd|g' $$m >$$dir/$${m##*/} || exit 1; done
	@$(INSTALL) -d $(D)$(BASHDIR) $(D)$(ZSHDIR) $(D)$(FISHDIR)
	@for p in $(WITH_COMPLETION); do n=$${p##*/}; \
		$$p --completion-bash >$(D)$(BASHDIR)/$$n && $$p --completion-zsh >$(D)$(ZSHDIR)/_$$n && \
			$$p --completion-fish >$(D)$(FISHDIR)/$$n.fish || exit 1; done
	$(INSTALL) -d $(D)$(CONFDIR)/simd.json.d $(D)$(UNITDIR) $(D)$(SYSUSERSDIR)
	@# an administrator's file is not overwritten: the new one is put beside it
	@f=$(D)$(CONFDIR)/simd.json; \
		if [ -f $$f ] && ! cmp -s config/simd.json $$f; then f=$$f.new; echo "kept your simd.json; the new one is $$f"; fi; \
		$(INSTALL) -m 644 config/simd.json $$f
	@for u in config/systemd/*.service; do \
		$(subst_bindir) $$u >$(D)$(UNITDIR)/$${u##*/} || exit 1; done
	@# one of many: the same unit, with a configuration and directories of its own
	@sed -e 's|@BINDIR@/simd|& --config $(CONFDIR)/%i.json --runtime-dir /run/simd-%i|' -e 's|^Description=.*|& (%i)|' \
		-e 's,^\(Runtime\|Logs\|Working\)Directory=.*,&-%i,' config/systemd/simd.service | \
		$(subst_bindir) >$(D)$(UNITDIR)/simd@.service
	$(INSTALL) -m 644 config/systemd/simd.sysusers $(D)$(SYSUSERSDIR)/simd.conf
	$(INSTALL) -m 644 config/ros2/cyclonedds.xml $(D)$(DATADIR)/simd
	@[ ! -d config/rigs ] || { $(INSTALL) -d $(D)$(DATADIR)/simd && cp -r config/rigs $(D)$(DATADIR)/simd/; }
	@# a rig is read from anywhere: what it names lies beside it, and its components with the plug-ins
	@for r in config/rigs/*.json; do \
		sed -e 's|"config/rigs/|"$(DATADIR)/simd/rigs/|g' -e 's|"build/examples"|"$(PLUGINDIR)"|' $$r >$(D)$(DATADIR)/simd/rigs/$${r##*/} || exit 1; done
	@# the loader has to hear of a library that is new where it looks; a package does that itself
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ! ldconfig -NXv 2>/dev/null | grep -qE '^(/usr)?$(LIBDIR:/usr%=%):' || ldconfig
	@[ -z "$(USES_SYSTEMD)" ] || { systemd-sysusers $(SYSUSERSDIR)/simd.conf && \
		{ [ ! -d /run/systemd/system ] || systemctl daemon-reload; }; }
	@echo "simd $(VERSION) is installed$(if $(DESTDIR), below $(DESTDIR)): programs in $(BINDIR), libraries in $(LIBDIR), plug-ins in $(PLUGINDIR)"
	@echo "  configuration  $(CONFDIR)/simd.json, fragments beside it in simd.json.d"
	@echo "  manual pages   $(MANDIR); man simd"
	@echo "  rigs, examples $(DATADIR)/simd; README.md, and those of all folders, in $(DOCDIR)"
	@command -v pkg-config >/dev/null || echo "  pkg-config     not here, and programs of your own are built with it (Debian: apt-get install pkg-config)"
	@echo "  units          $(UNITDIR)$(if $(filter /usr /usr/local,$(PREFIX)),; systemctl enable --now simd, where systemd does not look: systemctl link $(UNITDIR)/simd.service)"
	@$(if $(USES_SYSTEMD),true,echo "  user simd      not made: systemd-sysusers $(SYSUSERSDIR)/simd.conf")

# an installation onto the running system, by root; below another prefix it may be anything
USES_SYSTEMD = $(if $(DESTDIR),,$(if $(filter /usr /usr/local,$(PREFIX)),$(shell \
	[ "$$(id -u)" != 0 ] || command -v systemd-sysusers)))

uninstall:
	rm -f $(INSTALL_PROGRAMS:$(B)/bin/%=$(D)$(BINDIR)/%) $(addprefix $(D)$(LIBDIR)/,libsimclient.so libsimworld.so libsimreadback.so $(subst =, ,$(SO_NAMES)))
	rm -rf $(D)$(LIBDIR)/cmake/simclient $(D)$(PLUGINDIR) $(D)$(INCLUDEDIR)/sim $(D)$(DATADIR)/simd $(D)$(DOCDIR)
	rm -f $(addprefix $(D)$(LIBDIR)/pkgconfig/,simclient.pc simworld.pc simreadback.pc) $(patsubst config/systemd/%,$(D)$(UNITDIR)/%,$(wildcard config/systemd/*.service)) $(D)$(UNITDIR)/simd@.service \
		$(D)$(SYSUSERSDIR)/simd.conf
	@# what `systemctl enable` and `systemctl link` have made of them; one of another installation has a unit that is there
	@find $(D)/etc/systemd/system -type l \( -lname '*/simd.service' -o -lname '*/simd@.service' -o -lname '*/simbridge@.service' \) 2>/dev/null | \
		while read -r l; do [ -e "$(D)$$(readlink "$$l")" ] || rm -f "$$l"; done
	@[ -z "$(USES_SYSTEMD)" ] || [ ! -d /run/systemd/system ] || systemctl daemon-reload
	rm -f $(foreach m,$(notdir $(MANUALS)),$(D)$(MANDIR)/man$(patsubst .%,%,$(suffix $(m)))/$(m))
	rm -f $(WITH_COMPLETION:$(B)/bin/%=$(D)$(BASHDIR)/%) $(WITH_COMPLETION:$(B)/bin/%=$(D)$(ZSHDIR)/_%) \
		$(WITH_COMPLETION:$(B)/bin/%=$(D)$(FISHDIR)/%.fish)

# ---- sources ----

# Of one commit always the same bytes: git sorts, gives all to root, and dates them as the commit; what a user or a machine may set is set here.
DIST := simd-$(VERSION)
dist:
	@left=$$(git status --porcelain) || exit 1; \
		[ -z "$$left" ] || { echo "make dist packs what is committed, and this is not:"; echo "$$left"; exit 1; }
	@mkdir -p $(B)
	@GIT_ATTR_NOSYSTEM=1 git -c core.attributesFile=/dev/null -c core.autocrlf=false -c tar.umask=0022 \
		archive --format=tar --prefix=$(DIST)/ -o $(B)/$(DIST).tar HEAD
	@env -u GZIP gzip -9nf $(B)/$(DIST).tar
	@echo "$(B)/$(DIST).tar.gz"

# from a copy, because setuptools writes beside the sources
wheel:
	rm -rf $(B)/wheel && mkdir -p $(B)/wheel
	cp -r libclient/python $(B)/wheel/source
	/usr/bin/python3 -m pip wheel -q --no-index --no-deps --no-build-isolation -w $(B)/wheel $(B)/wheel/source
	rm -rf $(B)/wheel/source

# ---- Debian packages (config/packaging/README.md) ----

# apt upgrades to what is later: a tree between two releases gives, for instance, 0.1.0+git20260101.
DEB_VERSION ?= $(VERSION)

deb: dist
	tools/dev/deb $(B)/deb $(B)/$(DIST).tar.gz $(DEB_VERSION)

apt-repo:
	@[ -d $(B)/deb ] || { echo "make apt-repo: there are no packages yet; run make deb"; exit 1; }
	tools/dev/apt-repo $(B)/apt $(B)/deb

.PHONY: install uninstall wheel dist deb apt-repo
