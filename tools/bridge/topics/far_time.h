/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option "use_sim_time": the newest stamp of the far side's /clock drives simd's time source `ros2`, on a thread that may block on a
 * round of lock-step. Which clock is followed, and when it is gone, is the plug-in's. Thread: set and gone: any.
 */
#ifndef FAR_TIME_H
#define FAR_TIME_H

#include "topics.h"

struct far_time {
	const struct sim_bridge_host *host;
	bool on; /* the option, from open() on */
	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* a leaf; guards: */
	pthread_cond_t changed;
	bool stop, gone;
	int64_t newest_sim_ns; /* 0: none since it was taken */
};

/* The option alone, as a word: 1, 0, or -EINVAL and an error in the log. */
int far_time_option(const struct sim_bridge_host *h);
/* From the option; name: of the thread. Errors are logged: -EINVAL, -ENOTSUP, -EAGAIN. close() also then, and if it is all zero. */
int far_time_open(struct far_time *t, const struct sim_bridge_host *h, const char *name);
void far_time_close(struct far_time *t);

/* It is sim_ns now; 0: there is no time yet. */
void far_time_set(struct far_time *t, int64_t sim_ns);
/* There is no clock to follow any more. */
void far_time_gone(struct far_time *t);

/*
 * Of a topic that is the far side's /clock, where the time comes from there: it must not go out. whose: "other nodes". -EINVAL with a
 * sentence in why; of the channel /clock, which "*" lists too, -EBUSY and a line in the log.
 */
int far_time_refuse(const struct topic_out *t, const char *whose, char *why, size_t why_size);

#endif
