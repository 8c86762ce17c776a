/* SPDX-License-Identifier: Apache-2.0 */
/* sim/readback.h, except the start of a request (request.c). Thread: the owner's, see there. */
#include "readback_private.h"

#include <stdio.h>

#include "describe.h"
#include "mem.h"
#include "sized.h"
#include "timeutil.h"

#define IN_FLIGHT_DEFAULT 3u
#define LOANS_MAX         8u /* loans of a publisher: sim_loan() */
#define END_DUR_NS        NS_PER_S
#define DEPTH_SCALE       1000.0f

/* ---- shapes ---- */

int readback_check_shape(const struct sim_readback_shape *s, struct readback_shape *ret)
{
	size_t pixel = s ? sim_readback_pixel_size(s->format) : 0;
	struct readback_shape x;

	if (!pixel)
		return err_set(-EINVAL, "read-back: no shape was given, or one of an unknown format");
	if (!s->width || !s->height || (s->height > 1 && s->width > SIM_READBACK_SIDE_MAX) ||
	    s->height > SIM_READBACK_SIDE_MAX || s->width > UINT32_MAX / pixel)
		return err_set(-EINVAL, "read-back: %u x %u pixels: each side has 1 to %u", s->width, s->height,
			       SIM_READBACK_SIDE_MAX);
	if (s->row_pitch && (s->row_pitch % pixel || s->row_pitch / pixel < s->width))
		return err_set(
			-EINVAL,
			"read-back: a row_pitch of %u bytes is no multiple of a pixel's %zu, or less than a row of "
			"%u pixels",
			s->row_pitch, pixel, s->width);
	if (!(s->depth_scale >= 0.0f))
		return err_set(-EINVAL, "read-back: depth_scale is negative or NaN");
	x.s = *s;
	if (!s->row_pitch)
		x.s.row_pitch = (uint32_t)(s->width * pixel);
	if (s->depth_scale == 0.0f)
		x.s.depth_scale = DEPTH_SCALE;
	x.rows_size = (size_t)x.s.row_pitch * s->height;
	if (x.rows_size > UINT32_MAX)
		return err_set(-EINVAL, "read-back: %zu bytes are more than a message can be", x.rows_size);
	*ret = x;
	return 0;
}

size_t sim_readback_body_size(const struct sim_readback_shape *shape, size_t head)
{
	struct readback_shape x;

	return readback_check_shape(shape, &x) < 0 ? 0 : head + x.rows_size;
}

int sim_readback_resize(struct sim_readback *rb, const struct sim_readback_shape *shape)
{
	int r = readback_enter(rb, "sim_readback_resize");

	return r < 0 ? r : readback_check_shape(shape, &rb->shape);
}

/* ---- create ---- */

static int check_options(const struct sim_readback_options *o)
{
	unsigned most = o->publisher ? LOANS_MAX : SIM_READBACK_IN_FLIGHT_MAX;
	struct readback_shape shape;

	if (o->in_flight > most)
		return err_set(-EINVAL, "sim_readback_create: in_flight is %u; at most %u%s", o->in_flight, most,
			       o->publisher ? " with a publisher, which has so many loans" : "");
	if ((unsigned)o->full > SIM_READBACK_DROP_OLDEST)
		return err_set(-EINVAL, "sim_readback_create: unknown options.full, %d", (int)o->full);
	if (o->head % SIM_READBACK_HEAD_ALIGN || o->head > UINT16_MAX || (o->head && !o->publisher))
		return err_set(-EINVAL,
			       "sim_readback_create: head is %zu; a multiple of %u below 65536, 0 without a publisher",
			       o->head, SIM_READBACK_HEAD_ALIGN);
	if (o->user_size > UINT16_MAX)
		return err_set(-EINVAL, "sim_readback_create: user_size is %zu, above 65535", o->user_size);
	if (!o->memory != !o->memory_size || (o->memory && o->publisher))
		return err_set(-EINVAL, "sim_readback_create: memory without memory_size, or the reverse, or with a "
					"publisher");
	return readback_check_shape(&o->shape, &shape);
}

static int add_request(struct sim_readback *rb)
{
	struct request *q = MEM_NEW(struct request);
	int r;

	if (q && rb->user_size && !(q->user = mem_zalloc(rb->user_size))) {
		mem_free(q);
		q = NULL;
	}
	if (!q)
		return err_nomem();
	r = rb->dev->ops->add(rb->dev, &q->dev);
	if (r < 0) {
		mem_free(q->user);
		mem_free(q);
		return r;
	}
	list_append(&rb->idle, &q->link);
	return 0;
}

static int add_requests(struct sim_readback *rb)
{
	/* as many again that are still being written, and one in its callback */
	for (unsigned i = 0; i < 2 * rb->in_flight + 1; i++) {
		int r = add_request(rb);

		if (r < 0)
			return r;
	}
	return 0;
}

