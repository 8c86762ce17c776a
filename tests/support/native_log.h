/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes logs for tests and benches of the player: MCAP with native messages. An error ends the process. Thread: one at
 * a time.
 */
#ifndef TEST_NATIVE_LOG_H
#define TEST_NATIVE_LOG_H

#include <stddef.h>
#include <stdint.h>

#include <sim/message.h>

#include "record/log.h"

struct native_log;

/* Overwrites the file. */
struct native_log *native_log_create(const char *path, enum log_compression compression);
/* type NULL: a type that is unknown here. */
uint32_t native_log_channel(struct native_log *l, const char *topic, const struct sim_type *type);
/* The same, whose messages are latched. */
uint32_t native_log_latched(struct native_log *l, const char *topic, const struct sim_type *type);
void native_log_put(struct native_log *l, uint32_t channel, int64_t log_time_ns, int64_t stamp_sim_ns,
		    const char *frame, const void *body, size_t size);
void native_log_finish(struct native_log *l);

#endif
