/* SPDX-License-Identifier: Apache-2.0 */
/* Exit statuses of simhost. Thread: any. */
#ifndef SIMHOST_STATUS_H
#define SIMHOST_STATUS_H

#define STATUS_NEVER_WORKS 78 /* sysexits.h: EX_CONFIG; simd stops restarting a process that keeps ending with it */

/*
 * Returns the exit status for an error at the start: STATUS_NEVER_WORKS if only a change of files can mend it, else 1;
 * 0 for 0.
 */
int status_of(int r);

#endif
