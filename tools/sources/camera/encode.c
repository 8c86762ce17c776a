/* SPDX-License-Identifier: Apache-2.0 */
/* See encode.h. */
#include "encode.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <turbojpeg.h>

#include <sim/msg/CompressedImage.h>

#include "mem.h"
#include "thread.h"

struct encoder {
	pthread_t thread;
	pthread_mutex_t lock; /* guards jobs, the counters and stop; held briefly */
	pthread_cond_t change;
	struct encode_job jobs[ENCODE_IN_FLIGHT];
	uint64_t put, done, taken; /* counters; job i is at jobs[i % ENCODE_IN_FLIGHT] */
	bool stop;
	int quality;
	tjhandle jpeg; /* used by the thread only */
};

static const char FORMAT[] = "jpeg";

static bool is_size(uint32_t width, uint32_t height)
{
	return width && height && width <= UINT16_MAX && height <= UINT16_MAX;
}

/* Upper bound of libjpeg's output. */
static size_t room_for(uint32_t width, uint32_t height)
{
	return tjBufSize((int)width, (int)height, TJSAMP_420);
}

size_t encode_body_size(uint32_t width, uint32_t height)
{
	return is_size(width, height) ? sim_CompressedImage_size(sizeof(FORMAT), room_for(width, height)) : 0;
}

/* ---- thread ---- */

static int fail(struct encode_job *j, const char *why)
{
	snprintf(j->why, sizeof(j->why), "a JPEG of %u by %u pixels: %s", j->width, j->height, why);
	return -EIO;
}

/* Encodes into the message's data field first, then builds the message around it: its data has the same position. */
static int encode(struct encoder *e, struct encode_job *j)
{
	unsigned long size = room_for(j->width, j->height);
	struct sim_CompressedImage *m;
	struct sim_builder b;
	unsigned char *data = NULL;

	m = sim_CompressedImage_init(j->body, j->cap, &b);
	if (m && sim_CompressedImage_format_set(&b, FORMAT) == 0)
		data = sim_CompressedImage_data_alloc(&b, (uint32_t)size);
	if (!data)
		return fail(j, "the message is larger than its room");
	if (tjCompress2(e->jpeg, j->rgba, (int)j->width, (int)j->pitch, (int)j->height, TJPF_RGBA, &data, &size,
			TJSAMP_420, e->quality, TJFLAG_NOREALLOC) < 0)
		return fail(j, tjGetErrorStr2(e->jpeg));
	m = sim_CompressedImage_init(j->body, j->cap, &b);
	m->width = j->width;
	m->height = j->height;
	(void)sim_CompressedImage_format_set(&b, FORMAT);
	(void)sim_CompressedImage_data_alloc(&b, (uint32_t)size);
	j->size = sim_builder_size(&b);
	return 0;
}

static void *run(void *arg)
{
	struct encoder *e = arg;

	pthread_mutex_lock(&e->lock);
	for (;;) {
		struct encode_job *j = &e->jobs[e->done % ENCODE_IN_FLIGHT];

		while (e->done == e->put && !e->stop)
			pthread_cond_wait(&e->change, &e->lock);
		if (e->done == e->put)
			break;
		pthread_mutex_unlock(&e->lock);
		j->result = encode(e, j);
		pthread_mutex_lock(&e->lock);
		e->done++;
		pthread_cond_broadcast(&e->change);
	}
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

/* ---- creation ---- */

int encoder_create(int quality, struct encoder **ret)
{
	struct encoder *e = quality >= 1 && quality <= 100 ? MEM_NEW(struct encoder) : NULL;
	int r = -ENOMEM;

	if (!e)
		return quality >= 1 && quality <= 100 ? -ENOMEM : -EINVAL;
	e->quality = quality;
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->change, NULL);
	e->jpeg = tjInitCompress();
	if (e->jpeg)
		r = thread_start(&e->thread, "sim-jpeg", run, e);
	if (r == 0) {
		*ret = e;
		return 0;
	}
	if (e->jpeg)
		(void)tjDestroy(e->jpeg);
	pthread_cond_destroy(&e->change);
	pthread_mutex_destroy(&e->lock);
	mem_free(e);
	return r;
}

void encoder_destroy(struct encoder *e)
{
	if (!e)
		return;
	pthread_mutex_lock(&e->lock);
	e->stop = true;
	pthread_cond_broadcast(&e->change);
	pthread_mutex_unlock(&e->lock);
	pthread_join(e->thread, NULL);
	(void)tjDestroy(e->jpeg);
	pthread_cond_destroy(&e->change);
	pthread_mutex_destroy(&e->lock);
	mem_free(e);
}

/* ---- jobs ---- */

int encoder_put(struct encoder *e, const struct encode_job *job)
{
	size_t size = encode_body_size(job->width, job->height);
	int r = 0;

	if (!size || job->cap < size || job->pitch > INT_MAX)
		return -EMSGSIZE;
	if (job->pitch < (size_t)job->width * 4)
		return -EINVAL;
	pthread_mutex_lock(&e->lock);
	if (e->put - e->taken == ENCODE_IN_FLIGHT) {
		r = -EAGAIN;
	} else {
		e->jobs[e->put % ENCODE_IN_FLIGHT] = *job;
		e->put++;
		pthread_cond_broadcast(&e->change);
	}
	pthread_mutex_unlock(&e->lock);
	return r;
}

bool encoder_take(struct encoder *e, bool wait, struct encode_job *ret)
{
	bool there;

	pthread_mutex_lock(&e->lock);
	while (wait && e->taken == e->done && e->done != e->put)
		pthread_cond_wait(&e->change, &e->lock);
	there = e->taken != e->done;
	if (there)
		*ret = e->jobs[e->taken++ % ENCODE_IN_FLIGHT];
	pthread_mutex_unlock(&e->lock);
	return there;
}
