/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_iox: the iceoryx 2.0.3 backend of the data plane, the only file that includes iceoryx. It is linked into the
 * module ipc_iox.so, which ipc_load.c loads into a fresh link namespace per attachment.
 *
 * Threads: everything that RouDi has to answer (start, creating ports and condition variables) runs on the worker
 * (ipc_iox_attach.c); the data path on the caller's thread, inside a guard.
 * Never:   thread_local, pthread keys (they collide across namespaces), iceoryx's static destructors.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "iceoryx_binding_c/api.h"

#include "ipc_iox_int.h"
#include "ipc_iox_layout.h"
#include "ipc_iox_pool.h"

#define SERVICE       "sim"
#define EVENT         "msg"
#define WAITER_EVENTS 65 /* 64 subscribers, and the trigger of ipc_waiter_wake() */
#define TRIGGER_ID    0u
#define SUB_ID        1u

struct port {
	struct iox_guard guard;
	const char *first, *end; /* the payload segment */
	union {
		iox_pub_t pub;
		iox_sub_t sub;
	};
	union {
		iox_pub_storage_t pub_storage;
		iox_sub_storage_t sub_storage;
	};
};

struct waiter {
	struct iox_guard guard;
	iox_ws_t ws;
	iox_user_trigger_t trigger;
	iox_ws_storage_t ws_storage;
	iox_user_trigger_storage_t trigger_storage;
	struct waiter *next; /* own.waiters */
};

/* What this attachment has created, and what RouDi answered. */
static struct {
	pthread_mutex_t lock; /* guards waiters; not held inside iceoryx, except for the wake-up */
	struct waiter *waiters;
	struct port *pools_sub;
	unsigned int n_pools;
	struct ipc_pool pools[32];
	struct iox_pools *scan; /* NULL: only RouDi's own gauges are available */
} own = { .lock = PTHREAD_MUTEX_INITIALIZER };

/*
 * Any thread, also while another is inside the waiter: with a guard of its own. If a FATAL error happens here the
 * attachment is over anyway.
 */
static void trigger(struct waiter *w)
{
	struct iox_guard g = { 0 };

	iox_guard_add(&g);
	if (!__builtin_setjmp(g.env)) {
		iox_guard_enter(&g);
		iox_user_trigger_trigger(w->trigger);
	}
	iox_guard_leave(&g);
	iox_guard_del(&g);
}

void iox_wake_waiters(void)
{
	pthread_mutex_lock(&own.lock);
	for (struct waiter *w = own.waiters; w; w = w->next)
		trigger(w);
	pthread_mutex_unlock(&own.lock);
}

/* Called after a FATAL error inside a guard: the attachment is over, its data stays readable. */
static int guard_died(struct iox_guard *g)
{
	iox_guard_leave(g);
	iox_attachment_over();
	return -ESTALE;
}

/*
 * A call into iceoryx: 0, or -ESTALE when a FATAL error left it by a jump to here. Its assignments are defined only
 * with 0. A macro, because the frame to which the jump returns must still exist.
 */
#define GUARDED(g, call) \
	(__builtin_setjmp((g)->env) ? guard_died(g) : (iox_guard_enter(g), (void)(call), iox_guard_leave(g), 0))

/* ---- jobs of the worker ---- */

static void silence(void)
{
	int fd;

	if (getenv("SIM_IPC_DEBUG")) {
		iox_set_loglevel(Iceoryx_LogLevel_Debug);
		return;
	}
	iox_set_loglevel(Iceoryx_LogLevel_Off);
	/*
	 * Output to std::cerr cannot be switched off: a kilobyte for every loan from an empty pool. This FILE is the
	 * module's own.
	 */
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		stderr->_fileno = fd;
}

static int do_start(struct iox_job *j)
{
	silence();
	iox_runtime_init(j->instance);
	return 0;
}

