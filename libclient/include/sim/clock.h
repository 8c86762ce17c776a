/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated time for clients: int64 ns everywhere; the suffix of a name says which clock it is of. */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include <sim/client.h>
#include <sim/clock_page.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The page of this client, for sim_clock_read(); valid until sim_disconnect(), also while disconnected from simd. Never
 * NULL.
 */
SIM_API const struct sim_clock_page *sim_clock_page(const struct sim_client *c);

/*
 * Simulated time now. Lock-free, except for a thread's first read after a jump and for threads beyond the 31st, which
 * take a lock of this client for a few instructions. While disconnected from simd: the last value, flagged
 * SIM_CLOCK_STALE. The same if simd is stopped inside a write of the page: the latest value that any thread of this
 * client has read, so time does not go back. sim_now_sample() gives flags and generation of the same instant.
 */
SIM_API int64_t sim_now(const struct sim_client *c);
SIM_API void sim_now_sample(const struct sim_client *c, struct sim_clock_sample *ret);

/*
 * The clock as it was at mono_ns, a moment of CLOCK_MONOTONIC of this machine, such as sim_slot.publish_mono_ns of a
 * message that is taken late: what sim_now_sample() would have returned then, to the nanosecond, whatever clients and
 * simd have done since. It covers pauses, scales, jumps and the clock of the simd before a restart (time that ran then
 * goes on until the new simd's clock begins), as far as this client was connected to them. A moment in the future
 * counts as now.
 * Returns: 0; 1 that is longer ago than simd keeps (SIM_CLOCK_PIECES changes of the page), *ret is the oldest moment
 * known; -EINVAL an argument is NULL; -ENOTCONN there was no simd yet. Thread: any; takes a lock of this client. Since
 * 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_clock_at(const struct sim_client *c, int64_t mono_ns, struct sim_clock_sample *ret);

/*
 * Sleeps until simulated time reaches until_sim_ns. Follows scale, pause (sleeps on) and step; also sleeps while a
 * source has no driver yet, so that programs may start in any order.
 * Returns: 0; -ECANCELED the clock jumped (generation changed); -ETIMEDOUT wall_timeout_dur_ns (>= 0) passed, and
 * sim_why() explains why time has not come that far (no driver yet, paused); -ENOTCONN disconnected from simd.
 */
SIM_API SIM_MUST_CHECK int sim_sleep_until(struct sim_client *c, int64_t until_sim_ns, int64_t wall_timeout_dur_ns);

/* ---- jumps ---- */

/*
 * A jump: time does not continue from where it was, because the source was switched or set back, a scenario restarted,
 * or simd restarted. Each jump begins a new clock_generation. Meaning, in ROS 2's terms (rclcpp::TimeJump):
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

/* The jumps to be notified of, as rclcpp::JumpThreshold. 0: any; < 0: no jump in that direction. */
struct sim_jump_threshold {
	int64_t min_forward_dur_ns, min_backward_dur_ns;
};

struct sim_jump_handler;
typedef void (*sim_jump_fn)(void *user, const struct sim_clock_jump *jump);

/*
 * Calls fn after each jump, in order, on the sim-io thread (or inside sim_process()). threshold NULL: any jump.
 * Returns: 0; -EINVAL; -ENOMEM.
 */
SIM_API SIM_MUST_CHECK int sim_clock_on_jump(struct sim_client *c, const struct sim_jump_threshold *threshold,
					     sim_jump_fn fn, void *user, struct sim_jump_handler **ret);
/* fn is not called again; waits for one that runs in another thread. NULL is fine. */
SIM_API void sim_jump_handler_destroy(struct sim_jump_handler *h);

/*
 * For programs without a handler: whether time has jumped since *clock_generation (of a sample, or of the last call).
 * Returns 1: *ret is the last jump, *clock_generation the present one; 0: no. Lock-free; jumps in quick succession are
 * reported as the last of them.
 */
SIM_API int sim_clock_jumped(const struct sim_client *c, uint32_t *clock_generation, struct sim_clock_jump *ret);

/* ---- controlling time, as `simctl clock` does ---- */

/*
 * Each call asks simd and waits for its answer, up to 5 s unless stated otherwise. For any client whose user is allowed
 * to (socket.admin and access.pause of simd.json(5)), the driver's too. No argument is kept. Thread: any; a step waits
 * for the driver, so the thread that drives must not call it.
 * Returns: 0; -EOPNOTSUPP the source cannot be controlled (`ss2`, `ros2`, `link`); -EACCES this user is not allowed;
 * -ENOTCONN disconnected from simd; -ETIMEDOUT; -EPERM after a fork; -EINVAL c is NULL. sim_why() says more. Since 0.1.
 */

