/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step: simulated time waits for its participants, so that a run repeats bit for bit however fast or slow each
 * process is.
 *
 *   sim_step_join(c, rank, &s);
 *   while (sim_step_wait(s, -1, &turn) == 0) {   // time has moved to turn.now.sim_ns
 *           ... take, compute, publish ...
 *           sim_step_done(s);
 *   }
 *
 * One step: the driver of time advances (or an operator runs `simctl clock step`); the participants have their turns in
 * the order of their ranks, lowest first; when all have acknowledged, everything published goes to the bridges in the
 * order (stamp, channel, client's name, publisher, sequence); when all of it has completed, the step ends and the
 * driver goes on. No part of a step waits for wall time: the next step begins as soon as one has ended.
 *
 * What a turn sees: everything of earlier steps, and of lower ranks in this one. Participants of equal rank run in
 * parallel and do not see each other's output of the same step: the library keeps back what they publish and sends it
 * when all of the rank are done, in the order of the clients' names (give each its own). A publisher can then keep at
 * most 8 messages per turn (2 for slots from 384 MiB on, 1 for slots of 512 MiB). Until a step ends no message
 * completes and no credit comes back, so a publisher has one window of messages per step; a further message is refused
 * with -EAGAIN at once, by sim_publish_sync() with -EDEADLK.
 *
 * The same inputs give the same logs, byte for byte (of the logging bridge: the compressed file), whatever the number
 * of CPUs and lanes, if the programs follow these rules:
 *   - give each client a name of its own, and start no two programs that publish on a channel under one name;
 *   - advertise, subscribe and then join, before the first advance, and have the bridges connected by then: a rig that
 *     names the participants and the bridges in "wait_for" (simd.json(5)) begins when all of them are there;
 *   - publish for dispatch in turns, or as the driver between two advances: what is published before the first advance
 *     is outside lock-step. Outside it use sim_publish_local(), a fixed number of times: sequence numbers count those
 *     too;
 *   - compute from turn.now and from the messages taken, not from wall time, a random seed, or the order in which
 *     threads run; use a publisher from one thread only in a turn;
 *   - stamp with turn.now (as the library does) and begin each run at the same time, with the same source and steps;
 *   - do not set step.late to "drop": the output of a participant that was dropped for being slow is missing in the
 *     log;
 *   - do not set "lossless": false for a bridge: it may then lose messages when it is too slow.
 *
 * Without participants there is no lock-step, unless the driver asks for it (SIM_DRIVER_LOCKSTEP).
 *
 * Time stands still in a turn: do not sleep for it there. What the driver itself publishes between two advances goes
 * out when it asks for the second, before the participants have their turns. A wall-driven source moves time without
 * waiting for participants; they then have a turn in each `clock step`.
 *
 * A participant that ends, dies or leaves is out at once; one that is late (step.deadline_ms) is waited for, warned
 * about or dropped, as step.late sets. `simctl clock` shows which participants are waited for. After a restart of simd
 * the library joins again.
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
	struct sim_clock_sample now; /* sim_ns does not change during the turn */
	int64_t dur_ns;              /* how far time has moved in this step */
	uint64_t number;             /* of the step, counted by simd */
	/*
	 * Participants of the same rank have this turn too: what this one publishes is kept back until sim_step_wait()
	 * is called after it.
	 */
	bool shared;
};

/*
 * Takes part in steps from the next one on; once per client. rank: 0 .. SIM_STEP_RANK_MAX, lower ones first.
 * Returns: 0; -EINVAL, -EBUSY this client takes part already, -EMFILE too many participants, -ENOTCONN.
 */
SIM_API SIM_MUST_CHECK int sim_step_join(struct sim_client *c, uint32_t rank, struct sim_step **ret);

/*
 * Leaves lock-step. In a turn: what was kept back is published, and the step goes on without this client. NULL is fine.
 */
SIM_API void sim_step_leave(struct sim_step *s);

/*
 * Waits for this client's next turn. Timers (sim/timer.h) that are due at its time have run when this returns, in this
 * thread. wall_timeout_dur_ns < 0: for ever; 0: only check.
 * Returns: 0; -ETIMEDOUT; -EINVAL the last turn was not acknowledged; -ECONNABORTED this client was late and was
 * dropped (leave and join again); -ENOTCONN disconnected from simd (the library joins again when simd is back: try
 * again).
 */
SIM_API SIM_MUST_CHECK int sim_step_wait(struct sim_step *s, int64_t wall_timeout_dur_ns, struct sim_step_turn *ret);

/*
 * Acknowledges the turn: everything that belongs to it is published. Does not block. -EINVAL no turn is open; else as
 * above.
 */
SIM_API SIM_MUST_CHECK int sim_step_done(struct sim_step *s);

/*
 * Readable when sim_step_wait() has work; poll only. Call it only in order to poll: from then on simd sends this client
 * a packet per turn, while all clients that wait in sim_step_wait() share one wake-up. The descriptor changes when simd
 * restarts.
 * Returns: the descriptor; -ENOTCONN while disconnected from simd.
 */
SIM_API int sim_step_fd(const struct sim_step *s);

#ifdef __cplusplus
}
#endif
#endif