int readback_create_with(const struct sim_readback_options *o, struct device *dev, struct sim_readback **ret)
{
	struct sim_readback *rb = MEM_NEW(struct sim_readback);
	int r;

	if (!rb) {
		dev->ops->destroy(dev, false);
		return err_nomem();
	}
	rb->dev = dev;
	rb->owner = pthread_self();
	rb->full = o->full;
	rb->in_flight = o->in_flight ? o->in_flight : IN_FLIGHT_DEFAULT;
	rb->pub = o->publisher;
	rb->head = o->head;
	rb->user_size = o->user_size;
	rb->done = o->done;
	rb->done_arg = o->done_arg;
	list_init(&rb->idle);
	list_init(&rb->pending);
	list_init(&rb->finished);
	list_init(&rb->taken);
	list_init(&rb->dying);
	r = readback_check_shape(&o->shape, &rb->shape);
	if (r == 0)
		r = add_requests(rb);
	if (r == 0)
		r = worker_start(&rb->worker);
	if (r < 0) {
		sim_readback_destroy(rb);
		return r;
	}
	*ret = rb;
	return 0;
}

int sim_readback_create(const struct sim_readback_options *given, struct sim_readback **ret)
{
	struct sim_readback_options own;
	const struct sim_readback_options *o = &own;
	struct device *dev;
	int r = given && ret ? SIZED_TAKE(&own, given, "sim_readback_create: the options")
			     : err_set(-EINVAL, "sim_readback_create: no options, or the output pointer is NULL");

	if (r == 0)
		r = check_options(o);
	if (r < 0)
		return r;
	switch (o->backend) {
	case SIM_READBACK_CPU:
		r = cpu_create(o, &dev);
		break;
	case SIM_READBACK_VULKAN:
		r = vulkan_create(o, &dev);
		break;
	case SIM_READBACK_GLES:
		r = gles_create(o, &dev);
		break;
	case SIM_READBACK_CUDA:
		r = cuda_create(o, &dev);
		break;
	default:
		r = err_set(-EINVAL, "sim_readback_create: there is no back end %d", (int)o->backend);
	}
	return r < 0 ? r : readback_create_with(o, dev, ret);
}

int sim_readback_probe(enum sim_readback_backend backend)
{
	switch (backend) {
	case SIM_READBACK_CPU:
		return 0;
	case SIM_READBACK_VULKAN:
		return vulkan_probe();
	case SIM_READBACK_GLES:
		return gles_probe();
	case SIM_READBACK_CUDA:
		return cuda_probe();
	}
	return err_set(-EINVAL, "sim_readback_probe: there is no back end %d", (int)backend);
}

int sim_readback_describe(enum sim_readback_backend backend, char *ret, size_t cap)
{
	switch (backend) {
	case SIM_READBACK_CPU:
		snprintf(ret, cap, "memory of the program: one copy of each image");
		return 0;
	case SIM_READBACK_VULKAN:
		return vulkan_describe(ret, cap);
	case SIM_READBACK_GLES:
		return gles_describe(ret, cap);
	case SIM_READBACK_CUDA:
		return cuda_describe(ret, cap);
	}
	return err_set(-EINVAL, "sim_readback_describe: there is no back end %d", (int)backend);
}

/* ---- complete ---- */

int sim_readback_process(struct sim_readback *rb)
{
	int r = readback_enter(rb, "sim_readback_process");

	return r < 0 ? r : readback_turn(rb);
}

/* Processes until no request is pending and, with `dying`, none is dying either; -ETIMEDOUT. */
static int finish(struct sim_readback *rb, int64_t timeout_dur_ns, bool dying)
{
	int64_t until = timeout_dur_ns < 0 ? INT64_MAX : ns_add(mono_now_ns(), timeout_dur_ns), left = -1;

	for (;;) {
		uint32_t seen = atomic_load(&rb->worker.done_bell);
		struct request *q;

		readback_turn(rb);
		if (list_empty(&rb->pending) && (!dying || list_empty(&rb->dying)))
			return 0;
		q = readback_unfinished(rb);
		if (!q)
			continue; /* a callback has started it, and it is over */
		if (until != INT64_MAX && (left = until - mono_now_ns()) <= 0)
			return err_set(-ETIMEDOUT, "read-back: request %llu is still not over",
				       (unsigned long long)q->t.number);
		readback_wait(rb, q, seen, left);
	}
}

int sim_readback_drain(struct sim_readback *rb, int64_t timeout_dur_ns)
{
	int r = readback_enter(rb, "sim_readback_drain");

	return r < 0 ? r : finish(rb, timeout_dur_ns, false);
}