/*
 * Whether the answer is a port in the mapped memory, made for this channel and this attachment. RouDi answers with an
 * offset, and any process that may write into this attachment's socket could answer too: an answer of another RouDi, or
 * a forged one, leads to zeros or anywhere, and iceoryx would crash at the first loan.
 */
static bool is_port(const char *port, size_t size, const struct iox_job *j)
{
	struct iox_seg m;

	return iox_seg_current() && iox_seg_mgmt(&m) == 0 && port >= m.base && size <= m.size &&
	       (size_t)(port - m.base) <= m.size - size && (uintptr_t)port % 8 == 0 &&
	       strncmp(port + IOX_PORT_CHANNEL, j->instance, IOX_STRING_SIZE) == 0 &&
	       strncmp(port + IOX_PORT_OWNER, iox_runtime_name(), IOX_STRING_SIZE) == 0;
}

/* The handle's first member is the port; NULL is the only sign of a refused creation. */
static int answered(void *handle, size_t size, const struct iox_job *j)
{
	if (!handle || !*(void **)handle)
		return iox_error_of(-EIO);
	return is_port(*(const char *const *)handle, size, j) ? 0 : -EIO;
}

static void know_payload(struct port *p)
{
	struct iox_seg seg;

	if (iox_seg_payload(&seg) == 0) {
		p->first = seg.base;
		p->end = seg.base + seg.size;
	}
}

static bool in_payload(const struct port *p, const char *slot)
{
	return slot >= p->first + IOX_HEADER_SIZE && slot < p->end;
}

static int do_pub(struct iox_job *j, struct port *p)
{
	iox_pub_options_t o;

	iox_pub_options_init(&o);
	o.historyCapacity = j->history;
	o.subscriberTooSlowPolicy = ConsumerTooSlowPolicy_DISCARD_OLDEST_DATA;
	p->pub = iox_pub_init(&p->pub_storage, j->service, j->instance, j->event, &o);
	know_payload(p);
	return answered(p->pub, IOX_PORT_SIZE, j);
}

static int do_sub(struct iox_job *j, struct port *p)
{
	iox_sub_options_t o;

	iox_sub_options_init(&o);
	o.queueCapacity = j->depth;
	o.historyRequest = j->history;
	o.queueFullPolicy = QueueFullPolicy_DISCARD_OLDEST_DATA;
	p->sub = iox_sub_init(&p->sub_storage, j->service, j->instance, j->event, &o);
	know_payload(p);
	return answered(p->sub, IOX_SUB_SIZE, j);
}

static int do_waiter(struct waiter *w)
{
	w->ws = iox_ws_init(&w->ws_storage);
	if (atomic_load(&iox_report.error) || atomic_load(&iox_report.unanswered))
		return iox_error_of(-EIO);
	if (!iox_seg_current())
		return -EIO;
	w->trigger = iox_user_trigger_init(&w->trigger_storage);
	if (iox_ws_attach_user_trigger_event(w->ws, w->trigger, TRIGGER_ID, NULL) != WaitSetResult_SUCCESS)
		return -EIO;
	return 0;
}

int iox_run_job(struct iox_job *j)
{
	switch (j->kind) {
	case JOB_START:
		return do_start(j);
	case JOB_PUB:
		return do_pub(j, j->out);
	case JOB_SUB:
	case JOB_POOLS:
		return do_sub(j, j->out);
	case JOB_WAITER:
		return do_waiter(j->out);
	default:
		return -EINVAL;
	}
}

/* ---- publishers ---- */

static void set_names(struct iox_job *j, const char *service, const char *instance, const char *event)
{
	snprintf(j->service, sizeof(j->service), "%s", service);
	snprintf(j->instance, sizeof(j->instance), "%s", instance);
	snprintf(j->event, sizeof(j->event), "%s", event);
}

/*
 * Creates a port. One that RouDi refused, or may still answer for, is left to its attachment: destroying it would
 * dereference NULL. A port for an earlier caller may be ready by now.
 */
