/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: start, poll, complete in order. Thread: the owner's. */
#include "readback_private.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "sized.h"

/* ---- ending a request ---- */

static void fail(struct sim_readback *rb, struct request *q, int result, const char *why)
{
	if (q->dead)
		return;
	q->dead = true;
	q->t.result = result;
	snprintf(q->why, sizeof(q->why), "%s", why);
	rb->n.failed++;
}

static void release_device(struct sim_readback *rb, struct request *q)
{
	if (q->on_dev)
		rb->dev->ops->release(rb->dev, &q->dev);
	q->on_dev = false;
}

static void release_slot(struct sim_readback *rb, struct request *q)
{
	if (q->slot)
		sim_unloan(rb->pub, q->slot);
	q->slot = NULL;
	q->t.slot = NULL;
}

void readback_recycle(struct sim_readback *rb, struct request *q)
{
	release_device(rb, q);
	release_slot(rb, q);
	q->state = REQUEST_IDLE;
	list_remove(&q->link);
	list_prepend(&rb->idle, &q->link);
}

static void over(struct sim_readback *rb, struct request *q)
{
	q->state = REQUEST_OVER;
	release_device(rb, q);
	if (q->dead)
		release_slot(rb, q);
}

void readback_kill(struct sim_readback *rb, struct request *q, int result, const char *why)
{
	fail(rb, q, result, why);
	if (q->state == REQUEST_ON_DEVICE && rb->dev->ops->abandon(rb->dev, &q->dev))
		over(rb, q);
	else if (q->state == REQUEST_COPIED)
		atomic_store(&q->job.cancelled, true);
	else if (q->state == REQUEST_OVER)
		release_slot(rb, q);
}

/* ---- advancing a request ---- */

static void copy(struct sim_readback *rb, struct request *q)
{
	q->job.rows = (struct rows){
		.from = q->dev.from,
		.to = q->dev.to,
		.from_pitch = q->dev.from_pitch,
		.to_pitch = q->dev.to_pitch,
		.width = q->dev.width,
		.height = q->dev.height,
		.from_format = q->from_format,
		.to_format = q->t.format,
		.flip = q->flip,
		.depth_scale = q->depth_scale,
	};
	q->state = REQUEST_COPIED;
	worker_put(&rb->worker, &q->job);
}

static void look_at_device(struct sim_readback *rb, struct request *q)
{
	int r = rb->lost ? -ENODEV : rb->dev->ops->poll(rb->dev, &q->dev);

	if (r == 0)
		return;
	if (r == -ENODEV && !rb->lost) {
		rb->lost = true;
		snprintf(rb->lost_why, sizeof(rb->lost_why), "%s", err_why());
	}
	if (r < 0)
		fail(rb, q, r, r == -ENODEV ? rb->lost_why : err_why());
	if (r < 0 || q->dead || q->dev.direct)
		over(rb, q);
	else
		copy(rb, q);
}

static void advance(struct sim_readback *rb, struct request *q)
{
	if (q->state == REQUEST_ON_DEVICE)
		look_at_device(rb, q);
	if (q->state == REQUEST_COPIED && atomic_load_explicit(&q->job.done, memory_order_acquire)) {
		q->t.copies = q->job.copied;
		rb->n.copies += q->job.copied;
		over(rb, q);
	}
}

/* Whether the caller's memory is still written or read. */
static bool touches(const struct sim_readback *rb, const struct request *q)
{
	if (q->state == REQUEST_OVER)
		return false;
	return rb->dev->ops->source_memory || (!q->slot && (q->state == REQUEST_COPIED || q->dev.direct));
}

static void complete(struct sim_readback *rb, struct request *q)
{
	struct list *to = rb->done ? NULL : &rb->finished;

	list_remove(&q->link);
	q->t.why = q->dead ? q->why : "";
	if (q->dead) {
		q->t.data = NULL;
	} else {
		q->t.slot = q->slot;
		rb->n.completed++;
	}
	if (to) {
		list_append(to, &q->link);
		return;
	}
	rb->in_callback = true;
	rb->done(rb->done_arg, &q->t);
	rb->in_callback = false;
	if (q->state == REQUEST_OVER)
		readback_recycle(rb, q);
	else
		list_append(&rb->dying, &q->link);
}

