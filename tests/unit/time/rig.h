/* SPDX-License-Identifier: Apache-2.0 */
/* A time engine in virtual time with everything it says written down. Include first. */
#ifndef TIME_RIG_H
#define TIME_RIG_H

#include "support/test.h"

#include "err.h"
#include "fd.h"
#include "time/engine.h"
#include "time/page.h"
#include "timeutil.h"
#include "wire/driver.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RIG_START_MONO_NS (50 * NS_PER_S)
#define RIG_START_REAL_NS INT64_C(1800000000123456789)

struct rig {
	struct exec *x;
	_Alignas(64) struct sim_clock_page page;
	struct time_engine *e;
	int jumps, changes, losts, releases;
	int64_t jump_old_sim_ns, jump_new_sim_ns;
	uint32_t jump_generation;
	/* lock-step */
	bool held, hold_paused, dispatch_busy, late_dropped;
	unsigned dispatches, lates, left;
	int late_rank; /* -1: dispatch */
	char left_why[100];
	char lost_why[100], lost_who[100];
	/* there is a publisher that is neither driver nor participant: true until rig_init's caller changes it */
	bool watched;
	int64_t accepted_mono_ns;
	bool drain_busy, busy; /* busy: dispatch() would find something */
	unsigned drains, driver_lates;
	bool noisy; /* not quiet: something accepted is outstanding */
	int quiet_asked;
	int step_result; /* 1: not answered yet */
	int64_t step_end_sim_ns;
	char step_why[200];
};

static inline void rig_jump(void *ctx, int64_t old_sim_ns, int64_t new_sim_ns, uint32_t generation)
{
	struct rig *r = ctx;

	r->jumps++;
	r->jump_old_sim_ns = old_sim_ns;
	r->jump_new_sim_ns = new_sim_ns;
	r->jump_generation = generation;
	assert_int_equal(r->page.clock_generation, generation); /* the page is written already */
}

static inline void rig_changed(void *ctx)
{
	((struct rig *)ctx)->changes++;
}

static inline bool rig_quiet(void *ctx)
{
	((struct rig *)ctx)->quiet_asked++;
	return !((struct rig *)ctx)->noisy;
}

static inline void rig_lost(void *ctx, const struct time_driver_info *who, const char *why)
{
	struct rig *r = ctx;

	r->losts++;
	snprintf(r->lost_why, sizeof(r->lost_why), "%s", why);
	snprintf(r->lost_who, sizeof(r->lost_who), "%s", who->name);
}

static inline void rig_hold(void *ctx, bool held, bool paused)
{
	((struct rig *)ctx)->held = held;
	((struct rig *)ctx)->hold_paused = paused;
}

static inline bool rig_dispatch(void *ctx)
{
	struct rig *r = ctx;

	r->dispatches++;
	return !r->dispatch_busy;
}

static inline bool rig_idle(void *ctx)
{
	return !((struct rig *)ctx)->busy;
}

static inline bool rig_watched(void *ctx, int64_t *ret_mono_ns)
{
	*ret_mono_ns = ((struct rig *)ctx)->accepted_mono_ns;
	return ((struct rig *)ctx)->watched;
}

static inline bool rig_drain(void *ctx)
{
	struct rig *r = ctx;

	r->drains++;
	return !r->drain_busy;
}

static inline void rig_driver_late(void *ctx, const struct time_driver_info *who, int64_t waited_dur_ns, bool cut)
{
	struct rig *r = ctx;

	assert_string_equal(who->name, "engine");
	assert_true(waited_dur_ns > 0);
	r->driver_lates++;
	r->late_dropped = cut;
}

static inline void rig_late(void *ctx, const struct time_participant *who, int64_t waited_dur_ns, bool dropped)
{
	struct rig *r = ctx;

	r->lates++;
	r->late_rank = who ? (int)who->rank : -1;
	r->late_dropped = dropped;
	assert_true(waited_dur_ns > 0);
}

static inline void rig_released(void *ctx, const struct time_driver_info *who)
{
	struct rig *r = ctx;

	assert_string_equal(who->name, "engine");
	r->releases++;
}

static inline void rig_left(void *ctx, const struct time_participant *who, const char *why)
{
	struct rig *r = ctx;

	assert_non_null(who->name);
	r->left++;
	snprintf(r->left_why, sizeof(r->left_why), "%s", why);
}

static inline void rig_step_done(void *arg, int result, int64_t at_sim_ns)
{
	struct rig *r = arg;

	assert_int_equal(r->step_result, 1); /* once only */
	r->step_result = result;
	r->step_end_sim_ns = at_sim_ns;
	snprintf(r->step_why, sizeof(r->step_why), "%s", result < 0 ? err_why() : "");
}

static inline int64_t rig_real(void *ctx)
{
	/* the wall clock and the monotonic one run together here */
	return RIG_START_REAL_NS + exec_now(((struct rig *)ctx)->x) - RIG_START_MONO_NS;
}

