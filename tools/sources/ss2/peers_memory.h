/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of connections, in memory that outlives the process together with their descriptors: what has come and is not answered,
 * and answers that are not sent yet. Each change is whole or has not been made, wherever the process is killed.
 *
 * Positions count the bytes of a connection's stream, from its beginning; the kernel knows how far it has been read and written.
 *
 * Thread: the owner's.
 */
#ifndef SOURCES_SS2_PEERS_MEMORY_H
#define SOURCES_SS2_PEERS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "zmtp.h"

#define PEERS_MAX  14                               /* with two more, the descriptors that one message carries */
#define PEERS_RING (ZMTP_REQUEST_MAX + (64u << 10)) /* whole pages */

enum peers_phase { PEERS_GREETING, PEERS_READY, PEERS_OPEN };

/* Fixed-width. All zero: there is no such connection. */
struct peers_line {
	uint64_t id;           /* of the connection, from 1 on */
	uint64_t done;         /* up to where its bytes are answered */
	uint64_t in_base;      /* what lies at the start of its ring */
	uint64_t out_to;       /* up to where there are answers */
	uint64_t out_base;     /* as in_base */
	uint32_t phase, tries; /* how many processes have begun with the request at `done` */
};

struct peers_page;

struct peers_memory {
	struct peers_page *page;
	/* Rings, each mapped twice in a row, so that what wraps is in one piece all the same. */
	uint8_t *in[PEERS_MAX], *out[PEERS_MAX];
	int fd; /* -1: there is no memory */
};

/* fd: that of an earlier process, taken in every case; -1: new. -EINVAL it is none; those of mmap(). */
int peers_memory_open(struct peers_memory *m, int fd);
void peers_memory_close(struct peers_memory *m);

struct peers_line peers_memory_line(const struct peers_memory *m, unsigned i);
/* A connection changes; answered: the number of the last request that was answered, once this is made. */
void peers_memory_change(struct peers_memory *m, unsigned i, const struct peers_line *next, uint64_t answered);
uint64_t peers_memory_answered(const struct peers_memory *m);
uint64_t peers_memory_new_id(struct peers_memory *m);
/* Its rings take no memory any more. */
void peers_memory_forget(struct peers_memory *m, unsigned i);

static inline uint8_t *peers_in(const struct peers_memory *m, unsigned i, const struct peers_line *l, uint64_t at)
{
	return m->in[i] + (at - l->in_base) % PEERS_RING;
}

static inline uint8_t *peers_out(const struct peers_memory *m, unsigned i, const struct peers_line *l, uint64_t at)
{
	return m->out[i] + (at - l->out_base) % PEERS_RING;
}

#endif
