/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated time for clients. int64 ns everywhere; the suffix names the clock.
 */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include <sim/client.h>
#include <sim/clock_page.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The page of this client, for sim_clock_read(); valid until sim_disconnect(), also while disconnected from simd. Never NULL. */
SIM_API const struct sim_clock_page *sim_clock_page(const struct sim_client *c);

/*
 * Simulated time now. Lock-free, but for a thread's first read after a jump and for threads beyond the 31st, which take a lock of
 * this client for a few instructions. While disconnected from simd: the last value it had, flagged SIM_CLOCK_STALE. So, too, if
 * simd is stopped inside a write of the page: the latest that any thread of this client has read, so time does not go back.
 * sim_now_sample() gives flags and generation of the same instant.
 */
SIM_API int64_t sim_now(const struct sim_client *c);
SIM_API void sim_now_sample(const struct sim_client *c, struct sim_clock_sample *ret);

/*
 * The clock as it was at mono_ns, a moment of CLOCK_MONOTONIC of this machine, such as sim_slot.publish_mono_ns of a message that is
 * taken late: sim_now_sample() of that moment, to the nanosecond, whatever clients and simd have done since. Pauses, scales, jumps and
 * the clock of the simd before a restart are in it (time that ran then goes on until the new one's begins), as far as this client was
 * connected to that. What is still to come counts as now.
 * Returns: 0; 1 that is longer ago than simd keeps (SIM_CLOCK_PIECES changes of the page), *ret is the oldest moment that is known;
 *          -EINVAL an argument is NULL; -ENOTCONN there was no simd yet. Thread: any; takes a lock of this client. Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_clock_at(const struct sim_client *c, int64_t mono_ns, struct sim_clock_sample *ret);

/*
 * Sleep until simulated time reaches until_sim_ns. Follows scale, pause (sleeps on) and step; a source that nobody
 * drives yet is slept through as well, so that programs may start in any order.
 * Returns: 0; -ECANCELED the clock jumped (generation changed); -ETIMEDOUT wall_timeout_dur_ns (>= 0) passed, and
 *          sim_why() explains why time did not come so far (no driver yet, paused); -ENOTCONN disconnected from simd.
 */
SIM_API SIM_MUST_CHECK int sim_sleep_until(struct sim_client *c, int64_t until_sim_ns, int64_t wall_timeout_dur_ns);

/* ---- jumps ---- */

/*
 * A jump is time that does not go on from where it was: the source was switched or set back, a scenario restarted,
 * simd restarted. Each begins a new clock_generation. Meaning, in ROS 2's terms (rclcpp::TimeJump):
 *
 *   stamps            of different generations must not be compared (see sim_slot.clock_generation)
 *   subscribers       keep what is queued: its stamps are of the old generation
 *   readers           drop what they hold when they first observe a message of a new generation
 *   frequency gates   are due at once and have a new phase
 *   timers            see sim/timer.h
 *   sim_sleep_until   ends with -ECANCELED
 */
struct sim_clock_jump {
	int64_t old_sim_ns, new_sim_ns;
	uint32_t clock_generation; /* the new one */
};

/* Which jumps to be notified of, as rclcpp::JumpThreshold. 0: of any; < 0: of none in that direction. */
struct sim_jump_threshold {
	int64_t min_forward_dur_ns, min_backward_dur_ns;
};

struct sim_jump_handler;
typedef void (*sim_jump_fn)(void *user, const struct sim_clock_jump *jump);

/*
 * Call fn after each jump, in order, on the sim-io thread (or inside sim_process()). threshold NULL: any jump.
 * Returns: 0; -EINVAL; -ENOMEM.
 */
SIM_API SIM_MUST_CHECK int sim_clock_on_jump(struct sim_client *c, const struct sim_jump_threshold *threshold,
					     sim_jump_fn fn, void *user, struct sim_jump_handler **ret);
