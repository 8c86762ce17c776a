/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentence that belongs to a negative errno: what failed, where, and what to do. The function
 * that first knows the cause sets it and returns the number; callers pass both on.
 *
 *     return err_set(-ENOENT, "%s: no such channel; `simctl list` shows the ones there are", name);
 *
 * Thread: each thread has its own sentence; nothing allocates; errno is left as it was.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>

#define ERR_WHY_MAX 512 /* longer sentences are cut */

/* Set the sentence; returns r. Arguments may contain err_why() itself (it is copied before it is replaced). */
int err_set(int r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int err_vset(int r, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* The same, with ": <text of errno -r>" added. */
int err_sys(int r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Put "<fmt>: " before the sentence that a callee left (or before the text of -r if it left none); returns r. */
int err_prefix(int r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* -ENOMEM with its sentence. */
int err_nomem(void);

void err_clear(void);

/* The calling thread's sentence; "" if none. Valid until the thread's next err_* call. */
const char *err_why(void);

/* Text of a negative (or positive) errno, thread-safe, never NULL. */
const char *err_text(int r);

#endif
