/* SPDX-License-Identifier: Apache-2.0 */
/* See cuda_stand_in.h: failing calls, the device, contexts, streams and events, and the controls of the test. */
#include "cuda_stand_in_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_MAX 8

#define HEAD(name) .name = { &driver.name, &driver.name }
struct driver driver = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	HEAD(contexts),
	HEAD(destroyed),
	HEAD(streams),
	HEAD(events),
	HEAD(memories),
	HEAD(opened),
	HEAD(arrays),
	HEAD(registered),
	HEAD(allocated),
	HEAD(queue),
	.pitch_max = INT32_MAX,
};

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static _Thread_local struct context *stack[STACK_MAX];
static _Thread_local int depth;

static bool initialised, held, forced, thread_runs, nth_sticky;
static unsigned permits, nth;
static int nth_result, lost, version = 12000, devices = 1;
static char failing[64];
static int failing_result;
static uint64_t records;

struct context *driver_current(void)
{
	return depth ? stack[depth - 1] : NULL;
}

bool driver_is_in(const struct list *head, const void *item)
{
	for (const struct list *l = head->next; l != head; l = l->next) {
		if (l == item) /* the link is the first member everywhere */
			return true;
	}
	return false;
}

struct memory *driver_covering(const struct list *head, uintptr_t p, size_t size)
{
	struct memory *m;

	list_for_each(m, head, link) {
		if (p >= m->base && p - m->base <= m->size && size <= m->size - (p - m->base))
			return m;
	}
	return NULL;
}

bool driver_overlaps(const struct list *head, uintptr_t p, size_t size)
{
	struct memory *m;

	list_for_each(m, head, link) {
		if (p < m->base + m->size && m->base < p + size)
			return true;
	}
	return false;
}

/* ---- every call ---- */

static void lose(int result)
{
	struct operation *o;

	lost = result;
	while ((o = list_first(&driver.queue, struct operation, link))) {
		list_remove(&o->link);
		free(o);
	}
	pthread_cond_broadcast(&changed);
}

static int injected(const char *symbol)
{
	driver.n.calls++;
	if (nth && --nth == 0) {
		if (nth_sticky)
			lose(nth_result);
		return nth_result;
	}
	return failing_result && strcmp(failing, symbol) == 0 ? failing_result : CUDA_OK;
}

static int possible(unsigned flags)
{
	if (!initialised && !(flags & NO_INIT))
		return NOT_INITIALIZED;
	if (lost && !(flags & IN_ANY_STATE))
		return lost;
	if (flags & NO_CONTEXT)
		return CUDA_OK;
	if (!driver_current())
		return CUDA_INVALID_CONTEXT;
	return driver_is_in(&driver.contexts, driver_current()) ? CUDA_OK : CUDA_CONTEXT_IS_DESTROYED;
}

int driver_begin(const char *symbol, unsigned flags)
{
	int r;

	pthread_mutex_lock(&driver.lock);
	r = injected(symbol);
	if (r == CUDA_OK)
		r = possible(flags);
	driver.n.refused_releases += r != CUDA_OK && flags & RELEASES;
	return r;
}

/* ---- the device ---- */

struct array *driver_array_of(const struct cuda_copy_side *s)
{
	return driver_is_in(&driver.arrays, s->array) ? s->array : NULL;
}

size_t driver_extent(const struct cuda_copy *c, size_t pitch)
{
	return (c->height - 1) * pitch + c->width_bytes;
}

/* Whether the memory that a side names exists; memory that is not the device's is page-locked. */
bool driver_side_exists(const struct cuda_copy *c, const struct cuda_copy_side *s)
{
	uintptr_t p = (uintptr_t)s->host;

	switch (s->type) {
	case CUDA_MEMORY_ARRAY:
		return driver_array_of(s);
	case CUDA_MEMORY_DEVICE:
		return driver_covering(&driver.memories, (uintptr_t)s->device, driver_extent(c, s->pitch)) ||
		       driver_covering(&driver.opened, (uintptr_t)s->device, driver_extent(c, s->pitch));
	default:
		return driver_covering(&driver.registered, p, driver_extent(c, s->pitch)) ||
		       driver_covering(&driver.allocated, p, driver_extent(c, s->pitch));
	}
}

