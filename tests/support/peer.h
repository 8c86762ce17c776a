/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Client processes of system tests: a function in a forked child, and a ledger in shared memory with a cell for each
 * message, so that the test can see what became of it even if the process has died.
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

/* One message: the result of sim_try_queue, how often its callback ran, and with which reason. */
struct peer_message {
	_Atomic uint8_t state; /* 0 not sent, 1 offered, 2 accepted, 3 refused */
	_Atomic uint8_t calls, ok, reason;
};

struct peer {
	_Atomic int stop, ready, failed;
	_Atomic uint64_t offered, accepted, refused, called, ok, received;
	_Atomic uint64_t reasons[SIM_REASON_COUNT];  /* callbacks of accepted messages, by reason */
	_Atomic uint64_t refusals[SIM_REASON_COUNT]; /* callbacks of refused ones, by reason */
	_Atomic uint32_t generation;                 /* generation of the data plane of the newest message received */
	_Atomic int64_t sim_ns;
	_Atomic uint32_t flags; /* flags of the clock */
	_Atomic int result;     /* set by the child for the test */
	_Atomic int64_t took_dur_ns;
	_Atomic int command; /* set by the test: peer_tell() */
	uint32_t bell;       /* rung by peer_tell(), peer_join() and the callbacks of peer_queue() */
	char why[512];
	uint64_t number; /* number of the process, for names */
	struct peer_message message[PEER_MESSAGES];
};

/* For a child, where cmocka's asserts have no effect. */
#define PEER(p, cond) \
	do { \
		if (!(cond)) { \
			peer_fail((p), __FILE__, __LINE__, #cond); \
		} \
	} while (0)

_Noreturn void peer_fail(struct peer *p, const char *file, int line, const char *what);

/* In a child: waits until cond holds; the side that makes it true rings the bell. */
#define PEER_AWAIT(p, cond) AWAIT_BELL(&(p)->bell, cond)
/* Waits until the test asks the child to stop. */
#define PEER_IDLE(p) PEER_AWAIT(p, atomic_load(&(p)->stop))

struct peer *peer_new(void);
void peer_free(struct peer *p);
/* The child's exit code is fn's result; it is killed when the test ends. */
pid_t peer_fork(struct peer *p, int (*fn)(struct peer *p));
/* Sets the child's command. */
void peer_tell(struct peer *p, int command);
/* Asks the child to stop, waits, and requires exit code 0. */
void peer_join(struct peer *p, pid_t pid);

struct sim_client *peer_connect(struct peer *p, const char *name);
/* Tries again while simd replaces the data plane, as a program does. */
struct sim_publisher *peer_advertise(struct peer *p, struct sim_client *c, const char *channel, size_t max_body,
				     unsigned flags);
/* Offers the next message; returns the result of sim_try_queue, or sim_loan's error (then nothing was offered). */
int peer_queue(struct peer *p, struct sim_publisher *pub, size_t body, struct sim_token *token);
/* Whether all offered messages are completed. */
bool peer_settled(struct peer *p);
/* In a child: waits until all offered messages are completed. */
void peer_settle(struct peer *p);
/* In a child, at its end: waits for completions, then destroys publisher and client. Returns 0. */
int peer_leave(struct peer *p, struct sim_client *c, struct sim_publisher *pub);
/*
 * Checks that each offered message has had its callback exactly once, with false if it was refused. lost: the process
 * was killed.
 */
void peer_check(struct peer *p, bool lost);

/*
 * Publishes on /t/<number> as fast as credits allow, or `command` messages a second if that is not 0; at most
 * PEER_MESSAGES.
 */
int peer_publisher(struct peer *p);
/* Publishes locally and receives on /p/<number>, until asked to stop. */
int peer_exchange(struct peer *p);

#endif
