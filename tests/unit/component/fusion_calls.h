/* SPDX-License-Identifier: Apache-2.0 */
/* One fusion, and its calls in a word: messages and tuples are their ids. Thread: the test's. */
#ifndef TEST_COMPONENT_FUSION_CALLS_H
#define TEST_COMPONENT_FUSION_CALLS_H

#include "counted.h"

#include "err.h"

#include "libclient/component/fusion_private.h"

static struct fusion *f;

static inline void begin(enum sim_fusion kind, uint32_t n, uint32_t pending, uint32_t depth)
{
	struct fusion_options o = { .kind = kind, .n = n, .pending = pending, .tolerance_dur_ns = 10 };

	for (unsigned i = 0; i < n; i++)
		o.depth[i] = depth;
	assert_ok(fusion_create(&o, &f));
}

static inline void end(void)
{
	fusion_destroy(f);
	assert_int_equal(atomic_load(&counted_live), 0);
}

static inline bool put_at(unsigned input, unsigned id, int64_t stamp_sim_ns)
{
	struct msg *m = counted_new(id, stamp_sim_ns);
	bool ret = fusion_put(f, input, m);

	msg_unref(m);
	return ret;
}

static inline bool put(unsigned input, unsigned id)
{
	return put_at(input, id, 0);
}

/* The next tuple as a number: ids below 100, input 0 first. 0: none. */
static inline unsigned fetch(void)
{
	unsigned ids = 0;
	struct tuple t;

	if (!fusion_fetch(f, &t))
		return 0;
	for (unsigned i = 0; i < TUPLE_MAX && t.m[i]; i++)
		ids = 100 * ids + counted_id(t.m[i]);
	tuple_unref(&t);
	return ids;
}

static inline struct fusion_stats stats(void)
{
	struct fusion_stats s;

	fusion_stats(f, &s);
	return s;
}

#endif