static uint8_t *row_of(const struct cuda_copy_side *s, size_t y)
{
	const struct array *a;

	if (s->type == CUDA_MEMORY_HOST)
		return (uint8_t *)s->host + y * s->pitch;
	if (s->type == CUDA_MEMORY_DEVICE)
		return (uint8_t *)(uintptr_t)s->device + y * s->pitch;
	a = s->array;
	return a->data + (s->y + y) * a->a.width * a->element + s->x_bytes;
}

void driver_copy_rows(const struct cuda_copy *c)
{
	for (size_t y = 0; y < c->height; y++)
		memcpy(row_of(&c->to, y), row_of(&c->from, y), c->width_bytes);
}

static void execute(const struct operation *o)
{
	if (o->event) {
		o->event->done = o->record;
		return;
	}
	if (driver_side_exists(&o->copy, &o->copy.from) && driver_side_exists(&o->copy, &o->copy.to))
		driver_copy_rows(&o->copy);
	else
		driver.n.stray++;
}

static void *device(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&driver.lock);
	for (;;) {
		struct operation *o = list_first(&driver.queue, struct operation, link);

		if (!o || (held && !permits && !forced)) {
			pthread_cond_wait(&changed, &driver.lock);
			continue;
		}
		list_remove(&o->link);
		execute(o);
		free(o);
		if (permits)
			permits--;
		pthread_cond_broadcast(&changed);
	}
	return NULL;
}

static void start_thread(void)
{
	pthread_t t;

	if (thread_runs)
		return;
	thread_runs = pthread_create(&t, NULL, device, NULL) == 0;
	if (!thread_runs)
		abort();
	pthread_detach(t);
}

void driver_put(struct operation *o)
{
	start_thread();
	list_append(&driver.queue, &o->link);
	pthread_cond_broadcast(&changed);
}

struct operation *driver_operation(void)
{
	struct operation *o = calloc(1, sizeof(*o));

	if (!o)
		abort();
	return o;
}

/* Whatever the test holds back. */
int driver_synchronise(void)
{
	forced = true;
	pthread_cond_broadcast(&changed);
	while (!list_empty(&driver.queue))
		pthread_cond_wait(&changed, &driver.lock);
	forced = false;
	return lost ? lost : CUDA_OK;
}

/* A copy that is still to be executed touches this memory. */
bool driver_in_use(uintptr_t p, size_t size)
{
	const struct operation *o;

	list_for_each(o, &driver.queue, link) {
		uintptr_t to = (uintptr_t)o->copy.to.host, from = (uintptr_t)o->copy.from.device;

		if (o->event)
			continue;
		if (to < p + size && p < to + driver_extent(&o->copy, o->copy.to.pitch))
			return true;
		if (o->copy.from.type == CUDA_MEMORY_DEVICE && from < p + size &&
		    p < from + driver_extent(&o->copy, o->copy.from.pitch))
			return true;
	}
	return false;
}

/* ---- driver, contexts ---- */

static int initialise(unsigned flags)
{
	if (flags)
		return CUDA_INVALID_VALUE;
	if (!devices)
		return CUDA_NO_DEVICE;
	initialised = true;
	return CUDA_OK;
}

static int name_of(int result, const char **name)
{
	*name = result == CUDA_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OF_THE_STAND_IN";
	return CUDA_OK;
}

static int push(struct context *c)
{
	if (!driver_is_in(&driver.contexts, c) || depth == STACK_MAX)
		return CUDA_INVALID_CONTEXT;
	stack[depth++] = c;
	return CUDA_OK;
}

static int pop(void **ret)
{
	if (!depth)
		return CUDA_INVALID_CONTEXT;
	*ret = stack[--depth];
	return CUDA_OK;
}

static int create_context(void **ret)
{
	struct context *c = calloc(1, sizeof(*c));

	if (!c)
		return CUDA_OUT_OF_MEMORY;
	c->stream.context = c;
	list_append(&driver.contexts, &c->link);
	driver.n.contexts++;
	*ret = c;
	return push(c);
}

/* Submitted work is finished first; the handles of the context are invalid then. */
static int destroy_context(struct context *c)
{
	int r;

	if (!driver_is_in(&driver.contexts, c))
		return CUDA_INVALID_CONTEXT;
	r = driver_synchronise();
	list_remove(&c->link);
	list_append(&driver.destroyed, &c->link);
	driver.n.contexts--;
	if (driver_current() == c)
		depth--;
	return r;
}

static int set(int *to, int value)
{
	*to = value;
	return CUDA_OK;
}