/*
 * Pauses time. What the driver was granted is published first: time is paused when the driver asks for more or is late
 * (step.deadline_ms); at once if the source is wall-driven, or the driver's own client asks.
 * wall_timeout_dur_ns  how long to wait for that; < 0: as long as it takes; 0: do not wait, sim_clock_page() shows when
 *                      time is paused.
 * -ETIMEDOUT: time is still paused later. -ECANCELED: time was resumed before that.
 */
SIM_API SIM_MUST_CHECK int sim_clock_pause(struct sim_client *c, int64_t wall_timeout_dur_ns);
/* Resumes time; an open step ends (-ECANCELED to its caller). Does nothing if time is running. */
SIM_API SIM_MUST_CHECK int sim_clock_resume(struct sim_client *c);
/*
 * scale_e6  millionths of simulated per wall time, 10000 (0.01) to 100000000 (100); below SIM_RATE_ONE is slow motion.
 *           0 pauses until the next scale above 0. A driver that paces (SIM_DRIVER_PACED) uses it from its next advance
 *           on; others may read it: sim_clock_page(c)->scale_e6. -ERANGE out of range.
 */
SIM_API SIM_MUST_CHECK int sim_clock_set_scale(struct sim_client *c, int64_t scale_e6);
/*
 * Steps a paused clock by dur_ns, 1 ns to 1 h. Returns 0 when the driver, participants and bridges have finished the
 * step.
 * wall_timeout_dur_ns  < 0: as long as they take; 0: until the step has begun, which as a rule gives -ETIMEDOUT. Other
 *                      threads' requests to simd through this client wait meanwhile.
 * -ETIMEDOUT: the step goes on to its end, or until a pause or a resume, which this client may request;
 * sim_clock_page() shows both.
 * ret_sim_ns           the time after the step; may be NULL; untouched on failure
 * -ERANGE dur_ns is out of range, or time would end; -EBUSY time is running, or another step is; -ENOTCONN also without
 * a driver, or if it disconnects; -ECANCELED paused, resumed or switched meanwhile.
 */
SIM_API SIM_MUST_CHECK int sim_clock_step(struct sim_client *c, int64_t dur_ns, int64_t wall_timeout_dur_ns,
					  int64_t *ret_sim_ns);

/* ---- driving an engine-driven source ---- */

struct sim_driver;

enum sim_driver_flag {
	SIM_DRIVER_PACED = 1u << 0, /* sim_driver_advance() returns no earlier than scale x wall time allows */
	/*
	 * It advances as fast as it can, e.g. to make a data set: the clock shows SIM_CLOCK_FREEWHEEL. Not with PACED.
	 */
	SIM_DRIVER_FREEWHEEL = 1u << 1,
	/*
	 * Lock-step (sim/step.h) even without participants: what is published for an instant goes out at the next
	 * advance, in one order, and the advance returns when all of it has completed. So the logs are the same in each
	 * run; without the flag messages go out at once, and bridges write them as their lanes finish. A publisher then
	 * has one window of messages per advance.
	 */
	SIM_DRIVER_LOCKSTEP = 1u << 2,
};

/*
 * Takes the driver lease of the active source (`unity`, `ss2`, `ros2`, `link`). flags: enum sim_driver_flag; 0: the
 * caller paces itself.
 * Returns: 0; -EINVAL; -EBUSY another client holds it (sim_why() names it), -EOPNOTSUPP the active source is
 * wall-driven, -ENOTCONN.
 */
SIM_API SIM_MUST_CHECK int sim_driver_acquire(struct sim_client *c, unsigned flags, struct sim_driver **ret);
/* NULL is fine. sim_disconnect() also releases the lease; d must not be used after it. */
SIM_API void sim_driver_release(struct sim_driver *d);

/*
 * Advances time by dur_ns (1 ns .. 1 h). Blocks while time is paused, and in a step until the step has room:
 * *ret_granted_dur_ns is how much was granted (less than asked at the end of a step; never 0 on success). A pause and
 * the end of a step take effect when this is called: messages published before, for the time that was granted, are
 * accepted. A driver that does not call again within step.deadline_ms is late; release a lease that is not needed any
 * more.
 * Returns: 0; -EINVAL; -ERANGE time is at its end, 2^63 ns; -EPERM the lease was lost (source switched); -ENOTCONN
 * disconnected from simd (the library takes the lease again when simd is back: try again). Thread: one at a time.
 */
SIM_API SIM_MUST_CHECK int sim_driver_advance(struct sim_driver *d, int64_t dur_ns, int64_t *ret_granted_dur_ns);

