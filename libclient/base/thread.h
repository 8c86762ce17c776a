/* SPDX-License-Identifier: Apache-2.0 */
/* Starting threads, for all libraries and programs. Thread: any. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/*
 * Starts body(arg) with the given name, of which the kernel keeps 15 characters, and with every signal blocked that
 * others send (the program's signals belong to its main thread). Signals that the thread itself raises, such as
 * SIGSEGV, go to the program's handler; the thread has a stack for handlers with SA_ONSTACK, so that a stack overflow
 * is reported too. Borrows name. Returns 0 or a negative errno, without a sentence.
 */
int thread_start(pthread_t *ret, const char *name, void *(*body)(void *), void *arg);

/* Initialises a condition whose timed waits use CLOCK_MONOTONIC. */
void thread_cond_init(pthread_cond_t *cond);

#endif