/* fn runs no more: waits for one that runs in another thread. NULL is fine. */
SIM_API void sim_jump_handler_destroy(struct sim_jump_handler *h);

/*
 * Without a handler: has time jumped since *clock_generation (of a sample, or of the last call)? 1: *ret is the last
 * jump, *clock_generation the present one; 0: no. Lock-free; jumps in quick succession look like the last of them.
 */
SIM_API int sim_clock_jumped(const struct sim_client *c, uint32_t *clock_generation, struct sim_clock_jump *ret);

/* ---- leading time, as `simctl clock` does ---- */

/*
 * Each asks simd and waits for its answer, for 5 s where nothing else is said. For any client whose user may (socket.admin and
 * access.pause of simd.json(5)), the driver's too. Nothing that is passed is kept. Thread: any; a step waits for the driver, so it
 * is not for the thread that drives.
 * Returns: 0; -EOPNOTSUPP the source cannot be led (`ss2`, `ros2`, `link`); -EACCES this user may not; -ENOTCONN disconnected from simd;
 * -ETIMEDOUT; -EPERM after a fork; -EINVAL no client. sim_why() says more. Since 0.1.
 */

/*
 * Pause. What the driver was granted is published first: time is paused when it asks for more, or is late (step.deadline_ms); at once
 * where the clock drives, or the driver's own client asks.
 * wall_timeout_dur_ns  how long to wait for that; < 0: as long as it takes; 0: it is paused in a moment, sim_clock_page() says when.
 * -ETIMEDOUT: it is paused later all the same. -ECANCELED: time was resumed before.
 */
SIM_API SIM_MUST_CHECK int sim_clock_pause(struct sim_client *c, int64_t wall_timeout_dur_ns);
/* Time runs on, and an open step ends (-ECANCELED to its caller). Where time runs already, nothing happens. */
SIM_API SIM_MUST_CHECK int sim_clock_resume(struct sim_client *c);
/*
 * scale_e6  millionths of simulated per wall time, 10000 (0.01) to 100000000 (100); below SIM_RATE_ONE is slow motion. 0 pauses until
 *           the next scale above 0. A driver that paces (SIM_DRIVER_PACED) goes by it from its next advance on, others may read it:
 *           sim_clock_page(c)->scale_e6. -ERANGE out of range.
 */
SIM_API SIM_MUST_CHECK int sim_clock_set_scale(struct sim_client *c, int64_t scale_e6);
/*
 * Step a paused clock by dur_ns, 1 ns to 1 h: 0 when the driver, participants and bridges are through with it.
 * wall_timeout_dur_ns  < 0: as long as they take; 0: until it has begun, which is -ETIMEDOUT as a rule. What other threads ask of simd
 *                      through this client waits meanwhile.
 * -ETIMEDOUT: the step goes on, to its end or until a pause or a resume, which may be this client's; sim_clock_page() shows both.
 * ret_sim_ns           what time it is then; may be NULL; untouched on failure
 * -ERANGE dur_ns, or time would end; -EBUSY time is running, or a step is; -ENOTCONN also without a driver, or if it goes; -ECANCELED
 * paused, resumed or switched meanwhile.
 */
SIM_API SIM_MUST_CHECK int sim_clock_step(struct sim_client *c, int64_t dur_ns, int64_t wall_timeout_dur_ns,
					  int64_t *ret_sim_ns);

/* ---- driving an engine-driven source ---- */

struct sim_driver;

enum sim_driver_flag {
	SIM_DRIVER_PACED = 1u << 0, /* sim_driver_advance() returns no earlier than scale x wall time allows */
	/* It advances as fast as it can, for a data set: the clock shows SIM_CLOCK_FREEWHEEL. Not with PACED. */
	SIM_DRIVER_FREEWHEEL = 1u << 1,
	/*
	 * Lock-step (sim/step.h) also while nobody takes part: what is published for an instant goes out at the next advance, in
	 * one order, and that returns when all of it is completed. So the logs are the same in each run; without it messages go
	 * at once, and bridges write them as their lanes finish. A publisher then has one window of messages an advance.
	 */
	SIM_DRIVER_LOCKSTEP = 1u << 2,
};

