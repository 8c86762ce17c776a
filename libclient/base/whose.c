/* SPDX-License-Identifier: Apache-2.0 */
/* See whose.h. Thread: any; no state is shared between threads. */
#include "whose.h"

static _Thread_local const char *current;

const char *whose(void)
{
	return current;
}

const char *whose_enter(const char *name)
{
	const char *before = current;

	current = name;
	return before;
}

void whose_leave(const char *before)
{
	current = before;
}
