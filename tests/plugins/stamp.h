/* SPDX-License-Identifier: Apache-2.0 */
/* The records of bridge_stamp in the file that its option "file" names; other processes may map that file too. */
#ifndef STAMP_H
#define STAMP_H

#include <stdatomic.h>
#include <stdint.h>

#define STAMP_RING 8192u

struct stamp_page {
	_Atomic uint32_t pid;                   /* of the bridge, once it is connected */
	_Atomic uint64_t count;                 /* messages it was given */
	_Atomic int64_t mono_ns;                /* when it was given the last one */
	_Atomic int64_t at_mono_ns[STAMP_RING]; /* when it was given the one with this sequence, modulo the size */
};

#endif
