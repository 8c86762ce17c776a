/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any messages of a client of the foxglove bridge: the first byte says whether it has write access, then one message
 * after the other, each 't' or 'b', two bytes of its length, its bytes. All answers must be JSON, and no request may
 * stay pending. Thread: one.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bridge/foxglove/foxglove.h"

#include "ros/ros_type.h"
#include "sim/srv/PlaceVehicle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

__attribute__((format(printf, 3, 4))) static void on_log(void *ctx, int level, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	(void)ctx;
	(void)level;
	va_start(ap, fmt);
	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		abort();
	va_end(ap);
	for (const char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			abort();
}

static int on_publish(void *ctx, const char *channel, const struct sim_type *type, const void *body, size_t size)
{
	(void)ctx;
	(void)channel;
	return sim_msg_check(type, body, size);
}

static int on_call(void *ctx, const char *service, const struct sim_service_type *type, const void *request,
		   size_t size, int64_t timeout_dur_ns, sim_answer_fn fn, void *user)
{
	static const struct sim_PlaceVehicleResponse response = { .success = 1 };

	(void)ctx;
	(void)service;
	(void)timeout_dur_ns;
	if (sim_msg_check(type->request, request, size) < 0)
		abort();
	if (size % 3 == 0)
		return -EBUSY;
	(void)fn;
	(void)response;
	free(user); /* its answer never comes: this host is one that ends */
	return 0;
}

static const struct sim_bridge_host host = {
	.abi = SIM_BRIDGE_ABI, .size = sizeof(host), .log = on_log, .publish = on_publish, .call = on_call
};

/* The threads that send, and that call simd, are missing here. */
void foxglove_server_wake(struct sim_bridge *b)
{
	(void)b;
}

void watch_wake(struct sim_bridge *b)
{
	(void)b;
}

int64_t foxglove_mono_ms(void)
{
	return 0;
}

void calls_advertise(json_t *list)
{
	(void)list;
}

bool calls_request(struct client *c, uint32_t service, uint32_t call, const uint8_t *data, size_t len)
{
	(void)c;
	(void)call;
	(void)data;
	(void)len;
	return service == 1;
}

void calls_get_parameters(struct client *c, json_t *names, const char *id)
{
	(void)c;
	(void)names;
	(void)id;
}

void calls_set_parameters(struct client *c, json_t *list, const char *id)
{
	(void)c;
	(void)list;
	(void)id;
}

void calls_asset(struct client *c, const char *uri, uint32_t request)
{
	(void)c;
	(void)uri;
	(void)request;
}

const char *sim_version(void)
{
	return "0";
}

static void open_in(struct sim_bridge *b, const char *topic, const char *type)
{
	struct topic_options w = { .type = type, .channel = "in" };
	char why[256];

	if (topic_in_open(&b->common, topic, &w, &b->in[b->n_in++], why, sizeof(why)) < 0)
		abort();
}

static struct sim_bridge *bridge(void)
{
	static struct sim_bridge *b;
	struct channel *ch;

	if (b)
		return b;
	b = calloc(1, sizeof(*b));
	b->host = &host;
	b->queue = 10;
	b->n_ids = 100;
	b->common = (struct topics){ .host = &host, .known = ros2_types, .format = WIRE_CDR };
	topics_init(&b->common);
	message_pool_init(&b->pool, &b->common);
	pthread_mutex_init(&b->lock, NULL);
	named_reader_init(&b->reader);
	open_in(b, "/a", "lgsvl_msgs/VehicleControlData");
	open_in(b, "/b", "autoware_control_msgs/Control");
	if (channel_get(b, "/x", "cdr", "std_msgs/msg/Bool", "ros2msg", "bool data", true, &ch) < 0 ||
	    channel_get(b, "/y", "json", "y", "jsonschema", "{}", false, &ch) < 0)
		abort();
	foxglove_service(b, "/place", &sim_PlaceVehicle_service); /* 103 */
	return b;
}

static void say(struct client *c, char kind, const uint8_t *data, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1); /* of its own size: a sanitizer sees a read behind it */

	memcpy(copy, data, n);
	if (kind == 't')
		client_text(c, (const char *)copy, n);
	else
		client_binary(c, copy, n);
	free(copy);
}

static void check_answers(struct client *c)
{
	struct job *done = NULL;

	for (struct item *i = c->first; i; i = i->next) {
		json_t *j = i->text && !i->binary ? json_loadb((const char *)i->text + LWS_PRE, i->len, 0, NULL) : NULL;

		if (i->text && !i->binary && !json_is_object(j))
			abort();
		json_decref(j);
	}
	client_forget(c, &done);
	if (done || c->bytes || c->n_texts || c->n_subscriptions || c->first)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sim_bridge *b = bridge();
	struct client c = { .bridge = b, .id = 1, .control = size && data[0] & 1 };
	size_t n;

	b->clients = &c;
	client_greet(&c);
	for (size_t at = 1; at + 3 <= size && !c.over; at += n) {
		n = (size_t)data[at + 1] | (size_t)data[at + 2] << 8;
		at += 3;
		n = n < size - at ? n : size - at;
		say(&c, (char)data[at - 3], data + at, n);
	}
	check_answers(&c);
	b->clients = NULL;
	return 0;
}
