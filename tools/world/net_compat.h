/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket of --compat tr2016: a listener on loopback and its clients, next to the world's own, in the same loop.
 * Thread: the world's.
 */
#ifndef WORLD_NET_COMPAT_H
#define WORLD_NET_COMPAT_H

#include "compat.h"
#include "net.h"

struct net_compat;

/* at: a loopback address. Keeps c and n. -EACCES: another address; else as net_create(). With a sentence. */
int net_compat_create(struct compat *c, struct net *n, const struct net_options *at, struct net_compat **ret)
	__attribute__((warn_unused_result));
/* Call it before net_destroy() of n. */
void net_compat_destroy(struct net_compat *nc);
uint16_t net_compat_port(const struct net_compat *nc);

#endif
