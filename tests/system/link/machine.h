/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines for tests: each has a network namespace of its own at a port of the switch, and a /tmp and a /dev/shm of its
 * own, so that it has a simd and a RouDi of its own. Only under tests/support/ns.sh. An error fails the running test.
 * Thread: the test's.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include "support/test.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "switch.h"

#define MACHINES_MAX 8u

/*
 * A machine may stand for seconds, and nothing may be given up for that. MACHINE_PATIENT: of a simd's configuration, which
 * machine_conf() begins with. MACHINE_NEVER_LATE: of a link's options, where no machine is to be gone or late;
 * with a longer lease machines also take longer to find each other.
 */
#define MACHINE_PATIENT \
	"\"roudi\":{\"ready_ms\":120000,\"probe_timeout_ms\":60000},\"dispatch\":{\"wait_ms\":60000,\"deadline_ms\":10000}," \
	"\"step\":{\"deadline_ms\":3600000},\"process\":{\"stop_ms\":600000},"
#define MACHINE_NEVER_LATE ",\"lease_ms\":7000,\"deadline_ms\":600000"

struct machine {
	struct net_switch *net;
	unsigned port;
	pid_t holder; /* keeps the namespaces */
	int mnt;      /* of mounts, for setns() */
	int root;     /* directory fd of its root in that namespace */
	pid_t simd;   /* 0: none */
	size_t began; /* where in the log its newest simd begins */
};

/* Skips the test where namespaces cannot be had. n ports of a new switch, each a machine. */
struct net_switch *machines_start(struct machine *m, unsigned n, uint64_t seed);
/* For teardown: processes of the machines end; prints the logs of simd if the test failed. */
void machines_end(struct machine *m, unsigned n, struct net_switch *net);

/* A child there, that ends with what fn returns; it dies with the test. */
pid_t machine_fork(const struct machine *m, int (*fn)(void *arg), void *arg);
/* The same, and waits for it. */
int machine_run(const struct machine *m, int (*fn)(void *arg), void *arg);
int machine_wait(pid_t pid); /* the exit code; fails when it is killed */

/* simd with that configuration, without the braces; ready. machine_conf(): the usual one, named by its letter; extra: of the link's options. */
void machine_simd_start(struct machine *m, const char *conf);
void machine_simd_stop(struct machine *m);
void machine_simd_kill(struct machine *m); /* and all that it started, as a crash of the machine would */
const char *machine_conf(const struct machine *m, unsigned n, const char *extra, const char *more); /* static */

/* The output of simctl there; static. */
const char *machine_ctl(const struct machine *m, const char *args);
/* Whether simctl says so. */
bool machine_says(const struct machine *m, const char *args, const char *text);
/* A number of a channel, as `simctl list --json` has it; -1: there is none. */
int64_t machine_channel(const struct machine *m, const char *name, const char *key);
/* The same of a bridge, as `simctl bridge list --json` has it. */
int64_t machine_bridge(const struct machine *m, const char *name, const char *key);
/* Whether its simd, the newest one, has logged that; how often all that have run there have. */
bool machine_logged(const struct machine *m, const char *text);
unsigned machine_logged_times(const struct machine *m, const char *text);

/* Bytes of UDP that have left a machine, as the switch has seen them. */
uint64_t machine_sent(const struct machine *m);

#endif
