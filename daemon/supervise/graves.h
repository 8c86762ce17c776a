/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of dead lives of the data plane: the payload segments of RouDis that are gone. Their pages are given
 * back when the last client has moved on, or after 10 s; mappings stay valid and then read zeros.
 *
 * Thread: simd-main.
 */
#ifndef SUPERVISE_GRAVES_H
#define SUPERVISE_GRAVES_H

#include "list.h"

#include <stdint.h>

struct exec;

struct graves {
	struct exec *x;
	struct list lives; /* grave::link */
};

void graves_init(struct graves *g, struct exec *x);
/* Forgets them all; the memory goes with its last mapping. */
void graves_finish(struct graves *g);
/* segment_fd: takes. */
void graves_add(struct graves *g, int segment_fd, uint32_t generation);
/* Nobody reads them any more: give all of it back now. */
void graves_dig(struct graves *g);

#endif
