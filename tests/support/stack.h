/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole simd for system tests: the real program with its own RouDi and bridges, and queries about it. Only under
 * tests/support/ns.sh: one at a time, at fixed places in the private /tmp. Only the runner's limit bounds the waits.
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
#define STACK_CONF   "/tmp/out-rt.json" /* configuration of the simd in STACK_DIR */
#define STACK_LOG    "/tmp/simd.log"

/* Small pools, for a quick start. */
#define STACK_POOLS "\"pools\":[{\"size\":\"1KiB\",\"count\":1500}]"

/* ---- simd ---- */

/*
 * conf: the members of simd.json without the braces, or "", added to the deadlines of patient.h. Returns when simd is
 * ready.
 */
pid_t stack_start(const char *conf);
/* The same without waiting; ret_ready_fd becomes readable when simd is ready, and hangs up when simd ends. */
pid_t stack_spawn(const char *conf, int *ret_ready_fd);
/* Another simd, in a runtime directory below /tmp; clients of that one name its socket. */
pid_t stack_spawn_in(const char *dir, const char *conf, int *ret_ready_fd);
/* Sends SIGTERM and checks the exit code; no process, socket, lock or shared memory may be left. */
void stack_stop(pid_t simd);
/*
 * For a simd that is started in another way: `run`, in a child whose output is simd's log, executes it with --ready-fd;
 * and the wait for it.
 */
pid_t stack_fork(void (*run)(const char *ready_fd), int *ret_ready_fd);
void stack_await_ready(int ready_fd);
void stack_kill(pid_t simd); /* SIGKILL, and waits */
/* The same together with its RouDi (0: none), at once, so that neither notices the other's end. */
void stack_kill_both(pid_t simd, pid_t roudi);
/* Waits for a child; returns its wait status. */
int stack_wait(pid_t pid);
/* Leftovers of any simd on the machine, "" if there are none; static. */
const char *stack_leftovers(void);
/* For teardown: ends all processes of this namespace, removes all files, and prints simd's log. */
int stack_sweep(void **state);
/* A process that simd starts may crash in this test: stack_sweep() does not report it. */
void stack_expects_crash(void);
/* Whether simd's log contains the text. */
bool stack_said(const char *text);
/* Number of lines of the log that contain both. */
unsigned stack_count(const char *a, const char *b);
/* Number of a process's threads whose names begin so, in one of these states of /proc (NULL: any). */
unsigned stack_threads(pid_t pid, const char *name, const char *states);

/* ---- queries ---- */

/* Calls a control method, with the arguments of json_pack() (NULL: none). NULL: it failed, or simd is not running. */
json_t *stack_call(const char *method, const char *fmt, ...);
/* A number or text of a reply, by a path such as "bridges/0/pid". -1, "" if it is absent. */
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

/* Slots in use over all pools, as counted by simd. */
uint32_t stack_slots(void);

/* Fills /dev/shm with foreign files, to the last page but `left` bytes; and removes them. */
void stack_shm_fill(int64_t left);
void stack_shm_clear(void);

#endif
