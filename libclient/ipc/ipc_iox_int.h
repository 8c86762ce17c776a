/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the module ipc_iox.so: hooks, guards and the segments of this attachment. The module is loaded into a link
 * namespace of its own, so its statics are the state of exactly one attachment.
 */
#ifndef IPC_IOX_INT_H
#define IPC_IOX_INT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>

#include "ipc_ops.h"
#include "proc_cpu.h"

/*
 * Limit for one answer of RouDi, and for the whole creation that waits for it: by proc_wait, so time without a CPU is
 * excused.
 */
#define IOX_REPLY_MS  900
#define IOX_CREATE_MS 990
#define IOX_PROMPT_MS 500 /* limit of a prompt caller while RouDi has no CPU */
#define IOX_SLOW_MS   20  /* the same, if the previous creation was late too */
#define IOX_KEEP_MS   300 /* how long a late result is kept for its caller; a prompt caller asks again sooner */

/*
 * Around every call into iceoryx: a FATAL error of iceoryx leaves through it instead of aborting the process. Owned by
 * a port, or by the worker; linked once, never freed while iceoryx can run in it.
 */
struct iox_guard {
	_Atomic uintptr_t owner; /* pthread_self() of the thread inside, 0 none */
	void *env[5];            /* for __builtin_setjmp: at most four words, no signal mask, half the cost of setjmp */
	struct iox_guard *next;  /* guards, newest first */
};

void iox_guard_add(struct iox_guard *g);
void iox_guard_del(struct iox_guard *g);

static inline void iox_guard_enter(struct iox_guard *g)
{
	atomic_store_explicit(&g->owner, (uintptr_t)__builtin_thread_pointer(), memory_order_relaxed);
}

static inline void iox_guard_leave(struct iox_guard *g)
{
	atomic_store_explicit(&g->owner, 0, memory_order_relaxed);
}

/* The module does not link libclient's base, so this is its own. */
static inline int64_t iox_mono_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What the hooks report: set during the worker's calls into iceoryx, read after them by the worker. */
struct iox_report {
	_Atomic uint32_t error;  /* last SEVERE or FATAL error, 0 none: index into iceoryx's table */
	_Atomic bool unanswered; /* a reply of RouDi did not come in time */
	_Atomic bool waits;      /* the worker waits for a reply, within IOX_REPLY_MS */
};

extern struct iox_report iox_report;

/* iceoryx's name of an error; static. */
const char *iox_error_name(uint32_t error);

/* Once set, RouDi gets no more messages: heartbeats and requests are swallowed. */
void iox_set_quiet(bool quiet);
/* Called by the hooks when RouDi's socket refuses: the attachment is over. */
void iox_roudi_gone(void);
/*
 * Called when a call of the worker's failed with e. Returns true if it failed for lack of a resource that may be
 * available later, and the attachment is being started: repeat the call. Before that, the caller that waits for the
 * start gets the error, and the next attach continues the start. what: a few words, copied.
 */
bool iox_start_lacks(int e, const char *what);
/* Called on the worker's thread for a FATAL error outside a guard. Does not return. */
_Noreturn void iox_fatal_unguarded(void);
/* RouDi's socket in this attachment's plane. */
struct sockaddr_un iox_roudi_address(void);
/* The socket at which RouDi answers; -1: not open yet. */
int iox_own_socket(void);
/* Whether this is the process that loaded the module, not a fork of it. */
bool iox_own_process(void);

/* ---- the attachment: ipc_iox_attach.c ---- */

enum iox_job_kind { JOB_NONE, JOB_START, JOB_PUB, JOB_SUB, JOB_WAITER, JOB_POOLS };

/* One request to the worker. Contains its strings, so a caller may give up waiting. */
struct iox_job {
	enum iox_job_kind kind;
	bool done;
	int result;
	uint32_t depth, history;
	char service[16], instance[128], event[16];
	void *out;
};

/* On the worker; in ipc_iox.c. */
int iox_run_job(struct iox_job *j);
/* Destroys a port that is no longer needed. */
void iox_drop_port(const struct iox_job *j);
/*
 * Runs a creation on the worker, in bounded time; a sentence about `what` in why. Takes j->out, and sets it: to the
 * created object, maybe that of an earlier call; to NULL if it was not taken.
 */
int iox_create(struct iox_job *j, struct ipc_text *why, const char *what);
/* The errno for what the hooks reported during the present job. */
int iox_error_of(int fallback);
/* Ends this attachment: the ipc goes stale, waiters wake, RouDi gets no more messages. */
void iox_attachment_over(void);
bool iox_attachment_dead(void);
bool iox_attachment_started(void);  /* registered with RouDi, once */
const char *iox_runtime_name(void); /* set by the time it is registered */
/* Begins a wait for RouDi of at most bound_ms. excused: time in which RouDi had no CPU does not count. */
void iox_wait_begin(struct proc_wait *w, int64_t bound_ms, bool excused);
/* In ipc_iox.c. */
void iox_wake_waiters(void);

/* Of struct ipc_ops. */
int iox_reserve(void);
bool iox_registered(void);
int iox_attach(const struct ipc_start *start, struct ipc_text *why, void **ret);
void iox_be_prompt(void *back);
void iox_detach(void *back, bool dead);
int iox_segment(void *back, struct ipc_segment *ret);
bool iox_stray(void *back);
const char *iox_end_error(void *back);
int iox_prefault(void *back, uint64_t at, uint64_t bytes, int64_t until_mono_ns);

/* ---- shared-memory segments of this attachment, from the hooks on shm_open and mmap ---- */

struct iox_seg {
	dev_t dev;
	ino_t ino;
	bool mgmt;
	int fd;           /* iceoryx's descriptor, which keeps it; -1: closed */
	const char *base; /* NULL: not mapped */
	size_t size;
	bool writable;
};

void iox_seg_note(const char *name, int fd);
void iox_seg_mapped(int fd, const char *base, size_t size, bool writable);
/* Find the payload and the management segment: 0, or -ENOENT (none is mapped). */
int iox_seg_payload(struct iox_seg *ret);
int iox_seg_mgmt(struct iox_seg *ret);
/* Whether an address lies in one of the segments. */
bool iox_seg_has(const void *p);
/* Whether the plane's management segment is still the one of this attachment. */
bool iox_seg_current(void);
/* Unmaps and closes all: for an attachment that is over and not used any more. */
void iox_seg_drop(void);
/* Maps the pages at p in the management segment, if possible: of a port before its first message. */
void iox_seg_map(const void *p, size_t n);
/*
 * Populates a range of the payload, or the written part of the management segment (0 bytes), until the deadline of
 * CLOCK_MONOTONIC, 0 none.
 */
int iox_seg_prefault(uint64_t at, uint64_t bytes, int64_t until_mono_ns);

#endif
