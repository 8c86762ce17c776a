/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's data about a process of this machine. Thread: any. */
#ifndef SIMCTL_TOP_PROC_H
#define SIMCTL_TOP_PROC_H

#include <stdint.h>
#include <sys/types.h>

struct top_proc {
	char state;     /* as in /proc: R, S, D, T, Z, ... */
	int64_t cpu_ns; /* of all its threads since its start */
	int64_t rss;    /* resident memory, bytes */
};

typedef int (*top_proc_fn)(pid_t pid, struct top_proc *ret);

/* -ESRCH: no such process; -EBADMSG: /proc has another format. */
int top_proc_read(pid_t pid, struct top_proc *ret);
/* Parses a line of /proc/PID/stat. -EBADMSG. */
int top_proc_parse(const char *line, struct top_proc *ret);

#endif
