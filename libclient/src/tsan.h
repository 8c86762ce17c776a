/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only for ThreadSanitizer: orderings that go through sockets, which it cannot follow when the ends were passed from
 * process to process (in tests: inside one). Empty otherwise.
 */
#ifndef SRC_TSAN_H
#define SRC_TSAN_H

#if defined(__SANITIZE_THREAD__)
#define TSAN_ON 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TSAN_ON 1
#endif
#endif

#ifdef TSAN_ON
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
#define tsan_acquire(addr) __tsan_acquire((void *)(addr))
#define tsan_release(addr) __tsan_release((void *)(addr))
#else
#define tsan_acquire(addr) ((void)(addr))
#define tsan_release(addr) ((void)(addr))
#endif

extern const char tsan_lanes; /* stands for all answers of bridges: a loan is ordered after them */

#endif
