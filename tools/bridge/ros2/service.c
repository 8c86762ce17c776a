/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services: each of the host's becomes a reader of requests and a writer of replies, for nodes of rmw_cyclonedds and,
 * if rtps_identity.h knows this build of Cyclone, for those of rmw_fastrtps. Requests and answers: service_call.c.
 *
 * Thread: services are added and removed on the host's thread.
 */
#include "params.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ros/ros_definition.h"
#include "ros/ros_type.h"

/*
 * A reply is kept until all readers have acknowledged it or a thousand newer ones exist. A write blocks for at most
 * MAX_BLOCK_DUR_NS while a reader does not acknowledge; then other services get their turn.
 */
#define SERVICE_DEPTH    1000
#define MAX_BLOCK_DUR_NS INT64_C(20000000)
#define NAME_ROOM        (TOPIC_NAME_MAX + 16) /* of a DDS topic name */

/* ---- create and free ---- */

static void service_free(struct ros2_service *s)
{
	const dds_entity_t entities[] = { atomic_load(&s->reader), s->writer, s->request_topic, s->response_topic };

	for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
		if (entities[i] > 0)
			dds_delete(entities[i]);
	if (s->serves_fastrtps) {
		rtps_identity_remove(s->bridge->identity, &s->writer_guid);
		rtps_identity_remove(s->bridge->identity, &s->reader_guid);
	}
	ros2_halves_finish(&s->types);
	sim_type_unref(s->response);
	free(s->body);
	free(s);
}

void service_ref(struct ros2_service *s)
{
	pthread_mutex_lock(&s->bridge->replies.lock);
	s->refs++;
	pthread_mutex_unlock(&s->bridge->replies.lock);
}

void service_unref(struct ros2_service *s)
{
	bool last;

	pthread_mutex_lock(&s->bridge->replies.lock);
	last = --s->refs == 0;
	pthread_mutex_unlock(&s->bridge->replies.lock);
	if (last)
		service_free(s);
}

/* ---- endpoints ---- */

/* Makes an id that no other service has: 16 bytes from the participant's GUID and a number. */
static void make_id(struct ros2_service *s)
{
	size_t n = (size_t)snprintf(s->id, sizeof(s->id), "serviceid=");
	uint32_t number = ++s->bridge->n_service_ids;
	dds_guid_t guid = { { 0 } };

	(void)dds_get_guid(s->bridge->participant, &guid);
	memcpy(guid.v + 12, &number, sizeof(number));
	for (size_t i = 0; i < sizeof(guid.v); i++)
		n += (size_t)snprintf(s->id + n, sizeof(s->id) - n, "%s%x", i ? "." : "", guid.v[i]);
	snprintf(s->id + n, sizeof(s->id) - n, ";");
}

static dds_qos_t *endpoint_qos(const struct ros2_service *s, const struct ros_type *type)
{
	static const struct ros2_qos services_default = { .reliable = true, .depth = SERVICE_DEPTH };
	dds_qos_t *qos = ros2_qos_create(&services_default, "");
	char data[256];
	int n;

	if (!qos)
		return NULL;
	n = snprintf(data, sizeof(data), "%stypehash=%s;", s->id, type->hash);
	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, MAX_BLOCK_DUR_NS);
	dds_qset_userdata(qos, data, (size_t)n);
	return qos;
}

void ros2_identity_open(struct sim_bridge *b, const struct ddsi_sertype *type)
{
	char why[256] = "";
	int r;

	if (b->identity || b->no_identity)
		return;
	r = rtps_identity_open(type, &b->identity, why, sizeof(why));
	b->no_identity = r < 0;
	if (r < 0)
		log_warn(b,
			 "services are for nodes of rmw_cyclonedds alone: those of rmw_fastrtps need Debian's build "
			 "of Cyclone DDS 0.10.2 with its defaults, and %s",
			 why[0] ? why : strerror(-r));
}

