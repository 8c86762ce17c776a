/* SPDX-License-Identifier: Apache-2.0 */
/* What the results of the group `record` have in common. Thread: main. */
#ifndef BENCH_RECORD_H
#define BENCH_RECORD_H

#include <stdint.h>

struct bench;

/* Removes a file of the run before, and waits until the disk has nothing left to do with it. */
void record_begin(const char *path);

/*
 * MB/s of images and clouds, all of these bytes of an image of 1920 x 1080, into an MCAP file without compression, ended with fdatasync;
 * -1: it cannot be written.
 */
double record_raw_rate(const char *path, const uint8_t *bytes, uint64_t total, double *ret_copied);

/* record_cloud_*: see case_record_cloud.c. The bytes as above. */
int record_cloud(struct bench *b, const char *path, const uint8_t *bytes);

#endif
