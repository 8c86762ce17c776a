/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any messages of a rosbridge server, JSON or CBOR: messages of an inbound topic, requests, answers, statuses,
 * fragments. The first byte says which of both, the rest are messages, each ended by a zero byte (JSON) or alone
 * (CBOR). Thread: one.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bridge/rosbridge/rosbridge.h"

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

static unsigned n_answers;

static int on_answer(void *ctx, struct sim_pending *p, int result, const char *why, const void *response, size_t size)
{
	(void)ctx;
	if (!p || (result == 0 && sim_msg_check(&sim_PlaceVehicleResponse_type, response, size) < 0) ||
	    (result < 0 && !*why))
		abort();
	n_answers++;
	return 0;
}

static const struct sim_bridge_host host = {
	.abi = SIM_BRIDGE_ABI, .size = sizeof(host), .log = on_log, .publish = on_publish, .answer = on_answer
};

/* The sending thread is missing here. */
void rosbridge_link_wake(struct sim_bridge *b)
{
	(void)b;
}

static void open_in(struct sim_bridge *b, const char *topic, const char *type, enum compression c)
{
	struct topic_options w = { .type = type, .channel = "in" };
	char why[256];

	if (topic_in_open(&b->common, topic, &w, &b->in[b->n_in].in, why, sizeof(why)) < 0)
		abort();
	b->in[b->n_in].compression = c;
	b->in[b->n_in++].connection = 1;
}

/* One request waits: id "a". */
static void wait_for_answer(struct sim_bridge *b)
{
	static const struct topics_call call = { .name = "/place", .sim = &sim_PlaceVehicle_service };

	b->remotes.all[0] = (struct remote){
		.bridge = b, .call = &call, .pending = (struct sim_pending *)(void *)&n_answers, .id = "a"
	};
	b->remotes.n = 1;
	b->remotes.open = true;
	n_answers = 0;
}

static struct sim_bridge *bridge(void)
{
	static struct sim_bridge *b;

	if (b)
		return b;
	b = calloc(1, sizeof(*b));
	b->host = &host;
	b->connection = 1;
	b->common = (struct topics){ .host = &host, .known = ros2_types, .format = WIRE_CDR, .named = true };
	topics_init(&b->common);
	b->outbox.ops = &rosbridge_outbox_ops;
	b->outbox.arg = b;
	if (outbox_init(&b->outbox) < 0)
		abort();
	pthread_mutex_init(&b->services_lock, NULL);
	pthread_mutex_init(&b->remotes.lock, NULL);
	pthread_mutex_init(&b->context_lock, NULL);
	pthread_mutex_init(&b->sim_time.lock, NULL);
	pthread_cond_init(&b->sim_time.changed, NULL);
	b->sim_time.on = true; /* no clock is driven */
	named_reader_init(&b->reader);
	open_in(b, "/a", "lgsvl_msgs/VehicleControlData", COMPRESSION_NONE);
	open_in(b, "/a", "lgsvl_msgs/Detection3DArray", COMPRESSION_CBOR);
	open_in(b, "/r", "autoware_control_msgs/Control", COMPRESSION_CBOR_RAW);
	return b;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sim_bridge *b = bridge();
	bool binary = size && data[0] == 'c';
	size_t n;

	wait_for_answer(b);
	for (size_t at = 1; at < size; at += n + 1) {
		const uint8_t *end = binary ? NULL : memchr(data + at, '\0', size - at);
		char *copy;

		n = end ? (size_t)(end - data) - at : size - at;
		copy = malloc(n ? n : 1); /* of its own size: a sanitizer sees a read behind it */
		memcpy(copy, data + at, n);
		rosbridge_take(b, copy, n, binary);
		free(copy);
	}
	rosbridge_forget_parts(b);
	remotes_open(b, false);
	if (n_answers != 1)
		abort();
	outbox_open(&b->outbox, false);
	return 0;
}
