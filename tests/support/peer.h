/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Client processes of system tests: a function in a forked child, and a ledger in shared memory in which each
 * message has a cell of its own, so that the test can tell what happened to it even if the process is dead.
 */
#ifndef TEST_PEER_H
#define TEST_PEER_H

#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sim/msg/Ultrasonic.h>
#include <sim/sim.h>

#include "timeutil.h"

#define PEER_MESSAGES 200000

/* One message: what sim_try_queue answered, how often its callback ran, with what. */
struct peer_message {
	_Atomic uint8_t state; /* 0 not sent, 1 offered, 2 accepted, 3 refused */
	_Atomic uint8_t calls, ok, reason;
};

struct peer {
	_Atomic int stop, ready, failed;
	_Atomic uint64_t offered, accepted, refused, called, ok, received;
	_Atomic uint64_t reasons[SIM_REASON_COUNT];  /* of callbacks of accepted messages */
	_Atomic uint64_t refusals[SIM_REASON_COUNT]; /* of callbacks of refused ones */
	_Atomic uint32_t generation;                 /* of the data plane, of the newest message received */
	_Atomic int64_t sim_ns;
	_Atomic uint32_t flags; /* of the clock */
	_Atomic int result;     /* whatever the test wants to know */
	_Atomic int64_t took_dur_ns;
	_Atomic int command; /* whatever the test says; peer_tell() */
	uint32_t bell;       /* rung by peer_tell(), peer_join() and the callbacks of peer_queue() */
	char why[512];
	uint64_t number; /* of the process, for names */
	struct peer_message message[PEER_MESSAGES];
};

/* In a child: cmocka's asserts mean nothing there. */
#define PEER(p, cond) \
	do { \
		if (!(cond)) { \
			peer_fail((p), __FILE__, __LINE__, #cond); \
		} \
	} while (0)

_Noreturn void peer_fail(struct peer *p, const char *file, int line, const char *what);

/* In a child: waits until cond holds, which something that rings its bell brings about. */
#define PEER_AWAIT(p, cond) AWAIT_BELL(&(p)->bell, cond)
/* Until it is told to stop. */
#define PEER_IDLE(p) PEER_AWAIT(p, atomic_load(&(p)->stop))

struct peer *peer_new(void);
void peer_free(struct peer *p);
/* The child ends with what fn returns; it dies with the test. */
pid_t peer_fork(struct peer *p, int (*fn)(struct peer *p));
/* Sets its command. */
void peer_tell(struct peer *p, int command);
/* Asks it to stop, waits, and wants exit code 0. */
void peer_join(struct peer *p, pid_t pid);

struct sim_client *peer_connect(struct peer *p, const char *name);
struct sim_publisher *peer_advertise(struct peer *p, struct sim_client *c, const char *channel, size_t max_body,
				     unsigned flags);
/* Offers the next message; what sim_try_queue said, or sim_loan's error (then nothing was offered). */
int peer_queue(struct peer *p, struct sim_publisher *pub, size_t body, struct sim_token *token);
/* All offered ones completed? */
bool peer_settled(struct peer *p);
/* In a child: waits for that. */
void peer_settle(struct peer *p);
/* In a child, at its end: settles, and takes publisher and client down. 0. */
int peer_leave(struct peer *p, struct sim_client *c, struct sim_publisher *pub);
/* Every message offered has had its callback exactly once, false if refused. lost: its process was killed. */
void peer_check(struct peer *p, bool lost);

/* Publishes on /t/<number> as fast as credits come, `command` messages a second if that is not 0; PEER_MESSAGES at most. */
int peer_publisher(struct peer *p);
/* Publishes locally and receives that on /p/<number>, until told to stop. */
int peer_exchange(struct peer *p);

#endif
