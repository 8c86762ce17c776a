/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sumo process: started headless with its TraCI port on loopback, watched through a pidfd, ended by its pid. It
 * runs in a process group of its own, so that Ctrl-C reaches only sim-sumo, which ends it in order; the kernel sends it
 * SIGKILL if the thread that started it exits.
 *
 *
 *
 * Thread: create and use it on one thread, which must live as long as the process.
 */
#ifndef SOURCES_SUMO_PROC_H
#define SOURCES_SUMO_PROC_H

#include <stddef.h>
#include <stdint.h>

#define SUMO_WHY_MAX 512

struct sumo_proc;

struct sumo_proc_options {
	const char *binary;  /* "sumo" is looked up in PATH; borrows */
	const char *config;  /* .sumocfg; borrows */
	int64_t step_dur_ns; /* 1 ms ..= 1 s, whole ms */
	uint32_t seed;
};

/*
 * Start sumo on a free port of 127.0.0.1. It may still be loading when this returns, and may fail then:
 * sumo_proc_alive(). `why` (SUMO_WHY_MAX bytes) gets a sentence on failure.
 * Returns: 0; -ENOENT scenario or program missing; -EINVAL options; other negative errno of the system.
 */
int sumo_proc_start(const struct sumo_proc_options *o, struct sumo_proc **ret, char *why);

/* Ends sumo: waits up to grace_ms for it to exit by itself, then sends SIGKILL; reaps it. NULL is fine. */
void sumo_proc_destroy(struct sumo_proc *p, int grace_ms);

uint16_t sumo_proc_port(const struct sumo_proc *p);
int sumo_proc_pidfd(const struct sumo_proc *p); /* readable once it has ended */

/* Reads what sumo has printed and keeps the last lines. Never blocks; call it regularly. */
void sumo_proc_drain(struct sumo_proc *p);
/* The end of what it printed, for error messages; valid until the next drain; "" if nothing. */
const char *sumo_proc_last_words(struct sumo_proc *p);

#endif
