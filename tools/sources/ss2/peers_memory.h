/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of the connections, in memory that outlives the process together with their descriptors: bytes received and not
 * answered, and answers not sent yet. Wherever the process is killed, each change is either complete or not made.
 *
 * Positions count the bytes of a connection's stream from its beginning; the kernel knows how far the stream has been
 * read and written.
 *
 * Thread: the owner's.
 */
#ifndef SOURCES_SS2_PEERS_MEMORY_H
#define SOURCES_SS2_PEERS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "zmtp.h"

/* with two more, the number of descriptors that one message carries */
#define PEERS_MAX  14
#define PEERS_RING (ZMTP_REQUEST_MAX + (64u << 10)) /* whole pages */

enum peers_phase { PEERS_GREETING, PEERS_READY, PEERS_OPEN };

/* Fixed-width. All zero: no connection. */
struct peers_line {
	uint64_t id;           /* of the connection, from 1 on */
	uint64_t done;         /* position up to which its bytes have been answered */
	uint64_t in_base;      /* position of the start of its ring */
	uint64_t out_to;       /* position of the end of the answers */
	uint64_t out_base;     /* as in_base, of the ring of answers */
	uint32_t phase, tries; /* tries: processes that have begun to handle the request at `done` */
};

struct peers_page;

struct peers_memory {
	struct peers_page *page;
	/* Rings, each mapped twice in a row, so that bytes that wrap are contiguous. */
	uint8_t *in[PEERS_MAX], *out[PEERS_MAX];
	int fd; /* -1: no memory */
};

/*
 * fd: memory of an earlier process, owned by this call in every case; -1: create it. Errors: -EINVAL: no such memory;
 * errno of mmap().
 */
int peers_memory_open(struct peers_memory *m, int fd);
void peers_memory_close(struct peers_memory *m);

struct peers_line peers_memory_line(const struct peers_memory *m, unsigned i);
/* Change the state of connection i. answered: number of the last answered request after this change. */
void peers_memory_change(struct peers_memory *m, unsigned i, const struct peers_line *next, uint64_t answered);
uint64_t peers_memory_answered(const struct peers_memory *m);
uint64_t peers_memory_new_id(struct peers_memory *m);
/* Release the memory of its rings. */
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
