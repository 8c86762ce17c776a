/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the world of an input log (input_log.h) again, without clients and as fast as possible, and compares each
 * tick with the logged one. The file is not trusted. Thread: the caller's.
 */
#ifndef WORLD_REPLAY_H
#define WORLD_REPLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct replay_result {
	uint64_t ticks;   /* ticks that match */
	uint64_t records; /* complete records */
	uint64_t hash;    /* of the last tick */
	bool cut; /* incomplete bytes follow the last record, as when the server was killed or the disk was full */
};

/*
 * Logs each tick and event at debug level. -EBADMSG: not an input log, or a record was altered; -ESTALE: a tick
 * differs, err_why() names the first one, and the first section that differs, with its objects; -ENOMEM. Writes ret in
 * any case.
 */
int replay(FILE *f, struct replay_result *ret) __attribute__((warn_unused_result));
/* Implements sim-world --replay; returns the exit code. */
int replay_file(const char *path);

#endif
