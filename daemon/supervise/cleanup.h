/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends what a simd that was killed, or that did not stop in time, left behind: the processes that it had started, its
 * RouDi, and their files. For use when no further simd will take over.
 *
 * Thread: main, of a simd that does nothing else.
 */
#ifndef SUPERVISE_CLEANUP_H
#define SUPERVISE_CLEANUP_H

#include "runtime.h"

#include <stdint.h>

/*
 * rt: locked, so no other simd runs. stop_dur_ns: time between SIGTERM and SIGKILL for a process. A RouDi that simd did
 * not start is left running. Logs each step. Returns 0, or a negative errno with err_why() set.
 */
int cleanup(struct runtime *rt, int64_t stop_dur_ns);

#endif