static int create_port(struct iox_job *j, struct ipc_text *why, const char *what, void **ret)
{
	struct port *fresh = calloc(1, sizeof(*fresh)), *p;
	int r;

	if (!fresh)
		return -ENOMEM;
	j->out = fresh;
	r = iox_create(j, why, what);
	p = j->out;
	if (p != fresh)
		free(fresh);
	if (r < 0)
		return r;
	iox_guard_add(&p->guard);
	/* RouDi has written it, but it is not mapped in this process yet */
	if (j->kind == JOB_PUB)
		iox_seg_map(*(const void *const *)p->pub, IOX_PORT_SIZE);
	else
		iox_seg_map(*(const void *const *)p->sub, IOX_SUB_SIZE);
	*ret = p;
	return 0;
}

static int pub_create(void *back, const char *channel, uint32_t history, struct ipc_text *why, void **ret)
{
	struct iox_job j = { .kind = JOB_PUB, .history = history };

	(void)back;
	set_names(&j, SERVICE, channel, EVENT);
	return create_port(&j, why, "publisher of channel", ret);
}

static void pub_destroy(void *back)
{
	struct port *p = back;

	(void)GUARDED(&p->guard, iox_pub_deinit(p->pub));
	iox_guard_del(&p->guard);
	free(p);
}

static int loan_result(enum iox_AllocationResult r)
{
	switch (r) {
	case AllocationResult_RUNNING_OUT_OF_CHUNKS:
		return -ENOMEM;
	case AllocationResult_TOO_MANY_CHUNKS_ALLOCATED_IN_PARALLEL:
		return -ENOBUFS;
	default:
		return -EMSGSIZE; /* iceoryx's SEVERE error "chunk is too large", which returns an empty result */
	}
}

static int loan(void *back, size_t size, void **ret)
{
	struct port *p = back;
	enum iox_AllocationResult got;
	void *slot;

	if (GUARDED(&p->guard, got = iox_pub_loan_aligned_chunk(p->pub, &slot, (uint32_t)size, IPC_ALIGN)) < 0)
		return -ESTALE;
	if (__builtin_expect(got != AllocationResult_SUCCESS, 0))
		return loan_result(got);
	/* iceoryx has read the slot's place from its chunk header, which another process may be overwriting */
	if (__builtin_expect(!in_payload(p, slot) || size > (size_t)(p->end - (char *)slot) ||
				     (uintptr_t)slot % IPC_ALIGN,
			     0))
		return -EBADMSG;
	*ret = slot;
	return 0;
}

static int unloan(void *back, void *slot)
{
	struct port *p = back;

	return GUARDED(&p->guard, iox_pub_release_chunk(p->pub, slot));
}

static int publish(void *back, void *slot)
{
	struct port *p = back;

	return GUARDED(&p->guard, iox_pub_publish_chunk(p->pub, slot));
}

static bool has_subscribers(const void *back)
{
	struct port *p = (struct port *)(uintptr_t)back;
	bool yes;

	return GUARDED(&p->guard, yes = iox_pub_has_subscribers(p->pub)) == 0 && yes;
}

static uint64_t origin(const void *back)
{
	const struct port *p = back;

	return *(const uint64_t *)(*(const char *const *)p->pub + IOX_PORT_ID);
}

/* ---- subscribers ---- */

static int sub_create(void *back, const char *channel, uint32_t depth, bool history, struct ipc_text *why, void **ret)
{
	struct iox_job j = { .kind = JOB_SUB, .depth = depth, .history = history };

	(void)back;
	set_names(&j, SERVICE, channel, EVENT);
	return create_port(&j, why, "subscriber of channel", ret);
}

static void sub_close(void *back)
{
	struct port *p = back;

	(void)GUARDED(&p->guard, (iox_sub_unsubscribe(p->sub), iox_sub_release_queued_chunks(p->sub)));
}

static void sub_destroy(void *back)
{
	struct port *p = back;

	(void)GUARDED(&p->guard, iox_sub_deinit(p->sub));
	iox_guard_del(&p->guard);
	free(p);
}

