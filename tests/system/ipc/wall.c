/* SPDX-License-Identifier: Apache-2.0 */
/* A call that waits for a moment of CLOCK_REALTIME crashes here: in front of RouDi, and in lacking.so in front of the module. */
#include <semaphore.h>
#include <time.h>

#define VISIBLE __attribute__((visibility("default"), used))

VISIBLE int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict until);

int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict until)
{
	(void)sem;
	(void)until;
	__builtin_trap();
}
