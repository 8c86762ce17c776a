/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The channels of a file in the order they were found, also by a key of the format: a name or a number. Copies what it
 * is given. Thread: one at a time.
 */
#ifndef RECORD_CHANNELS_H
#define RECORD_CHANNELS_H

#include "log.h"
#include "table.h"

#define CHANNELS_MAX 65535u

struct channels { /* zeroed: empty */
	struct log_channel *list;
	size_t n, cap;
	struct table table; /* index in the list by key */
};

void channels_finish(struct channels *c);
/* The index of that key, or -ENOENT. */
int64_t channels_find(const struct channels *c, const void *key, size_t size);
/*
 * Adds a channel; returns its index, which becomes its id. NULL texts count as "". Errors: -EEXIST the key exists,
 * -ENOSPC more than CHANNELS_MAX, -ENOMEM.
 */
int64_t channels_add(struct channels *c, const void *key, size_t size, const struct log_channel *ch);

/* The value for that key in the channel's metadata; NULL: absent. */
const char *channel_metadata(const struct log_channel *ch, const char *key);
/* Whether late subscribers get its last message, according to its ROS metadata (latching, transient local). */
bool channel_is_latched(const struct log_channel *ch);

#endif