/*
 * Take the driver lease of the active source (`unity`, `ss2`, `ros2`, `link`). flags: enum sim_driver_flag; none: the caller paces
 * itself. -EINVAL; -EBUSY another client holds it (sim_why() names it),
 * -EOPNOTSUPP the active source is wall-driven, -ENOTCONN.
 */
SIM_API SIM_MUST_CHECK int sim_driver_acquire(struct sim_client *c, unsigned flags, struct sim_driver **ret);
/* NULL is fine. sim_disconnect() releases a lease that is held, and d must not be used after it. */
SIM_API void sim_driver_release(struct sim_driver *d);

/*
 * Advance time by dur_ns (1 ns .. 1 h). Blocks while time is paused, and in a step until the step has
 * room: *ret_granted_dur_ns is how much was granted (less than asked at the end of a step; never 0 on success).
 * A pause and the end of a step take effect when this is called: what is published before, for the time that was granted, is
 * accepted. Who does not call it again is late after step.deadline_ms; a lease that is of no more use should be released.
 * Returns: 0; -EINVAL; -ERANGE time is at its end, 2^63 ns; -EPERM the lease was lost (source switched); -ENOTCONN disconnected
 *          from simd (the library takes the lease again when it is back: try again). Thread: one at a time.
 */
SIM_API SIM_MUST_CHECK int sim_driver_advance(struct sim_driver *d, int64_t dur_ns, int64_t *ret_granted_dur_ns);

/*
 * Report what time it is, for sources that follow a foreign clock (`ss2`, `ros2`), or whose driver has one of its own (`unity`):
 * forward is time going on, back is a jump.
 * Returns: 0; -EOPNOTSUPP the source only advances (`link`, a plug-in without SIM_SOURCE_SET); -ERANGE negative; -EBUSY time is
 * paused or stepping; -EPERM, -ENOTCONN as above. Thread: one at a time.
 */
SIM_API SIM_MUST_CHECK int sim_driver_set(struct sim_driver *d, int64_t sim_ns);
/*
 * The same as a jump wherever it leads, also forward or to where time is: a new run begins, such as of a scene that is loaded again
 * (sim_driver_jump(d, 0)), or of an engine that is started a second time, when sim_now() is not where it begins; one that does
 * not say so goes on where time is. Channels and handles stay; what is latched is replaced when it is published again. In a pause this blocks
 * as sim_driver_advance() does; it is no part of a step, which is granted its length from the new time on.
 * Returns: as sim_driver_set(), but never -EBUSY.
 */
SIM_API SIM_MUST_CHECK int sim_driver_jump(struct sim_driver *d, int64_t sim_ns);

enum sim_follow_flag {
	SIM_FOLLOW_JUMP = 1u << 0,   /* time does not go on from what was told before */
	SIM_FOLLOW_PAUSED = 1u << 1, /* that clock is paused */
	/* Lock-step: time moves by sim_driver_advance() alone. Told are pause, scale and, with JUMP, from where it goes on. */
	SIM_FOLLOW_STEPS = 1u << 2,
	SIM_FOLLOW_LOST =
		1u
		<< 3, /* that clock is not heard any more: time holds until it is told again; nothing else is looked at */
};

/* How a clock on another host goes. */
struct sim_followed {
	int64_t sim_ns;   /* simulated time, 0 to 2^62 ns ... */
	int64_t mono_ns;  /* ... at that moment of CLOCK_MONOTONIC here, within a minute from now */
	int64_t rate_e6;  /* and from there on: millionths, up to 1e8; 0: it stands */
	int64_t scale_e6; /* the scale that was asked for, kept in a pause; 0: as before */
	int64_t error_dur_ns; /* sim_ns is wrong by that much real time at most; `simctl clock status` shows what follows from it */
	uint32_t flags;    /* enum sim_follow_flag */
	uint32_t reserved; /* 0 */
};

