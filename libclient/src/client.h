/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: the client and the objects that belong to it. README.md beside this file shows which file owns what.
 *
 * Locks, in the order in which they are taken; no callback runs with one held, and no peer can hold one:
 *   setup  everything that creates, moves or ends handles: advertise, subscribe, recovery. May be held for seconds,
 *          therefore sim-io only ever tries it.
 *   lock   short: the session pointer, pending calls, lists, the queue of callbacks to run. The hot path (queue,
 *          publish, take) takes neither.
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

/* A range of bytes of the payload segment. */
struct slot_range {
	uint64_t at, bytes;
};
struct varlink_msg;

/*
 * How a client waits and reads the time. NULL for real ones; tests use virtual time here, and run the daemon inside
 * wait(). Only with SIM_CLIENT_NO_THREAD. wait NULL: real time and threads, only bus is used.
 */
struct client_env {
	int64_t (*now)(void *arg);
	/* As fd_wait(); fd may be -1: only let time pass. */
	int (*wait)(void *arg, int fd, short events, int64_t timeout_dur_ns);
	void *arg;
	struct ipc_mem_bus *bus; /* for the mem backend; NULL: the default one */
};

/* State of recovery. */
enum client_phase {
	PHASE_DOWN,      /* no session: connect when `due` */
	PHASE_DATAPLANE, /* session, but simd has no data plane yet: wait for its event */
	PHASE_ATTACH,    /* an attach job is under way */
	PHASE_RETRY,     /* attach failed: again when `due` */
	PHASE_PROVE,     /* registered; probing that simd's subscribers are connected */
	PHASE_UP,
	PHASE_FAILED,
};

/*
 * The callback that runs now, for a thread that destroys its handle meanwhile. Guarded by the lock that is passed to
 * the calls.
 */
struct running {
	const void *what; /* the handle; NULL: none runs */
	pthread_t thread;
};

/* Releases the lock for the callback of `what`; running_end() takes it again. */
void running_begin(struct running *r, const void *what, pthread_mutex_t *lock);
void running_end(struct running *r, pthread_mutex_t *lock, pthread_cond_t *changed);
/* Waits until no callback of `what` runs; true: the caller is that callback. Under the lock. */
bool running_settle(const struct running *r, const void *what, pthread_mutex_t *lock, pthread_cond_t *changed);

/* Whether the client is running its step, and if others of its rank are too. */
enum client_turn { TURN_NONE, TURN_ALONE, TURN_SHARED };

/* First member of every handle that only one thread may use at a time. */
struct handle {
	_Atomic uint32_t busy;         /* enum handle_busy */
	const _Atomic uint32_t *alive; /* client::alive */
};

enum handle_busy { HANDLE_FREE, HANDLE_USER, HANDLE_LIBRARY };

#define WHY_MAX 400

/*
 * The last simulated time that a thread has read; threads without an entry of their own share the first. A cache line
 * each.
 */
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
	_Atomic uint32_t stuck_seq;             /* seq of the page in a write that its writer never finished; else 0 */

	/* publishers and subscribers whose registration got no answer and must be repeated; under setup */
	unsigned unanswered;
	/* some registrations found no room: retry at refused_mono_ns. Under setup, as the next two */
	bool refused;
	int64_t refused_mono_ns, refused_dur_ns;

	/* the clock of earlier moments: see clock_past.c. Guarded by past_lock, a leaf */
	const struct sim_clock_history *past, *past_before; /* of the last simd, and of the one before it; NULL: none */
	pthread_mutex_t past_lock;

	char *name, *path;
	unsigned flags;
	int64_t timeout_dur_ns;
	const struct client_env *env; /* NULL: real time */
	struct ipc_mem_bus *bus;

	pthread_mutex_t setup;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* used with lock: a reply has come, a publisher was proved, phase changed */

	/* guarded by lock */
	struct session *session; /* NULL: none; kept by references */
	struct attachment *att;
	struct list pubs;          /* sim_publisher::link */
	struct list zombies;       /* sim_publisher::link: destroyed, messages still outstanding */
	struct list subs;          /* sim_subscriber::link */
	_Atomic uint32_t subs_seq; /* incremented after simd counts one of them, and before it stops counting one */
	bool renew_due;            /* of one of the subscribers; guarded by lock */
	bool renewing;             /* renew_due was taken over: subscribers must be checked */
	struct list tokens;        /* sim_token::link */
	struct list regs[64];      /* pub_reg::hash, by publisher_id without its shard */
	struct sim_driver *driver;
	struct sim_step *step;
	bool ready;                /* sim_client_ready() was called; under setup */
	struct timers *timers;     /* created with the first timer */
	struct jumps *jumps;       /* created with the first handler */
	struct services *services; /* created with the first service or call */
	struct record *done_first, **done_last;
	struct { /* the completion callback that runs */
		bool on;
		pthread_t thread;
		uint32_t flush; /* record::flush */
	} calling;
	unsigned flushers; /* threads in sim_flush() that wait for `changed` */
	char why[WHY_MAX];

	_Atomic uint32_t turn;    /* enum client_turn: of sim_step */
	atomic_bool turn_sent;    /* something for dispatch was sent in this turn */
	_Atomic uint32_t flushes; /* number of sim_flush() calls so far */

	/* written under setup (and lock if read under lock) */
	_Atomic int phase; /* enum client_phase */
	_Atomic int state; /* enum sim_client_state */
	int error;         /* of the last attempt */
	bool connecting;   /* inside sim_connect(): an error ends it */
	int64_t due_mono_ns, backoff_dur_ns, prove_until_mono_ns;
	int64_t connect_until_mono_ns; /* time limit of sim_connect() */
	int64_t doubt_mono_ns; /* since when the attachment has been dead without a report by simd; 0: it is not */
	struct attach_job *job;
	/* ranges that its channels use and that must be populated: the large ones */
	struct slot_range slots[SLOT_RANGES_MAX];
	unsigned n_slots;
	struct warm_job *warm;    /* populates a generation after a new attach; recover.c */
	bool warm_due;            /* warm must be started */
	bool unsettled;           /* something was posted for a handle whose thread may not have adopted it yet */
	uint64_t sessions;        /* number of sessions so far */
	uint32_t want_generation; /* generation of the data plane that simd uses; 0: none at present */
	char runtime[PATH_MAX];   /* simd's runtime directory when att was made */

	/* sim-io */
	int epfd, wake_fd, timer_fd;
	pthread_t io;
	bool io_started;
	_Atomic bool stopping;
};

