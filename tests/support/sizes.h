/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a call that takes a struct with its own size in it, as programs of other versions pass it. Thread: one at a
 * time.
 */
#ifndef TEST_SUPPORT_SIZES_H
#define TEST_SUPPORT_SIZES_H

#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define SIZES_MAX 4096u

/* Makes the call with a struct, and undoes its effect; returns the call's result. */
typedef int (*sizes_call)(const void *options, void *arg);

static inline int sizes_try(sizes_call call, void *arg, uint8_t *at, size_t size)
{
	memcpy(at, &size, sizeof(size));
	return call(at, arg);
}

/* options: of `size` bytes, which the call accepts, and whose last 8 bytes may be 0. */
static inline void sizes_check(const void *options, size_t size, sizes_call call, void *arg)
{
	static const size_t none[] = { 0, 3, sizeof(size_t) + 1, SIZES_MAX + 8, (size_t)1 << 31, SIZE_MAX };
	static _Alignas(8) uint8_t room[SIZES_MAX + 8];

	memset(room, 0, sizeof(room));
	memcpy(room, options, size);
	for (unsigned i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(sizes_try(call, arg, room, none[i]), -EINVAL);
	assert_int_equal(sizes_try(call, arg, room, size), 0);
	assert_int_equal(sizes_try(call, arg, room, size + 8), 0); /* a newer program that uses no new members */
	room[size] = 1;
	assert_int_equal(sizes_try(call, arg, room, size + 8), -E2BIG);
	assert_int_equal(sizes_try(call, arg, room, size), 0); /* bytes after the struct are not read */
	memset(room + size - 8, 0xff, 8);
	assert_int_equal(sizes_try(call, arg, room, size - 8), 0); /* an older program, whose struct ends there */
	memmove(room + 1, options, size);                          /* misaligned */
	assert_int_equal(sizes_try(call, arg, room + 1, size), 0);
}

#endif
