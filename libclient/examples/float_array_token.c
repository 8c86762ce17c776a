/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sensor with a type of its own that sends every frame it can, in order: with an exclusive token at most one of its
 * messages is queued or being published, and a frame that comes too early is dropped.
 *
 *     float_array_token [FRAMES]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <example/msg/FloatArray.h>
#include <sim/sim.h>

#define READINGS 1000
#define FRAME_NS 16666667 /* 60 frames a simulated second */

/* Stands for a measurement: fills part of the buffer. Returns how many readings are valid. */
static uint32_t prepare(float *array, unsigned frame)
{
	uint32_t n = READINGS / 2 + frame % (READINGS / 2);

	for (uint32_t i = 0; i < n; i++)
		array[i] = (float)(frame + i);
	return n;
}

/* Fills a loan in place, with room for all readings. */
static struct sim_slot *fill(struct sim_client *client, struct sim_publisher *pub, unsigned frame)
{
	struct example_FloatArray *msg;
	struct sim_builder b;
	struct sim_slot *slot;
	float *array;

	if (sim_loan(pub, example_FloatArray_size(READINGS), &slot) < 0)
		return NULL;
	msg = example_FloatArray_init(sim_slot_body_mut(slot), slot->body_size, &b);
	msg->timestamp = sim_now(client);
	array = example_FloatArray_array_alloc(&b, READINGS);
	msg->array.count = prepare(array, frame);
	return slot;
}

int main(int argc, char **argv)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "float-array-token" };
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = example_FloatArray_size(READINGS) };
	unsigned frames = argc > 1 ? (unsigned)atoi(argv[1]) : UINT32_MAX, sent = 0, dropped = 0;
	struct sim_client *client;
	struct sim_publisher *pub;
	struct sim_token *token;

	if (sim_connect(&o, &client) < 0 ||
	    sim_advertise(client, "float_array", &example_FloatArray_type, &po, &pub) < 0 ||
	    sim_token_open(client, "float-array", &token) < 0) {
		fprintf(stderr, "%s\n", sim_why());
		return 1;
	}
	for (unsigned frame = 0; frame < frames; frame++) {
		struct sim_slot *slot;
		int r = sim_sleep_until(client, sim_now(client) + FRAME_NS, 1000000000);

		if (r == -ENOTCONN || sim_publisher_bridges(pub).connected == 0 || !(slot = fill(client, pub, frame)))
			continue;
		/* refused while the last one is in flight (-EBUSY) or time is paused (-ECANCELED): nothing to do */
		if (sim_try_queue(pub, slot, token, NULL, NULL) == 0)
			sent++;
		else
			dropped++;
	}
	printf("%u sent, %u dropped\n", sent, dropped);
	sim_token_close(token);
	sim_publisher_destroy(pub);
	sim_disconnect(client);
	return 0;
}
