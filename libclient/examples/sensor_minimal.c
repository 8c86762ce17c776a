/* SPDX-License-Identifier: Apache-2.0 */
/* A sensor in 30 lines: an IMU that measures at 100 Hz of simulated time. */
#include <errno.h>
#include <sim/msg/Imu.h>
#include <sim/sim.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "my-imu" };
	struct sim_client *client;
	struct sim_publisher *pub;

	if (sim_connect(&o, &client) < 0 || sim_advertise(client, "my_imu", &sim_Imu_type, NULL, &pub) < 0)
		return fprintf(stderr, "%s\n", sim_why()), 1;
	for (int64_t due = sim_now(client);; due += 10000000) {
		struct sim_slot *slot;
		struct sim_builder b;
		struct sim_Imu *imu;
		int r;

		while ((r = sim_sleep_until(client, due, 1000000000)) < 0) {
			fprintf(stderr, "%s\n", sim_why()); /* no driver yet, paused, a jump, simd is away */
			if (r == -ENOTCONN)
				sleep(1);
			if (r != -ETIMEDOUT)
				due = sim_now(client);
		}
		if (sim_loan(pub, sim_Imu_size(), &slot) < 0)
			continue;
		imu = sim_Imu_init(sim_slot_body_mut(slot), slot->body_size, &b);
		imu->orientation.w = 1; /* not turned: all zeros are no rotation */
		imu->linear_acceleration.z = 9.81;
		if (sim_try_queue(pub, slot, NULL, NULL, NULL) < 0)
			fprintf(stderr, "%s\n", sim_why());
	}
}
