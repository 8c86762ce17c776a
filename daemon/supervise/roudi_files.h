/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RouDi's files: its configuration, the leftovers of a dead RouDi in its plane directory (plane.h), the segments of
 * earlier generations, and what can be seen of a RouDi that simd did not start.
 *
 * Thread: simd-main; roudi_forget_app() and roudi_app_dead(): any thread.
 */
#ifndef SUPERVISE_ROUDI_FILES_H
#define SUPERVISE_ROUDI_FILES_H

#include "admission.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SEGMENT_PATH_MAX 300 /* bytes; a longer path is refused */

struct ipc;

/* Writes <dir>/roudi.toml. ret_hash: hash of its text and of WIRE_ABI. ret_path: mem_free. */
int roudi_write_config(const char *dir, const struct pools *p, char **ret_path, uint64_t *ret_hash);

/* Free bytes in /dev/shm; -1: unknown. */
int64_t roudi_shm_free(void);
/* Whether /dev/shm has room (inodes) for the files of one more generation. */
#define ROUDI_FILES 12
bool roudi_shm_has_files(void);
/* roudi_shm_free() plus the bytes of the RouDi in that plane, which the next simd takes over or frees. */
int64_t roudi_shm_room(const char *plane);

/* Whether a RouDi, running or dead, has its memory in that plane. */
bool roudi_has_left(const char *plane);

/* Opens the payload segment, to free its memory later. Returns the descriptor; negative with err_why() set. */
int roudi_open_segment(const char *plane);
/*
 * Renames the segments of a dead generation, so that the next simd finds those that clients still map.
 * roudi_forget_aside() removes the names when nothing of them is left to free.
 */
void roudi_set_aside(const char *plane, uint32_t generation);
void roudi_forget_aside(const char *plane, uint32_t generation);
bool roudi_aside_path(const char *plane, bool mgmt, uint32_t generation, char *ret, size_t n);
/* Calls fn with the number of each generation that was set aside. */
void roudi_all_aside(const char *plane, void (*fn)(void *arg, uint32_t generation), void *arg);
/*
 * Frees the memory of an earlier generation's payload segment; mappings stay valid and read zeros. Returns the bytes
 * freed.
 */
int64_t roudi_punch(int fd);

/* Removes the management and payload segments, sockets and locks of a RouDi that has exited. */
void roudi_clean(const char *plane);
/* Whether an application has exited: its lock file exists and no process holds the lock. Any thread. */
bool roudi_app_dead(const char *plane, const char *app);
/*
 * Removes the sockets and locks of an application, or of one runtime name. A lock that a process holds is left alone,
 * unless exited is set: the application has exited, so the holder is a child that it forked.
 */
void roudi_forget_app(const char *plane, const char *app, bool exited);
/* Whether process pid holds the lock of that runtime name. */
bool roudi_has_lock(const char *plane, pid_t pid, const char *name);
/* Removes the sockets and locks of all attachments of this process, "APP.<n>", locked or not: all have ended. */
void roudi_forget_own(const char *plane, const char *app);
/*
 * Calls fn with the name of each application (simd or client) that was killed and left its lock file behind. One simd
 * uses a plane, so they belong to this simd or to an earlier one. settled: skips lock files younger than 2 s, because
 * testing the lock would make a process fail that is just starting.
 */
void roudi_dead_apps(const char *plane, bool settled, void (*fn)(void *arg, const char *app), void *arg);
/* Calls roudi_forget_app() for each of these, for one runtime name. */
void roudi_forget_dead(const char *plane);

/* Logs the last lines of RouDi's output, without those that every RouDi prints. */
void roudi_log_output(const char *path);
/* Logs what RouDi has printed, from *at on, about stopped programs that hold its locks; advances *at to the end. */
void roudi_log_stopped(const char *path, size_t *at);

/* The process that runs iox-roudi for that plane, with that configuration file if one is given; 0: none visible. */
pid_t roudi_find(const char *plane, const char *config);
/* Whether an iox-roudi, of any user, holds the lock of the default names. */
bool roudi_runs(void);
/* Whether this simd, or an earlier simd of our user, started that process with that configuration file. */
bool roudi_is_ours(pid_t pid, const char *config);
/*
 * Whether simd can use that RouDi: monitoring off and one payload segment (else -EPROTO), run by root if simd is (else
 * -EPERM). err_why() says what to change.
 */
int roudi_suits(pid_t pid);
/* Reads the pools of a RouDi that simd did not start, with the listed demand of `wanted`. -ENOSPC: too small. */
int roudi_foreign_pools(struct ipc *ipc, const struct pools *wanted, struct pools *ret);

/*
 * Environment changes for a RouDi that simd starts, ended by NULL: the preload library (ipc_roudi_preload()), which
 * puts RouDi's files into the plane and makes its locks robust against a client's death. ret: each mem_free. -ELIBACC,
 * with err_why() set: the library's path cannot be preloaded.
 */
#define ROUDI_ENV_MAX 4
int roudi_environment(const char *plane, char *ret[ROUDI_ENV_MAX]);
/* Whether that process has the library loaded; false also if it cannot be examined. */
bool roudi_is_robust(pid_t pid);

#endif