/*
 * Tell the source `link` how the clock goes that it follows; as often as that is known better. Between two of these time runs by itself.
 * What it is off is slewed, so that it does not go back: a second of real time in 8 s. Further ahead, or a minute behind, is a jump.
 * An advance (lock-step) ends a pause that was told.
 * Returns: 0; -EINVAL invalid flags or values; -ERANGE a time or moment out of range; -EOPNOTSUPP another source is active;
 * -EPERM, -ENOTCONN as above. Thread: one at a time. Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_driver_follow(struct sim_driver *d, const struct sim_followed *f);

/*
 * Each in two halves, for a driver with one thread that must not stand still: a game, whose window lives on in a pause, and who takes
 * part in its own steps (sim/step.h). begin asks, end takes the answer: when simd has resumed, and the step is over. In between poll
 * sim_driver_fd() and sim_step_fd(), have turns, draw. One at a time; advance, set, jump and follow wait for an answer that is
 * due, and what that granted is then nobody's.
 *
 * begin sets the time (jump: as sim_driver_jump()); begin_advance asks for dur_ns, as sim_driver_advance().
 * wall_timeout_dur_ns < 0: for ever; 0: only look. What is asked stays asked when that has passed: call end again.
 * begin returns: 0; -EBUSY the last answer has not been taken; -EINVAL dur_ns; -ENOTCONN, -EPERM as above.
 * end returns: as sim_driver_set(), as sim_driver_advance(); -ETIMEDOUT it has not come yet; -EINVAL the other one was begun;
 * -ENOTCONN also if nothing was asked of this simd: it, or the lease, went between the halves.
 *
 * With SIM_DRIVER_PACED end_advance has the answer no earlier than its wall time, until then it is -ETIMEDOUT too: so a game that
 * calls it with 0 in each frame is in slow motion at a scale below 1 (libclient/examples/engine.c). The descriptor knows of no wall
 * time: it is readable when simd has answered, and no longer once end_advance has seen that; then call it again by time. Thread: one at a time. begin_advance, end_advance since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_driver_begin(struct sim_driver *d, int64_t sim_ns, bool jump);
SIM_API SIM_MUST_CHECK int sim_driver_end(struct sim_driver *d, int64_t wall_timeout_dur_ns);
SIM_API SIM_MUST_CHECK int sim_driver_begin_advance(struct sim_driver *d, int64_t dur_ns);
SIM_API SIM_MUST_CHECK int sim_driver_end_advance(struct sim_driver *d, int64_t wall_timeout_dur_ns,
						  int64_t *ret_granted_dur_ns);
/* Readable when simd has answered; poll only. It changes when simd restarts. -ENOTCONN while disconnected from simd. */
SIM_API int sim_driver_fd(const struct sim_driver *d);

/* ---- frequency gate ---- */

/*
 * Decides at every tick of a loop whether a sensor of period P is due: at the first tick at or after its
 * due time; never early, exact mean rate, phase kept, no burst after a stall, nothing while paused, and
 * re-phased by a jump of the clock. (SVL fires at the closest tick, which may be early.)
 */
struct sim_gate {
	int64_t period_dur_ns;     /* > 0 */
	int64_t next_due_sim_ns;   /* private */
	int64_t num, den, rem;     /* private: exact period for rates such as 13.4 Hz */
	uint32_t clock_generation; /* private */
	uint32_t started;          /* private */
};

/* frequency_mhz: millihertz (12.5 Hz = 12500), 1 .. 1e9. The first tick fires. -EINVAL out of range. */
SIM_API int sim_gate_init(struct sim_gate *g, uint32_t frequency_mhz);
SIM_API bool sim_gate_due(struct sim_gate *g, const struct sim_clock_sample *now);

#ifdef __cplusplus
}
#endif
#endif
