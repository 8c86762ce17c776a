/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting allocator over malloc. Sizes come from malloc_usable_size(), so blocks are ordinary ones without a header.
 * Thread: any.
 */
#include "mem.h"

#include <jansson.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int64_t bytes_now, blocks_now, calls_total;
static _Atomic int64_t fail_in; /* 0: off; n > 0: allocations until failure, the n-th fails; < 0: failing */

static bool must_fail(void)
{
	int64_t n = atomic_load_explicit(&fail_in, memory_order_relaxed);

	if (n == 0)
		return false;
	if (n < 0)
		return true;
	n = atomic_fetch_sub_explicit(&fail_in, 1, memory_order_relaxed);
	if (n > 1)
		return false;
	atomic_store_explicit(&fail_in, -1, memory_order_relaxed);
	return true;
}

static void *count(void *p)
{
	if (p) {
		atomic_fetch_add_explicit(&bytes_now, (int64_t)malloc_usable_size(p), memory_order_relaxed);
		atomic_fetch_add_explicit(&blocks_now, 1, memory_order_relaxed);
	}
	return p;
}

static void uncount(void *p)
{
	atomic_fetch_sub_explicit(&bytes_now, (int64_t)malloc_usable_size(p), memory_order_relaxed);
	atomic_fetch_sub_explicit(&blocks_now, 1, memory_order_relaxed);
}

static bool admit(void)
{
	atomic_fetch_add_explicit(&calls_total, 1, memory_order_relaxed);
	return !must_fail();
}

void *mem_alloc(size_t size)
{
	return admit() ? count(malloc(size ? size : 1)) : NULL;
}

void *mem_calloc(size_t n, size_t size)
{
	size_t total;

	/* checked here: a sanitizer's calloc would abort */
	if (__builtin_mul_overflow(n, size, &total) || !admit())
		return NULL;
	return count(calloc(1, total ? total : 1));
}

void *mem_zalloc(size_t size)
{
	return mem_calloc(1, size);
}

void *mem_realloc(void *p, size_t size)
{
	int64_t old;
	void *q;

	if (!p)
		return mem_alloc(size);
	if (!admit())
		return NULL;
	old = (int64_t)malloc_usable_size(p);
	q = realloc(p, size ? size : 1);
	if (q)
		atomic_fetch_add_explicit(&bytes_now, (int64_t)malloc_usable_size(q) - old, memory_order_relaxed);
	return q;
}

void *mem_dup(const void *p, size_t size)
{
	void *q = mem_alloc(size);

	if (q && size)
		memcpy(q, p, size);
	return q;
}

char *mem_strndup(const char *s, size_t max)
{
	size_t n = strnlen(s, max);
	char *d = mem_alloc(n + 1);

	if (d) {
		memcpy(d, s, n);
		d[n] = '\0';
	}
	return d;
}

char *mem_strdup(const char *s)
{
	return s ? mem_dup(s, strlen(s) + 1) : NULL;
}

char *mem_printf(const char *fmt, ...)
{
	va_list ap, again;
	char *s = NULL;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n >= 0)
		s = mem_alloc((size_t)n + 1);
	if (s)
		vsnprintf(s, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return s;
}

void mem_free(void *p)
{
	if (p) {
		uncount(p);
		free(p);
	}
}

void mem_stats(struct mem_stats *ret)
{
	ret->bytes = atomic_load_explicit(&bytes_now, memory_order_relaxed);
	ret->blocks = atomic_load_explicit(&blocks_now, memory_order_relaxed);
	ret->calls = atomic_load_explicit(&calls_total, memory_order_relaxed);
}

void mem_fail_after(int64_t n)
{
	atomic_store_explicit(&fail_in, n, memory_order_relaxed);
}

void mem_adopt_jansson(void)
{
	json_set_alloc_funcs(mem_alloc, mem_free);
}
