/* SPDX-License-Identifier: Apache-2.0 */
/* See raw_iox.h. Thread: the role's main. Errors abort, as the binding itself does. */
#include "raw_iox.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "iceoryx_binding_c/api.h"
#include "plane.h"

#define DEPTH 64

struct raw_sender {
	iox_pub_storage_t storage;
	iox_pub_t pub;
};

struct raw_receiver {
	iox_sub_storage_t sub_storage;
	iox_ws_storage_t ws_storage;
	iox_sub_t sub;
	iox_ws_t ws;
};

void raw_attach(const char *app, const char *plane)
{
	setenv(PLANE_VARIABLE, plane, 1); /* for the hooks of iox_roudi.c, which are linked in */
	iox_set_loglevel(Iceoryx_LogLevel_Off);
	iox_runtime_init(app);
}

struct raw_sender *raw_sender_create(const char *channel)
{
	struct raw_sender *s = calloc(1, sizeof(*s));
	iox_pub_options_t o;

	if (!s)
		abort();
	iox_pub_options_init(&o);
	s->pub = iox_pub_init(&s->storage, "raw", channel, "msg", &o);
	return s;
}

int raw_send(struct raw_sender *s, size_t size)
{
	void *chunk;
	uint64_t stamp[2] = { 1, 2 };

	if (iox_pub_loan_aligned_chunk(s->pub, &chunk, (uint32_t)size, 64) != AllocationResult_SUCCESS)
		return -1;
	memcpy(chunk, stamp, sizeof(stamp));
	iox_pub_publish_chunk(s->pub, chunk);
	return 0;
}

int raw_sender_connected(struct raw_sender *s)
{
	return iox_pub_has_subscribers(s->pub);
}

struct raw_receiver *raw_receiver_create(const char *channel)
{
	struct raw_receiver *r = calloc(1, sizeof(*r));
	iox_sub_options_t o;

	if (!r)
		abort();
	iox_sub_options_init(&o);
	o.queueCapacity = DEPTH;
	r->sub = iox_sub_init(&r->sub_storage, "raw", channel, "msg", &o);
	r->ws = iox_ws_init(&r->ws_storage);
	if (iox_ws_attach_subscriber_event(r->ws, r->sub, SubscriberEvent_DATA_RECEIVED, 1, NULL) !=
	    WaitSetResult_SUCCESS)
		abort();
	return r;
}

int raw_take(struct raw_receiver *r, const void **ret)
{
	return iox_sub_take_chunk(r->sub, ret) == ChunkReceiveResult_SUCCESS;
}

int raw_wait_take(struct raw_receiver *r, const void **ret)
{
	struct timespec bound = { .tv_nsec = 50000000 };
	iox_notification_info_t info[4];
	uint64_t missed;

	if (raw_take(r, ret))
		return 1;
	iox_ws_timed_wait(r->ws, bound, info, 4, &missed);
	return raw_take(r, ret);
}

void raw_release(struct raw_receiver *r, const void *chunk)
{
	iox_sub_release_chunk(r->sub, chunk);
}
