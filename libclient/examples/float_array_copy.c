/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sensor that reuses one buffer for each message: sim_try_queue_copy() makes a deep copy, but only once the message
 * is accepted, so the buffer may be written again as soon as it returns. (Filling a loan in place saves that copy: see
 * float_array_token.c.)
 *
 *     float_array_copy [MESSAGES]
 */
#include <stdatomic.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <example/msg/FloatArray.h>
#include <sim/sim.h>

#define READINGS  1000
#define PERIOD_NS 100000000

struct outcome {
	atomic_uint delivered, failed[SIM_REASON_COUNT];
};

/* Runs exactly once for each message, on the library's thread (or in the caller, for a refusal). */
static void on_done(void *user, bool ok, enum sim_reason reason)
{
	struct outcome *out = user;

	atomic_fetch_add(ok ? &out->delivered : &out->failed[reason], 1);
}

int main(int argc, char **argv)
{
	static _Alignas(64) char buffer[sizeof(struct example_FloatArray) + READINGS * sizeof(float) + 64];
	struct sim_client_options o = { .size = sizeof(o), .name = "float-array-copy" };
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = sizeof(buffer) };
	unsigned messages = argc > 1 ? (unsigned)atoi(argv[1]) : UINT32_MAX;
	static struct outcome out;
	struct sim_builder b;
	struct example_FloatArray *msg = example_FloatArray_init(buffer, sizeof(buffer), &b);
	float *array = example_FloatArray_array_alloc(&b, READINGS);
	struct sim_client *client;
	struct sim_publisher *pub;

	if (sim_connect(&o, &client) < 0 ||
	    sim_advertise(client, "float_array", &example_FloatArray_type, &po, &pub) < 0) {
		fprintf(stderr, "%s\n", sim_why());
		return 1;
	}
	for (unsigned n = 0; n < messages; n++) {
		uint32_t valid = 1 + n % READINGS; /* data beyond that is not copied */

		if (sim_sleep_until(client, sim_now(client) + PERIOD_NS, -1) == -ENOTCONN)
			sleep(1); /* simd is away for a moment */
		for (uint32_t i = 0; i < valid; i++)
			array[i] = (float)(n + i);
		msg->timestamp = sim_now(client);
		msg->array.count = valid;
		if (sim_try_queue_copy(pub, buffer, msg->array.offset + valid * sizeof(float), 0, NULL, on_done, &out) <
		    0)
			fprintf(stderr, "%s\n", sim_why());
	}
	if (sim_flush(client, 2000000000) < 0) /* else messages outstanding now would end as "lost" */
		fprintf(stderr, "%s\n", sim_why());
	sim_publisher_destroy(pub);
	sim_disconnect(client);
	printf("%u delivered\n", out.delivered);
	for (int r = 1; r < SIM_REASON_COUNT; r++) {
		if (out.failed[r])
			printf("%u not: %s\n", out.failed[r], sim_reason_text((enum sim_reason)r));
	}
	return 0;
}