void iox_drop_port(const struct iox_job *j)
{
	struct port *p = j->out;

	iox_guard_add(&p->guard);
	if (j->kind == JOB_PUB) {
		pub_destroy(p);
	} else {
		sub_close(p);
		sub_destroy(p);
	}
}

/*
 * How much of a slot may be read: what was loaned, as its chunk header says. The publisher can overwrite the header, so
 * it is read once, and cut at the segment's end. The word before the payload is its distance from the header.
 */
static const char *chunk_header(const struct port *p, const char *slot)
{
	uint32_t distance;

	if (!in_payload(p, slot))
		return NULL;
	distance = __atomic_load_n((const uint32_t *)(const void *)(slot - sizeof(distance)), __ATOMIC_RELAXED);
	if (distance < IOX_HEADER_SIZE || distance > (size_t)(slot - p->first) || distance % 4)
		return NULL;
	return slot - distance;
}

static size_t room_of(const struct port *p, const char *slot)
{
	const char *header = chunk_header(p, slot);
	uint32_t size;

	if (!header)
		return 0;
	size = __atomic_load_n((const uint32_t *)(const void *)(header + IOX_HEADER_USER_SIZE), __ATOMIC_RELAXED);
	return size < (size_t)(p->end - slot) ? size : (size_t)(p->end - slot);
}

/* Ports are numbered consecutively: a number of more than 32 bits is invalid. */
static uint64_t slot_origin(const void *back, const void *slot)
{
	const char *header = chunk_header(back, slot);
	uint64_t origin;

	if (!header)
		return 0;
	memcpy(&origin, header + IOX_HEADER_ORIGIN, sizeof(origin));
	return origin >> 32 ? 0 : origin;
}

static int take_chunk(struct port *p, const void **ret)
{
	enum iox_ChunkReceiveResult got;
	const void *slot;

	if (GUARDED(&p->guard, got = iox_sub_take_chunk(p->sub, &slot)) < 0)
		return -ESTALE;
	if (got != ChunkReceiveResult_SUCCESS)
		return got == ChunkReceiveResult_NO_CHUNK_AVAILABLE ? -EAGAIN : -ENOBUFS;
	*ret = slot;
	return 0;
}

static int take(void *back, const void **ret, size_t *ret_size)
{
	const struct port *p = back;
	const void *slot;
	int r = take_chunk(back, &slot);

	if (r < 0)
		return r;
	/*
	 * the chunk's header was overwritten. iceoryx would read it to release the chunk, so the chunk is left as it is
	 */
	if (__builtin_expect(!in_payload(p, slot), 0))
		return -EBADMSG;
	*ret = slot;
	*ret_size = room_of(p, slot);
	return 0;
}

/* A dead attachment's payload may have been returned to the kernel: iceoryx must not read its chunk headers. */
static int release(void *back, const void *slot)
{
	struct port *p = back;

	if (__builtin_expect(iox_attachment_dead(), 0))
		return 0;
	return GUARDED(&p->guard, iox_sub_release_chunk(p->sub, slot));
}

static bool lost(void *back)
{
	struct port *p = back;
	bool yes;

	return GUARDED(&p->guard, yes = iox_sub_has_lost_chunks(p->sub)) == 0 && yes;
}

static bool has_data(const void *back)
{
	struct port *p = (struct port *)(uintptr_t)back;
	bool yes;

	return GUARDED(&p->guard, yes = iox_sub_has_chunks(p->sub)) == 0 && yes;
}

static bool connected(const void *back)
{
	struct port *p = (struct port *)(uintptr_t)back;
	enum iox_SubscribeState got;

	return GUARDED(&p->guard, got = iox_sub_get_subscription_state(p->sub)) == 0 &&
	       got == SubscribeState_SUBSCRIBED;
}

/* ---- waiters ---- */

