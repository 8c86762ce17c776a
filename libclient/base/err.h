/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentence that belongs to a negative errno: what failed, where, and what to do. The function
 * that first knows the cause sets it and returns the number; callers pass both on.
 *
 *     return err_set(-ENOENT, "%s: no such channel; `simctl list` shows the ones there are", name);
 *
 * What of it is somebody else's is made fit to be shown (printable.h): the sentence is one line of UTF-8.
 *
 * Thread: each thread has its own sentence; nothing allocates; errno is left as it was.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <errno.h>
#include <stdbool.h>

#define ERR_WHY_MAX 512 /* longer sentences are cut */

/*
 * Set the sentence; the value is r. Arguments may contain err_why() itself (it is copied before it is replaced).
 * These are macros so that compilers and analysers see the value: a caller's `if (r < 0)` is then not a riddle.
 */
#define err_set(r, ...) \
	__extension__({ \
		err_tell(__VA_ARGS__); \
		(r); \
	})

/* The same, with ": <text of errno -r>" added. r that is not negative (an errno that was 0) becomes -EIO. */
#define err_sys(r, ...) \
	__extension__({ \
		int err_sys_r_ = (r); \
		err_tell_sys(err_sys_r_, __VA_ARGS__); \
		err_sys_r_ < 0 ? err_sys_r_ : -EIO; \
	})

/* Put "<fmt>: " before the sentence that a callee left (or before the text of -r if it left none); as err_sys. */
#define err_prefix(r, ...) \
	__extension__({ \
		int err_prefix_r_ = (r); \
		err_tell_prefix(err_prefix_r_, __VA_ARGS__); \
		err_prefix_r_ < 0 ? err_prefix_r_ : -EIO; \
	})

/* What the macros call. */
void err_tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void err_tell_sys(int r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void err_tell_prefix(int r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* -ENOMEM with its sentence. */
static inline int err_nomem(void)
{
	err_tell("out of memory");
	return -ENOMEM;
}

void err_clear(void);

/* The calling thread's sentence; "" if none. Valid until the thread's next err_* call. */
const char *err_why(void);

/* Descriptors or memory were lacking, which says nothing about what was asked for: it may succeed another time. */
static inline bool err_is_lack(int r)
{
	return r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -ENOBUFS;
}

/* Text of a negative (or positive) errno, thread-safe, never NULL. */
const char *err_text(int r);

#endif
