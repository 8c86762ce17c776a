/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world of an input log (input_log.h), made again without clients and as fast as it goes, and held tick by tick against what the log says it was.
 * Nothing of the file is trusted. Thread: the caller's.
 */
#ifndef WORLD_REPLAY_H
#define WORLD_REPLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct replay_result {
	uint64_t ticks;   /* that agree */
	uint64_t records; /* whole ones */
	uint64_t hash;    /* of the last tick */
	bool cut; /* behind the last record incomplete bytes are left, as when the server was killed or the disk was full */
};

/*
 * Debug lines of the log say each tick and event. -EBADMSG the file is no such log, or a record is not as it was written; -ESTALE a tick is not as it was: the sentence
 * names the first one, and the first section that differs, with its objects; -ENOMEM. ret is written in any case.
 */
int replay(FILE *f, struct replay_result *ret) __attribute__((warn_unused_result));
/* For sim-world --replay: its exit code. */
int replay_file(const char *path);

#endif
