/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sensor with a set frequency: the loop runs once a frame of the simulation, and the gate decides in which frames the
 * sensor is due. It follows simulated time, so it respects pause, scale and step. The frequency is a parameter, which
 * other programs can set while it runs.
 *
 *     float_array_frequency [HZ [MESSAGES]]      (default 13.4 Hz)
 *     simctl param set float-array-frequency frequency 50
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <example/msg/FloatArray.h>
#include <sim/param.h>
#include <sim/sim.h>

#define NAME     "float-array-frequency"
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

/* Runs in the library's thread; the loop uses the value from its next frame on. The value is within the bounds. */
static int on_frequency(void *user, const char *name, const struct sim_param_value *v, char *why, size_t why_size)
{
	_Atomic uint32_t *set_mhz = user;

	(void)name;
	(void)why;
	(void)why_size;
	*set_mhz = (uint32_t)(v->as.d * 1000 + 0.5);
	return 0;
}

static int offer_frequency(struct sim_client *client, double hz, _Atomic uint32_t *set_mhz, struct sim_params **ret)
{
	struct sim_param_options o = { .size = sizeof(o), .changed = on_frequency, .user = set_mhz };
	struct sim_param_value v = sim_param_double(hz);
	int r = sim_params_create(client, NAME, ret);

	o.description = "[Hz] messages a second of simulated time";
	o.min = sim_param_double(0.01);
	o.max = sim_param_double(1e9 / FRAME_NS);
	return r < 0 ? r : sim_params_declare(*ret, "frequency", &v, &o);
}

int main(int argc, char **argv)
{
	struct sim_client_options o = { .size = sizeof(o), .name = NAME };
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = example_FloatArray_size(READINGS) };
	double hz = argc > 1 ? atof(argv[1]) : 13.4;
	unsigned messages = argc > 2 ? (unsigned)atoi(argv[2]) : UINT32_MAX, n = 0;
	_Atomic uint32_t set_mhz = 0;
	struct sim_params *params = NULL;
	struct sim_client *client;
	struct sim_publisher *pub;
	struct sim_gate gate;

	if (sim_gate_init(&gate, hz > 0 && hz <= 1e6 ? (uint32_t)(hz * 1000 + 0.5) : 0) < 0 ||
	    sim_connect(&o, &client) < 0 ||
	    sim_advertise(client, "float_array", &example_FloatArray_type, &po, &pub) < 0) {
		fprintf(stderr, "%s\n", sim_why());
		return 1;
	}
	if (offer_frequency(client, hz, &set_mhz, &params) < 0)
		fprintf(stderr, "the frequency cannot be set: %s\n", sim_why());
	while (n < messages) {
		struct sim_clock_sample now;
		uint32_t mhz;

		if (sim_sleep_until(client, sim_now(client) + FRAME_NS, -1) == -ENOTCONN)
			sleep(1); /* simd is away for a moment */
		mhz = atomic_exchange(&set_mhz, 0);
		if (mhz)
			(void)sim_gate_init(&gate, mhz);
		sim_now_sample(client, &now);
		if (!sim_gate_due(&gate, &now))
			continue;
		n++;
		if (sim_publisher_bridges(pub).connected > 0) /* without a bridge skip the work */
			measure(pub, &now);
	}
	sim_params_destroy(params);
	sim_publisher_destroy(pub);
	sim_disconnect(client);
	return 0;
}
