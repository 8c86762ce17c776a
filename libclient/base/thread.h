/* SPDX-License-Identifier: Apache-2.0 */
/* Threads as every library and program here starts them. Thread: any. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/*
 * Starts body(arg) with every signal blocked (the program's signals belong to its main thread) and the given name, of
 * which the kernel keeps 15 characters. Borrows name. Returns 0 or a negative errno, without a sentence.
 */
int thread_start(pthread_t *ret, const char *name, void *(*body)(void *), void *arg);

/* A condition whose timed waits go by CLOCK_MONOTONIC. */
void thread_cond_init(pthread_cond_t *cond);

#endif
