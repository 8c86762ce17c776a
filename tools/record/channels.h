/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The channels of a file in the order they were found, and by a key of the format: a name, a number. Copies all it is given.
 * Thread: one's.
 */
#ifndef RECORD_CHANNELS_H
#define RECORD_CHANNELS_H

#include "log.h"
#include "table.h"

#define CHANNELS_MAX 65535u

struct channels { /* zeros: none */
	struct log_channel *list;
	size_t n, cap;
	struct table table; /* their places in the list, by key */
};

void channels_finish(struct channels *c);
/* The index of that key; -ENOENT. */
int64_t channels_find(const struct channels *c, const void *key, size_t size);
/*
 * Its index, which becomes its id. A NULL text counts as "". Errors: -EEXIST that key is there, -ENOSPC over CHANNELS_MAX,
 * -ENOMEM.
 */
int64_t channels_add(struct channels *c, const void *key, size_t size, const struct log_channel *ch);

/* The value of a pair of the channel; NULL: it has none of that key. */
const char *channel_metadata(const struct log_channel *ch, const char *key);
/* Whether its last message is for who comes later too, as its pairs of ROS say. */
bool channel_is_latched(const struct log_channel *ch);

#endif
