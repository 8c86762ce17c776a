/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to fusion.c, fusion_latest.c and fusion_time.c: the implementation of fusion.h. Thread: under fusion::lock.
 */
#ifndef COMPONENT_FUSION_PRIVATE_H
#define COMPONENT_FUSION_PRIVATE_H

#include <pthread.h>

#include "fusion.h"
#include "list.h"

/* A message of input 0 that waits for partners. */
struct waiting {
	struct list link; /* fusion::waiting, fusion::spare */
	struct tuple t;   /* its partners so far; by-time: with gaps */
	int64_t stamp_sim_ns;
	uint32_t open; /* missing inputs, as bits */
};

/* The last `size` messages of a partner, in order of arrival. */
struct past {
	struct past_msg {
		int64_t stamp_sim_ns;
		struct msg *m;
	} * at;
	uint32_t size, n, next; /* next: index of the next one */
};

/*
 * References that are dropped, to be released after the lock. The caller provides room for as many as one call can
 * drop.
 */
struct fallen {
	struct msg **m;
	uint32_t n;
};

/* Most references that one put can drop: a tuple for each waiting message, and what the new message displaces. */
#define FALLEN_PUT (TUPLE_MAX * (CACHE_MAX + 1) + 1)
/* Most in total: ring and waiting, past of the partners, latest. */
#define FALLEN_ALL (TUPLE_MAX * 2 * CACHE_MAX + (TUPLE_MAX - 1) * CACHE_MAX + TUPLE_MAX)

struct fusion;
typedef bool (*fusion_put_fn)(struct fusion *f, unsigned input, struct msg *m, struct fallen *x);

struct fusion {
	pthread_mutex_t lock;
	struct fusion_options o;
	fusion_put_fn put;
	/* guarded by lock */
	struct fusion_stats stats;
	struct cache ring; /* complete tuples */
	bool overflowed;   /* a tuple was displaced since the last fetch */
	/* all-latest, hold */
	struct msg *latest[TUPLE_MAX];
	uint32_t missing; /* inputs that have never had a message, as bits */
	/* hold, by-time */
	struct list waiting, spare;
	struct waiting *nodes; /* depth[0] of them */
	struct past past[TUPLE_MAX];
};

/* All inputs except input 0, as bits. */
static inline uint32_t fusion_partners(const struct fusion *f)
{
	return (1u << f->o.n) - 2;
}

static inline void fallen_add(struct fallen *x, struct msg *m)
{
	if (m)
		x->m[x->n++] = m;
}

static inline void fallen_add_tuple(struct fallen *x, const struct tuple *t)
{
	for (unsigned i = 0; i < TUPLE_MAX; i++)
		fallen_add(x, t->m[i]);
}

/* fusion.c */
/* Appends a complete tuple; takes its references. */
void fusion_push(struct fusion *f, struct tuple t, struct fallen *x);
/* Counts a message dropped for these missing inputs. */
void fusion_count(struct fusion *f, uint32_t missing);
/* Lets a message wait; takes its references. Drops the oldest waiting message when there are too many. */
void fusion_wait(struct fusion *f, const struct waiting *w, struct fallen *x);
void fusion_waits_no_more(struct fusion *f, struct waiting *w);

/* fusion_latest.c */
bool fusion_put_latest(struct fusion *f, unsigned input, struct msg *m, struct fallen *x);
bool fusion_put_hold(struct fusion *f, unsigned input, struct msg *m, struct fallen *x);

/* fusion_time.c */
bool fusion_put_by_time(struct fusion *f, unsigned input, struct msg *m, struct fallen *x);
void past_clear(struct past *p, struct fallen *x);

#endif
