/* SPDX-License-Identifier: Apache-2.0 */
/* What peers.c and peers_keep.c share. Thread: the owner's. */
#ifndef SOURCES_SS2_PEERS_PRIVATE_H
#define SOURCES_SS2_PEERS_PRIVATE_H

#include "peers.h"

/* A connection changes; nothing is answered by that. */
void peers_change(struct peers *p, unsigned i, const struct peers_line *next);
/* It has that descriptor, which is taken. */
void peers_meet(struct peers *p, unsigned i, int fd);
/* What is there now is what the next process finds. A failure is logged. */
void peers_keep(struct peers *p);
/* Sends what is left, for a moment. */
void peers_linger(struct peers *p);

#endif
