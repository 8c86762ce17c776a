/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ping-pongs between two processes, one message at a time: the pinging process waits for each pong. And one of two
 * plain Cyclone programs, with typed samples of 64 bytes and listeners, as a reference. One of each a process. Thread:
 * the pinging one.
 */
#ifndef PINGS_H
#define PINGS_H

#include <stdatomic.h>

#include <dds/dds.h>

#include "bench.h"

#define PINGS_MAX 5000u

/* Until the word is n. -ETIMEDOUT. */
int pings_await(_Atomic uint32_t *word, uint32_t n, int64_t dur_ns);
void pings_tell(_Atomic uint32_t *word, uint32_t n);

/* The median round trip of `count`, numbered on from *n; `back` is the number of the last pong. */
int pings_run(int (*write)(uint32_t n), _Atomic uint32_t *back, uint32_t *n, unsigned count, double *ret_ns);
/* Until one has come back: both know each other then. */
int pings_meet(int (*write)(uint32_t n), _Atomic uint32_t *back, uint32_t *n);

/* The plain program at either end; the far one answers. */
int pings_plain_open(dds_entity_t participant, bool far, _Atomic uint32_t *back);
int pings_plain_write(uint32_t n);
/* The same as pings_run(), but each ping is sent by the listener that has got the pong before it: no other thread is woken on the way. */
int pings_plain_run(_Atomic uint32_t *back, uint32_t *n, unsigned count, double *ret_ns);

#endif
