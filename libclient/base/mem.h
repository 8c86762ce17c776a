/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation that counts, and that a test can make fail at the n-th call. Blocks are plain malloc blocks: free() on one
 * is legal but leaves it in the count, so use mem_free().
 *
 * Thread: any. The counters and the failure switch are process-wide atomics (like the log level, an accepted exception
 * to "no mutable globals"). Errors: NULL when memory is exhausted or the test asked for a failure; nothing aborts.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#define MEM_ATTR __attribute__((malloc, warn_unused_result))

MEM_ATTR void *mem_alloc(size_t size); /* contents undefined; returns: free with mem_free */
MEM_ATTR void *mem_zalloc(size_t size);
MEM_ATTR void *mem_calloc(size_t n, size_t size);                            /* NULL if n * size overflows */
__attribute__((warn_unused_result)) void *mem_realloc(void *p, size_t size); /* p stays valid on failure */
MEM_ATTR char *mem_strdup(const char *s);                                    /* NULL for NULL */
MEM_ATTR char *mem_strndup(const char *s, size_t max);
MEM_ATTR void *mem_dup(const void *p, size_t size);
MEM_ATTR char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void mem_free(void *p); /* NULL is fine */

#define MEM_NEW(type) ((type *)mem_zalloc(sizeof(type)))

struct mem_stats {
	int64_t bytes;  /* in use now */
	int64_t blocks; /* in use now */
	int64_t calls;  /* allocations so far */
};

void mem_stats(struct mem_stats *ret);

/* For tests: the n-th allocation from now (1 = the next) fails, and all later ones; 0 switches it off. */
void mem_fail_after(int64_t n);

/*
 * Makes jansson allocate through here, so that its memory is counted and can fail. Call it before the first JSON call.
 */
void mem_adopt_jansson(void);

#endif
