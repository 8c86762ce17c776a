/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step: simulated time waits for its participants, so that a run repeats bit for bit however fast or
 * slow each process is.
 *
 *   sim_step_join(c, rank, &s);
 *   while (sim_step_wait(s, -1, &turn) == 0) {   // time has moved to turn.now.sim_ns
 *           ... take, compute, publish ...
 *           sim_step_done(s);
 *   }
 *
 * One step: the driver of time advances (or an operator runs `simctl clock step`); the participants have their
 * turns in the order of their ranks, lowest first; when all have acknowledged, everything published goes to the
 * bridges in the order (stamp, channel, client's name, publisher, sequence); when all of it has completed, the
 * step ends and the driver goes on. Nobody waits for wall time: the next step begins as soon as one has ended.
 *
 * What a turn sees: everything of earlier steps, and of lower ranks in this one. Participants of equal rank
 * run in parallel and do not see each other's output of the same step: the library keeps back what they publish
 * and sends it when all of the rank are done, in the order of the clients' names (give each its own). Then at
 * most 8 messages a publisher and turn can be kept (of slots from 384 MiB on 2, of 512 MiB 1). Until a step ends no message completes and no credit comes
 * back, so a publisher has one window of messages a step; one more is refused with -EAGAIN at once, and
 * sim_publish_sync() with -EDEADLK.
 *
 * The same inputs give the same logs, byte for byte (of the logging bridge: the compressed file), whatever the number of CPUs and
 * lanes. What that asks of you:
 *   - give each client a name of its own, and start no two programs that publish on a channel under one name;
 *   - advertise, subscribe and then join, before the first advance, and have the bridges connected by then: a rig that names the
 *     participants and the bridges in "wait_for" (simd.json(5)) begins when all of them are there;
 *   - publish for dispatch in turns, or as the driver between two advances: what is published before the first advance is
 *     outside lock-step. Outside it use sim_publish_local(), a fixed number of times: sequence numbers count those too;
 *   - compute from turn.now and from what you take, not from wall time, a seed of the moment, or the order in which
 *     threads run; one publisher belongs to one thread in a turn;
 *   - stamp with turn.now (as the library does) and begin each run at the same time, with the same source and steps;
 *   - set step.late to anything but "drop": who is dropped out because it was slow is missing in the log;
 *   - "lossless": false of a bridge lets it lose what it is too slow for.
 *
 * Without participants there is no lock-step, unless the driver asks for it (SIM_DRIVER_LOCKSTEP).
 *
 * Time stands in a turn: do not sleep for it there. What the driver itself publishes between two advances goes out when it asks
 * for the second, before the participants have their turns. Time of a wall-driven source moves without asking anybody;
 * there participants have a turn in each `clock step`.
 *
 * A participant that ends, dies or leaves is out at once; one that is late (step.deadline_ms) is waited for, warned
 * about or dropped out, as step.late sets. `simctl clock` shows who is waited for. After a restart of simd the
 * library joins again.
 *
 * Thread: wait and done belong to one thread at a time. In a turn all threads may publish.
 */
#ifndef SIM_STEP_H
#define SIM_STEP_H

#include <sim/client.h>
#include <sim/clock_page.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sim_step;

#define SIM_STEP_RANK_MAX 1000000u

struct sim_step_turn {
	struct sim_clock_sample now; /* sim_ns stands for the whole turn */
	int64_t dur_ns;              /* by how much time has moved in this step */
	uint64_t number;             /* of the step, counted by simd */
	/* Others have it at the same time: what is published is kept back until sim_step_wait() is called after this turn. */
	bool shared;
};

/*
 * Take part in steps from the next one on; once a client. rank: 0 .. SIM_STEP_RANK_MAX, lower ones first.
 * Returns: 0; -EINVAL, -EBUSY this client takes part already, -EMFILE too many participants, -ENOTCONN.
 */
SIM_API SIM_MUST_CHECK int sim_step_join(struct sim_client *c, uint32_t rank, struct sim_step **ret);

/* Leave. In a turn: what was kept back is published, the step goes on without us. NULL is fine. */
SIM_API void sim_step_leave(struct sim_step *s);

/*
 * Wait for our next turn. Timers (sim/timer.h) that are due at its time have run when this returns, in this thread.
 * wall_timeout_dur_ns < 0: for ever; 0: only look.
 * Returns: 0; -ETIMEDOUT; -EINVAL the last turn was not acknowledged; -ECONNABORTED we were late and dropped out
 *          (leave and join again); -ENOTCONN disconnected from simd (the library joins again when it is back: try again).
 */
SIM_API SIM_MUST_CHECK int sim_step_wait(struct sim_step *s, int64_t wall_timeout_dur_ns, struct sim_step_turn *ret);

/* Acknowledge the turn: all that belongs to it is published. Does not block. -EINVAL no turn is open; else as above. */
SIM_API SIM_MUST_CHECK int sim_step_done(struct sim_step *s);

/*
 * Readable when sim_step_wait() has work; poll only. Ask for it only to poll it: from then on simd sends this client a packet a
 * turn, where it wakes all who wait in sim_step_wait() at once. It changes when simd restarts.
 * Returns: the descriptor; -ENOTCONN while disconnected from simd.
 */
SIM_API int sim_step_fd(const struct sim_step *s);

#ifdef __cplusplus
}
#endif
#endif
