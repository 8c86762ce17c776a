/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the simds of this machine. Each has a directory /dev/shm/simd-XXXXXXXX for its data plane, which only its user
 * and group can enter, with a file `simd` that holds the path of its runtime directory. A killed simd leaves both
 * behind. Thread: main.
 */
#ifndef SIMCTL_PLANES_H
#define SIMCTL_PLANES_H

#include <jansson.h>

/*
 * The simds that this user may see, as {"simds": [...]} in the order of their runtime directories. Each has runtime, user, pid, rigs,
 * uptime_ms, memory (bytes that the files of the plane occupy), plane (the directory), status:
 *   running  it answered on its control socket
 *   silent   no answer within 3 s, but its lock is held; no rigs, uptime_ms null, and pid null if it is not visible from here
 *   dead     no answer, and its lock is free; no rigs, pid and uptime_ms null
 * Texts may hold unprintable characters, see ctl_make_fit(). NULL: out of memory. Free with json_decref().
 */
json_t *planes_find(void);

#endif