static long sleeps(void)
{
	struct rusage u;

	return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nvcsw : 0;
}

int readback_turn(struct sim_readback *rb)
{
	long before = sleeps();
	struct request *q, *next;
	int n = 0;

	list_for_each(q, &rb->pending, link)
		advance(rb, q);
	list_for_each_safe(q, next, &rb->dying, link) {
		advance(rb, q);
		if (q->state == REQUEST_OVER)
			readback_recycle(rb, q);
	}
	rb->n.waits += (uint64_t)(sleeps() - before);
	while ((q = list_first(&rb->pending, struct request, link)) &&
	       (q->state == REQUEST_OVER || (q->dead && !touches(rb, q)))) {
		complete(rb, q);
		n++;
	}
	return n;
}

struct request *readback_unfinished(struct sim_readback *rb)
{
	struct request *q;

	list_for_each(q, &rb->pending, link) {
		if (q->state != REQUEST_OVER)
			return q;
	}
	return list_first(&rb->dying, struct request, link);
}

void readback_wait(struct sim_readback *rb, struct request *q, uint32_t seen, int64_t dur_ns)
{
	if (q->state == REQUEST_ON_DEVICE)
		rb->dev->ops->wait(rb->dev, &q->dev, dur_ns);
	else
		worker_wait(&rb->worker, seen, dur_ns);
	rb->n.waits++;
}

/* ---- starting a request ---- */

int readback_enter(const struct sim_readback *rb, const char *call)
{
	if (!rb)
		return err_set(-EINVAL, "%s: no read-back was given", call);
	if (!pthread_equal(rb->owner, pthread_self()))
		return err_set(-EPERM, "%s: not the thread that created the read-back; use it from that one alone",
			       call);
	if (rb->in_callback)
		return err_set(-EDEADLK, "%s: not from the callback of a request", call);
	return 0;
}

static int check_source(const struct sim_readback *rb, const struct sim_readback_source *s)
{
	const struct sim_readback_shape *to = &rb->shape.s;
	size_t pixel;

	if (!rows_possible(s->format, to->format))
		return err_set(-EINVAL, "read-back: source format %d cannot be converted to format %d", (int)s->format,
			       (int)to->format);
	pixel = sim_readback_pixel_size(s->format);
	if (s->row_pitch && (s->row_pitch % pixel || s->row_pitch / pixel < to->width))
		return err_set(-EINVAL,
			       "read-back: the source's row_pitch, %u bytes, is no multiple of its pixel's %zu, or less "
			       "than a row of %u pixels",
			       s->row_pitch, pixel, to->width);
	if (s->offset > SIZE_MAX / 2)
		return err_set(-EINVAL, "read-back: the source's offset is too large");
	if (rb->pub && s->memory)
		return err_set(-EINVAL,
			       "read-back: source.memory was given, but the target is a slot of the publisher");
	if (!rb->pub && (!s->memory || (uintptr_t)s->memory % rows_align(to->format)))
		return err_set(-EINVAL, "read-back: source.memory, the target, is NULL or not aligned to a pixel");
	return 0;
}

static unsigned live(const struct sim_readback *rb)
{
	unsigned n = (unsigned)(list_count(&rb->finished) + list_count(&rb->taken));
	const struct request *q;

	list_for_each(q, &rb->pending, link)
		n += !q->dead;
	return n;
}

static void drop_oldest(struct sim_readback *rb)
{
	struct request *q;

	list_for_each(q, &rb->pending, link) {
		if (!q->dead) {
			readback_kill(rb, q, -ECANCELED, "dropped for a newer one: in_flight requests were pending");
			rb->n.dropped++;
			return;
		}
	}
}

/* Returns 0: there is room; 1: dropped; -EAGAIN. */
static int make_room(struct sim_readback *rb)
{
	if (live(rb) >= rb->in_flight && rb->full == SIM_READBACK_DROP_OLDEST && !list_empty(&rb->idle))
		drop_oldest(rb);
	if (live(rb) < rb->in_flight && !list_empty(&rb->idle))
		return 0;
	rb->n.dropped++;
	if (rb->full != SIM_READBACK_REFUSE)
		return 1;
	return err_set(-EAGAIN, "read-back: %u requests have not completed; call sim_readback_process(), or drop some",
		       rb->in_flight);
}

