/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `simhost --launch FILE`: starts the processes of a launch file, and stays until all have ended, as cyber_launch does. One that ends is
 * started again, ends all others, or is left, as its exception_handler says. A signal to end becomes SIGINT for all, and SIGKILL
 * for who is late. None outlives the launcher, however it ends.
 *
 * Thread: main, the only one.
 */
#ifndef SIMHOST_LAUNCHER_H
#define SIMHOST_LAUNCHER_H

#include "launch_plan.h"

struct launcher_options {
	const char *file;
	const char *socket; /* of the processes, as are mode and stuck_dur_ns; see launch_child */
	const char *mode;
	int64_t stuck_dur_ns;
	int64_t kill_after_dur_ns; /* from SIGINT to SIGKILL */
};

/*
 * Returns the exit status: 0 all have ended well: with 0, or of the SIGINT that they were sent; else STATUS_NEVER_WORKS, if one
 * has, or what is missing was known before; else 1. Of a process that was started again its last end counts. What went wrong was
 * logged.
 */
int launcher_run(const struct launcher_options *o);

/* ---- for tests ---- */

enum launcher_next {
	LAUNCHER_AGAIN,
	LAUNCHER_LEAVE,
	LAUNCHER_STOP, /* all others */
};

/* What follows when a process has ended, which was started again `restarts` times before. */
enum launcher_next launcher_next(const struct launch_module *m, uint32_t restarts);

/* Whether a wait status is an end as it should be; stopping: it was sent SIGINT. */
bool launcher_ended_well(int status, bool stopping);

#endif
