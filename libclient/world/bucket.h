/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A token bucket: limits the packets of one address or session by rate and burst. All zeros is a full one. The caller
 * reads the clock. Thread: the owner's.
 */
#ifndef WORLD_BUCKET_H
#define WORLD_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
	int64_t full_mono_ns; /* time at which it is full again */
};

/*
 * Takes one token; rate per second (1 to 10^9), burst at most (1 to 10^6). False: it is empty, and no token was taken.
 */
static inline bool bucket_take(struct bucket *b, uint32_t rate, uint32_t burst, int64_t now_mono_ns)
{
	int64_t each = INT64_C(1000000000) / rate, full = b->full_mono_ns > now_mono_ns ? b->full_mono_ns : now_mono_ns;

	if (full - now_mono_ns > each * (burst - 1))
		return false;
	b->full_mono_ns = full + each;
	return true;
}

#endif