static int loan(struct sim_readback *rb, struct request *q, const struct sim_readback_source *s)
{
	int r;

	q->t.capture_sim_ns = s->capture_sim_ns;
	q->dev.in_slot = rb->pub != NULL;
	q->dev.to = s->memory;
	if (!rb->pub)
		return 0;
	r = sim_loan(rb->pub, rb->head + rb->shape.rows_size, &q->slot);
	if (r < 0)
		return err_set(r, "%s", sim_why());
	if (s->capture_sim_ns)
		q->slot->stamp_sim_ns = s->capture_sim_ns;
	q->t.capture_sim_ns = q->slot->stamp_sim_ns;
	q->dev.generation = q->slot->iox_generation;
	q->dev.to = (uint8_t *)sim_slot_body_mut(q->slot) + rb->head;
	return 0;
}

static void fill(struct sim_readback *rb, struct request *q, const struct sim_readback_source *s)
{
	const struct sim_readback_shape *to = &rb->shape.s;
	size_t pixel = sim_readback_pixel_size(s->format);

	q->t = (struct sim_readback_ticket){
		.capture_sim_ns = q->t.capture_sim_ns,
		.data = q->dev.to,
		.data_size = rb->shape.rows_size,
		.width = to->width,
		.height = to->height,
		.row_pitch = to->row_pitch,
		.format = to->format,
		.why = "",
		.user = q->user,
	};
	if (q->user)
		memset(q->user, 0, rb->user_size);
	q->dead = false;
	q->from_format = s->format;
	q->flip = to->flip;
	q->depth_scale = to->depth_scale;
	q->dev.source = s;
	q->dev.pixel = pixel;
	q->dev.source_pitch = s->row_pitch ? s->row_pitch : to->width * pixel;
	q->dev.width = to->width;
	q->dev.height = to->height;
	q->dev.to_pitch = to->row_pitch;
	q->dev.to_size = rb->shape.rows_size;
	q->dev.convert = to->flip || s->format != to->format;
	q->dev.direct = false;
}

static int begin(struct sim_readback *rb, struct request *q, const struct sim_readback_source *s)
{
	int r = loan(rb, q, s);

	if (r < 0)
		return r;
	fill(rb, q, s);
	r = rb->dev->ops->start(rb->dev, &q->dev);
	q->dev.source = NULL;
	if (r < 0) {
		release_slot(rb, q);
		return r;
	}
	q->on_dev = true;
	q->state = REQUEST_ON_DEVICE;
	q->t.number = ++rb->last;
	rb->n.started++;
	list_remove(&q->link);
	list_append(&rb->pending, &q->link);
	if (rb->dev->ops->at_once)
		advance(rb, q);
	return 0;
}

static int start(struct sim_readback *rb, const struct sim_readback_source *given, struct sim_readback_ticket **ret)
{
	struct sim_readback_source s;
	struct request *q;
	int r = given ? SIZED_TAKE(&s, given, "read-back: the members of its source")
		      : err_set(-EINVAL, "read-back: no source was given");

	if (r == 0)
		r = check_source(rb, &s);
	if (r == 0 && rb->lost)
		r = err_set(-ENODEV, "%s", rb->lost_why);
	if (r == 0)
		r = make_room(rb);
	if (r != 0) {
		if (r == 1 && ret)
			*ret = NULL;
		return r;
	}
	q = list_first(&rb->idle, struct request, link);
	r = begin(rb, q, &s);
	if (r == -ENODEV && !rb->lost) {
		rb->lost = true;
		snprintf(rb->lost_why, sizeof(rb->lost_why), "%s", err_why());
	}
	if (r == 0 && ret)
		*ret = &q->t;
	return r;
}

int sim_readback_start(struct sim_readback *rb, const struct sim_readback_source *s, struct sim_readback_ticket **ret)
{
	long before;
	int r = readback_enter(rb, "sim_readback_start");

	if (r < 0 && r != -EDEADLK)
		return r;
	before = sleeps();
	r = start(rb, s, ret);
	rb->n.waits += (uint64_t)(sleeps() - before);
	return r;
}
