/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device that finishes its work when the test says so: late, out of order, never, or with an error. Every pixel that
 * it reads is stand_in_pixel(). Thread: the test's.
 */
#ifndef UNIT_READBACK_STAND_IN_H
#define UNIT_READBACK_STAND_IN_H

#include "device.h"

#define STAND_IN_MAX 256

enum stand_in_waits {
	WAIT_FINISHES, /* to be waited for finishes it */
	WAIT_IN_VAIN,  /* never */
};

struct stand_in {
	struct device d;
	bool direct;   /* writes the target, where it may */
	bool abandons; /* abandoned requests are not written any more */
	bool lost;
	int refuse; /* of start(); 0: none */
	enum stand_in_waits waits;
	unsigned adds, removes, writing, destroys;
	unsigned started;
	struct {
		struct device_request *q; /* NULL: released */
		bool finished;
		int error;
		uint8_t *own;
	} request[STAND_IN_MAX]; /* by number, from 1 */
};

/* All zeroes before. */
struct device *stand_in_init(struct stand_in *s);
/* The n-th start, from 1: is written. */
void stand_in_finish(struct stand_in *s, unsigned n);
void stand_in_finish_all(struct stand_in *s);
/* It fails alone. */
void stand_in_fail(struct stand_in *s, unsigned n, int error);
/* Byte of what the n-th start reads, in its row and column. */
uint8_t stand_in_byte(unsigned n, size_t x, uint32_t y);

#endif
