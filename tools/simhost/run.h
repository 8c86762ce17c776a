/* SPDX-License-Identifier: Apache-2.0 */
/* `simhost -d FILE...`: runs the components of DAG files in this process, until it is told to end. Thread: main. */
#ifndef SIMHOST_RUN_H
#define SIMHOST_RUN_H

#include <stdbool.h>
#include <stdint.h>

struct run_options {
	const char *const *dags;
	unsigned n;
	const char *name;      /* client name */
	const char *socket;    /* NULL: the default socket */
	int mode;              /* enum sim_run_mode; -1: as the DAG files say */
	int64_t rank;          /* -1: as the DAG files say */
	const char *scheduler; /* file name; NULL: as the DAG files say */
	int64_t stuck_dur_ns;
};

/* Returns the exit status: 0, 1, or STATUS_NEVER_WORKS. Logs what failed. */
int run_dags(const struct run_options *o);

#endif
