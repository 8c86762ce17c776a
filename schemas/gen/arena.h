/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is freed all at once: a generator's trees. One thread's. */
#ifndef ARENA_H
#define ARENA_H

#include <stddef.h>

struct arena;

struct arena *arena_create(void); /* NULL: no memory */
void arena_destroy(struct arena *a);
void *arena_alloc(struct arena *a, size_t size);              /* zeroed, aligned to 16; NULL: no memory */
char *arena_text(struct arena *a, const char *s, size_t len); /* NUL-terminated copy */
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Makes room for one more element in an array of n; returns the array's new address, NULL: no memory. */
void *arena_grow(struct arena *a, void *array, size_t n, size_t elem_size);

#endif
