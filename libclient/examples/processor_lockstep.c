/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subscribes and publishes in lock-step: the mean acceleration over all that the IMU has measured. Time waits until
 * each step is computed, so every run gives the same numbers, however slow this program is.
 *
 *     processor_lockstep [CHANNEL [RANK]]      (sensors have rank 0; give it a higher one)
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sim/msg/Imu.h>
#include <sim/msg/Vector3.h>
#include <sim/sim.h>

struct mean {
	struct sim_Vector3 sum;
	double n;
};

/* All messages of this step from lower ranks have arrived; no more will come in this turn. */
static void take_all(struct sim_subscriber *imu, struct mean *m)
{
	const struct sim_message *msg;

	for (; sim_take(imu, &msg) == 0; sim_release(imu, msg)) {
		const struct sim_Imu *x = sim_Imu_from(msg->body, msg->body_size);

		if (!x)
			continue;
		m->sum.x += x->linear_acceleration.x;
		m->sum.y += x->linear_acceleration.y;
		m->sum.z += x->linear_acceleration.z;
		m->n++;
	}
}

static int publish(struct sim_publisher *out, const struct mean *m)
{
	struct sim_Vector3 v = { m->sum.x / m->n, m->sum.y / m->n, m->sum.z / m->n };

	return sim_try_queue_copy(out, &v, sizeof(v), 0, NULL, NULL, NULL);
}

static void run(struct sim_step *step, struct sim_subscriber *imu, struct sim_publisher *out)
{
	struct sim_step_turn turn;
	struct mean m = { 0 };
	int r;

	while ((r = sim_step_wait(step, -1, &turn)) == 0 || r == -ENOTCONN) {
		if (r < 0) { /* simd is away for a moment */
			sleep(1);
			continue;
		}
		take_all(imu, &m);
		if (m.n > 0 && publish(out, &m) < 0)
			fprintf(stderr, "%s\n", sim_why());
		if (sim_step_done(step) < 0)
			fprintf(stderr, "%s\n", sim_why());
	}
	fprintf(stderr, "%s\n", sim_why());
}

int main(int argc, char **argv)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "mean" };
	const char *channel = argc > 1 ? argv[1] : "imu";
	unsigned rank = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	struct sim_client *client;
	struct sim_publisher *out;
	struct sim_subscriber *imu;
	struct sim_step *step;

	if (sim_connect(&o, &client) < 0 || sim_subscribe(client, channel, &sim_Imu_type, NULL, &imu) < 0 ||
	    sim_advertise(client, "mean_acceleration", &sim_Vector3_type, NULL, &out) < 0 ||
	    sim_step_join(client, rank, &step) < 0)
		return fprintf(stderr, "%s\n", sim_why()), 1;
	run(step, imu, out);
	sim_step_leave(step);
	sim_publisher_destroy(out);
	sim_subscriber_destroy(imu);
	sim_disconnect(client);
	return 1;
}
