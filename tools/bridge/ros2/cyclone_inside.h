/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cyclone's private structures, which are those of Debian's build of 0.10.2. With any other nothing is touched, and why says so.
 * Only this and rtps_identity.c see them. Thread: where none is named, that of create(), and rtps_identity_open()'s.
 */
#ifndef CYCLONE_INSIDE_H
#define CYCLONE_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dds/dds.h>

struct ddsi_domaingv;
struct ddsi_sertype;

/* Whether the library in use is that build. 0, or -ENOTSUP with a sentence in why. */
int cyclone_inside_known(char *why, size_t size);

/* The domain of a type whose topic has been created. 0, or -ENOTSUP with a sentence in why. */
int cyclone_inside_domain(const struct ddsi_sertype *type, struct ddsi_domaingv **ret, char *why, size_t size);

/*
 * Cyclone sends nothing to a node that announces a network's address while it uses loopback alone. The domain that this thread has
 * just created does from here on, over loopback, where the addresses of this machine are reached too. Before its first participant.
 * -EADDRNOTAVAIL: it uses another interface; -ENOTSUP with a sentence in why.
 */
int cyclone_inside_reach_networks(uint32_t id, char *why, size_t size);

/* The domain that this thread has called Cyclone for last, if it is that one; lives as long as it. NULL: it is not known. */
struct ddsi_domaingv *cyclone_inside_here(uint32_t id);
/* Whether a participant of somebody else has DDS Security, and so an identity to be checked. Thread: any. */
bool cyclone_inside_secured(struct ddsi_domaingv *gv, const dds_guid_t *participant);

#endif
