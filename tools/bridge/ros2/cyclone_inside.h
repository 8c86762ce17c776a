/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access to Cyclone's private structures, as they are in Debian's build of 0.10.2. With any other build the functions
 * touch nothing, and why gives the reason. Only cyclone_inside.c and rtps_identity.c see these structures. Thread,
 * unless stated otherwise: the one that calls create() or rtps_identity_open().
 */
#ifndef CYCLONE_INSIDE_H
#define CYCLONE_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dds/dds.h>

struct ddsi_domaingv;
struct ddsi_sertype;

/* Whether the Cyclone library in use is that build. 0, or -ENOTSUP with the reason in why. */
int cyclone_inside_known(char *why, size_t size);

/* Returns the domain of a type whose topic has been created. 0, or -ENOTSUP with the reason in why. */
int cyclone_inside_domain(const struct ddsi_sertype *type, struct ddsi_domaingv **ret, char *why, size_t size);

/*
 * Cyclone sends nothing to a node that announces a network address while Cyclone itself uses loopback alone. This call
 * makes the domain that this thread has just created send to such nodes, over loopback, which reaches all addresses of
 * this machine. Call it before the domain's first participant is created. -EADDRNOTAVAIL: the domain uses another
 * interface; -ENOTSUP with the reason in why.
 */
int cyclone_inside_reach_networks(uint32_t id, char *why, size_t size);

/*
 * Returns the domain of the thread's last call of Cyclone, if it has this id; valid as long as the domain. NULL:
 * unknown.
 */
struct ddsi_domaingv *cyclone_inside_here(uint32_t id);
/* Whether a remote participant has DDS Security, that is, an identity to be checked. Thread: any. */
bool cyclone_inside_secured(struct ddsi_domaingv *gv, const dds_guid_t *participant);

#endif
