/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shards of dispatch: for each set of rigs that may share channels (rig.h) a struct dispatch on an event loop of
 * its own, so that load of one rig delays no other. Calls about a channel or a bridge go to its shard, shard_of();
 * calls about all go through here, and are answered once, after the last shard.
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
 * Makes simd::n_shards shards. o: common options. Shard 0 runs on o->exec, each other shard on an exec of its own; if
 * o->exec is o->owner, as in tests, all run on that.
 */
int shards_create(struct simd *s, const struct dispatch_options *o);
void shards_destroy(struct simd *s);

struct dispatch *shard_of(const struct simd *s, uint32_t shard);
struct exec *shard_exec(const struct simd *s, uint32_t shard);

/*
 * Calls dispatch's function of the same name in all shards. -ENOMEM: in none. If some shards fail, the others go on and
 * an error is logged.
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
