/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option "use_sim_time": the newest stamp of the far side's /clock drives simd's time source `ros2`, on a thread of
 * its own, which may block for a round of lock-step. The plug-in decides which clock to follow and when it is lost.
 * Thread: far_time_set() and far_time_gone(): any.
 */
#ifndef FAR_TIME_H
#define FAR_TIME_H

#include "topics.h"

struct far_time {
	const struct sim_bridge_host *host;
	bool on; /* the option is true; set by far_time_open() */
	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* a leaf; guards: */
	pthread_cond_t changed;
	bool stop, gone;
	int64_t newest_sim_ns; /* 0: no stamp since the last one was passed on */
};

/* Reads the option: 1, 0, or -EINVAL, logged. */
int far_time_option(const struct sim_bridge_host *h);
/*
 * Starts the thread, with this name, if the option is true. Errors are logged: -EINVAL, -ENOTSUP, -EAGAIN.
 * far_time_close() may be called after an error, and on a zeroed struct.
 */
int far_time_open(struct far_time *t, const struct sim_bridge_host *h, const char *name);
void far_time_close(struct far_time *t);

/* The far side's time is now sim_ns; 0 is ignored: it has no time yet. */
void far_time_set(struct far_time *t, int64_t sim_ns);
/* The clock that was followed is lost. */
void far_time_gone(struct far_time *t);

/*
 * Refuses an outgoing topic that is the far side's /clock, from which the time comes. whose: "other nodes". -EINVAL
 * with the reason in why; for the channel /clock, which "*" includes, -EBUSY, logged.
 */
int far_time_refuse(const struct topic_out *t, const char *whose, char *why, size_t why_size);

#endif
