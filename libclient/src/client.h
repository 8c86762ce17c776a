/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: the client and what hangs off it. README.md beside this file shows who owns what.
 *
 * Locks, in the order in which they are taken; no callback runs with one held, and no peer can hold one:
 *   setup  everything that creates, moves or ends handles: advertise, subscribe, recovery. May be held for
 *          seconds, therefore sim-io only ever tries it.
 *   lock   short: the session pointer, pending calls, lists, the queue of callbacks to run.
 * The hot path (queue, publish, take) takes neither.
 */
#ifndef SRC_CLIENT_H
#define SRC_CLIENT_H

#include <sim/client.h>
#include <sim/clock_page.h>

#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ipc.h"
#include "list.h"

struct session;
struct attachment;
struct record;
struct attach_job;
struct warm_job;

#define SLOT_RANGES_MAX 8

/* Bytes of the payload segment. */
struct slot_range {
	uint64_t at, bytes;
};
struct varlink_msg;

/*
 * How a client waits and what time it is. NULL for real ones; tests put virtual time here, and run the
 * daemon inside wait(). Only with SIM_CLIENT_NO_THREAD. wait NULL: real time and threads, only the bus is meant.
 */
struct client_env {
	int64_t (*now)(void *arg);
	/* As fd_wait(); fd may be -1: only let time pass. */
	int (*wait)(void *arg, int fd, short events, int64_t timeout_dur_ns);
	void *arg;
	struct ipc_mem_bus *bus; /* for the mem backend; NULL: the default one */
};

/* Where recovery stands. */
enum client_phase {
	PHASE_DOWN,      /* no session: connect when `due` */
	PHASE_DATAPLANE, /* session, but simd has no data plane yet: wait for its event */
	PHASE_ATTACH,    /* an attach job is under way */
	PHASE_RETRY,     /* attach failed: again when `due` */
	PHASE_PROVE,     /* registered; probing that simd's subscribers are connected */
	PHASE_UP,
	PHASE_FAILED,
};

/* The callback that runs, for who destroys its handle meanwhile. Guarded by the lock that the calls are given. */
struct running {
	const void *what; /* NULL: none */
	pthread_t thread;
};

/* Drops the lock for the callback of what, and takes it again after it. */
void running_begin(struct running *r, const void *what, pthread_mutex_t *lock);
void running_end(struct running *r, pthread_mutex_t *lock, pthread_cond_t *changed);
/* Wait until no callback of it runs; true: it is our own callback that asks. Under the lock. */
bool running_settle(const struct running *r, const void *what, pthread_mutex_t *lock, pthread_cond_t *changed);

/* Whether the client runs its step. */
enum client_turn { TURN_NONE, TURN_ALONE, TURN_SHARED };

/* Start of every handle that one thread uses at a time. */
struct handle {
	_Atomic uint32_t busy;         /* enum handle_busy */
	const _Atomic uint32_t *alive; /* client::alive */
};

enum handle_busy { HANDLE_FREE, HANDLE_USER, HANDLE_LIBRARY };

#define WHY_MAX 400

/* The last time that a thread has read; those that find no slot free share the first. A cache line each. */
#define CLOCK_SEEN_MAX 32
struct clock_seen {
	_Atomic int64_t sim_ns;
	_Atomic uint32_t generation;
	char apart[64 - 12];
};

struct sim_client {
	_Atomic uint32_t *alive;                /* 1; alone on a page that a fork wipes: 0 in the child */
	const struct sim_clock_page *page;      /* fixed address for the client's lifetime; see clockmap.h */
	struct clock_seen seen[CLOCK_SEEN_MAX]; /* what threads have read: see clock.c */
	uint32_t seen_generation;               /* guarded by seen_lock */
	pthread_mutex_t seen_lock;              /* a leaf */
	_Atomic uint32_t stuck_seq;             /* of the page, in a write in which its writer was given up; else 0 */

