/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shards of dispatch: for each set of rigs that may share channels (rig.h) a struct dispatch on an event loop of its own,
 * so that what one rig floods delays no other. What concerns a channel or a bridge goes to its shard, shard_of(); what
 * concerns all goes through here, and is answered once, after the last shard.
 *
 * Thread: simd-main; the event loops are run by simd-work.N (dispatch/pool.h), or by the test.
 */
#ifndef REGISTRY_SHARDS_H
#define REGISTRY_SHARDS_H

#include "dispatch.h"

#include <stdbool.h>
#include <stdint.h>

struct exec;
struct simd;

/*
 * simd::n_shards of them. o: what they have in common. Shard 0 runs on o->exec, the others each on one of their own; on that
 * too where it is o->owner, as in tests.
 */
int shards_create(struct simd *s, const struct dispatch_options *o);
void shards_destroy(struct simd *s);

struct dispatch *shard_of(const struct simd *s, uint32_t shard);
struct exec *shard_exec(const struct simd *s, uint32_t shard);

/*
 * As dispatch's of the same names, of all shards. -ENOMEM: none was asked. Where memory fails in the middle the others are
 * asked and a line is logged.
 */
int shards_set_ipc(struct simd *s, struct ipc *ipc, uint32_t iox_generation);
int shards_restart_begin(struct simd *s);
int shards_hold(struct simd *s, enum dispatch_hold hold);
int shards_freewheel(struct simd *s, bool on);
int shards_step(struct simd *s, dispatch_fn fn, void *arg);
int shards_drain(struct simd *s, dispatch_fn fn, void *arg);
int shards_quiet(struct simd *s, dispatch_fn fn, void *arg);
int shards_shutdown(struct simd *s, bool now, dispatch_fn fn, void *arg);
int shards_stats(struct simd *s, dispatch_stats_fn fn, void *arg);
uint32_t shards_outstanding(const struct simd *s);
int64_t shards_accepted_mono_ns(const struct simd *s);

#endif
