/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network in virtual time. While there is one, whatever dials, listens and accepts by TCP and IPv4 in this program does so in it: clients and
 * servers of one thread, unchanged, on one exec_sim. Bytes take their time, come in pieces, and stay in order as TCP's do; what is lost comes
 * later, with all behind it.
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
	int64_t delay_dur_ns, jitter_dur_ns; /* of each piece, and up to so much more */
	int64_t bytes_per_s;                 /* of a connection, each way; 0: as they come */
	unsigned lost_permille;              /* pieces, which come 200 ms later */
	size_t piece;                        /* they are of 1 to so many bytes; 0: as they were written */
};

/* One at a time. Borrows the rules, which may change meanwhile. */
void vnet_create(struct exec *x, uint64_t seed, const struct vnet_rules *rules);
/* Before the exec; what is connected stays so, silently. NULL: there is none. */
void vnet_destroy(void);

/* The cable is out, and in again: nothing passes meanwhile, and nothing is lost by it. */
void vnet_cut(bool out);
/* Of a connection, the which-th that was dialled, from 0: neither side hears anything more of the other, for ever, as when a machine has vanished. */
void vnet_vanish(unsigned which);
/* It ends with ECONNRESET at both sides. */
void vnet_reset(unsigned which);
/* So far: connections that were dialled; that were accepted; pieces that have arrived, ends among them. */
unsigned vnet_dialled(void);
unsigned vnet_connections(void);
unsigned vnet_pieces(void);

#endif
