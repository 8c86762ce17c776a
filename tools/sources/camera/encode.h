/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes JPEG on its own thread ("sim-jpeg"), from the caller's pixels directly into the caller's sim/CompressedImage.
 * Both must stay valid until the caller takes the job back; jobs come back in the order they were put. Thread: one that
 * puts and takes.
 */
#ifndef CAMERA_ENCODE_H
#define CAMERA_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENCODE_IN_FLIGHT 8u

struct encoder;

struct encode_job {
	const uint8_t *rgba; /* borrowed; width pixels of 4 bytes per row, rows pitch bytes apart */
	uint32_t width, height;
	size_t pitch;
	void *body; /* borrowed; encode_body_size() bytes, aligned like a slot's body */
	size_t cap;
	void *user;
	/* results: */
	int result;  /* 0; -EIO: see why */
	size_t size; /* of the message in body */
	char why[200];
};

/* Upper bound for an image of that size. */
size_t encode_body_size(uint32_t width, uint32_t height);

/* quality: 1 to 100. -EINVAL, -ENOMEM, -EAGAIN: cannot create a thread. */
int encoder_create(int quality, struct encoder **ret);
/* Waits for the queued jobs. */
void encoder_destroy(struct encoder *e);
/*
 * Never blocks. -EAGAIN: ENCODE_IN_FLIGHT jobs are queued; -EMSGSIZE: cap is too small; -EINVAL: pitch is less than a
 * row.
 */
int encoder_put(struct encoder *e, const struct encode_job *job);
/* Takes the oldest job back, when it is done; wait: blocks until then. False: no job, or not done. */
bool encoder_take(struct encoder *e, bool wait, struct encode_job *ret);

#endif
