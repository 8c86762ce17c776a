/* SPDX-License-Identifier: Apache-2.0 */
/* The part of rnd.h that needs the kernel. Thread: any. */
#include "rnd.h"

#include "timeutil.h"

#include <sys/random.h>
#include <unistd.h>

uint64_t rnd_entropy(void)
{
	uint64_t x;

	if (getrandom(&x, sizeof(x), GRND_NONBLOCK) != (ssize_t)sizeof(x))
		x = (uint64_t)mono_now_ns() ^ ((uint64_t)getpid() << 40);
	return x;
}
