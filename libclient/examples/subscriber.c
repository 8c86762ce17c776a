/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives in place: prints the length and the first reading of each FloatArray.
 *
 *     subscriber [CHANNEL [MESSAGES]]
 */
#include <stdio.h>
#include <stdlib.h>

#include <example/msg/FloatArray.h>
#include <sim/sim.h>

static void show(const struct sim_message *m)
{
	const struct example_FloatArray *msg = example_FloatArray_from(m->body, m->body_size);
	uint32_t n = 0;
	const float *array = msg ? example_FloatArray_array(msg, m->body_size, &n) : NULL;

	printf("%llu at %.3f s: %u readings", (unsigned long long)m->header.sequence,
	       (double)m->header.stamp_sim_ns / 1e9, n);
	if (n)
		printf(", the first is %g", (double)array[0]);
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "subscriber" };
	const char *channel = argc > 1 ? argv[1] : "float_array";
	unsigned messages = argc > 2 ? (unsigned)atoi(argv[2]) : UINT32_MAX;
	struct sim_subscriber_stats stats;
	struct sim_subscriber *sub;
	struct sim_client *client;
	const struct sim_message *m;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (sim_connect(&o, &client) < 0 || sim_subscribe(client, channel, &example_FloatArray_type, NULL, &sub) < 0) {
		fprintf(stderr, "%s\n", sim_why());
		return 1;
	}
	for (unsigned n = 0; n < messages && sim_wait(sub, -1) == 1;) { /* keeps waiting while simd restarts */
		for (; n < messages && sim_take(sub, &m) == 0; n++) {
			show(m);
			sim_release(sub, m);
		}
	}
	sim_subscriber_stats(sub, &stats);
	printf("%llu received, %llu lost\n", (unsigned long long)stats.received, (unsigned long long)stats.lost);
	sim_subscriber_destroy(sub);
	sim_disconnect(client);
	return 0;
}
