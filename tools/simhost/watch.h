/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches the components of a host, once a second, and logs which component fails, drops messages, is too slow, or
 * hangs; and, after time has run for a while, which inputs still have no writer.
 *
 * Thread: "simhost-watch", from start to stop.
 */
#ifndef SIMHOST_WATCH_H
#define SIMHOST_WATCH_H

#include "load.h"

struct watch;

/*
 * stuck_dur_ns: when a component stays in proc, or in its end, for longer than this, the process is ended, so that its
 * supervisor can start it again; init, which may have to load a lot, gets ten times as long; 0: never. l may still be
 * empty. scheduler: the place where the scheduler's configuration is given, for warnings about what the machine cannot
 * provide; borrowed until watch_stop(); NULL: not given.
 */
int watch_start(struct load *l, int64_t stuck_dur_ns, const char *scheduler, struct watch **ret);
void watch_look(struct watch *w); /* looks now instead of at the next second */
void watch_stop(struct watch *w); /* NULL is fine */

#endif
