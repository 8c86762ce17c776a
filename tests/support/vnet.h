/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network in virtual time. While there is one, whatever dials, listens and accepts by TCP and IPv4 in this program
 * does so in it: clients and servers of one thread, unchanged, on one exec_sim. Bytes take their time, come in pieces,
 * and stay in order as TCP's do; lost bytes come later, with all bytes behind them.
 *
 * The program is linked with $(VNET_LINK). Thread: the exec's. A socket that dials must not block.
 */
#ifndef TEST_SUPPORT_VNET_H
#define TEST_SUPPORT_VNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exec;

struct vnet_rules {
	int64_t delay_dur_ns, jitter_dur_ns; /* of each piece; up to jitter_dur_ns more */
	int64_t bytes_per_s;                 /* of a connection, each way; 0: unlimited */
	unsigned lost_permille;              /* pieces, which arrive 200 ms later */
	size_t piece;                        /* pieces have 1 to so many bytes; 0: as written */
};

/* One at a time. Borrows the rules, which may change meanwhile. */
void vnet_create(struct exec *x, uint64_t seed, const struct vnet_rules *rules);
/* Call it before the exec is destroyed; open connections stay open but carry nothing. No effect without a network. */
void vnet_destroy(void);

/* Unplugs the cable, and plugs it in again: nothing passes meanwhile, and nothing is lost by it. */
void vnet_cut(bool out);
/*
 * Connection number `which`, in the order of dialling, from 0: neither side hears from the other any more, as when a
 * machine has vanished.
 */
void vnet_vanish(unsigned which);
/* Resets it: ECONNRESET at both sides. */
void vnet_reset(unsigned which);
/* Totals so far: connections dialled; accepted; pieces arrived, including ends of streams. */
unsigned vnet_dialled(void);
unsigned vnet_connections(void);
unsigned vnet_pieces(void);

#endif
