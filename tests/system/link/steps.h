/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines in lock-step for tests: on each a participant that publishes messages which the others take and log, and one
 * machine that has all of them. An error fails the running test. Thread: the test's.
 */
#ifndef STEPS_H
#define STEPS_H

#include <stdatomic.h>

#include "machine.h"

#define HOSTS     3u
#define ONE       HOSTS /* the machine that has it all by itself */
#define RUNS      3u
#define TURNS     200u
#define A_TURN    3 /* messages that each publishes in a turn */
#define LAG_MIXED 1000u

extern struct machine host[HOSTS + 1];
extern struct net_switch *net;

/* A participant, in memory that all share. */
struct part {
	unsigned number;                    /* its name, and that of its channel */
	bool hears;                         /* the messages that it takes are in those that it publishes */
	_Atomic unsigned turns, hold, held; /* hold: the turn in which it waits; held: the one in which it does */
	_Atomic bool joined, stop;
	_Atomic unsigned accepted, answered, failed;
	_Atomic unsigned
		lag[TURNS]
		   [HOSTS]; /* how many turns ago what it took had been published; 0: nothing; LAG_MIXED + n: n messages, not all of one turn */
};

extern struct part *part; /* of RUNS runs, HOSTS of each */

void steps_parts(bool hears);
int steps_end(void **state); /* for teardown */

/* simd of a machine, with more options of its link; each: with a log of each channel (log1, ...) beside that of all (log0). */
void steps_begin(unsigned i, const char *options, bool each);
/* The switch, and all of them; host_options: of the time host's alone. */
void steps_begin_all(const char *host_options, const char *options);
void steps_slow_down(void); /* the network delays, and not evenly so */

void steps_start_part(unsigned i, const struct machine *on, pid_t *ret);
/* one: all on that machine; NULL: on each its own. */
void steps_start_parts(unsigned first, const struct machine *one, pid_t pid[HOSTS]);
/* Each is a part, and gets all that the others publish within the step. */
void steps_all_take_part(unsigned logs);
/* When the command returns, all have had it; of lookahead steps less others may. */
void steps_run(unsigned first, const struct machine *by, unsigned n, unsigned lookahead);
int steps_once(void *none); /* for machine_fork(): `clock step` */
/* All of it up to here: simds on a slow network, and participants that hear each other. */
void steps_begin_parts(pid_t pid[HOSTS], const char *host_options, const char *options);
bool steps_all_had(unsigned first, unsigned least, unsigned most); /* turns */
/* Accepted messages are answered, once. */
void steps_end_part(unsigned i, pid_t pid);
void steps_end_parts(unsigned first, const pid_t pid[HOSTS]);
void steps_end_simds(void);
/* The same steps on one machine. */
void steps_run_on_one(unsigned first, bool each, unsigned n);

/* All that participants took had been published so many turns before; on one machine one turn. */
void steps_all_lag(unsigned first, unsigned n, unsigned turns);
bool steps_same_log(const struct machine *a, const char *name_a, const struct machine *b, const char *name_b);
/* All simds have ended. */
void steps_log_is_that_of_one(const char *name);
void steps_none_was_missed(void);
/* All of it from here, after n steps: the participants and simds end, and their logs are those of one machine. */
void steps_were_those_of_one(const pid_t pid[HOSTS], unsigned n);

#endif
