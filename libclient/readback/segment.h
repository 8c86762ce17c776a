/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the piece of shared memory that an address lies in, by /proc/self/maps. Thread: any; reads a file. */
#ifndef READBACK_SEGMENT_H
#define READBACK_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

struct segment {
	uintptr_t base;
	size_t size; /* 0: none */
};

/*
 * Finds the largest gapless mapping of one file, shared and writable, around p. Returns 0; -ENOENT p is in no such
 * mapping; another negative errno; with a sentence.
 */
int segment_find(const void *p, struct segment *ret);

#endif