	unsigned unanswered; /* publishers and subscribers that are to be registered once more; under setup */
	bool refused;        /* some had no room: again at refused_mono_ns. Under setup, as the next two */
	int64_t refused_mono_ns, refused_dur_ns;

	/* the clock of earlier moments: see clock_past.c. Guarded by past_lock, a leaf */
	const struct sim_clock_history *past, *past_before; /* of the last simd, of the one before it; NULL: none */
	pthread_mutex_t past_lock;

	char *name, *path;
	unsigned flags;
	int64_t timeout_dur_ns;
	const struct client_env *env; /* NULL: real time */
	struct ipc_mem_bus *bus;

	pthread_mutex_t setup;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* with lock: a reply has come, a publisher was proved, phase moved */

	/* guarded by lock */
	struct session *session; /* NULL: none; kept by references */
	struct attachment *att;
	struct list pubs;          /* sim_publisher::link */
	struct list zombies;       /* sim_publisher::link: destroyed, messages still outstanding */
	struct list subs;          /* sim_subscriber::link */
	_Atomic uint32_t subs_seq; /* bumped when one of them is counted by simd, and before it is so no more */
	bool renew_due;            /* of some subscriber; guarded by lock */
	bool renewing;             /* ... and so there is something to look at */
	struct list tokens;        /* sim_token::link */
	struct list regs[64];      /* pub_reg::hash: by publisher_id without its shard */
	struct sim_driver *driver;
	struct sim_step *step;
	bool ready;                /* sim_client_ready() was called; under setup */
	struct timers *timers;     /* made with the first one */
	struct jumps *jumps;       /* made with the first handler */
	struct services *services; /* made with the first of either side */
	struct record *done_first, **done_last;
	struct { /* a completion callback runs */
		bool on;
		pthread_t thread;
		uint32_t flush; /* record::flush */
	} calling;
	unsigned flushers; /* threads in sim_flush() that wait for `changed` */
	char why[WHY_MAX];

	_Atomic uint32_t turn;    /* enum client_turn: of sim_step */
	atomic_bool turn_sent;    /* something for dispatch has left in it */
	_Atomic uint32_t flushes; /* sim_flush() so far */

	/* written under setup (and lock where read under lock) */
	_Atomic int phase; /* enum client_phase */
	_Atomic int state; /* enum sim_client_state */
	int error;         /* of the last attempt */
	bool connecting;   /* inside sim_connect: errors end it */
	int64_t due_mono_ns, backoff_dur_ns, prove_until_mono_ns;
	int64_t connect_until_mono_ns; /* the time that sim_connect() was given */
	int64_t doubt_mono_ns; /* since when the attachment is over and simd has not reported it; 0: it is not */
	struct attach_job *job;
	struct slot_range slots[SLOT_RANGES_MAX]; /* that its channels use, to be populated: the large ones */
	unsigned n_slots;
	struct warm_job *warm;    /* populates a generation that was attached to again; recover.c */
	bool warm_due;            /* that is to be started */
	bool unsettled;           /* something was posted for a handle, which its thread has perhaps not adopted yet */
	uint64_t sessions;        /* so far */
	uint32_t want_generation; /* generation of the data plane that simd is on; 0: none at present */
	char runtime[PATH_MAX];   /* simd's runtime directory when that attachment was made */

	/* sim-io */
	int epfd, wake_fd, timer_fd;
	pthread_t io;
	bool io_started;
	_Atomic bool stopping;
};

/* Sealed off in a fork, and not NULL. 0 or -EPERM / -EINVAL with a sentence. */
int client_guard(const struct sim_client *c);

static inline bool client_alive(const struct sim_client *c)
{
	return atomic_load_explicit(c->alive, memory_order_relaxed) != 0;
}

/* sim_connect with a private environment; env: keeps until disconnect. */
int client_connect(const struct sim_client_options *o, const struct client_env *env, struct sim_client **ret);

