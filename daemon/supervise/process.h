/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process that simd keeps running: started, its output logged under its name, started again with
 * back-off, stopped with SIGTERM and, when it is late, SIGKILL.
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
	PROCESS_WAITING, /* for the next start */
	PROCESS_STOPPING,
	PROCESS_AGAIN, /* ends on request, to be started again at once */
	PROCESS_DONE,  /* it has exited and is not restarted */
};

/* EX_CONFIG of sysexits(3): it can never work as it was started. */
#define PROCESS_NEVER_WORKS 78
/* What a shell exits with for a program that it cannot start, the loader for a missing library. */
#define PROCESS_NOT_EXECUTED 126
#define PROCESS_NOT_FOUND    127

struct process_options {
	const char *name;
	struct spawn spawn; /* borrowed until process_finish() */
	enum process_restart restart;
	int64_t restart_dur_ns, restart_max_dur_ns, stop_dur_ns;
	/* Starts in a row that cannot work (no such program, exit code 78, 126, 127) before it is given up; 0: never given up. */
	uint32_t give_up;
	uint32_t restart_limit;     /* restarts by the rule above, altogether, before it is given up; 0: none */
	bool keep;                  /* it may leave descriptors to its next run */
	void (*started)(void *arg); /* may be NULL */
	/* It has exited, and stopping is set or it will not be restarted. May be NULL. */
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
	 * A pair of sockets that each run inherits, both ends: descriptors that one run has sent into the first stay in the second until a
	 * later run takes them out. simd never reads them. -1: none.
	 */
	int keep[2];
	int64_t started_mono_ns, oom; /* oom: memory_oom_kills() then */
	uint32_t failures, restarts;
	uint32_t respawns;      /* restarts by the rule; an operator's restart resets it */
	uint32_t hopeless;      /* starts in a row that cannot work */
	char permanent[256];    /* why it was given up; "": it was not */
	char last[200];         /* line of its output */
	char why[96];           /* of process_expect_end() */
	struct lines lines;     /* of its output */
	struct log_limit limit; /* of its lines in the log */
};

void process_init(struct process *p, struct exec *x, const struct spawn_ops *ops, void *user,
		  const struct process_options *o);
/* Kills it if it runs, without waiting for it. */
void process_finish(struct process *p);

/* Start now; a failure is logged and tried again like an early end. */
void process_start(struct process *p);
/* SIGTERM, later SIGKILL; ended() follows, at once (before it returns) when it does not run. */
void process_stop(struct process *p);
/* SIGKILL, and a new one by its restart rule. why is logged. */
void process_kill(struct process *p, const char *why);
/* It should be about to end; if it does not, it is killed. */
void process_expect_end(struct process *p, const char *why);
/* SIGTERM, later SIGKILL, and started again at once, whatever its rule, and also when it was given up. */
void process_again(struct process *p);
bool process_alive(const struct process *p);

#define PROCESS_END_TEXT   192
#define PROCESS_END_UNSEEN (-1) /* the status of no process: it is somebody else's child */
/*
 * How a process ended. oom_before, oom_now: memory_oom_kills() at its start and now. Of a SIGKILL, and of an end that was not
 * seen, the text has whether that moved.
 */
const char *process_end_text(int status, int64_t oom_before, int64_t oom_now, char ret[PROCESS_END_TEXT]);

#endif
