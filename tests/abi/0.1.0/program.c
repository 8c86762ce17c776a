/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a release's users have: a program of each part of the library, with each of its structs of options. tools/dev/abi-store keeps it
 * beside the headers of a release; from then on it is built from those, and run with every later library. It never changes there.
 * Arguments: none; SIMD_SOCKET says where simd is, whose rig has a bridge for /abi/imu. Prints "ok with VERSION", or what went wrong.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/component.h>
#include <sim/msg/Imu.h>
#include <sim/msg/String.h>
#include <sim/node.h>
#include <sim/param.h>
#include <sim/point_cloud.h>
#include <sim/sim.h>
#include <sim/srv/SetBool.h>

#define FOREVER INT64_C(-1)

static struct sim_client *client;

/* The result, which is no failure. */
#define DO(call)    did(call, #call, __LINE__)
#define HOLDS(cond) did((cond) ? 0 : -1, #cond, __LINE__)

static int did(int r, const char *what, int line)
{
	if (r >= 0)
		return r;
	printf("line %d: %s: %d: %s\n", line, what, r, sim_why());
	exit(1);
}

/* ---- a message with numbers, through a bridge ---- */

static void fill(struct sim_slot *slot)
{
	struct sim_builder b;
	struct sim_Imu *m = sim_Imu_init(sim_slot_body_mut(slot), sim_Imu_size(), &b);

	HOLDS(m);
	m->linear_acceleration.z = 9.81;
	m->orientation.w = 1;
}

static void check(const struct sim_message *got)
{
	const struct sim_Imu *m = sim_Imu_from(got->body, got->body_size);

	HOLDS(m && m->linear_acceleration.z == 9.81 && m->orientation.w == 1);
	HOLDS(got->header.type_hash == SIM_IMU_HASH && strcmp(got->header.frame_id, "imu") == 0);
	HOLDS(got->header.stamp_sim_ns >= 0 && got->header.sequence > 0);
}

static void numbers(void)
{
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = sim_Imu_size(), .frame_id = "imu" };
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 4 };
	enum sim_reason reason = SIM_REASON_NONE;
	struct sim_bridges known = { 0 };
	struct sim_publisher *p;
	struct sim_subscriber *s;
	const struct sim_message *m;
	struct sim_slot *slot;

	DO(sim_advertise(client, "/abi/imu", &sim_Imu_type, &po, &p));
	DO(sim_subscribe(client, "/abi/imu", &sim_Imu_type, &so, &s));
	while (known.connected < 1)
		DO(sim_publisher_bridges_wait(p, &known, FOREVER));
	DO(sim_loan(p, sim_Imu_size(), &slot));
	fill(slot);
	DO(sim_publish_sync(p, slot, NULL, &reason));
	HOLDS(reason == SIM_REASON_NONE);
	HOLDS(sim_wait(s, FOREVER) == 1);
	DO(sim_take(s, &m));
	check(m);
	DO(sim_release(s, m));
	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
}

/* ---- arrays and strings, in this process ---- */

static void cloud(void)
{
	size_t capacity = sim_point_cloud_size(4);
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = capacity, .flags = SIM_PUB_LOCAL };
	const struct sim_Point *points;
	const struct sim_message *m;
	struct sim_subscriber *s;
	struct sim_publisher *p;
	struct sim_builder b;
	struct sim_slot *slot;
	struct sim_Point *at;
	uint32_t n;

	DO(sim_subscribe(client, "/abi/cloud", &sim_PointCloud_type, NULL, &s));
	DO(sim_advertise(client, "/abi/cloud", &sim_PointCloud_type, &po, &p));
	DO(sim_loan(p, capacity, &slot));
	at = sim_point_cloud_begin(sim_slot_body_mut(slot), capacity, 4, &b);
	HOLDS(at);
	memset(at, 0, 4 * sizeof(*at));
	at[2].x = 7;
	sim_point_cloud_trim(&b, 3);
	DO(sim_slot_set_size(slot, sim_builder_size(&b)));
	DO(sim_publish_local(p, slot));
	HOLDS(sim_wait(s, FOREVER) == 1);
	DO(sim_take(s, &m));
	points = sim_point_cloud_points(m->body, m->body_size, &n);
	HOLDS(points && n == 3 && points[2].x == 7);
	DO(sim_release(s, m));
	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
}

/* ---- a service, parameters ---- */

static int serve(void *user, struct sim_request *q)
{
	const struct sim_SetBoolRequest *request = sim_SetBoolRequest_from(q->body, q->size);
	struct sim_SetBoolResponse *response;
	struct sim_builder b;

	(void)user;
	response = sim_SetBoolResponse_init(q->response, q->response_capacity, &b);
	if (!request || !response || sim_SetBoolResponse_message_set(&b, "as you like") < 0)
		return -1;
	response->success = request->data;
	q->response_size = sim_builder_size(&b);
	return 0;
}

static void service(void)
{
	struct sim_service_options o = { .size = sizeof(o), .queue = 2, .deadline_dur_ns = INT64_C(60000000000) };
	struct sim_SetBoolRequest request = { .data = 1 };
	static _Alignas(64) uint8_t response[4096];
	const struct sim_SetBoolResponse *answer;
	struct sim_service *sv;
	size_t size;

	DO(sim_service_offer(client, "/abi/set", &sim_SetBool_service, &o, serve, NULL, &sv));
	DO(sim_service_call(client, "/abi/set", &sim_SetBool_service, &request, sizeof(request), 0, response,
			    sizeof(response), &size));
	answer = sim_SetBoolResponse_from(response, size);
	HOLDS(answer && answer->success && strcmp(sim_SetBoolResponse_message(answer, size), "as you like") == 0);
	sim_service_destroy(sv);
}