/*
 * Sets the time, for sources that follow a foreign clock (`ss2`, `ros2`), or whose driver has a clock of its own
 * (`unity`): forward, time continues; back is a jump.
 * Returns: 0; -EOPNOTSUPP the source only advances (`link`, a plug-in without SIM_SOURCE_SET); -ERANGE negative; -EBUSY
 * time is paused or stepping; -EPERM, -ENOTCONN as above. Thread: one at a time.
 */
SIM_API SIM_MUST_CHECK int sim_driver_set(struct sim_driver *d, int64_t sim_ns);
/*
 * As sim_driver_set(), but always a jump, also forward or to the present time: a new run begins, e.g. of a scene that
 * is loaded again (sim_driver_jump(d, 0)), or of an engine that is started a second time, when sim_now() is not where
 * the engine begins; an engine that does not call this goes on from the present time. Channels and handles stay; a
 * latched message is replaced when it is published again. In a pause this blocks as sim_driver_advance() does; it is
 * not part of a step, which is granted its length from the new time on.
 * Returns: as sim_driver_set(), but never -EBUSY.
 */
SIM_API SIM_MUST_CHECK int sim_driver_jump(struct sim_driver *d, int64_t sim_ns);

enum sim_follow_flag {
	SIM_FOLLOW_JUMP = 1u << 0,   /* time does not continue from the last report */
	SIM_FOLLOW_PAUSED = 1u << 1, /* the followed clock is paused */
	/*
	 * Lock-step: time moves by sim_driver_advance() alone. Reports pause and scale; with JUMP also the time to
	 * continue from.
	 */
	SIM_FOLLOW_STEPS = 1u << 2,
	/* the followed clock is lost: time stands until the next report; the other members are ignored */
	SIM_FOLLOW_LOST = 1u << 3,
};

/* The state of a clock on another host. */
struct sim_followed {
	int64_t sim_ns;   /* simulated time, 0 to 2^62 ns ... */
	int64_t mono_ns;  /* ... at that moment of CLOCK_MONOTONIC here, within a minute from now */
	int64_t rate_e6;  /* and from there on: millionths, up to 1e8; 0: stopped */
	int64_t scale_e6; /* the requested scale, kept in a pause; 0: as before */
	/* error bound of sim_ns, in real time; `simctl clock status` shows what follows from it */
	int64_t error_dur_ns;
	uint32_t flags;    /* enum sim_follow_flag */
	uint32_t reserved; /* 0 */
};

/*
 * Reports to the source `link` the state of the clock that it follows; call it whenever a better value is known.
 * Between two calls time runs by itself. If simd's time differs by up to a second of real time it is slewed, a second
 * in 8 s, so it never goes back; if it is further behind it is put forward at once. More than a second ahead, or a
 * minute behind, it jumps. An advance (lock-step) ends a reported pause.
 * Returns: 0; -EINVAL invalid flags or values; -ERANGE a time or moment out of range; -EOPNOTSUPP another source is
 * active; -EPERM, -ENOTCONN as above. Thread: one at a time. Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_driver_follow(struct sim_driver *d, const struct sim_followed *f);

/*
 * The calls above in two halves, for a driver with a single thread that must not block: a game whose window stays alive
 * in a pause, and that takes part in its own steps (sim/step.h). begin sends the request, end takes the answer, which
 * comes when simd has resumed and the step is over. In between the driver polls sim_driver_fd() and sim_step_fd(), has
 * its turns, and draws. One request at a time; advance, set, jump and follow wait for an answer that is due, and the
 * time which that answer granted is lost.
 *
 * begin sets the time (jump: as sim_driver_jump()); begin_advance asks for dur_ns, as sim_driver_advance().
 * wall_timeout_dur_ns < 0: for ever; 0: only check. After a timeout the request stays open: call end again.
 * begin returns: 0; -EBUSY the last answer has not been taken; -EINVAL dur_ns; -ENOTCONN, -EPERM as above.
 * end returns: as sim_driver_set(), as sim_driver_advance(); -ETIMEDOUT no answer yet; -EINVAL the other kind was
 * begun; -ENOTCONN also if no request was made to this simd: simd, or the lease, was lost between the halves.
 *
 * With SIM_DRIVER_PACED end_advance returns the answer no earlier than its wall time, and -ETIMEDOUT until then: so a
 * game that calls it with 0 in each frame is in slow motion at a scale below 1 (libclient/examples/engine.c). The
 * descriptor does not follow wall time: it is readable when simd has answered, and no longer once end_advance has seen
 * the answer; from then on call end_advance by time. Thread: one at a time. begin_advance, end_advance since 0.1.
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
 * Decides at every tick of a loop whether a sensor of period P is due: at the first tick at or after its due time.
 * Never early, exact mean rate, phase kept, no burst after a stall, nothing while paused, new phase after a jump of the
 * clock. (SVL fires at the closest tick, which may be early.)
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
