/* SPDX-License-Identifier: Apache-2.0 */
/* See cyclone_inside.h. */
#include "cyclone_inside.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dds/version.h>

#include <dds/ddsi/ddsi_domaingv.h>
#include <dds/ddsi/ddsi_entity_index.h>
#include <dds/ddsi/ddsi_plist.h>
#include <dds/ddsi/ddsi_proxy_participant.h>
#include <dds/ddsi/ddsi_sertype.h>
#include <dds/ddsi/ddsi_tran.h>
#include <dds/ddsi/q_thread.h>

#define KNOWN_VERSION "0.10.2"
#define KNOWN_LIBRARY "libddsc.so.0debian" /* name that Debian alone gives the library */
#define KNOWN_FILE    "libddsc.so." KNOWN_VERSION

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether this path is that of the library whose structures are known. */
static bool is_known(const char *path)
{
	char *real = realpath(path, NULL);
	bool known = real && strcmp(name_of(path), KNOWN_LIBRARY) == 0 && strcmp(name_of(real), KNOWN_FILE) == 0;

	free(real);
	return known;
}

int cyclone_inside_known(char *why, size_t size)
{
	Dl_info info = { .dli_fname = NULL };
	const char *path;

	if (strcmp(DDS_VERSION, KNOWN_VERSION) != 0) {
		snprintf(why, size, "it was built with Cyclone DDS %s", DDS_VERSION);
		return -ENOTSUP;
	}
	path = dladdr((void *)(uintptr_t)dds_create_participant, &info) && info.dli_fname ? info.dli_fname : "?";
	if (is_known(path))
		return 0;
	snprintf(why, size, "%s is in use", path);
	return -ENOTSUP;
}

static bool is_reader(const struct ddsi_domaingv *gv, const struct ddsi_tran_conn *c)
{
	return c && c->m_base.gv == gv && c->m_base.m_trantype == DDSI_TRAN_CONN && c->m_factory == gv->m_factory &&
	       c->m_read_fn && c->m_read_fn == gv->xmit_conns[0]->m_read_fn;
}

/*
 * Checks values that would differ in another layout. The structures read lie within what the library's own size covers.
 */
static int check_layout(const struct ddsi_domaingv *gv, char *why, size_t size)
{
	unsigned n = 0;

	if (!gv || gv->n_interfaces < 1 || gv->n_interfaces > MAX_XMIT_CONNS || !gv->xmit_conns[0] || !gv->m_factory ||
	    gv->m_factory->gv != gv) {
		snprintf(why, size, "its structures are not as expected");
		return -ENOTSUP;
	}
	if (strncmp(gv->m_factory->m_typename, "udp", 3) != 0) {
		snprintf(why, size, "its transport is %s, and not UDP", gv->m_factory->m_typename);
		return -ENOTSUP;
	}
	for (unsigned i = 0; i < MAX_XMIT_CONNS; i++) {
		const struct ddsi_tran_conn *c = gv->xmit_conns[i];

		if (!c)
			continue;
		n++;
		if (c->m_base.gv != gv || c->m_base.m_trantype != DDSI_TRAN_CONN || c->m_factory != gv->m_factory ||
		    !c->m_write_fn || c->m_write_fn != gv->xmit_conns[0]->m_write_fn) {
			snprintf(why, size, "its connections are not as expected");
			return -ENOTSUP;
		}
	}
	if (n == (unsigned)gv->n_interfaces && is_reader(gv, gv->data_conn_uc) &&
	    (!gv->data_conn_mc || is_reader(gv, gv->data_conn_mc)))
		return 0;
	snprintf(why, size, "it has %u connections for %d interfaces", n, gv->n_interfaces);
	return -ENOTSUP;
}

int cyclone_inside_domain(const struct ddsi_sertype *type, struct ddsi_domaingv **ret, char *why, size_t size)
{
	struct ddsi_domaingv *gv;
	int r = cyclone_inside_known(why, size);

	if (r < 0)
		return r;
	gv = ddsrt_atomic_ldvoidp(&((struct ddsi_sertype *)(uintptr_t)type)->gv);
	r = check_layout(gv, why, size);
	if (r == 0)
		*ret = gv;
	return r;
}

/* Finds the domain through the thread's state: Cyclone stores there the domain of the thread's last call. */
static int domain_here(uint32_t id, struct ddsi_domaingv **ret, char *why, size_t size)
{
	struct ddsi_domaingv *gv;
	int r = cyclone_inside_known(why, size);

	if (r < 0)
		return r;
	gv = ddsrt_atomic_ldvoidp(&lookup_thread_state()->gv);
	r = check_layout(gv, why, size);
	if (r < 0)
		return r;
	if (gv->config.domainId != id)
		return -EADDRNOTAVAIL;
	*ret = gv;
	return 0;
}

int cyclone_inside_reach_networks(uint32_t id, char *why, size_t size)
{
	struct ddsi_domaingv *gv;
	int r = domain_here(id, &gv, why, size);

	if (r < 0)
		return r;
	if (gv->n_interfaces != 1 || !gv->interfaces[0].loopback)
		return -EADDRNOTAVAIL;
	gv->interfaces[0].loopback = 0; /* Cyclone looks at this flag of the interface, never at the address */
	return 0;
}

struct ddsi_domaingv *cyclone_inside_here(uint32_t id)
{
	struct ddsi_domaingv *gv;
	char why[256];

	return domain_here(id, &gv, why, sizeof(why)) == 0 ? gv : NULL;
}

bool cyclone_inside_secured(struct ddsi_domaingv *gv, const dds_guid_t *participant)
{
	struct thread_state *thread = lookup_thread_state();
	const struct ddsi_proxy_participant *p;
	uint32_t word[4];
	ddsi_guid_t guid;
	bool secured;

	memcpy(word, participant->v, sizeof(word));
	for (unsigned i = 0; i < 3; i++)
		guid.prefix.u[i] = ntohl(word[i]);
	guid.entityid.u = ntohl(word[3]);
	thread_state_awake(thread, gv); /* what is looked up stays valid until the thread sleeps */
	p = entidx_lookup_proxy_participant_guid(gv->entity_index, &guid);
	secured = p && p->plist && p->plist->present & PP_IDENTITY_TOKEN;
	thread_state_asleep(thread);
	return secured;
}
