/* SPDX-License-Identifier: Apache-2.0 */
/* With what simhost exits. Thread: any. */
#ifndef SIMHOST_STATUS_H
#define SIMHOST_STATUS_H

#define STATUS_NEVER_WORKS 78 /* sysexits.h: EX_CONFIG; simd gives a process up that keeps ending with it */

/* For an error of the start: STATUS_NEVER_WORKS for what a change of files alone can mend, else 1. 0: 0. */
int status_of(int r);

#endif
