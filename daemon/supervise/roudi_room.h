/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wait for room in /dev/shm for the next RouDi. Without room RouDi would exit at each start, until simd gave up.
 * Room appears when the memory of the last generation is freed, or when other programs free some.
 *
 * Thread: simd-main.
 */
#ifndef SUPERVISE_ROUDI_ROOM_H
#define SUPERVISE_ROUDI_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct roudi_room {
	bool waits;           /* waiting, and has logged it */
	int64_t full_mono_ns; /* first check of this wait */
};

/* Whether /dev/shm has room for `need` bytes. Logs the first time that it does not. */
bool roudi_room_look(struct roudi_room *w, int64_t now_mono_ns, int64_t need);
/* Whether the wait has lasted bound_dur_ns; if so, sets err_why(). */
bool roudi_room_over(const struct roudi_room *w, int64_t now_mono_ns, int64_t need, int64_t bound_dur_ns);

#endif
