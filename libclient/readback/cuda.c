/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA: each start queues one copy in the caller's stream, after what was submitted there before, and an event after
 * the copy, which poll() queries. Thread: the owner's; the context is pushed if another one, or none, is current.
 */
#include <stdio.h>
#include <time.h>

#include "cuda_private.h"
#include "err.h"
#include "mem.h"
#include "timeutil.h"

#define WAIT_STEP_DUR_NS \
	(100 * 1000) /* the driver can wait for an event only without a time limit, so it is polled at this interval */

static struct cuda *of(struct device *d)
{
	return (struct cuda *)(void *)d;
}

/* ---- the context ---- */

/* *ret_pushed: leave() must pop it. */
static int enter(struct cuda *c, bool *ret_pushed)
{
	void *current = NULL;
	int result = c->cu.CtxGetCurrent(&current);

	*ret_pushed = false;
	if (result == CUDA_OK && current == c->context)
		return 0;
	result = c->cu.CtxPushCurrent(c->context);
	if (result != CUDA_OK)
		return cuda_failed(&c->cu, "the context cannot be made current", result);
	*ret_pushed = true;
	return 0;
}

static void leave(struct cuda *c, bool pushed)
{
	void *ours;

	if (pushed)
		(void)c->cu.CtxPopCurrent(&ours);
}

/* ---- places ---- */

static void place_finish(struct cuda *c, struct cuda_place *p)
{
	cuda_unregister(c, p->registration);
	if (p->staging)
		(void)c->cu.MemFreeHost(p->staging);
	if (p->event)
		(void)c->cu.EventDestroy(p->event);
}

static int cuda_add(struct device *d, struct device_request *q)
{
	struct cuda *c = of(d);
	struct cuda_place *p = MEM_NEW(struct cuda_place);
	bool pushed;
	int result, r;

	if (!p)
		return err_nomem();
	r = enter(c, &pushed);
	if (r == 0) {
		result = c->cu.EventCreate(&p->event, CUDA_EVENT_DISABLE_TIMING);
		leave(c, pushed);
		if (result != CUDA_OK)
			r = cuda_failed(&c->cu, "cuEventCreate", result);
	}
	if (r < 0) {
		mem_free(p);
		return r;
	}
	q->own = p;
	return 0;
}

static void cuda_remove(struct device *d, struct device_request *q, bool writes)
{
	struct cuda *c = of(d);
	bool pushed = false;

	if (!writes) {
		/* if this fails the driver refuses the calls below, which does not matter here */
		(void)enter(c, &pushed);
		place_finish(c, q->own);
		leave(c, pushed);
	}
	mem_free(q->own);
}

/* ---- a request ---- */

static void release(struct cuda *c, struct cuda_place *p)
{
	cuda_unregister(c, p->registration);
	p->registration = NULL;
	if (p->opened)
		p->opened->refs--;
	p->opened = NULL;
}

static void cuda_release(struct device *d, struct device_request *q)
{
	struct cuda *c = of(d);
	bool pushed = false;

	(void)enter(c, &pushed);
	release(c, q->own);
	leave(c, pushed);
}

static int check_stream(struct cuda *c)
{
	int status = CUDA_STREAM_CAPTURE_NONE, result = c->cu.StreamIsCapturing(c->stream, &status);

	if (result != CUDA_OK)
		return cuda_failed(&c->cu, "the stream", result);
	if (status != CUDA_STREAM_CAPTURE_NONE)
		return err_set(-EINVAL,
			       "cuda: the stream is being captured into a graph; start after the capture's end");
	return 0;
}

static int put_copy(struct cuda *c, const struct device_request *q, const struct cuda_copy *copy)
{
	const size_t row = q->width * q->pixel;
	const bool one = copy->from.type == CUDA_MEMORY_DEVICE &&
			 (q->height == 1 || (copy->from.pitch == row && copy->to.pitch == row));
	int r, result;

	if (!one && copy->to.pitch > c->pitch_max)
		return err_set(-EINVAL, "cuda: the shape's row_pitch, %zu bytes, is above the device's %zu",
			       copy->to.pitch, c->pitch_max);
	result = one ? c->cu.MemcpyDtoHAsync(copy->to.host, copy->from.device, row * q->height, c->stream)
		     : c->cu.Memcpy2DAsync(copy, c->stream);
	if (result == CUDA_OK)
		return 0;
	r = cuda_failed(&c->cu, "the copy was refused; is the source memory of this context, and large enough?",
			result);
	return result == CUDA_INVALID_VALUE || result == CUDA_INVALID_HANDLE ? -EINVAL : r;
}

static int start(struct cuda *c, struct device_request *q)
{
	struct cuda_place *p = q->own;
	struct cuda_copy copy = { .width_bytes = q->width * q->pixel, .height = q->height };
	int r = check_stream(c);

	if (r == 0)
		r = cuda_source(c, q, &copy.from);
	if (r == 0)
		r = cuda_target(c, q, &copy.to.host, &copy.to.pitch);
	copy.to.type = CUDA_MEMORY_HOST;
	if (r == 0)
		r = put_copy(c, q, &copy);
	if (r < 0) {
		release(c, p);
		return r;
	}
	/* the queued copy will be written, so if the driver refuses the event, poll() tries again */
	p->recorded = c->cu.EventRecord(p->event, c->stream) == CUDA_OK;
	return 0;
}

