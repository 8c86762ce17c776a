/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentence that belongs to a negative errno: what failed, where, and what to do. The function that first knows the
 * cause sets it and returns the number; callers pass both on.
 *
 *     return err_set(-ENOENT, "%s: no such channel; `simctl list` shows the ones there are", name);
 *
 * Foreign text in it is made printable (printable.h): the sentence is one line of UTF-8.
 *
 * Thread: each thread has its own sentence; nothing allocates; errno is preserved.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <errno.h>
#include <stdbool.h>

#define ERR_WHY_MAX 512 /* longer sentences are cut */

/*
 * Sets the sentence; the value is r. Arguments may contain err_why() itself (it is copied before it is replaced).
 * Macros, so that compilers and analysers see that the value is negative at a caller's `if (r < 0)`.
 */
#define err_set(r, ...) \
	__extension__({ \
		err_tell(__VA_ARGS__); \
		(r); \
	})

/* The same, with ": <text of errno -r>" appended. An r that is not negative (an errno that was 0) becomes -EIO. */
#define err_sys(r, ...) \
	__extension__({ \
		int err_sys_r_ = (r); \
		err_tell_sys(err_sys_r_, __VA_ARGS__); \
		err_sys_r_ < 0 ? err_sys_r_ : -EIO; \
	})

/* Puts "<fmt>: " before the callee's sentence (or before the text of -r if there is none); else as err_sys. */
#define err_prefix(r, ...) \
	__extension__({ \
		int err_prefix_r_ = (r); \
		err_tell_prefix(err_prefix_r_, __VA_ARGS__); \
		err_prefix_r_ < 0 ? err_prefix_r_ : -EIO; \
	})

/* Called by the macros. */
void err_tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void err_tell_sys(int r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void err_tell_prefix(int r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns -ENOMEM and sets its sentence. */
static inline int err_nomem(void)
{
	err_tell("out of memory");
	return -ENOMEM;
}

void err_clear(void);

/* The calling thread's sentence; "" if none. Valid until the thread's next err_* call. */
const char *err_why(void);

/*
 * Whether r means a lack of descriptors or memory, which says nothing about the request: it may succeed another time.
 */
static inline bool err_is_lack(int r)
{
	return r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -ENOBUFS;
}

/* Text of a negative (or positive) errno, thread-safe, never NULL. */
const char *err_text(int r);

#endif