/* Called before any request can arrive: the writer is created before the reader. */
static void serve_fastrtps(struct ros2_service *s)
{
	struct sim_bridge *b = s->bridge;

	ros2_identity_open(b, s->response_sertype);
	s->serves_fastrtps = b->identity && dds_get_guid(s->writer, &s->writer_guid) == 0 &&
			     rtps_identity_add(b->identity, &s->writer_guid) == 0;
}

static int create_writer(struct ros2_service *s)
{
	char name[NAME_ROOM];
	struct endpoint e = { .name = name,
			      .type = s->types.response,
			      .qos = endpoint_qos(s, s->types.response),
			      .listener = dds_create_listener(s) };

	dds_lset_publication_matched(e.listener, service_on_matched);
	snprintf(name, sizeof(name), "rr%sReply", s->name);
	s->writer = endpoint_create(s->bridge->participant, &e);
	s->response_topic = e.topic;
	s->response_sertype = e.sertype;
	if (s->writer < 0)
		return dds_errno(s->writer);
	serve_fastrtps(s);
	return 0;
}

static int create_reader(struct ros2_service *s)
{
	char name[NAME_ROOM];
	struct endpoint e = { .name = name,
			      .type = s->types.request,
			      .qos = endpoint_qos(s, s->types.request),
			      .listener = dds_create_listener(s),
			      .reads = true,
			      .keeps_origin = s->serves_fastrtps };
	dds_entity_t reader;

	dds_lset_data_available(e.listener, service_on_data);
	snprintf(name, sizeof(name), "rq%sRequest", s->name);
	reader = endpoint_create(s->bridge->participant, &e);
	s->request_topic = e.topic;
	if (reader < 0)
		return dds_errno(reader);
	atomic_store(&s->reader, reader);
	if (s->serves_fastrtps && dds_get_guid(reader, &s->reader_guid) == 0)
		/* cannot fail: there is room for both endpoints of all services */
		(void)rtps_identity_add(s->bridge->identity, &s->reader_guid);
	return 0;
}

/* Creates the writer first: a client may send a request as soon as it discovers the reader. */
static int create_endpoints(struct ros2_service *s)
{
	int r;

	make_id(s);
	r = create_writer(s);
	return r < 0 ? r : create_reader(s);
}

/* ---- notifications of the host ---- */

int service_ros_name(const struct sim_bridge *b, const char *simd, char ret[TOPIC_NAME_MAX + 1], char *why, size_t size)
{
	if (topic_name_ok(simd)) {
		snprintf(ret, TOPIC_NAME_MAX + 1, "%s", simd);
		return 0;
	}
	if (!b->common.strict_names && topic_name_auto(simd, ret))
		return 0;
	topic_name_bad(simd, why, size);
	return -EINVAL;
}

/* Chooses the ROS name. -EINVAL if another service has that name already, by its own or its automatic form. */
static int choose_name(const struct sim_bridge *b, const char *simd, char ret[TOPIC_NAME_MAX + 1], char *why,
		       size_t size)
{
	if (service_ros_name(b, simd, ret, why, size) < 0)
		return -EINVAL;
	for (unsigned i = 0; i < b->n_services; i++)
		if (strcmp(b->services[i]->name, ret) == 0) {
			snprintf(why, size, "it would go out as %s, as service %s does", ret, b->services[i]->simd);
			return -EINVAL;
		}
	return 0;
}

static int check(struct sim_bridge *b, char *why, size_t size)
{
	if (!SIM_BRIDGE_HOST_HAS(b->host, call))
		snprintf(why, size, "this simbridge cannot call services: install a newer one");
	else if (b->n_services == ROS2_SERVICES_MAX)
		snprintf(why, size, "more than %u services", ROS2_SERVICES_MAX);
	else
		return 0;
	return -EINVAL;
}