static int cuda_start(struct device *d, struct device_request *q)
{
	bool pushed;
	int r = enter(of(d), &pushed);

	if (r < 0)
		return r;
	r = start(of(d), q);
	leave(of(d), pushed);
	return r;
}

/* Queries the event, or the whole stream while the event could not be recorded. */
static int query(struct cuda *c, struct cuda_place *p)
{
	if (!p->recorded)
		p->recorded = c->cu.EventRecord(p->event, c->stream) == CUDA_OK;
	return p->recorded ? c->cu.EventQuery(p->event) : c->cu.StreamQuery(c->stream);
}

static int cuda_poll(struct device *d, struct device_request *q)
{
	struct cuda *c = of(d);
	bool pushed = false;
	int result, r;

	(void)enter(c, &pushed); /* the event can be queried without the context */
	result = query(c, q->own);
	r = result == CUDA_OK || result == CUDA_NOT_READY ? result == CUDA_OK : cuda_failed(&c->cu, "the copy", result);
	/*
	 * The event failed and says nothing about its copy: the target must not be released while it may be written,
	 * nor kept for ever. So this waits, which never happens with a working driver.
	 */
	if (r < 0 && r != -ENODEV)
		r = c->cu.StreamSynchronize(c->stream) == CUDA_OK ? 1 : -ENODEV;
	leave(c, pushed);
	return r;
}

static bool cuda_abandon(struct device *d, struct device_request *q)
{
	(void)d;
	(void)q;
	return false; /* the queued copy will be written */
}

static void cuda_wait(struct device *d, struct device_request *q, int64_t dur_ns)
{
	int64_t step = dur_ns >= 0 && dur_ns < WAIT_STEP_DUR_NS ? dur_ns : WAIT_STEP_DUR_NS;
	struct timespec t = { .tv_nsec = (long)step };

	(void)d;
	(void)q;
	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/* ---- the rest ---- */

static void cuda_destroy(struct device *d, bool writes)
{
	struct cuda *c = of(d);
	struct cuda_opened *o;
	bool pushed = false;

	(void)enter(c, &pushed);
	cuda_unregister(c, c->registration);
	if (!writes)
		cuda_close_all(c);
	leave(c, pushed);
	/* the device still reads this memory, so the driver keeps it open; only the record is freed */
	while ((o = list_first(&c->opened, struct cuda_opened, link))) {
		list_remove(&o->link);
		mem_free(o);
	}
	mem_free(c);
}

static const struct device_ops cuda_ops = {
	.name = "cuda",
	.add = cuda_add,
	.start = cuda_start,
	.poll = cuda_poll,
	.abandon = cuda_abandon,
	.wait = cuda_wait,
	.release = cuda_release,
	.remove = cuda_remove,
	.destroy = cuda_destroy,
};

/* Called with the context current. */
static int look_up(struct cuda *c)
{
	void *of_stream = NULL;
	int device, max = 0, result = c->cu.StreamGetCtx(c->stream, &of_stream);

	if (result != CUDA_OK)
		return cuda_failed(&c->cu, "options.cuda.stream is not a stream", result);
	if (of_stream != c->context)
		return err_set(-EINVAL,
			       "cuda: options.cuda.stream is of another context than options.cuda.context, or than "
			       "the one that is current");
	result = c->cu.CtxGetDevice(&device);
	if (result == CUDA_OK)
		result = c->cu.DeviceGetAttribute(&max, CUDA_DEVICE_MAX_PITCH, device);
	if (result != CUDA_OK)
		return cuda_failed(&c->cu, "the device's largest pitch", result);
	c->pitch_max = max > 0 ? (size_t)max : 0;
	return 0;
}

static int find_context(struct cuda *c)
{
	bool pushed;
	int result, r;

	if (!c->context) {
		result = c->cu.CtxGetCurrent(&c->context);
		if (result != CUDA_OK)
			return cuda_failed(&c->cu, "cuCtxGetCurrent", result);
	}
	if (!c->context)
		return err_set(-ENOENT, "cuda: no context is current, and options.cuda.context is NULL");
	r = enter(c, &pushed);
	if (r < 0)
		return r;
	r = look_up(c);
	leave(c, pushed);
	return r;
}

int cuda_create(const struct sim_readback_options *o, struct device **ret)
{
	struct cuda *c = MEM_NEW(struct cuda);
	int r;

	if (!c)
		return err_nomem();
	c->d.ops = &cuda_ops;
	list_init(&c->opened);
	c->context = o->cuda.context;
	c->stream = o->cuda.stream;
	c->region = (struct segment){ (uintptr_t)o->memory, o->memory_size };
	snprintf(c->d.how, sizeof(c->d.how), "cuda: nothing was started yet");
	r = cuda_load(&c->cu);
	if (r == 0)
		r = find_context(c);
	if (r < 0) {
		mem_free(c);
		return r;
	}
	*ret = &c->d;
	return 0;
}
