/* SPDX-License-Identifier: Apache-2.0 */
/* A crash is named by the component in which it happened, before the process ends of it as it would have. */
#ifndef SIMHOST_CRASH_H
#define SIMHOST_CRASH_H

/* For the whole process, once. process: its name, kept for ever. */
void crash_watch(const char *process);

#endif