static int service_create(struct sim_bridge *b, const char *simd, const char *name, const struct sim_service_type *type,
			  struct ros2_service **ret, char *why, size_t why_size)
{
	struct ros2_service *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->bridge = b;
	s->type = type;
	s->response = sim_type_ref(type->response);
	s->refs = 1;
	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(s->simd, sizeof(s->simd), "%s", simd);
	s->body = aligned_alloc(64, SIM_SERVICE_BODY_MAX);
	r = s->body ? ros2_halves_find(type, &s->types, why, why_size) : -ENOMEM;
	if (r == 0)
		r = create_endpoints(s);
	if (r < 0)
		service_free(s);
	else
		*ret = s;
	return r;
}

static int find_half(const char *service, const char *half, const struct ros_type **ret, struct ros_text **ret_made)
{
	char name[128];

	snprintf(name, sizeof(name), "%s_%s", service, half);
	return ros_definition_type(ros2_types, name, ret, ret_made);
}

int service_create_param(struct ros2_param_node *n, const char *name, const char *type, uint8_t call,
			 struct ros2_service **ret)
{
	struct ros2_service *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->bridge = n->bridge;
	s->refs = 1;
	s->params = n;
	s->param_call = call;
	snprintf(s->name, sizeof(s->name), "%s", name);
	r = find_half(type, "Request", &s->types.request, &s->types.made[0]);
	if (r == 0)
		r = find_half(type, "Response", &s->types.response, &s->types.made[1]);
	if (r == 0)
		r = create_endpoints(s);
	if (r < 0)
		service_free(s);
	else
		*ret = s;
	return r;
}

static void begin(struct sim_bridge *b, const char *simd, const struct sim_service_type *type)
{
	struct ros2_service *s;
	char why[512] = "", name[TOPIC_NAME_MAX + 1];
	int r = check(b, why, sizeof(why));

	if (r == 0)
		r = choose_name(b, simd, name, why, sizeof(why));
	if (r == 0)
		r = service_create(b, simd, name, type, &s, why, sizeof(why));
	if (r < 0) {
		log_warn(b, "service %s is not offered: %s", simd, why[0] ? why : strerror(-r));
		return;
	}
	pthread_mutex_lock(&b->lock);
	b->services[b->n_services++] = s;
	ros2_graph_publish(b);
	pthread_mutex_unlock(&b->lock);
	if (strcmp(name, simd) == 0)
		log_info(b, "service %s (%s) is offered", simd, type->name);
	else
		log_info(b, "service %s (%s) is offered as %s", simd, type->name, name);
}

void service_close(struct ros2_service *s)
{
	dds_delete(atomic_exchange(&s->reader, 0)); /* waits for a running callback */
	service_calls_end(s);
}

/* Removes the service from the graph first; then no request is taken, and those already taken are still answered. */
static void end(struct sim_bridge *b, unsigned i)
{
	struct ros2_service *s = b->services[i];

	pthread_mutex_lock(&b->lock);
	b->services[i] = b->services[--b->n_services];
	ros2_graph_publish(b);
	pthread_mutex_unlock(&b->lock);
	service_close(s);
	service_unref(s);
}

void ros2_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type)
{
	if (ros2_params_service(b, name, type))
		return;
	for (unsigned i = 0; i < b->n_services; i++)
		if (strcmp(b->services[i]->simd, name) == 0) {
			end(b, i);
			break;
		}
	if (type)
		begin(b, name, type);
}

dds_entity_t ros2_service_reader(const struct ros2_service *s)
{
	return atomic_load(&s->reader);
}
dds_entity_t ros2_service_writer(const struct ros2_service *s)
{
	return s->writer;
}

int ros2_services_open(struct sim_bridge *b)
{
	return service_calls_open(b);
}

void ros2_services_close(struct sim_bridge *b)
{
	if (!b->replies.running)
		return;
	while (b->n_services)
		end(b, 0);
	service_calls_close(b);
}
