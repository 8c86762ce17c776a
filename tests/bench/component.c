/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts, nodes and writers of roles. Threads: those of libsimclient. */
#include "component.h"

#include <stdio.h>
#include <stdlib.h>

#include <sim/client.h>
#include <sim/msg/Ultrasonic.h>

static void give_up(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, sim_why());
	exit(1);
}

struct sim_host *bench_host(const struct bench *b, const char *name, const char *scheduler)
{
	struct sim_host_options o = { .size = sizeof(o), .name = name, .socket = b->socket, .scheduler = scheduler };
	struct sim_host *h;

	if (sim_host_create(&o, &h) < 0)
		give_up(name);
	return h;
}

struct sim_node *bench_node(struct sim_host *h, const char *name)
{
	struct sim_node *n;

	if (sim_node_create(h, name, &n) < 0)
		give_up(name);
	return n;
}

struct sim_node_writer *bench_writer(struct sim_node *n, const char *channel, enum sim_transport transport)
{
	struct sim_node_writer_options o = { .size = sizeof(o), .max_body = 64, .transport = transport, .local = true };
	struct sim_node_writer *w;

	if (sim_node_writer_create(n, channel, &sim_Ultrasonic_type, &o, &w) < 0)
		give_up(channel);
	return w;
}