int64_t client_now(const struct sim_client *c); /* CLOCK_MONOTONIC, or virtual */
/* Let other parts run for up to that long, or until fd is ready. For waits of a caller; fd may be -1. */
int client_sleep(struct sim_client *c, int fd, short events, int64_t timeout_dur_ns);
/* The same, or until simd may have sent something: for a caller that pumps. */
void client_idle(struct sim_client *c, int64_t timeout_dur_ns);

/* The caller must read the sockets itself while it waits (no sim-io thread, or it is that thread). */
bool client_pumps(const struct sim_client *c);
/* Read what has come on both sockets; callbacks are queued, not run. Takes lock. */
void client_pump(struct sim_client *c);
/* Pump, and move recovery on if nobody else does: for callers that wait without a sim-io thread. */
void client_work(struct sim_client *c);
/* Wake sim-io (or make sim_client_fd() readable): there is something to look at. Any thread. */
void client_kick(struct sim_client *c);
/* A port of this attachment was refused: if that has ended it, recovery is to know. Any thread. */
void client_doubt(struct sim_client *c, const struct attachment *l);
/* Ask for a step at that time; an earlier request stays. Under setup. */
void client_due(struct sim_client *c, int64_t due_mono_ns);

/* Take client::setup; a thread that others wait for (it reads the sockets) goes on reading while it waits. */
void client_setup_lock(struct sim_client *c);
void client_setup_unlock(struct sim_client *c);

/* ---- recover.c ---- */

/* Move recovery on as far as it goes without waiting. Under setup. */
void client_step(struct sim_client *c);
/* Ports that simd wants replaced, as far as that goes without waiting. Under setup. */
void client_renew(struct sim_client *c);
/* Free publishers that were destroyed and have nothing outstanding. Under setup. */
void client_reap(struct sim_client *c);
/* sim_disconnect: close the session, fail everything outstanding. Under setup. */
void client_close(struct sim_client *c);

/* Session for a call, referenced; -ENOTCONN with a sentence. */
int client_session(struct sim_client *c, struct session **ret);
/* As session_call() with that session. Takes params, even on failure. */
int client_call(struct sim_client *c, const char *method, json_t *params, struct varlink_msg *ret, json_t **ret_params);
/* Present attachment for a new port, referenced; -ESTALE, or -EOPNOTSUPP for a client without data plane. */
int client_attachment(struct sim_client *c, struct attachment **ret);

/* ---- populate.c; under setup ---- */

/* The slots that simd's answer names are mapped now, and again in the next generation. */
void client_populate(struct sim_client *c, struct attachment *l, const json_t *reply);
/* Start or end the background's work on a generation that was attached to again. */
void client_populate_step(struct sim_client *c);
void client_populate_end(struct sim_client *c); /* waits for it */

/* ---- handles ---- */

/* Slow end of handle_enter: why not. */
int handle_refused(struct handle *h, const char *what) __attribute__((cold));

/* In: 0, or -EBUSY (another thread is inside), -EPERM (fork). what: "publisher", for the sentence. */
static inline int handle_enter(struct handle *h, const char *what)
{
	uint32_t expected = HANDLE_FREE;

	if (__builtin_expect(!atomic_load_explicit(h->alive, memory_order_relaxed), 0))
		return handle_refused(h, what);
	if (__builtin_expect(!atomic_compare_exchange_strong_explicit(&h->busy, &expected, HANDLE_USER,
								      memory_order_acquire, memory_order_relaxed),
			     0))
		return handle_refused(h, what);
	return 0;
}

static inline void handle_leave(struct handle *h)
{
	atomic_store_explicit(&h->busy, HANDLE_FREE, memory_order_release);
}

/* The library itself goes in, if nobody is inside. */
static inline bool handle_try_library(struct handle *h)
{
	uint32_t expected = HANDLE_FREE;

	return atomic_compare_exchange_strong_explicit(&h->busy, &expected, HANDLE_LIBRARY, memory_order_acquire,
						       memory_order_relaxed);
}

#endif
