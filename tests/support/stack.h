/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole simd for system tests: the real program with its own RouDi and bridges, and what a test asks about
 * it. Only under tests/support/ns.sh: one at a time, at fixed places in the private /tmp.
 * Only the runner's limit bounds the waits.
 */
#ifndef TEST_STACK_H
#define TEST_STACK_H

#include "test.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

#include "timeutil.h"

#define STACK_DIR    "/tmp/rt"
#define STACK_SOCKET STACK_DIR "/control"
#define STACK_CONF   "/tmp/out-rt.json" /* of the simd in STACK_DIR */
#define STACK_LOG    "/tmp/simd.log"

/* Small pools, so that a start takes no time. */
#define STACK_POOLS "\"pools\":[{\"size\":\"1KiB\",\"count\":1500}]"

/* ---- simd ---- */

/* conf: the members of simd.json without the braces, or "", over the deadlines of patient.h. Returns when simd is ready. */
pid_t stack_start(const char *conf);
/* The same without waiting; ready_fd becomes readable when simd is ready, hangs up when it ends. */
pid_t stack_spawn(const char *conf, int *ret_ready_fd);
/* One beside it, in a runtime directory below /tmp; who talks to that one names its socket. */
pid_t stack_spawn_in(const char *dir, const char *conf, int *ret_ready_fd);
/* SIGTERM; the exit code; nothing may be left of it: no process, socket, lock or shared memory. */
void stack_stop(pid_t simd);
/*
 * For a simd that is started otherwise: a child whose output is simd's log runs `run`, which executes it with --ready-fd; and
 * the wait for that.
 */
pid_t stack_fork(void (*run)(const char *ready_fd), int *ret_ready_fd);
void stack_await_ready(int ready_fd);
void stack_kill(pid_t simd); /* SIGKILL, and waits */
/* The same with its RouDi (0: none), at once: neither sees the other's end. */
void stack_kill_both(pid_t simd, pid_t roudi);
/* Waits for a child; its wait status. */
int stack_wait(pid_t pid);
/* What is left on the machine of any simd, "" when it is clean; static. */
const char *stack_leftovers(void);
/* For teardown: all processes of this namespace end, all files go; prints simd's log. */
int stack_sweep(void **state);
/* A process that simd starts is to crash: stack_sweep() takes no offence at it, in this test. */
void stack_expects_crash(void);
/* Whether simd has said that. */
bool stack_said(const char *text);
/* How often a line of the log holds both. */
unsigned stack_count(const char *a, const char *b);
/* Threads of a process whose names begin so, in one of these states of /proc (NULL: any). */
unsigned stack_threads(pid_t pid, const char *name, const char *states);

/* ---- asking it ---- */

/* A control method, with the arguments of json_pack() (NULL: none). NULL: it failed, or simd is not there. */
json_t *stack_call(const char *method, const char *fmt, ...);
/* One number or text of a reply, with a path such as "bridges/0/pid". -1, "" when it is not there. */
int64_t stack_int(const char *method, const char *path);
const char *stack_text(const char *method, const char *path); /* static */
/* A member of one bridge or channel, by name. */
int64_t stack_bridge(const char *name, const char *key);
const char *stack_bridge_text(const char *name, const char *key); /* static */
int64_t stack_channel(const char *name, const char *key);         /* ListChannels */
int64_t stack_in_flight(const char *channel);                     /* GetDispatch */
pid_t stack_roudi(void);
const char *stack_plane(void); /* directory of its data plane; static */
uint32_t stack_life(void);     /* of the data plane */

/* ---- simctl ---- */

struct ctl_result {
	int code;
	char out[65536], err[4096];
};

/* For a child: becomes simctl with this command. args end with NULL. */
_Noreturn void stack_exec_ctl(const char *command, const char *const *args);
/* Runs simctl; static result. The last argument is NULL. */
const struct ctl_result *stack_ctl(const char *arg, ...) __attribute__((sentinel));
/* Runs any program of the build, bin/NAME, with those arguments. */
const struct ctl_result *stack_run(const char *const *argv);

/* Slots in use over all pools, as simd counts them. */
uint32_t stack_slots(void);

/* Others take all that there is of /dev/shm, to the last page but for so many bytes; and give it back. */
void stack_shm_fill(int64_t left);
void stack_shm_clear(void);

#endif
