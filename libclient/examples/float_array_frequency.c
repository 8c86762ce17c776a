/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sensor with a set frequency: the loop runs once a frame of the simulation, the gate says in which frames
 * the sensor is due. It follows simulated time, so pause, scale and step are respected by themselves.
 *
 *     float_array_frequency [HZ [MESSAGES]]      (13.4 Hz unless said)
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <example/msg/FloatArray.h>
#include <sim/sim.h>

#define READINGS 1000
#define FRAME_NS 5000000 /* 200 frames a simulated second */

static void measure(struct sim_publisher *pub, const struct sim_clock_sample *now)
{
	struct example_FloatArray *msg;
	struct sim_builder b;
	struct sim_slot *slot;
	float *array;

	if (sim_loan(pub, example_FloatArray_size(READINGS), &slot) < 0)
		return;
	msg = example_FloatArray_init(sim_slot_body_mut(slot), slot->body_size, &b);
	msg->timestamp = now->sim_ns;
	array = example_FloatArray_array_alloc(&b, READINGS);
	for (int i = 0; i < READINGS; i++)
		array[i] = (float)i;
	if (sim_try_queue(pub, slot, NULL, NULL, NULL) < 0)
		fprintf(stderr, "%s\n", sim_why());
}

int main(int argc, char **argv)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "float-array-frequency" };
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = example_FloatArray_size(READINGS) };
	double hz = argc > 1 ? atof(argv[1]) : 13.4;
	unsigned messages = argc > 2 ? (unsigned)atoi(argv[2]) : UINT32_MAX, n = 0;
	struct sim_client *client;
	struct sim_publisher *pub;
	struct sim_gate gate;

	if (sim_gate_init(&gate, hz > 0 && hz <= 1e6 ? (uint32_t)(hz * 1000 + 0.5) : 0) < 0 ||
	    sim_connect(&o, &client) < 0 ||
	    sim_advertise(client, "float_array", &example_FloatArray_type, &po, &pub) < 0) {
		fprintf(stderr, "%s\n", sim_why());
		return 1;
	}
	while (n < messages) {
		struct sim_clock_sample now;

		if (sim_sleep_until(client, sim_now(client) + FRAME_NS, -1) == -ENOTCONN)
			sleep(1); /* simd is away for a moment */
		sim_now_sample(client, &now);
		if (!sim_gate_due(&gate, &now))
			continue;
		n++;
		if (sim_publisher_bridges(pub).connected > 0) /* else skip the work */
			measure(pub, &now);
	}
	sim_publisher_destroy(pub);
	sim_disconnect(client);
	return 0;
}
