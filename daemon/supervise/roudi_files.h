/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RouDi's files: its configuration, what a dead one leaves in its plane (plane.h), the payload segments of
 * earlier generations, and what is visible of a RouDi that somebody else runs.
 *
 * Thread: simd-main; roudi_forget_app() and roudi_app_dead() any.
 */
#ifndef SUPERVISE_ROUDI_FILES_H
#define SUPERVISE_ROUDI_FILES_H

#include "admission.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SEGMENT_PATH_MAX 300 /* bytes; longer ones are refused */

struct ipc;

/* Writes <dir>/roudi.toml. ret_hash: of its text. */
int roudi_write_config(const char *dir, const struct pools *p, char **ret_path, uint64_t *ret_hash);

/* Free bytes of /dev/shm; -1 unknown. */
int64_t roudi_shm_free(void);
/* Whether it can have as many more files as a generation makes. */
#define ROUDI_FILES 12
bool roudi_shm_has_files(void);
/* The same with what a RouDi has there now: the next simd takes it over, or takes it away. */
int64_t roudi_shm_room(const char *plane);

/* Whether one has left its memory there, or is there. */
bool roudi_has_left(const char *plane);

/* Descriptor of the payload segment, to free its memory later. */
int roudi_open_segment(const char *plane);
/*
 * The segments of a dead generation get another name, so that a simd that follows finds those which clients still hold; they lose it
 * when nothing is to be freed of them any more.
 */
void roudi_set_aside(const char *plane, uint32_t generation);
void roudi_forget_aside(const char *plane, uint32_t generation);
bool roudi_aside_path(const char *plane, bool mgmt, uint32_t generation, char *ret, size_t n);
/* Calls fn with each generation that was set aside. */
void roudi_all_aside(const char *plane, void (*fn)(void *arg, uint32_t generation), void *arg);
/* Free the memory of an earlier generation's payload; mappings stay valid and read zeros. Returns the bytes freed. */
int64_t roudi_punch(int fd);

/* After RouDi has exited: removes its management and payload segments, sockets and locks. */
void roudi_clean(const char *plane);
/* Whether an application has exited: it has left its lock, and nobody holds it. Any thread. */
bool roudi_app_dead(const char *plane, const char *app);
/*
 * Sockets and locks of an application, or of one runtime name. While somebody holds the lock they are left alone;
 * exited: it has, so that is a child that it forked.
 */
void roudi_forget_app(const char *plane, const char *app, bool exited);
/* Whether that process holds the lock of that runtime name. */
bool roudi_has_lock(const char *plane, pid_t pid, const char *name);
/* Sockets and locks of all attachments of this process, "APP.<n>", whoever holds them: there are no more. */
void roudi_forget_own(const char *plane, const char *app);
/*
 * Calls fn with the name of each application that was killed and has left its socket: simds and their
 * clients. There is one simd a plane, so they are ours or an earlier one's. settled: not of those that are a second old, so
 * that nobody who is just starting finds its lock taken.
 */
void roudi_dead_apps(const char *plane, bool settled, void (*fn)(void *arg, const char *app), void *arg);
/* roudi_forget_app() of all of these. */
void roudi_forget_dead(const char *plane);

/* Log the last lines of its output, without what every RouDi prints. */
void roudi_log_output(const char *path);
/* Log what it has printed about stopped programs that hold its locks, from *at on, and move that to the end. */
void roudi_log_stopped(const char *path, size_t *at);

/* The process that runs iox-roudi where the plane is, with that configuration file if one is given; 0: none that we can see. */
pid_t roudi_find(const char *plane, const char *config);
/* Whether an iox-roudi, of whatever user, holds its lock. */
bool roudi_runs(void);
/* Whether we, or an earlier simd of ours, have started it with that configuration file. */
bool roudi_is_ours(pid_t pid, const char *config);
/* Whether that process suits us: monitoring off, one payload segment (-EPROTO), of root if we are (-EPERM); with what to change. */
int roudi_suits(pid_t pid);
/* Its pools, with what of `wanted` is listed. -ENOSPC: they are less than that. */
int roudi_foreign_pools(struct ipc *ipc, const struct pools *wanted, struct pools *ret);

/*
 * What is changed in the environment of a RouDi that we start, ended by NULL: what it is to preload, with which its files lie in the plane, and a
 * client's death leaves it no lock to wait for (ipc_roudi_preload()). ret: each mem_free. -ELIBACC and a sentence.
 */
#define ROUDI_ENV_MAX 4
int roudi_environment(const char *plane, char *ret[ROUDI_ENV_MAX]);
/* Whether that process has it: false where it has not, or cannot be examined. */
bool roudi_is_robust(pid_t pid);

#endif
