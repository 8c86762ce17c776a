/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine with one thread, like a game: it drives the time source `unity`; its window stays alive in a pause (simctl
 * clock pause); it runs in slow motion (simctl clock scale 0.1) and in steps; and its scene can be loaded again, which
 * sets time back to 0.
 *
 *     engine      reads keys: r and Enter loads the scene again, q and Enter quits
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include <sim/sim.h>

#define TICK_NS  INT64_C(20000000) /* step of the physics */
#define FRAME_MS 4                 /* time that a window waits for the screen */

enum asked { NOTHING, AN_ADVANCE, A_NEW_RUN };

static double ball_m, ball_mps; /* the scene */

static void load_scene(void)
{
	ball_m = 2;
	ball_mps = 0;
}

static void simulate(double dt_s)
{
	ball_mps -= 9.81 * dt_s;
	ball_m += ball_mps * dt_s;
	if (ball_m < 0 && ball_mps < 0)
		ball_mps = -0.9 * ball_mps;
}

/* Waits until the screen is ready. Returns the next key, 0: none. */
static char draw(const struct sim_client *c)
{
	static double drawn_m = -1;
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	char key = 0;

	if (ball_m != drawn_m && sim_now(c) % 1000000000 == 0)
		printf("%.0f s: %.2f m\n", (double)sim_now(c) / 1e9, ball_m);
	drawn_m = ball_m;
	fflush(stdout);
	if (poll(&in, 1, FRAME_MS) > 0 && read(STDIN_FILENO, &key, 1) <= 0)
		key = 'q';
	return key;
}

/*
 * After a failed call: if simd is away, the library takes the lease again when it is back; if another source was
 * selected, try until `unity` is again.
 */
static int regain(struct sim_client *c, struct sim_driver **d, int why)
{
	if (why != -EPERM && *d)
		return 0;
	sim_driver_release(*d);
	*d = NULL;
	return sim_driver_acquire(c, SIM_DRIVER_PACED, d) == 0 ? 0 : why;
}

/* Asks for the next step, or checks whether the answer has come. Does not block. */
static int go_on(struct sim_driver *d, enum asked *asked, bool *reload)
{
	int64_t granted_ns = 0;
	int r = 0;

	if (*asked == NOTHING) {
		r = *reload ? sim_driver_begin(d, 0, true) : sim_driver_begin_advance(d, TICK_NS);
		*asked = *reload ? A_NEW_RUN : AN_ADVANCE;
	}
	if (r == 0)
		r = *asked == A_NEW_RUN ? sim_driver_end(d, 0) : sim_driver_end_advance(d, 0, &granted_ns);
	if (r == -ETIMEDOUT) /* time is paused, or it is too early by wall time */
		return 0;
	if (r == 0 && *asked == A_NEW_RUN) {
		load_scene();
		*reload = false;
	} else if (r == 0) {
		simulate((double)granted_ns / 1e9); /* sensors publish here */
	}
	*asked = NOTHING;
	return r;
}

int main(void)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "engine", .flags = SIM_CLIENT_SOURCE };
	enum asked asked = NOTHING;
	struct sim_driver *d;
	struct sim_client *c;
	bool reload;
	char key;
	int r, was = 0;

	if (sim_connect(&o, &c) < 0 || sim_driver_acquire(c, SIM_DRIVER_PACED, &d) < 0)
		return fprintf(stderr, "%s\n", sim_why()), 1;
	reload = sim_now(c) != 0; /* another engine has run on this simd before */
	load_scene();
	while ((key = draw(c)) != 'q') {
		reload |= key == 'r';
		r = d ? go_on(d, &asked, &reload) : -EPERM;
		if (r < 0 && r != was)
			fprintf(stderr, "going on, after an error: %s\n", sim_why());
		if (r < 0)
			(void)regain(c, &d, r);
		was = r;
	}
	sim_driver_release(d);
	sim_disconnect(c);
	return 0;
}