static int waiter_create(void *back, struct ipc_text *why, void **ret)
{
	struct iox_job j = { .kind = JOB_WAITER };
	struct waiter *w = calloc(1, sizeof(*w));
	int r;

	(void)back;
	if (!w)
		return -ENOMEM;
	j.out = w;
	r = iox_create(&j, why, "waiter");
	if (r < 0) {
		if (!j.out)
			free(w);
		return r;
	}
	iox_guard_add(&w->guard);
	pthread_mutex_lock(&own.lock);
	w->next = own.waiters;
	own.waiters = w;
	pthread_mutex_unlock(&own.lock);
	*ret = w;
	return 0;
}

static void waiter_destroy(void *back)
{
	struct waiter *w = back, **at = &own.waiters;

	pthread_mutex_lock(&own.lock);
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	pthread_mutex_unlock(&own.lock);
	(void)GUARDED(&w->guard, (iox_ws_detach_user_trigger_event(w->ws, w->trigger),
				  iox_user_trigger_deinit(w->trigger), iox_ws_deinit(w->ws)));
	iox_guard_del(&w->guard);
	free(w);
}

static int waiter_add(void *back, void *sub)
{
	struct waiter *w = back;
	iox_sub_t s = ((struct port *)sub)->sub;
	enum iox_WaitSetResult got;

	if (GUARDED(&w->guard,
		    got = iox_ws_attach_subscriber_event(w->ws, s, SubscriberEvent_DATA_RECEIVED, SUB_ID, NULL)) < 0)
		return -ESTALE;
	return got == WaitSetResult_SUCCESS ? 0 : got == WaitSetResult_ALREADY_ATTACHED ? -EEXIST : -ENOSPC;
}

static void waiter_del(void *back, void *sub)
{
	struct waiter *w = back;
	iox_sub_t s = ((struct port *)sub)->sub;

	(void)GUARDED(&w->guard, iox_ws_detach_subscriber_event(w->ws, s, SubscriberEvent_DATA_RECEIVED));
}

static int waiter_wait(void *back, int64_t timeout_dur_ns)
{
	struct waiter *w = back;
	iox_notification_info_t info[WAITER_EVENTS];
	struct timespec t = { .tv_sec = timeout_dur_ns / 1000000000, .tv_nsec = timeout_dur_ns % 1000000000 };
	uint64_t n, missed;

	if (GUARDED(&w->guard, n = timeout_dur_ns < 0 ? iox_ws_wait(w->ws, info, WAITER_EVENTS, &missed)
						      : iox_ws_timed_wait(w->ws, t, info, WAITER_EVENTS, &missed)) < 0)
		return -ESTALE;
	for (uint64_t i = 0; i < n; i++)
		if (iox_notification_info_get_notification_id(info[i]) == SUB_ID)
			return 1;
	return 0;
}

static void waiter_wake(void *back)
{
	trigger(back);
}

/* ---- lost slots: ipc_iox_pool.c ---- */

static int scan_open(void *back, void *pub, const void *slot, struct ipc_text *why)
{
	const struct port *p = pub;
	struct iox_pools_where w = { .port = *(const void *const *)p->pub,
				     .header = iox_chunk_header_from_user_payload_const(slot) };
	struct iox_seg mgmt, payload;

	(void)back;
	if (iox_seg_mgmt(&mgmt) < 0 || !mgmt.writable || iox_seg_payload(&payload) < 0 || !payload.writable) {
		snprintf(why->s, sizeof(why->s), "the memory of iceoryx is not mapped for writing");
		return -EACCES;
	}
	w.mgmt = (struct ipc_segment){ .base = mgmt.base, .size = mgmt.size };
	w.mgmt_fd = mgmt.fd;
	w.payload = (struct ipc_segment){ .base = payload.base, .size = payload.size };
	iox_pools_close(own.scan);
	own.scan = NULL;
	return iox_pools_open(&w, why, &own.scan);
}

static void scan(void *back, const struct ipc_scan_order *o, struct ipc_scan *ret)
{
	(void)back;
	iox_pools_scan(own.scan, o, ret);
}

