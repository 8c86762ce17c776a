/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leftovers of a simd that was killed, or did not end in time: the processes it had started, its RouDi, their files. The next
 * simd takes it over; where there is to be none, this ends it all.
 *
 * Thread: main, of a simd that does nothing else.
 */
#ifndef SUPERVISE_CLEANUP_H
#define SUPERVISE_CLEANUP_H

#include "runtime.h"

#include <stdint.h>

/*
 * rt: locked, so that no simd runs. stop_dur_ns: what a process gets between SIGTERM and SIGKILL. A RouDi that somebody
 * else started stays. Logs what it does. 0, or a negative errno with a sentence.
 */
int cleanup(struct runtime *rt, int64_t stop_dur_ns);

#endif
