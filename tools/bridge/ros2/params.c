/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters: each simd node that has some (NODE/list_parameters) becomes a ROS node with the six services of rclcpp,
 * and so does the bridge's own node, whose parameters are the bridge's options. Requests and answers: param_node.c.
 *
 * Thread: nodes are added and removed on the host's thread, like services.
 */
#include "params.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/srv/GetParam.h>
#include <sim/srv/ListParams.h>

#include "number.h"
#include "ros/ros_definition.h"

#define LIST         "/list_parameters"
#define EVENTS       "/parameter_events"
#define EVENTS_DEPTH 1000 /* as in rclcpp */
#define OWN_ROOM     (256u * 1024)

static const struct {
	const char *name, *type;
} calls[PARAM_CALLS_N] = {
#define X(id, name, type) { name, "rcl_interfaces/srv/" type },
	PARAM_CALLS(X)
#undef X
};

/* ---- our own: the bridge's options ---- */

static bool is_bool(const char *s)
{
	return strcmp(s, "true") == 0 || strcmp(s, "false") == 0;
}

/* The type follows from the default, so that it is the same whatever value the rig gives. */
static int put_option(struct sim_builder *b, struct sim_ParamInfo *to, const struct sim_bridge_option *o,
		      const char *value)
{
	struct sim_Param *p = &to->param;
	int64_t number;

	to->read_only = 1;
	if (strlen(o->help) <= 255)
		(void)sim_ParamInfo_description_set_in(b, to, o->help);
	if (is_bool(o->deflt) && is_bool(value)) {
		p->type = SIM_PARAM_BOOL;
		p->bool_value = *value == 't';
	} else if (number_i64(o->deflt, 10, 0, INT64_MAX, &number) == 0 &&
		   number_i64(value, 10, 0, INT64_MAX, &number) == 0) {
		p->type = SIM_PARAM_INT;
		p->int_value = number;
	} else {
		p->type = SIM_PARAM_STRING;
	}
	if (p->type == SIM_PARAM_STRING && sim_Param_string_value_set_in(b, p, value) < 0)
		return -EMSGSIZE;
	return sim_Param_name_set_in(b, p, o->name);
}

/* Values longer than a parameter may be are left out. */
static bool fits(const struct sim_bridge *b, const struct sim_bridge_option *o)
{
	return strlen(bridge_option(b->host, o->name)) <= 4096;
}

static int put_options(const struct sim_bridge *b, const struct sim_bridge_option *options, struct sim_builder *builder)
{
	struct sim_ParamInfo *list;
	uint32_t n = 0, i = 0;
	int r = 0;

	for (const struct sim_bridge_option *o = options; o->name; o++)
		n += fits(b, o);
	list = sim_ListParamsResponse_params_alloc(builder, n);
	if (!list)
		return -EMSGSIZE;
	for (const struct sim_bridge_option *o = options; o->name && r == 0; o++)
		if (fits(b, o))
			r = put_option(builder, &list[i++], o, bridge_option(b->host, o->name));
	return r;
}

static int own_table(const struct sim_bridge *b, const struct sim_bridge_option *options, struct param_table **ret)
{
	struct param_table *t = calloc(1, sizeof(*t));
	void *body = aligned_alloc(64, OWN_ROOM);
	struct sim_builder builder;
	int r = t && body && sim_ListParamsResponse_init(body, OWN_ROOM, &builder) ? 0 : -ENOMEM;

	if (r == 0)
		r = put_options(b, options, &builder);
	if (r == 0)
		r = param_table_add(t, body, sim_builder_size(&builder));
	free(body);
	if (r < 0)
		param_table_free(t);
	else
		*ret = t;
	return r < 0 ? r : 0;
}

/* ---- nodes ---- */

static void node_free(struct ros2_param_node *n)
{
	for (unsigned i = 0; i < PARAM_CALLS_N; i++)
		if (n->services[i])
			service_close(n->services[i]);
	param_node_stop(n);
	for (unsigned i = 0; i < PARAM_CALLS_N; i++)
		if (n->services[i])
			service_unref(n->services[i]);
	param_table_free(n->table);
	free(n);
}

/* "/car/lidar" is the node lidar of the namespace /car. */
static void set_name(struct ros2_param_node *n, const char *full)
{
	size_t at;

	snprintf(n->full, sizeof(n->full), "%s", full);
	n->name = strrchr(n->full, '/') + 1;
	at = (size_t)(n->name - n->full);
	memcpy(n->node_namespace, n->full, at);
	n->node_namespace[at > 1 ? at - 1 : at] = '\0';
}

static int create_services(struct ros2_param_node *n)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < PARAM_CALLS_N; i++) {
		char name[sizeof(n->full) + 32];

		snprintf(name, sizeof(name), "%s/%s", n->full, calls[i].name);
		r = service_create_param(n, name, calls[i].type, (uint8_t)i, &n->services[i]);
	}
	return r;
}

