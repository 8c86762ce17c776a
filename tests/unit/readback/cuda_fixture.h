/* SPDX-License-Identifier: Apache-2.0 */
/* Read-backs over the stand-ins of a CUDA driver and of a publisher whose slots lie in shared memory. One at a time. Thread: the test's. */
#ifndef UNIT_READBACK_CUDA_FIXTURE_H
#define UNIT_READBACK_CUDA_FIXTURE_H

#include "tests/support/test.h"

#include <errno.h>
#include <sys/types.h>

#include <sim/readback.h>

#include "cuda_stand_in.h"
#include "err.h"
#include "slots.h"

#define W    32u
#define H    8u
#define ROW  (4 * W)
#define SIZE ((size_t)ROW * H)
#define DONE 64

struct cuda_fixture {
	const struct cuda_stand_in *driver;
	struct cuda_calls cu;
	struct cuda_program program;
	void *context, *stream;
	cuda_pointer source; /* SIZE bytes */
	struct slots slots;
	struct sim_readback_options o;
	struct sim_readback *rb;
	unsigned n; /* completed */
	uint64_t number[DONE];
	int result[DONE];
	unsigned copies[DONE];
	char why[DONE][128];
	uint8_t data[DONE][SIZE]; /* rows of the width ROW, without the gaps between them */
};

/* The driver is loaded and initialised; no context. */
void cuda_fixture_load(struct cuda_fixture *f);
/* The same, with a context that is current, a stream, a source of ROW x H bytes, and options for slots of RGBA8. */
void cuda_fixture_init(struct cuda_fixture *f);
void cuda_fixture_create(struct cuda_fixture *f);
/* Destroys the read-back and all of this, and asserts that the driver has nothing left, and nothing was done wrong. */
void cuda_fixture_finish(struct cuda_fixture *f);

/* Shared memory of another generation for the loans from now on. */
void cuda_fixture_arena(struct cuda_fixture *f);
/* Byte i of a source with that seed; and it written there. */
uint8_t cuda_byte(unsigned seed, size_t i);
void cuda_fill(struct cuda_fixture *f, cuda_pointer to, size_t size, unsigned seed);
/* The k-th that completed has what cuda_fill() wrote with that seed, as rows without gaps. */
void assert_pixels(const struct cuda_fixture *f, unsigned k, unsigned seed);

/* Of f->source, or of s. */
int cuda_start(struct cuda_fixture *f);
int cuda_start_of(struct cuda_fixture *f, struct sim_readback_source s);
void cuda_drain(struct cuda_fixture *f); /* for ever */

struct cuda_stand_in_state cuda_state(const struct cuda_fixture *f);
struct sim_readback_counters cuda_counters(const struct cuda_fixture *f);
/* r is that error, and the sentence has these words. */
void says(int r, int error, const char *words);

/* A process that has so many pieces of the device's memory, of SIZE + 64 bytes with the seeds 0, 1 and so on. Before cuda_fixture_load(). */
struct cuda_exporter {
	pid_t pid;
	int out, in;
	struct cuda_ipc_handle handle[SIM_READBACK_CUDA_IPC_MAX + 1];
};

void cuda_exporter_init(struct cuda_exporter *e);
void cuda_exporter_finish(struct cuda_exporter *e);

#endif
