/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages from the far side into channels of the rig. Only channels that the rig lists under "inbound" may be
 * written; nothing is delivered while time is paused. Thread: any of the plug-in's; guarded by inbound_lock.
 */
#include <errno.h>
#include <string.h>

#include <sim/clock.h>

#include "host.h"
#include "log.h"
#include "mem.h"

LOG_TOPIC("inbound");

#define INBOUND_BODY_MAX (64u * 1024)

static bool listed(const struct host *h, const char *channel)
{
	json_t *list = json_object_get(h->config, "inbound"), *item;
	size_t i;

	json_array_foreach(list, i, item)
		if (json_is_string(item) && !strcmp(json_string_value(item), channel))
			return true;
	return false;
}

static struct host_inbound *find(struct host *h, const char *channel)
{
	for (unsigned i = 0; i < h->n_inbound; i++)
		if (!strcmp(h->inbound[i].channel, channel))
			return &h->inbound[i];
	return NULL;
}

static int open_channel(struct host *h, const char *channel, const struct sim_type *type, struct host_inbound **ret)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = INBOUND_BODY_MAX, .flags = SIM_PUB_LOCAL };
	struct host_inbound *in = &h->inbound[h->n_inbound];
	int r;

	if (h->n_inbound == HOST_INBOUND_MAX)
		return -ENOSPC;
	in->channel = mem_strdup(channel);
	if (!in->channel)
		return -ENOMEM;
	r = sim_advertise(h->client, channel, type, &o, &in->pub);
	if (r < 0) {
		log_warn("%s cannot be written: %s", channel, sim_why());
		mem_free(in->channel);
		return r;
	}
	h->n_inbound++;
	*ret = in;
	return 0;
}

static int write_body(struct host *h, const char *channel, const struct sim_type *type, const void *body, size_t size)
{
	struct host_inbound *in = find(h, channel);
	int r = in ? 0 : open_channel(h, channel, type, &in);

	return r < 0 ? r : sim_publish_local_copy(in->pub, body, size, 0);
}

int host_inbound_publish(struct host *h, const char *channel, const struct sim_type *type, const void *body,
			 size_t size)
{
	struct sim_clock_sample now;
	int r;

	if (!channel || !type || !listed(h, channel))
		return -EACCES;
	if (sim_msg_check(type, body, size) < 0)
		return -EINVAL;
	sim_now_sample(h->client, &now);
	if (now.flags & SIM_CLOCK_PAUSED)
		return -ECANCELED;
	pthread_mutex_lock(&h->inbound_lock);
	r = write_body(h, channel, type, body, size);
	pthread_mutex_unlock(&h->inbound_lock);
	return r;
}

void host_inbound_finish(struct host *h)
{
	for (unsigned i = 0; i < h->n_inbound; i++) {
		sim_publisher_destroy(h->inbound[i].pub);
		mem_free(h->inbound[i].channel);
	}
	h->n_inbound = 0;
}