static int changed(void *user, const char *name, const struct sim_param_value *v, char *why, size_t why_size)
{
	(void)name;
	snprintf(why, why_size, "no more than 5");
	*(int64_t *)user = v->as.i;
	return v->as.i > 5 ? -1 : 0;
}

static void parameters(void)
{
	int64_t seen = 0, now;
	struct sim_param_options o = {
		.size = sizeof(o), .description = "[-] how often", .changed = changed, .user = &seen
	};
	struct sim_param_value one = sim_param_int(1), four = sim_param_int(4), six = sim_param_int(6);
	struct sim_params *p;

	o.min = sim_param_int(0);
	o.max = sim_param_int(100);
	DO(sim_params_create(client, "abi/params", &p));
	DO(sim_params_declare(p, "often", &one, &o));
	DO(sim_params_set(p, "often", &four));
	HOLDS(seen == 4 && sim_params_set(p, "often", &six) == -1);
	DO(sim_params_get_int(p, "often", &now));
	HOLDS(now == 4);
	sim_params_destroy(p);
}

/* ---- nodes and a component ---- */

static int twice_init(struct sim_component *c, void *self)
{
	struct sim_node_writer_options o = { .size = sizeof(o), .max_body = 64, .local = true };

	return sim_node_writer_create(sim_component_node(c), "/abi/twice", &sim_String_type, &o,
				      (struct sim_node_writer **)self);
}

static int twice_proc(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	const struct sim_String *in = sim_String_from(m[0]->body, m[0]->body_size);
	_Alignas(8) uint8_t body[64];
	char text[32];
	struct sim_builder b;

	(void)c;
	HOLDS(in && sim_String_init(body, sizeof(body), &b));
	snprintf(text, sizeof(text), "%s%s", sim_String_data(in, m[0]->body_size),
		 sim_String_data(in, m[0]->body_size));
	HOLDS(sim_String_data_set(&b, text) == 0);
	return sim_node_write_copy(*(struct sim_node_writer **)self, body, sim_builder_size(&b), 0);
}

static void twice_shutdown(struct sim_component *c, void *self)
{
	(void)c;
	sim_node_writer_destroy(*(struct sim_node_writer **)self);
}

static const struct sim_component_class twice = {
	.abi = SIM_COMPONENT_ABI,
	.size = sizeof(twice),
	.name = "Twice",
	.self_size = sizeof(struct sim_node_writer *),
	.n_inputs = 1,
	.inputs = { &sim_String_type },
	.init = twice_init,
	.proc = twice_proc,
	.shutdown = twice_shutdown,
};

static _Atomic int heard;

static void hear(void *user, const struct sim_message *m)
{
	const struct sim_String *s = sim_String_from(m->body, m->body_size);

	(void)user;
	HOLDS(s && strcmp(sim_String_data(s, m->body_size), "abab") == 0);
	atomic_store(&heard, 1);
	sim_host_stop(user);
}

static void write_ab(struct sim_node *n, struct sim_node_writer **ret)
{
	struct sim_node_writer_options o = { .size = sizeof(o), .max_body = 64, .local = true };
	_Alignas(8) uint8_t body[64];
	struct sim_builder b;

	DO(sim_node_writer_create(n, "/abi/once", &sim_String_type, &o, ret));
	HOLDS(sim_String_init(body, sizeof(body), &b) && sim_String_data_set(&b, "ab") == 0);
	DO(sim_node_write_copy(*ret, body, sim_builder_size(&b), 0));
}

static void components(void)
{
	struct sim_component_options co = { .size = sizeof(co), .name = "abi/twice", .n_inputs = 1 };
	struct sim_host_options ho = { .size = sizeof(ho), .name = "abi-host", .client = client };
	struct sim_node_reader_options ro = { .size = sizeof(ro), .depth = 2, .pending = 2 };
	struct sim_component_stats stats;
	struct sim_node_reader *reader;
	struct sim_node_writer *writer;
	struct sim_component *c;
	struct sim_node *n;
	struct sim_host *h;

	co.input[0].channel = "/abi/once";
	DO(sim_host_create(&ho, &h));
	DO(sim_component_create(h, &twice, &co, &c));
	DO(sim_node_create(h, "abi/node", &n));
	DO(sim_node_reader_create(n, "/abi/twice", &sim_String_type, &ro, hear, h, &reader));
	DO(sim_host_start(h));
	write_ab(n, &writer);
	DO(sim_host_run(h));
	sim_component_stats(c, &stats);
	HOLDS(atomic_load(&heard) && stats.failed == 0);
	sim_node_writer_destroy(writer);
	sim_node_reader_destroy(reader);
	sim_node_destroy(n);
	sim_component_destroy(c);
	sim_host_destroy(h);
}

int main(void)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "abi", .timeout_ms = 600000 };

	DO(sim_connect(&o, &client));
	numbers();
	cloud();
	service();
	parameters();
	components();
	sim_disconnect(client);
	printf("ok with %s\n", sim_version());
	return 0;
}
