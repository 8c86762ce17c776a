/* SPDX-License-Identifier: Apache-2.0 */
/* Threads as every library and program here starts them. Thread: any. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/*
 * Starts body(arg) with the given name, of which the kernel keeps 15 characters, and with every signal blocked that others send
 * (the program's signals belong to its main thread). What the thread brings on itself, SIGSEGV and the like, goes to the program's
 * handler; where that asks for a stack of its own (SA_ONSTACK) the thread has one, so that it hears of an overflow, too.
 * Borrows name. Returns 0 or a negative errno, without a sentence.
 */
int thread_start(pthread_t *ret, const char *name, void *(*body)(void *), void *arg);

/* A condition whose timed waits go by CLOCK_MONOTONIC. */
void thread_cond_init(pthread_cond_t *cond);

#endif
