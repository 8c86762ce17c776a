/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock of the far side drives simulated time, if the time source is `ros2`. The lease is acquired when the first
 * time arrives and released when that clock is lost. A refusal is logged once; the next time that arrives asks again.
 *
 * Thread: the plug-in's, one at a time; host_time_driver_finish() when the plug-in is destroyed.
 */
#include <errno.h>

#include <sim/clock.h>
#include <sim/types.h>

#include "err.h"
#include "host.h"
#include "timeutil.h"

LOG_TOPIC("time_driver");

#define RETRY_DUR_NS NS_PER_S /* how long to wait before asking simd again while another client holds the lease */

static void release(struct host_time_driver *d)
{
	sim_driver_release(d->driver);
	d->driver = NULL;
}

/* Reads the clock page instead of asking simd: a switch of the source is seen at the next time that arrives. */
static int check_source(struct host *h)
{
	uint32_t source = SIM_LOAD_(&sim_clock_page(h->client)->source, __ATOMIC_RELAXED);

	if (source == SIM_SOURCE_ROS2)
		return 0;
	release(&h->time_driver); /* simd has ended the lease already */
	return err_set(-EOPNOTSUPP,
		       "the time source is `%s`; `simctl clock source ros2`, or \"TimeSource\": \"ros2\", "
		       "lets it drive time",
		       sim_time_source_name((enum sim_time_source)source));
}

static int take_lease(struct host *h)
{
	struct host_time_driver *d = &h->time_driver;
	int64_t now_mono_ns = mono_now_ns();
	int r;

	if (d->driver)
		return 0;
	if (now_mono_ns < d->retry_mono_ns)
		return err_set(-EBUSY, "another client drives time");
	r = sim_driver_acquire(h->client, 0, &d->driver);
	if (r == -EBUSY)
		d->retry_mono_ns = now_mono_ns + RETRY_DUR_NS;
	if (r < 0)
		return err_set(r, "%s", sim_why());
	return check_source(h); /* if the source was switched meanwhile, the lease is for another source */
}

static int set_time(struct host *h, int64_t sim_ns)
{
	struct host_time_driver *d = &h->time_driver;
	struct sim_clock_sample now;
	int r;

	sim_now_sample(h->client, &now);
	if ((now.flags & SIM_CLOCK_DRIVEN) && now.sim_ns == sim_ns)
		return 0; /* a frozen clock repeats its time */
	if (sim_ns < now.sim_ns || sim_ns - now.sim_ns > SIM_BRIDGE_FAR_DUR_NS)
		r = sim_driver_jump(d->driver, sim_ns);
	else
		r = sim_driver_set(d->driver, sim_ns);
	return r < 0 ? err_set(r, "%s", sim_why()) : 0;
}

static int drive_once(struct host *h, int64_t sim_ns)
{
	int r = check_source(h);

	if (r == 0)
		r = take_lease(h);
	if (r == 0)
		r = set_time(h, sim_ns);
	if (r == -EPERM)
		release(&h->time_driver);
	return r;
}

static void note(struct host_time_driver *d, int r)
{
	if (r < 0 && r != d->refused)
		log_at(r == -ENOTCONN ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN,
		       "the far side's clock does not drive time: %s", err_why());
	if (r == 0 && !d->driving)
		log_limited(&d->limit, mono_now_ns(), LOG_LEVEL_INFO, "the far side's clock drives time");
	d->driving = r == 0;
	d->refused = r;
}

int host_time_driver_set(void *ctx, int64_t sim_ns)
{
	struct host *h = ctx;
	struct host_time_driver *d = &h->time_driver;
	int r;

	if (sim_ns == SIM_BRIDGE_CLOCK_GONE) {
		if (d->driving)
			log_limited(&d->limit, mono_now_ns(), LOG_LEVEL_INFO,
				    "the far side's clock is lost: clock stopped");
		release(d);
		d->driving = false;
		d->refused = 0;
		d->retry_mono_ns = 0;
		return 0;
	}
	if (sim_ns <= 0)
		return -EINVAL;
	r = drive_once(h, sim_ns);
	if (r == -EPERM) /* the source was switched, perhaps there and back */
		r = drive_once(h, sim_ns);
	note(d, r);
	return r;
}

void host_time_driver_finish(struct host *h)
{
	release(&h->time_driver);
}