/*
 * Checks that c is not NULL, and that this process is not a fork of the one that connected. 0 or -EINVAL / -EPERM with
 * a sentence.
 */
int client_guard(const struct sim_client *c);

static inline bool client_alive(const struct sim_client *c)
{
	return atomic_load_explicit(c->alive, memory_order_relaxed) != 0;
}

/* sim_connect() with a private environment; env is kept until disconnect. */
int client_connect(const struct sim_client_options *o, const struct client_env *env, struct sim_client **ret);

int64_t client_now(const struct sim_client *c); /* CLOCK_MONOTONIC, or virtual */
/* Lets other parts run for up to timeout_dur_ns, or until fd is ready (fd may be -1). For callers that wait. */
int client_sleep(struct sim_client *c, int fd, short events, int64_t timeout_dur_ns);
/* The same, or until simd may have sent something: for a caller that pumps. */
void client_idle(struct sim_client *c, int64_t timeout_dur_ns);

/* Whether the caller must read the sockets itself while it waits (no sim-io thread, or it is that thread). */
bool client_pumps(const struct sim_client *c);
/* Reads both sockets; callbacks are queued, not run. Takes lock. */
void client_pump(struct sim_client *c);
/* Pumps, and advances recovery unless another thread does: for callers that wait without a sim-io thread. */
void client_work(struct sim_client *c);
/* Wakes sim-io (or makes sim_client_fd() readable). Any thread. */
void client_kick(struct sim_client *c);
/* Call it when a port of this attachment was refused: wakes recovery if the attachment is dead. Any thread. */
void client_doubt(struct sim_client *c, const struct attachment *l);
/* Requests a step at that time; an earlier request stays. Under setup. */
void client_due(struct sim_client *c, int64_t due_mono_ns);

/* Takes client::setup. A thread that reads the sockets for others keeps reading while it waits. */
void client_setup_lock(struct sim_client *c);
void client_setup_unlock(struct sim_client *c);

/* ---- recover.c ---- */

/* Advances recovery as far as possible without waiting. Under setup. */
void client_step(struct sim_client *c);
/* Replaces ports that simd wants replaced, as far as possible without waiting. Under setup. */
void client_renew(struct sim_client *c);
/* Frees publishers that were destroyed and have nothing outstanding. Under setup. */
void client_reap(struct sim_client *c);
/* For sim_disconnect(): closes the session, fails everything outstanding. Under setup. */
void client_close(struct sim_client *c);

/* The session for a call, referenced; -ENOTCONN with a sentence. */
int client_session(struct sim_client *c, struct session **ret);
/* As session_call() with the present session. Takes params, even on failure. */
int client_call(struct sim_client *c, const char *method, json_t *params, struct varlink_msg *ret, json_t **ret_params);
/* The present attachment for a new port, referenced; -ESTALE, or -EOPNOTSUPP for a client without data plane. */
int client_attachment(struct sim_client *c, struct attachment **ret);

/* ---- populate.c; under setup ---- */

/* Maps the slots named in simd's reply now, and again in the next generation. */
void client_populate(struct sim_client *c, struct attachment *l, const json_t *reply);
/* Starts or ends the background work on a generation after a new attach. */
void client_populate_step(struct sim_client *c);
void client_populate_end(struct sim_client *c); /* waits for it */

/* ---- handles ---- */

/* The cold part of handle_enter(): sets the reason of the refusal. */
int handle_refused(struct handle *h, const char *what) __attribute__((cold));

/* Enters a handle: 0, or -EBUSY (another thread is inside), -EPERM (fork). what: "publisher", for the sentence. */
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

/* Enters on behalf of the library, if no thread is inside. */
static inline bool handle_try_library(struct handle *h)
{
	uint32_t expected = HANDLE_FREE;

	return atomic_compare_exchange_strong_explicit(&h->busy, &expected, HANDLE_LIBRARY, memory_order_acquire,
						       memory_order_relaxed);
}

#endif
