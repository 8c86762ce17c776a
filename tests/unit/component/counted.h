/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that count themselves: counted_live is 0 when all are released. Thread: any. */
#ifndef TEST_COMPONENT_COUNTED_H
#define TEST_COMPONENT_COUNTED_H

#include "tests/support/test.h"

#include "libclient/component/cache.h"

struct counted {
	struct msg msg;
	unsigned id;
};

static _Atomic int counted_live;

static inline void counted_release(struct msg *m)
{
	atomic_fetch_sub(&counted_live, 1);
	free(m);
}

/* With one reference, the caller's. */
static inline struct msg *counted_new(unsigned id, int64_t stamp_sim_ns)
{
	struct counted *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	c->id = id;
	c->msg.m.header.stamp_sim_ns = stamp_sim_ns;
	c->msg.refs = 1;
	c->msg.release = counted_release;
	atomic_fetch_add(&counted_live, 1);
	return &c->msg;
}

/* 0: there is none */
static inline unsigned counted_id(const struct msg *m)
{
	return m ? ((const struct counted *)m)->id : 0;
}

#endif
