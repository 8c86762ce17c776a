/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEG on a thread of its own ("sim-jpeg"), from the caller's pixels straight into the caller's sim/CompressedImage. The caller keeps both until
 * it takes the job back; jobs come back in the order in which they were put.
 * Thread: one that puts and takes.
 */
#ifndef CAMERA_ENCODE_H
#define CAMERA_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENCODE_IN_FLIGHT 8u

struct encoder;

struct encode_job {
	const uint8_t *rgba; /* keeps; width pixels of 4 bytes, pitch bytes from row to row */
	uint32_t width, height;
	size_t pitch;
	void *body; /* keeps; encode_body_size() bytes, aligned as a slot's */
	size_t cap;
	void *user;
	/* when it comes back: */
	int result;  /* 0; -EIO: why */
	size_t size; /* of the message in body */
	char why[200];
};

/* Room that an image of that size may need. */
size_t encode_body_size(uint32_t width, uint32_t height);

/* quality: 1 to 100. -EINVAL, -ENOMEM, -EAGAIN no thread. */
int encoder_create(int quality, struct encoder **ret);
/* Waits for what has been put. */
void encoder_destroy(struct encoder *e);
/* Never waits. -EAGAIN: ENCODE_IN_FLIGHT are there; -EMSGSIZE cap is too small; -EINVAL pitch is less than a row. */
int encoder_put(struct encoder *e, const struct encode_job *job);
/* The oldest one, once it is done; wait: until it is. False: none is there, or it is not done. */
bool encoder_take(struct encoder *e, bool wait, struct encode_job *ret);

#endif