static int kill_all(struct sim_readback *rb, uint64_t number, const char *why)
{
	struct request *q;
	int n = 0;

	list_for_each(q, &rb->pending, link) {
		if (!q->dead && (!number || q->t.number == number)) {
			readback_kill(rb, q, -ECANCELED, why);
			n++;
		}
	}
	rb->n.cancelled += (uint64_t)n;
	return n;
}

int sim_readback_cancel(struct sim_readback *rb, uint64_t number)
{
	int r = readback_enter(rb, "sim_readback_cancel");

	if (r < 0)
		return r;
	r = kill_all(rb, number, "cancelled by sim_readback_cancel()");
	if (number && r == 0)
		return err_set(-ENOENT, "sim_readback_cancel: no request %llu is pending", (unsigned long long)number);
	readback_turn(rb);
	return r;
}

/* ---- without a callback ---- */

int sim_readback_take(struct sim_readback *rb, struct sim_readback_ticket **ret)
{
	struct request *q;
	int r = readback_enter(rb, "sim_readback_take");

	if (r < 0)
		return r;
	if (rb->done || !ret)
		return err_set(-EINVAL, "sim_readback_take: requests go to a callback, or the output pointer is NULL");
	q = list_first(&rb->finished, struct request, link);
	if (!q)
		return err_set(-EAGAIN, "sim_readback_take: no request has completed");
	list_remove(&q->link);
	list_append(&rb->taken, &q->link);
	*ret = &q->t;
	return 0;
}

int sim_readback_release(struct sim_readback *rb, struct sim_readback_ticket *t)
{
	struct request *q;
	int r = readback_enter(rb, "sim_readback_release");

	if (r < 0)
		return r;
	list_for_each(q, &rb->taken, link) {
		if (&q->t != t)
			continue;
		if (q->state == REQUEST_OVER) {
			readback_recycle(rb, q);
		} else {
			list_remove(&q->link);
			list_append(&rb->dying, &q->link);
		}
		return 0;
	}
	return err_set(-EINVAL, "sim_readback_release: not a request that was taken");
}

struct sim_slot *sim_readback_take_slot(struct sim_readback *rb, struct sim_readback_ticket *t)
{
	struct request *q = t ? container_of(t, struct request, t) : NULL;
	struct sim_slot *slot = t ? t->slot : NULL;

	(void)rb;
	if (slot) {
		t->slot = NULL;
		q->slot = NULL;
	}
	return slot;
}

/* ---- destroy ---- */

static bool remove_all(struct sim_readback *rb, struct list *l)
{
	bool writes = false;
	struct request *q;

	while ((q = list_first(l, struct request, link))) {
		bool still = q->state == REQUEST_ON_DEVICE && !rb->lost;

		if (q->slot && !still)
			sim_unloan(rb->pub, q->slot);
		if (q->on_dev && !still)
			rb->dev->ops->release(rb->dev, &q->dev);
		rb->dev->ops->remove(rb->dev, &q->dev, still);
		writes |= still;
		list_remove(&q->link);
		mem_free(q->user);
		mem_free(q);
	}
	return writes;
}

/* Requests that the device has not finished. */
static void give_up(struct sim_readback *rb)
{
	struct request *q;

	while ((q = list_first(&rb->pending, struct request, link))) {
		list_remove(&q->link);
		list_append(&rb->dying, &q->link);
		q->t.why = "cancelled by sim_readback_destroy(), and the device may still write into the target";
		q->t.data = NULL;
		if (rb->done)
			rb->done(rb->done_arg, &q->t);
	}
}

static void nobody(void *arg, struct sim_readback_ticket *t)
{
	(void)arg;
	(void)t;
}

void sim_readback_destroy(struct sim_readback *rb)
{
	bool writes;

	if (!rb || readback_enter(rb, "sim_readback_destroy") < 0)
		return;
	if (!rb->done)
		rb->done = nobody;
	list_splice(&rb->dying, &rb->finished);
	list_splice(&rb->dying, &rb->taken);
	rb->in_flight = 0; /* so that callbacks cannot start new requests */
	rb->full = SIM_READBACK_REFUSE;
	(void)kill_all(rb, 0, "cancelled by sim_readback_destroy()");
	(void)finish(rb, END_DUR_NS, true);
	worker_stop(&rb->worker);
	readback_turn(rb);
	rb->in_callback = true;
	give_up(rb);
	writes = remove_all(rb, &rb->dying);
	(void)remove_all(rb, &rb->idle);
	rb->dev->ops->destroy(rb->dev, writes);
	mem_free(rb);
}

void sim_readback_get_counters(const struct sim_readback *rb, struct sim_readback_counters *ret)
{
	if (!rb || !ret)
		return;
	*ret = rb->n;
	ret->imports = rb->dev->imports;
}

const char *sim_readback_how(const struct sim_readback *rb)
{
	return rb ? rb->dev->how : "";
}

const char *sim_readback_why(void)
{
	return err_why();
}
