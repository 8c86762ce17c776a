/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wait for room in /dev/shm for the next RouDi. One without room exits, again and again, until simd gives up. There is room again
 * when the memory of the last generation is freed, or others leave some.
 *
 * Thread: simd-main.
 */
#ifndef SUPERVISE_ROUDI_ROOM_H
#define SUPERVISE_ROUDI_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct roudi_room {
	bool waits;           /* and has logged it */
	int64_t full_mono_ns; /* the first look of this wait */
};

/* Whether there is as much. The first time there is not, it is logged. */
bool roudi_room_look(struct roudi_room *w, int64_t now_mono_ns, int64_t need);
/* Whether it has waited for so long: then with a sentence. */
bool roudi_room_over(const struct roudi_room *w, int64_t now_mono_ns, int64_t need, int64_t bound_dur_ns);

#endif
