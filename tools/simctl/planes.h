/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simd of this machine: each has a directory /dev/shm/simd-XXXXXXXX for its data plane, which its user and group alone can enter,
 * with a file `simd` that names its runtime directory. One that is killed leaves both. Thread: main.
 */
#ifndef SIMCTL_PLANES_H
#define SIMCTL_PLANES_H

#include <jansson.h>

/*
 * Those that this user may see, as {"simds": [...]} in the order of their runtime directories. Each has runtime, user, pid, rigs,
 * uptime_ms, memory (bytes that the files of the plane occupy), plane (the directory), status:
 *   running  it answered on its control socket
 *   silent   it did not, within 3 s, and its lock is held; no rigs, uptime_ms null, as pid where it cannot be seen from here
 *   dead     it did not, and nobody holds its lock; no rigs, pid and uptime_ms null
 * Texts are others', see ctl_make_fit(). NULL: no memory. Returns: json_decref().
 */
json_t *planes_find(void);

#endif