static void detach(void *back, bool dead)
{
	iox_pools_close(own.scan);
	own.scan = NULL;
	iox_detach(back, dead);
}

/* ---- gauges: RouDi's introspection topic, whose layout is pinned to 2.0.3 (facts §8) ---- */

struct intro_pool {
	uint32_t used, min_free, total, chunk_size, payload_size;
};

struct intro_segment {
	uint32_t id;
	char pad[4];
	char writer[48], reader[48];
	struct intro_pool pool[32];
	uint64_t n_pools;
};

struct intro_mem {
	struct intro_segment seg[101];
	uint64_t n_segs;
};

_Static_assert(sizeof(struct intro_segment) == 752, "layout of iceoryx 2.0.3");
_Static_assert(sizeof(struct intro_mem) == 75960, "layout of iceoryx 2.0.3");

static void read_intro(const struct intro_mem *m)
{
	for (uint64_t s = 0; s < m->n_segs && s < 101; s++) {
		const struct intro_segment *seg = &m->seg[s];

		if (seg->id == 0) /* RouDi's own pool, for introspection */
			continue;
		own.n_pools = (unsigned int)(seg->n_pools < 32 ? seg->n_pools : 32);
		for (unsigned int i = 0; i < own.n_pools; i++)
			own.pools[i] = (struct ipc_pool){ .size = seg->pool[i].payload_size,
							  .total = seg->pool[i].total,
							  .used = seg->pool[i].used,
							  .min_free = seg->pool[i].min_free };
		return;
	}
}

static int pools(void *back, struct ipc_pool *ret, unsigned int max)
{
	struct iox_job j = { .kind = JOB_POOLS, .depth = 1, .history = 1 };
	struct ipc_text why;
	const void *slot;
	void *port;
	int r;

	(void)back;
	if (own.scan)
		return (int)iox_pools_gauges(own.scan, ret, max);
	if (!own.pools_sub) {
		set_names(&j, "Introspection", "RouDi_ID", "MemPool");
		r = create_port(&j, &why, "introspection", &port);
		if (r < 0)
			return r;
		own.pools_sub = port;
	}
	while (take_chunk(own.pools_sub, &slot) == 0) {
		read_intro(slot);
		release(own.pools_sub, slot);
	}
	for (unsigned int i = 0; i < own.n_pools && i < max; i++)
		ret[i] = own.pools[i];
	return own.n_pools ? (int)(own.n_pools < max ? own.n_pools : max) : -EAGAIN;
}

/* ---- the table ---- */

static const struct ipc_ops ops = {
	.abi = IPC_OPS_ABI,
	.size = sizeof(struct ipc_ops),
	.name = "iox",
	.blocking = true,
	.reserve = iox_reserve,
	.registered = iox_registered,
	.attach = iox_attach,
	.be_prompt = iox_be_prompt,
	.detach = detach,
	.segment = iox_segment,
	.stray = iox_stray,
	.end_error = iox_end_error,
	.prefault = iox_prefault,
	.pools = pools,
	.scan_open = scan_open,
	.scan = scan,
	.pub_create = pub_create,
	.pub_destroy = pub_destroy,
	.loan = loan,
	.unloan = unloan,
	.publish = publish,
	.has_subscribers = has_subscribers,
	.origin = origin,
	.slot_origin = slot_origin,
	.sub_create = sub_create,
	.sub_close = sub_close,
	.sub_destroy = sub_destroy,
	.take = take,
	.release = release,
	.lost = lost,
	.has_data = has_data,
	.connected = connected,
	.waiter_create = waiter_create,
	.waiter_destroy = waiter_destroy,
	.waiter_add = waiter_add,
	.waiter_del = waiter_del,
	.waiter_wait = waiter_wait,
	.waiter_wake = waiter_wake,
};

__attribute__((visibility("default"))) const struct ipc_ops *ipc_iox_ops(void);

const struct ipc_ops *ipc_iox_ops(void)
{
	return &ops;
}
