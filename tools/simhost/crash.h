/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before the process ends by a crash or by exit(), a line names the component in which it happened.
 *
 * Thread: any; crash_begin() and crash_end() main.
 */
#ifndef SIMHOST_CRASH_H
#define SIMHOST_CRASH_H

#define CRASH_EXIT 70 /* sysexits.h: EX_SOFTWARE; also the exit status when --stuck ends the process */

/*
 * Installs the handlers for the whole process; called once, before other threads start. process: its name, borrowed for
 * the life of the process.
 */
void crash_begin(const char *process);
/* From now on the program may call exit(). */
void crash_end(void);

/*
 * Until the next call, failures in this thread are attributed to that component (NULL: to none), unless the thread runs
 * a callback of another component.
 */
void crash_works_for(const char *component);

/*
 * Registers the library that contains the address `inside` as the code of component `index`: a crash in a thread that
 * the component created is attributed by it. component: its name, borrowed until the next call for this index; NULL:
 * the component is gone.
 */
void crash_code(unsigned index, const char *component, const void *inside);

#endif
