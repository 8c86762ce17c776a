/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A crash, and a call of exit(), are named by the component in which they happen, before the process ends.
 *
 * Thread: any; crash_begin() and crash_end() main.
 */
#ifndef SIMHOST_CRASH_H
#define SIMHOST_CRASH_H

#define CRASH_EXIT 70 /* sysexits.h: EX_SOFTWARE; also of a process that a stuck component ends */

/* For the whole process, once, before other threads start. process: its name, kept for ever. */
void crash_begin(const char *process);
/* From now on exit() is the program's own. */
void crash_end(void);

/* Until it is called again this thread works for that component (NULL: for none): what fails then is its, if it is nobody else's. */
void crash_works_for(const char *component);

/*
 * The code of component `index` is that of the library in which `inside` lies: what crashes there in a thread of its own is named by it.
 * component: kept until the index is given again; NULL: it is gone.
 */
void crash_code(unsigned index, const char *component, const void *inside);

#endif