/* table: takes; NULL for a simd node, whose thread fetches it. */
static int node_create(struct sim_bridge *b, const char *simd, const char *full, struct param_table *table)
{
	struct ros2_param_node *n = calloc(1, sizeof(*n));
	int r;

	if (!n) {
		param_table_free(table);
		return -ENOMEM;
	}
	n->bridge = b;
	n->table = table;
	snprintf(n->simd, sizeof(n->simd), "%s", simd);
	set_name(n, full);
	r = param_node_start(n); /* before its services can get requests */
	if (r == 0)
		r = create_services(n);
	if (r < 0) {
		node_free(n);
		return r;
	}
	pthread_mutex_lock(&b->lock);
	b->params.nodes[b->params.n++] = n;
	ros2_graph_publish(b);
	pthread_mutex_unlock(&b->lock);
	return 0;
}

/* Removes the node from the graph first, like services. */
static void node_end(struct sim_bridge *b, unsigned i)
{
	struct ros2_param_node *n = b->params.nodes[i];

	pthread_mutex_lock(&b->lock);
	b->params.nodes[i] = b->params.nodes[--b->params.n];
	ros2_graph_publish(b);
	pthread_mutex_unlock(&b->lock);
	node_free(n);
}

/* ---- notifications of the host ---- */

static int choose_name(const struct sim_bridge *b, const char *simd, char full[TOPIC_NAME_MAX + 1], char *why,
		       size_t size)
{
	if (service_ros_name(b, simd, full, why, size) < 0)
		return -EINVAL;
	if (strlen(full) + sizeof("/set_parameters_atomicallyRequest") > TOPIC_NAME_MAX) {
		snprintf(why, size, "its name is too long for ROS");
		return -EINVAL;
	}
	for (unsigned i = 0; i < b->params.n; i++) {
		const struct ros2_param_node *n = b->params.nodes[i];

		if (strcmp(n->full, full) != 0)
			continue;
		snprintf(why, size, "it would be node %s, as %s%s is", full, *n->simd ? "node " : "the bridge",
			 n->simd);
		return -EINVAL;
	}
	return 0;
}

static int begin(struct sim_bridge *b, const char *simd, char *why, size_t size)
{
	char full[TOPIC_NAME_MAX + 1];

	if (!SIM_BRIDGE_HOST_HAS(b->host, call))
		snprintf(why, size, "this simbridge cannot call services: install a newer one");
	else if (b->params.n == ROS2_PARAM_NODES_MAX)
		snprintf(why, size, "more than %u nodes", ROS2_PARAM_NODES_MAX);
	else if (choose_name(b, simd, full, why, size) == 0)
		return node_create(b, simd, full, NULL);
	return -EINVAL;
}

/* "NODE" of "NODE/list_parameters"; "": another name. */
static void node_of(const char *service, char ret[SIM_CHANNEL_MAX + 1])
{
	size_t len = strlen(service), end = sizeof(LIST) - 1;

	ret[0] = '\0';
	if (len > end && strcmp(service + len - end, LIST) == 0)
		snprintf(ret, SIM_CHANNEL_MAX + 1, "%.*s", (int)(len - end), service);
}

bool ros2_params_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type)
{
	char simd[SIM_CHANNEL_MAX + 1], why[512] = "";
	bool was = false;
	int r;

	node_of(name, simd);
	for (unsigned i = 1; i < b->params.n && *simd && !was; i++) {
		was = strcmp(b->params.nodes[i]->simd, simd) == 0;
		if (was)
			node_end(b, i);
	}
	if (!type)
		return was;
	if (strcmp(type->name, sim_GetParam_service.name) == 0 || strcmp(type->name, sim_SetParam_service.name) == 0)
		return true; /* ROS' own services replace it */
	if (!*simd || strcmp(type->name, sim_ListParams_service.name) != 0)
		return false;
	r = begin(b, simd, why, sizeof(why));
	if (r < 0)
		log_warn(b, "the parameters of node %s are not offered: %s", simd, why[0] ? why : strerror(-r));
	else
		log_info(b, "the parameters of node %s are offered as those of %s", simd,
			 b->params.nodes[b->params.n - 1]->full);
	return true;
}

/* ---- open and close ---- */

static int create_events(struct sim_bridge *b)
{
	static const struct ros2_qos qos = { .reliable = true, .depth = EVENTS_DEPTH };
	struct endpoint e = { .name = "rt" EVENTS };
	int r = ros_definition_type(ros2_types, "rcl_interfaces/msg/ParameterEvent", &e.type, &b->params.made);

	if (r < 0)
		return r;
	e.qos = ros2_qos_create(&qos, e.type->hash);
	b->params.events = endpoint_create(b->participant, &e); /* owned by the participant, like its topic */
	return b->params.events < 0 ? dds_errno(b->params.events) : 0;
}

int ros2_params_open(struct sim_bridge *b, const struct sim_bridge_option *options)
{
	struct param_table *t = NULL;
	char full[TOPIC_NAME_MAX + 1];
	int r = create_events(b);

	if (r == 0)
		r = own_table(b, options, &t);
	snprintf(full, sizeof(full), "%s/%s", strcmp(b->node_namespace, "/") == 0 ? "" : b->node_namespace, b->node);
	if (r == 0)
		r = node_create(b, "", full, t);
	if (r < 0)
		log_error(b, "parameters cannot be offered: %s", strerror(-r));
	return r;
}

void ros2_params_close(struct sim_bridge *b)
{
	while (b->params.n)
		node_end(b, b->params.n - 1);
	ros_text_destroy(b->params.made);
}
