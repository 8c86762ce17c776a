/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's clock page: one address for the client's whole lifetime. simd's page is mapped there while there is a
 * session, a private frozen page while there is none. So a pointer that a program keeps (sim_clock_page) is always
 * mapped, and always shows the present state.
 */
#ifndef SRC_CLOCKMAP_H
#define SRC_CLOCKMAP_H

#include "client.h"

struct session;

int clockmap_init(struct sim_client *c);
void clockmap_finish(struct sim_client *c);
/* Maps simd's page of this session. */
int clockmap_install(struct sim_client *c, const struct session *s);
/*
 * Maps the history of that simd's clock; the one before it stays, for messages from before a restart. See clock_past.c.
 */
int clock_past_install(struct sim_client *c, const struct session *s);
void clock_past_finish(struct sim_client *c);
/* Replaces the page when simd is gone: its last value, flagged stale. Wakes threads that sleep on the old page. */
int clockmap_freeze(struct sim_client *c, const struct session *s);

/* Wall time until sim time reaches until_sim_ns, if nothing changes: rounded up, bounded. */
int64_t clock_wall_dur(const struct sim_clock_sample *s, int64_t until_sim_ns);
/* Waits until the page's futex word differs from `seen`, or until that time. */
void clock_wait(struct sim_client *c, uint32_t seen, int64_t until_mono_ns);
/* Wakes all threads that wait on the page. */
void clock_rouse(const struct sim_client *c);

void clock_sample(const struct sim_client *c, struct sim_clock_sample *ret);

#endif
