/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `simhost --launch FILE`: starts the processes of a launch file and runs until all have ended, as cyber_launch does.
 * When a process ends, its exception_handler decides whether it is started again, all others are stopped, or nothing
 * happens. SIGINT, SIGTERM or SIGHUP stops all: the processes get SIGINT, and later SIGKILL if they still run. No
 * process outlives the launcher, however the launcher ends.
 *
 * Thread: main, the only one.
 */
#ifndef SIMHOST_LAUNCHER_H
#define SIMHOST_LAUNCHER_H

#include "launch_plan.h"

struct launcher_options {
	const char *file;
	const char *socket; /* passed to the processes, as are mode and stuck_dur_ns; see launch_child */
	const char *mode;
	int64_t stuck_dur_ns;
	int64_t kill_after_dur_ns; /* time from SIGINT to SIGKILL */
};

/*
 * Returns the exit status. 0: all processes have ended well, with status 0 or by the SIGINT that they were sent.
 * STATUS_NEVER_WORKS: a process ended with it, or files were found missing or wrong before the start. 1: otherwise. Of
 * a process that was started again, only its last end counts. Logs what failed.
 */
int launcher_run(const struct launcher_options *o);

/* ---- for tests ---- */

enum launcher_next {
	LAUNCHER_AGAIN,
	LAUNCHER_LEAVE,
	LAUNCHER_STOP, /* stop all others */
};

/* Returns what to do when a process has ended that was started again `restarts` times before. */
enum launcher_next launcher_next(const struct launch_module *m, uint32_t restarts);

/* Whether a wait status is a good end. stopping: the process was sent SIGINT. */
bool launcher_ended_well(int status, bool stopping);

#endif
