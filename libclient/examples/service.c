/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offers a service: head lights that are switched by `simctl service call headlights '{"data": true}'`, by any other
 * program, or from ROS 2 (std_srvs/SetBool) through a bridge. Ends with Enter, or when its input ends.
 */
#include <sim/sim.h>
#include <sim/srv/SetBool.h>
#include <stdio.h>

struct lights {
	int on;
	unsigned switched;
};

/* Runs on the library's thread, one request at a time. */
static int on_switch(void *user, struct sim_request *req)
{
	const struct sim_SetBoolRequest *request = sim_SetBoolRequest_from(req->body, req->size);
	struct lights *l = (struct lights *)user;
	struct sim_SetBoolResponse *response;
	struct sim_builder b;

	l->switched += l->on != request->data;
	l->on = request->data;
	response = sim_SetBoolResponse_init(req->response, req->response_capacity, &b);
	response->success = 1;
	sim_SetBoolResponse_message_set(&b, l->on ? "head lights on" : "head lights off");
	req->response_size = sim_builder_size(&b);
	return 0; /* or a negative errno, and a sentence in req->why */
}

int main(void)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "lights" };
	struct lights lights = { 0 };
	struct sim_client *client;
	struct sim_service *service;
	int c;

	if (sim_connect(&o, &client) < 0 ||
	    sim_service_offer(client, "headlights", &sim_SetBool_service, NULL, on_switch, &lights, &service) < 0)
		return fprintf(stderr, "%s\n", sim_why()), 1;
	while ((c = getchar()) != EOF && c != '\n')
		continue;
	sim_service_destroy(service);
	printf("switched %u times\n", lights.switched);
	sim_disconnect(client);
	return 0;
}
