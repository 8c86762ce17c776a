/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks after the components of a host, once a second, and names the one that fails, drops, lags, or does not come back; and, once
 * time has gone on for a while, what still has nobody to read from.
 *
 * Thread: "simhost-watch", from start to stop.
 */
#ifndef SIMHOST_WATCH_H
#define SIMHOST_WATCH_H

#include "load.h"

struct watch;

/*
 * stuck_dur_ns: a component that is in proc, or does not end, for so long ends the process, so that whoever started it can start it
 * again; init, which may have much to load, gets ten times as long; 0: never. l may be empty yet. scheduler: where the scheduler's configuration is
 * given, for what of it cannot be had; keeps until stop; NULL: nothing is given.
 */
int watch_start(struct load *l, int64_t stuck_dur_ns, const char *scheduler, struct watch **ret);
void watch_look(struct watch *w); /* now, and not only with the next second: the host has started */
void watch_stop(struct watch *w); /* NULL is fine */

#endif