static int set_pointer(void **to, void *value)
{
	*to = value;
	return CUDA_OK;
}

API(cuInit, NO_CONTEXT | NO_INIT | IN_ANY_STATE, (unsigned flags), initialise(flags))
API(cuDriverGetVersion, NO_CONTEXT | NO_INIT | IN_ANY_STATE, (int *v), set(v, version))
API(cuDeviceGetCount, NO_CONTEXT, (int *count), set(count, devices))
API(cuDeviceGetAttribute, NO_CONTEXT, (int *value, int attribute, int dev),
    dev || attribute != CUDA_DEVICE_MAX_PITCH ? CUDA_INVALID_VALUE : set(value, driver.pitch_max))
API(cuCtxGetCurrent, NO_CONTEXT | IN_ANY_STATE, (void **context), set_pointer(context, driver_current()))
API(cuCtxPushCurrent_v2, NO_CONTEXT | IN_ANY_STATE, (void *context), push(context))
API(cuCtxPopCurrent_v2, NO_CONTEXT | IN_ANY_STATE | RELEASES, (void **context), pop(context))
API(cuCtxGetDevice, 0, (int *dev), set(dev, 0))
API(cuCtxCreate_v2, NO_CONTEXT, (void **context, unsigned flags, int dev),
    flags || dev ? CUDA_INVALID_VALUE : create_context(context))
API(cuCtxDestroy_v2, NO_CONTEXT | IN_ANY_STATE, (void *context), destroy_context(context))

EXPORT int cuGetErrorName(int r, const char **name);
int cuGetErrorName(int r, const char **name) /* no call that fails, here */
{
	return name_of(r, name);
}

/* ---- streams, events ---- */

static struct stream *stream_of(void *s)
{
	if (!s)
		return driver_current() ? &driver_current()->stream : NULL;
	return driver_is_in(&driver.streams, s) && driver_is_in(&driver.contexts, ((struct stream *)s)->context) ? s
														 : NULL;
}

/* Operations are added to a stream in its context. */
struct stream *driver_stream_here(void *stream)
{
	struct stream *s = stream_of(stream);

	return s && s->context == driver_current() ? s : NULL;
}

static int create_stream(void **ret)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return CUDA_OUT_OF_MEMORY;
	s->context = driver_current();
	list_append(&driver.streams, &s->link);
	*ret = s;
	return CUDA_OK;
}

static int destroy_stream(struct stream *s)
{
	if (!driver_is_in(&driver.streams, s))
		return CUDA_INVALID_HANDLE;
	list_remove(&s->link);
	free(s);
	return CUDA_OK;
}

static int capture(void *stream, bool on)
{
	struct stream *s = stream_of(stream);

	if (!s)
		return CUDA_INVALID_HANDLE;
	s->capturing = on;
	return CUDA_OK;
}

static int stream_context(void *stream, void **ret)
{
	const struct stream *s = stream_of(stream);

	return s ? set_pointer(ret, s->context) : CUDA_INVALID_HANDLE;
}

static int is_capturing(void *stream, int *ret)
{
	const struct stream *s = stream_of(stream);

	return s ? set(ret, s->capturing) : CUDA_INVALID_HANDLE;
}

static int query_stream(void *stream)
{
	if (!stream_of(stream))
		return CUDA_INVALID_HANDLE;
	return list_empty(&driver.queue) ? CUDA_OK : CUDA_NOT_READY;
}

static int create_event(void **ret, unsigned flags)
{
	struct event *e = flags & ~7u ? NULL : calloc(1, sizeof(*e));

	if (!e)
		return CUDA_INVALID_VALUE;
	e->context = driver_current();
	list_append(&driver.events, &e->link);
	driver.n.events++;
	*ret = e;
	return CUDA_OK;
}

static int destroy_event(struct event *e)
{
	struct operation *o, *next;

	if (!driver_is_in(&driver.events, e))
		return CUDA_INVALID_HANDLE;
	list_for_each_safe(o, next, &driver.queue, link) {
		if (o->event == e) {
			driver.n.misuse++;
			list_remove(&o->link);
			free(o);
		}
	}
	list_remove(&e->link);
	driver.n.events--;
	free(e);
	return CUDA_OK;
}

static int record(struct event *e, void *stream)
{
	const struct stream *s = driver_stream_here(stream);
	struct operation *o;

	if (!s || !driver_is_in(&driver.events, e) || e->context != s->context)
		return CUDA_INVALID_HANDLE;
	o = driver_operation();
	o->event = e;
	o->record = e->last = ++records;
	driver_put(o);
	return CUDA_OK;
}

