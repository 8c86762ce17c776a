/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process that simd supervises: starts it, logs its output under its name, restarts it with back-off, and stops it
 * with SIGTERM, then with SIGKILL if it does not exit in time.
 *
 * Thread: simd-main.
 */
#ifndef SUPERVISE_PROCESS_H
#define SUPERVISE_PROCESS_H

#include "exec.h"
#include "lines.h"
#include "log.h"
#include "spawn_ops.h"

#include <stdbool.h>
#include <stdint.h>

enum process_restart { PROCESS_ALWAYS, PROCESS_ON_FAILURE, PROCESS_NEVER };

enum process_state {
	PROCESS_IDLE, /* not started yet, or stopped */
	PROCESS_RUNNING,
	PROCESS_WAITING, /* waits for its next start */
	PROCESS_STOPPING,
	PROCESS_AGAIN, /* being stopped on request, restarted as soon as it has exited */
	PROCESS_DONE,  /* exited, not restarted */
};

/* EX_CONFIG of sysexits(3): the program cannot work with this configuration; a restart does not help. */
#define PROCESS_NEVER_WORKS 78
/* Exit codes of a shell that cannot start the program (126, 127), and of the loader for a missing library (127). */
#define PROCESS_NOT_EXECUTED 126
#define PROCESS_NOT_FOUND    127

struct process_options {
	const char *name;
	struct spawn spawn; /* borrowed until process_finish() */
	enum process_restart restart;
	int64_t restart_dur_ns, restart_max_dur_ns, stop_dur_ns;
	/* Consecutive failed starts (no such program, exit code 78, 126, 127) after which it is given up; 0: never. */
	uint32_t give_up;
	uint32_t restart_limit;     /* automatic restarts in total before it is given up; 0: unlimited */
	bool keep;                  /* it may pass descriptors to its next run */
	void (*started)(void *arg); /* may be NULL */
	/* Called when it has exited and is not restarted. May be NULL. */
	void (*ended)(void *arg, int status);
	void *arg;
};

struct process {
	struct process_options o;
	struct exec *x;
	const struct spawn_ops *ops;
	void *user;
	enum process_state state;
	struct spawned child;
	struct exec_io exit_io, out_io;
	struct exec_timer timer;
	/*
	 * A pair of sockets; each run inherits both ends. Descriptors that a run sends into the first end stay in the
	 * second until a later run takes them out. simd never reads them. -1: no pair.
	 */
	int keep[2];
	int64_t started_mono_ns, oom; /* oom: memory_oom_kills() at the start */
	uint32_t failures, restarts;
	uint32_t respawns;      /* automatic restarts; a restart requested by an operator resets it */
	uint32_t hopeless;      /* consecutive failed starts */
	char permanent[256];    /* why it was given up; "": it was not */
	char last[200];         /* last line of its output */
	char why[96];           /* reason passed to process_expect_end() */
	struct lines lines;     /* splits its output into lines */
	struct log_limit limit; /* rate limit of its lines in the log */
};

void process_init(struct process *p, struct exec *x, const struct spawn_ops *ops, void *user,
		  const struct process_options *o);
/* Kills the process if it runs, and reaps it. Does not call ended(). */
void process_finish(struct process *p);

/* Starts the process now. A failed start is logged and retried like an early exit. */
void process_start(struct process *p);
/* Sends SIGTERM, later SIGKILL; ended() follows. If the process does not run, ended() is called before this returns. */
void process_stop(struct process *p);
/* Sends SIGKILL; the process is then restarted by its restart rule. why is logged. */
void process_kill(struct process *p, const char *why);
/* For a process that should exit by itself soon: kills it if it has not exited after stop_dur_ns. */
void process_expect_end(struct process *p, const char *why);
/* Restarts the process, whatever its rule, also if it was given up: SIGTERM, later SIGKILL, then a start at once. */
void process_again(struct process *p);
bool process_alive(const struct process *p);

#define PROCESS_END_TEXT 192
/* status of a process whose exit status cannot be known: it is not a child of this simd */
#define PROCESS_END_UNSEEN (-1)
/*
 * Describes how a process ended. oom_before, oom_now: memory_oom_kills() at its start and now. For SIGKILL and for an
 * unknown status the text adds whether the OOM killer was active meanwhile.
 */
const char *process_end_text(int status, int64_t oom_before, int64_t oom_now, char ret[PROCESS_END_TEXT]);

#endif