/* A folder where there is none, and the sources beside this program. NULL ends. */
static inline const char *const *rig_plugin_dirs(void)
{
	static char dir[4100], own[4100];
	static const char *const dirs[] = { "/nowhere", dir, own, NULL };
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 20);

	assert_true(n > 0);
	dir[n] = 0;
	strcpy(own, dir);
	strcpy(strrchr(dir, '/'), "/plugins");
	strcpy(strrchr(own, '/'), "/../lib/simd");
	return dirs;
}

static struct source_registry *rig_sources; /* never destroyed: its tables are used until the end */

static inline const struct sim_source_ops *source(const char *name)
{
	const struct sim_source_ops *s;

	if (time_source_by_name(name, &s) == 0)
		return s;
	if (!rig_sources)
		assert_int_equal(source_registry_create(rig_plugin_dirs(), &rig_sources), 0);
	if (source_registry_find(rig_sources, name, false, &s) < 0)
		fail_msg("%s", err_why());
	return s;
}

static inline void rig_init(struct rig *r, uint64_t seed, const char *source_name, struct time_engine_options o)
{
	memset(r, 0, sizeof(*r));
	assert_int_equal(exec_sim_create(seed, RIG_START_MONO_NS, &r->x), 0);
	r->watched = true;
	o.exec = r->x;
	o.page = &r->page;
	o.source = source(source_name);
	o.real_now = rig_real;
	o.ctx = r;
	o.events = (struct time_engine_events){ .jump = rig_jump,
						.changed = rig_changed,
						.quiet = rig_quiet,
						.watched = rig_watched,
						.driver_late = rig_driver_late,
						.driver_lost = rig_lost,
						.driver_released = rig_released,
						.hold = rig_hold,
						.dispatch = rig_dispatch,
						.idle = rig_idle,
						.drain = rig_drain,
						.late = rig_late,
						.participant_lost = rig_left };
	assert_int_equal(time_engine_create(&o, &r->e), 0);
}

static inline void rig_finish(struct rig *r)
{
	time_engine_destroy(r->e);
	exec_destroy(r->x);
}

static inline void rig_run(struct rig *r, int64_t dur_ns)
{
	assert_true(exec_sim_run(r->x, exec_now(r->x) + dur_ns) >= 0);
}

static inline struct sim_clock_sample rig_read(struct rig *r)
{
	struct sim_clock_sample s;

	assert_int_equal(page_sample_at(&r->page, exec_now(r->x), &s), 0);
	return s;
}

static inline int rig_step(struct rig *r, int64_t dur_ns)
{
	r->step_result = 1;
	return time_engine_step(r->e, dur_ns, rig_step_done, r);
}

/* A driver at the other end of a socket; returns its end. */
static inline int rig_attach(struct rig *r, uint32_t client_id, int *ret_result)
{
	struct time_driver_info who = { .client_id = client_id, .pid = 4711, .name = "engine" };
	int fds[2];

	assert_int_equal(fd_packet_pair(fds, 0), 0);
	*ret_result = time_engine_attach_driver(r->e, fds[0], &who);
	return fds[1];
}

static inline void rig_send(struct rig *r, int fd, uint32_t op, int64_t dur_ns, int64_t to_sim_ns)
{
	struct driver_packet p = { .op = op, .dur_ns = dur_ns, .sim_ns = to_sim_ns };

	assert_int_equal(send(fd, &p, sizeof(p), MSG_NOSIGNAL), sizeof(p));
	assert_true(exec_sim_settle(r->x) >= 0);
}

/* 1 a packet, 0 none, -1 hung up. */
static inline int rig_recv(int fd, struct driver_packet *ret)
{
	ssize_t n = recv(fd, ret, sizeof(*ret), MSG_DONTWAIT);

	if (n == (ssize_t)sizeof(*ret))
		return 1;
	return n < 0 && errno == EAGAIN ? 0 : -1;
}

/* The answer received: the grant, 0 none, or negative errno. */
static inline int64_t rig_answer(struct rig *r, int fd)
{
	struct driver_packet p;

	if (rig_recv(fd, &p) < 1)
		return 0;
	assert_int_equal(p.op, DRIVER_GRANT);
	assert_int_equal(p.sim_ns, rig_read(r).sim_ns);
	return p.result < 0 ? p.result : p.dur_ns;
}

static inline int64_t rig_advance(struct rig *r, int fd, int64_t dur_ns)
{
	rig_send(r, fd, DRIVER_ADVANCE, dur_ns, 0);
	return rig_answer(r, fd);
}

static inline bool rig_is_pausing(struct rig *r)
{
	struct time_status st;

	time_engine_status(r->e, &st);
	assert_int_equal(st.pausing, time_engine_is_pausing(r->e));
	assert_int_equal(st.state == TIME_PAUSED, (rig_read(r).flags & SIM_CLOCK_PAUSED) != 0);
	assert_false(st.pausing && st.state == TIME_PAUSED);
	return st.pausing;
}

static inline bool rig_is_paused(struct rig *r)
{
	return !rig_is_pausing(r) && rig_read(r).flags & SIM_CLOCK_PAUSED;
}

#endif
