/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option "call": services of the far side that the rig offers to the clients of simd. Their type is one that simd
 * has itself, one of schemas/ros, or the user's own, from a .srv file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <sim/introspect.h>

#include "msg_file.h"
#include "ros/ros_definition.h"
#include "ros/ros_generic.h"
#include "ros_own.h"
#include "rpc.h"
#include "topics.h"

void topics_service_name(const struct topics *s, const struct sim_service_type *t, char ret[ROS_GENERIC_NAME_MAX])
{
	const struct ros_service *ros = rpc_service(s->known == ros1_types ? ros1_services : ros2_services, t->name);
	char name[ROS_GENERIC_NAME_MAX];
	size_t package;

	if (ros) {
		snprintf(ret, ROS_GENERIC_NAME_MAX, "%s", ros->name);
		return;
	}
	ros_generic_name(t->name, name);
	package = strcspn(name, "/");
	snprintf(ret, ROS_GENERIC_NAME_MAX, "%.*s/%s", (int)package, name, name + package + strlen("/msg/"));
}

/* Returns simd's own service type with that ROS name, or NULL. */
static const struct sim_service_type *find_builtin(const struct topics *s, const char *name)
{
	char theirs[ROS_GENERIC_NAME_MAX];

	for (const struct sim_service_type *const *t = sim_service_type_builtins(); *t; t++) {
		topics_service_name(s, *t, theirs);
		if (strcmp(theirs, name) == 0)
			return *t;
	}
	return NULL;
}

/* name: "rcl_interfaces/ListParameters_Request" */
static int make_half(const struct topics *s, const char *name, const struct sim_type **ret, char *why, size_t why_size)
{
	const struct ros_type *t;
	struct ros_text *made;
	int r = ros_definition_type(s->known, name, &t, &made);

	if (r < 0)
		return r;
	r = ros_own_type(t, s->known, ret, why, why_size);
	ros_text_destroy(made);
	return r;
}

/*
 * Makes the service type from its definition in schemas/ros. -ENOENT: not defined there, or the far side is ROS 1,
 * whose MD5 sum depends on every word of the definition's text.
 */
static int make_type(const struct topics *s, struct topics_call *c, const char *name, char *why, size_t why_size)
{
	static const char *const halves[] = { "Request", "Response" };
	char half[SIM_TYPE_NAME_MAX + 16];
	int r = s->known == ros2_types ? 0 : -ENOENT;

	for (unsigned i = 0; i < 2 && r == 0; i++) {
		snprintf(half, sizeof(half), "%s_%s", name, halves[i]);
		r = make_half(s, half, &c->made_halves[i], why, why_size);
	}
	if (r < 0)
		return r;
	snprintf(c->made_name, sizeof(c->made_name), "%s", name);
	c->made = (struct sim_service_type){ .abi = SIM_TYPE_ABI,
					     .size = sizeof(c->made),
					     .name = c->made_name,
					     .comment = "",
					     .request = c->made_halves[0],
					     .response = c->made_halves[1] };
	c->sim = &c->made;
	return 0;
}

/* type: "std_srvs/SetBool" or "std_srvs/srv/SetBool". */
static int find_type(const struct topics *s, struct topics_call *c, const char *type, const char *definition, char *why,
		     size_t why_size)
{
	const char *srv = strstr(type, "/srv/");
	char name[SIM_TYPE_NAME_MAX + 1], own[SIM_TYPE_NAME_MAX + 1];
	int n = snprintf(name, sizeof(name), "%.*s%s", srv ? (int)(srv - type) : (int)strlen(type), type,
			 srv ? srv + strlen("/srv") : "");
	int r;

	if (n >= (int)sizeof(name) || ros_generic_sim_name(name, own) < 0) {
		snprintf(why, why_size, "\"%.80s\" is not of the form package/Name or package/srv/Name", type);
		return -EINVAL;
	}
	if (definition) {
		r = msg_file_read_service(own, definition, why, why_size, &c->file);
		if (r == 0)
			c->sim = msg_file_service(c->file);
		return r;
	}
	c->sim = find_builtin(s, name);
	r = c->sim ? 0 : make_type(s, c, name, why, why_size);
	if (r != -ENOENT)
		return r;
	snprintf(why, why_size,
		 "simd knows no service of type \"%.80s\" (std_srvs/SetBool, sim_msgs/PlaceVehicle and the like): "
		 "\"definition\" must name its .srv file",
		 type);
	return -EINVAL;
}

void topics_call_finish(struct topics_call *c)
{
	msg_file_destroy(c->file);
	sim_type_unref(c->made_halves[0]);
	sim_type_unref(c->made_halves[1]);
}

static int read_entry(struct topics *s, const char *name, const json_t *j, char *why, size_t why_size)
{
	struct topics_call *c = &s->call[s->n_call];
	const json_t *file = json_object_get(j, "definition");
	const char *type = json_string_value(json_object_get(j, "type"));
	const char *service = json_string_value(json_object_get(j, "service")), *definition = json_string_value(file);
	int r = 0;

	if (!type || !service || (file && !definition) || json_object_size(j) != (file ? 3 : 2) ||
	    strlen(service) > SIM_CHANNEL_MAX) {
		snprintf(why, why_size,
			 "{\"type\": \"std_srvs/SetBool\", \"service\": \"name\"} is needed, and \"definition\" of "
			 "types of your own");
		return -EINVAL;
	}
	if (s->n_call == TOPICS_CALLS_MAX) {
		snprintf(why, why_size, "more than %u services", TOPICS_CALLS_MAX);
		return -EINVAL;
	}
	snprintf(c->own, sizeof(c->own), "%s", service);
	if (s->resolve) {
		r = s->resolve(s->arg, name, c->name, why, why_size);
	} else if (topic_name_fits(name, s->keys)) {
		snprintf(c->name, sizeof(c->name), "%s", name);
	} else {
		topic_name_bad(name, why, why_size);
		r = -EINVAL;
	}
	return r < 0 ? r : find_type(s, c, type, definition, why, why_size);
}

int topics_read_call(struct topics *s)
{
	json_t *j = json_loads(bridge_option(s->host, "call"), JSON_REJECT_DUPLICATES, NULL), *v;
	char why[512] = "an object is needed: {\"/name\": {\"type\": ..., \"service\": ...}}";
	const char *name = "";
	int r = json_is_object(j) ? 0 : -EINVAL;

	if (r == 0)
		json_object_foreach(j, name, v) {
			r = read_entry(s, name, v, why, sizeof(why));
			if (r < 0)
				break;
			s->n_call++;
		}
	if (r < 0)
		log_error(s, "options.call%s%.80s: %s", *name ? "." : "", name, why);
	json_decref(j);
	if (r == 0 && s->n_call && !SIM_BRIDGE_HOST_HAS(s->host, answer)) {
		log_error(s, "options.call: this simbridge is too old to offer services of others");
		r = -ENOTSUP;
	}
	return r;
}
