/* SPDX-License-Identifier: Apache-2.0 */
/* See stand_in.h. */
#include "stand_in.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "err.h"

static struct stand_in *of(struct device *d)
{
	return (struct stand_in *)(void *)d;
}

static unsigned number(struct stand_in *s, const struct device_request *q)
{
	for (unsigned n = s->started; n; n--) {
		if (s->request[n].q == q)
			return n;
	}
	abort(); /* not started */
}

uint8_t stand_in_byte(unsigned n, size_t x, uint32_t y)
{
	return (uint8_t)(n * 31 + x * 7 + y * 3);
}

static int add(struct device *d, struct device_request *q)
{
	(void)q;
	of(d)->adds++;
	return 0;
}

static int start(struct device *d, struct device_request *q)
{
	struct stand_in *s = of(d);

	if (s->refuse)
		return err_set(s->refuse, "the stand-in of a device refuses");
	assert(++s->started < STAND_IN_MAX);
	s->request[s->started].q = q;
	q->direct = s->direct && !q->convert;
	if (!q->direct) {
		s->request[s->started].own = malloc(q->width * q->pixel * q->height);
		assert(s->request[s->started].own);
	}
	snprintf(d->how, sizeof(d->how), q->direct ? "direct" : "by memory of its own");
	return 0;
}

static int poll_one(struct device *d, struct device_request *q)
{
	struct stand_in *s = of(d);
	unsigned n = number(s, q);

	if (s->lost)
		return err_set(-ENODEV, "the stand-in of a device is lost");
	if (s->request[n].error)
		return err_set(s->request[n].error, "the stand-in of a device fails");
	return s->request[n].finished;
}

static bool abandon(struct device *d, struct device_request *q)
{
	(void)q;
	return of(d)->abandons;
}

static void wait_one(struct device *d, struct device_request *q, int64_t dur_ns)
{
	(void)dur_ns;
	if (of(d)->waits == WAIT_FINISHES)
		stand_in_finish(of(d), number(of(d), q));
}

static void release(struct device *d, struct device_request *q)
{
	struct stand_in *s = of(d);
	unsigned n = number(s, q);

	free(s->request[n].own);
	s->request[n].own = NULL;
	s->request[n].q = NULL;
}

static void remove_one(struct device *d, struct device_request *q, bool writes)
{
	struct stand_in *s = of(d);

	s->removes++;
	if (writes) { /* a test that ends frees it, a driver would not */
		s->writing++;
		release(d, q);
	}
}

static void destroy(struct device *d, bool writes)
{
	(void)writes;
	of(d)->destroys++;
}

static const struct device_ops ops = {
	.name = "stand-in",
	.add = add,
	.start = start,
	.poll = poll_one,
	.abandon = abandon,
	.wait = wait_one,
	.release = release,
	.remove = remove_one,
	.destroy = destroy,
};

struct device *stand_in_init(struct stand_in *s)
{
	s->d.ops = &ops;
	return &s->d;
}

void stand_in_finish(struct stand_in *s, unsigned n)
{
	struct device_request *q = s->request[n].q;
	size_t row = q->width * q->pixel;

	if (s->request[n].finished)
		return;
	for (uint32_t y = 0; y < q->height; y++) {
		uint8_t *to = q->direct ? q->to + y * q->to_pitch : s->request[n].own + y * row;

		for (size_t x = 0; x < row; x++)
			to[x] = stand_in_byte(n, x, y);
	}
	q->from = s->request[n].own;
	q->from_pitch = row;
	s->request[n].finished = true;
}

void stand_in_finish_all(struct stand_in *s)
{
	for (unsigned n = 1; n <= s->started; n++) {
		if (s->request[n].q)
			stand_in_finish(s, n);
	}
}

void stand_in_fail(struct stand_in *s, unsigned n, int error)
{
	s->request[n].error = error;
}