static int query_event(const struct event *e)
{
	if (!driver_is_in(&driver.events, e))
		return CUDA_INVALID_HANDLE;
	if (!driver_is_in(&driver.contexts, e->context))
		return CUDA_CONTEXT_IS_DESTROYED;
	return e->last == e->done ? CUDA_OK : CUDA_NOT_READY;
}

API(cuStreamCreate, 0, (void **stream, unsigned flags), flags & ~1u ? CUDA_INVALID_VALUE : create_stream(stream))
API(cuStreamDestroy_v2, 0, (void *stream), destroy_stream(stream))
API(cuStreamBeginCapture_v2, 0, (void *stream, int mode), mode ? CUDA_INVALID_VALUE : capture(stream, true))
API(cuStreamEndCapture, 0, (void *stream, void **graph), set_pointer(graph, NULL) + capture(stream, false))
API(cuStreamGetCtx, 0, (void *stream, void **context), stream_context(stream, context))
API(cuStreamIsCapturing, 0, (void *stream, int *status), is_capturing(stream, status))
API(cuStreamQuery, 0, (void *stream), query_stream(stream))
API(cuStreamSynchronize, 0, (void *stream), stream_of(stream) ? driver_synchronise() : CUDA_INVALID_HANDLE)
API(cuEventCreate, 0, (void **event, unsigned flags), create_event(event, flags))
API(cuEventDestroy_v2, NO_CONTEXT | RELEASES, (void *event), destroy_event(event))
API(cuEventRecord, 0, (void *event, void *stream), record(event, stream))
API(cuEventQuery, NO_CONTEXT, (void *event), query_event(event))

/* ---- the test ---- */

static void get_state(struct cuda_stand_in_state *ret)
{
	pthread_mutex_lock(&driver.lock);
	*ret = driver.n;
	ret->queued = (unsigned)list_count(&driver.queue);
	pthread_mutex_unlock(&driver.lock);
}

static int get_depth(void)
{
	return depth;
}

static void hold(bool on)
{
	pthread_mutex_lock(&driver.lock);
	held = on;
	permits = 0;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&driver.lock);
}

static void run(unsigned k)
{
	pthread_mutex_lock(&driver.lock);
	permits = k;
	pthread_cond_broadcast(&changed);
	while (permits && !list_empty(&driver.queue))
		pthread_cond_wait(&changed, &driver.lock);
	permits = 0;
	pthread_mutex_unlock(&driver.lock);
}

static void set_failing(const char *symbol, int result)
{
	pthread_mutex_lock(&driver.lock);
	snprintf(failing, sizeof(failing), "%s", symbol);
	failing_result = result;
	pthread_mutex_unlock(&driver.lock);
}

static void set_nth(unsigned k, int result, bool sticky)
{
	pthread_mutex_lock(&driver.lock);
	nth = k;
	nth_result = result;
	nth_sticky = sticky;
	pthread_mutex_unlock(&driver.lock);
}

static void lose_now(int result)
{
	pthread_mutex_lock(&driver.lock);
	lose(result);
	pthread_mutex_unlock(&driver.lock);
}

static void clear(struct list *head)
{
	while (!list_empty(head)) {
		struct list *l = head->next;

		list_remove(l);
		free(l); /* the first member everywhere */
	}
}

static void recover(void)
{
	pthread_mutex_lock(&driver.lock);
	lost = CUDA_OK;
	clear(&driver.registered);
	clear(&driver.allocated);
	clear(&driver.events);
	clear(&driver.opened);
	driver.n.registered = driver.n.allocated = driver.n.events = driver.n.opened = 0;
	pthread_mutex_unlock(&driver.lock);
}

static void set_version(int v)
{
	version = v;
}

static void set_devices(int k)
{
	devices = k;
}

static void set_pitch_max(int bytes)
{
	driver.pitch_max = bytes;
}

EXPORT const struct cuda_stand_in cuda_stand_in = {
	.state = get_state,
	.depth = get_depth,
	.hold = hold,
	.run = run,
	.refuse = set_failing,
	.fail_nth = set_nth,
	.lose = lose_now,
	.recover = recover,
	.set_version = set_version,
	.set_devices = set_devices,
	.set_pitch_max = set_pitch_max,
};
