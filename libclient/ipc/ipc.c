/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc: attachments and handles. Checks names and options, selects the backend, and tracks every handle, so that after
 * detach or the end of an attachment no call reaches a backend too late.
 *
 * Thread: see ipc.h. The data path is in ipc_data.c.
 */
#include "ipc.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ipc_int.h"
#include "ipc_roudi.h"
#include "sim/slot.h"
#include "timeutil.h"

#define WARM_BYTES (48u << 10) /* at the start of the payload */

static _Thread_local struct ipc_text tls_why;

const char *ipc_why(void)
{
	return tls_why.s;
}

int ipc_fail(int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(tls_why.s, sizeof(tls_why.s), fmt, ap);
	va_end(ap);
	return r;
}

int ipc_fail_state(const _Atomic uint32_t *state)
{
	if (ipc_state_of(state) == IPC_FORKED)
		return ipc_fail(-EPERM, "this process is a fork of the one that attached to the data plane; "
					"attach again in the child, or use the handles in the parent only");
	return ipc_fail(-ESTALE, "this attachment to the data plane is over (RouDi has exited or it was detached); "
				 "attach again");
}

int ipc_fail_busy(const struct ipc_handle *h)
{
	static const char *const what[] = { "publisher", "subscriber", "waiter" };

	return ipc_fail(-EBUSY, "another thread is using this %s; give each thread its own", what[h->kind]);
}

/* ---- names ---- */

static bool name_ok(const char *s, size_t max, const char *extra)
{
	size_t n = s ? strnlen(s, max + 1) : 0;

	if (n == 0 || n > max)
		return false;
	for (size_t i = 0; i < n; i++) {
		char c = s[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && !strchr(extra, c))
			return false;
	}
	return true;
}

static int check_app(const char *app)
{
	if (name_ok(app, IPC_APP_MAX, "_.-"))
		return 0;
	return ipc_fail(-EINVAL, "application name \"%.100s\" must be 1 to %d characters of A-Z a-z 0-9 _ . -",
			app ? app : "", IPC_APP_MAX);
}

static int check_channel(const char *channel)
{
	if (name_ok(channel, SIM_CHANNEL_MAX, "_./~-"))
		return 0;
	return ipc_fail(-EINVAL, "channel name \"%.100s\" must be 1 to %d characters of A-Z a-z 0-9 _ . / ~ -",
			channel ? channel : "", SIM_CHANNEL_MAX);
}

/* ---- attach and detach ---- */

/* The state word is on a page of its own that a fork wipes: a forked child reads IPC_FORKED at no cost. */
static int state_create(_Atomic uint32_t **ret)
{
	size_t n = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	if (madvise(p, n, MADV_WIPEONFORK) < 0) {
		int r = -errno;

		munmap(p, n);
		return r;
	}
	*ret = p;
	atomic_init(*ret, IPC_LIVE);
	return 0;
}

static void ipc_free(struct ipc *ipc)
{
	pthread_mutex_destroy(&ipc->lock);
	if (ipc->state)
		munmap((void *)(uintptr_t)ipc->state, (size_t)sysconf(_SC_PAGESIZE));
	free(ipc);
}

static void ipc_unref(struct ipc *ipc)
{
	uint32_t left;

	pthread_mutex_lock(&ipc->lock);
	left = --ipc->refs;
	pthread_mutex_unlock(&ipc->lock);
	if (!left)
		ipc_free(ipc);
}

static int pick_backend(const struct ipc_options *o, struct ipc *ipc, struct ipc_text *why)
{
	const char *backend = o->backend ? o->backend : "iox";

	if (strcmp(backend, "mem") == 0) {
		ipc->ops = ipc_mem_ops(o->bus);
		snprintf(ipc->name, sizeof(ipc->name), "%s", o->app);
		return 0;
	}
	if (strcmp(backend, "iox") == 0)
		return ipc_load_iox(o, why, &ipc->ops, ipc->name, sizeof(ipc->name));
	snprintf(why->s, sizeof(why->s), "there is no data plane \"%.40s\"; use \"iox\" or \"mem\"", backend);
	return -EINVAL;
}

/*
 * The first message of a process costs several times a later one even with all memory populated: code pages, lists,
 * branch history. A few messages on a private channel pay that in advance (measured: from 6 times to 2 times).
 */
static int warm_up(struct ipc *ipc)
{
	char channel[SIM_CHANNEL_MAX + 1];
	struct ipc_pub *pub = NULL;
	struct ipc_sub *sub = NULL;
	const void *in;
	void *out;
	size_t size;
	int r;

	snprintf(channel, sizeof(channel), "~ipc/warm/%s", ipc->name);
	r = ipc_sub_create(ipc, channel, &(struct ipc_sub_options){ .depth = 2 }, &sub);
	if (r == 0)
		r = ipc_pub_create(ipc, channel, NULL, &pub);
	for (int i = 0; r == 0 && i < 50; i++) {
		if (ipc_loan(pub, 64, &out) == 0)
			ipc_publish(pub, out);
		if (ipc_take(sub, &in, &size) == 0)
			ipc_release(sub, in);
	}
	ipc_pub_destroy(pub);
	ipc_sub_destroy(sub);
	return r == -EMFILE ? 0 : r; /* no port to spare: warming up is optional */
}

/* simd has given the first slots memory (POOL_OWN); warm_up() loans one of them. */
static int prefault(struct ipc *ipc, int64_t until_mono_ns)
{
	int r;

	r = ipc->ops->prefault(ipc->back, 0, 0, until_mono_ns);
	if (r == 0)
		r = ipc->ops->prefault(ipc->back, 0, WARM_BYTES, until_mono_ns);
	if (r < 0)
		return ipc_fail(r, "the first pages could not be populated: %s", strerror(-r));
	return ipc->ops->blocking ? warm_up(ipc) : 0;
}

int ipc_attach(const struct ipc_options *o, struct ipc **ret)
{
	struct ipc_text why = { "" };
	int64_t until_mono_ns = mono_now_ns();
	struct ipc_start start;
	struct ipc *ipc;
	int r;

	if (!o || !ret)
		return ipc_fail(-EINVAL, "ipc_attach: no options, or the output pointer is NULL");
	r = check_app(o->app);
	if (r < 0)
		return r;
	if (strlen(ipc_plane_of(o->plane)) >= PLANE_MAX)
		return ipc_fail(-EINVAL, "\"%.100s\" is not the directory of a data plane", o->plane);
	ipc = calloc(1, sizeof(*ipc));
	if (!ipc)
		return ipc_fail(-ENOMEM, "out of memory while attaching to the data plane");
	ipc->refs = 1;
	ipc->max_loan = o->max_loan;
	snprintf(ipc->plane, sizeof(ipc->plane), "%s", ipc_plane_of(o->plane));
	pthread_mutex_init(&ipc->lock, NULL);
	r = state_create(&ipc->state);
	if (r < 0) {
		ipc_fail(r, "no memory page for the state of the attachment: %s", strerror(-r));
		goto err;
	}
	r = pick_backend(o, ipc, &why);
	if (r < 0)
		goto err_why;
	ipc->roudi = ipc->ops->blocking ? roudi_pid(ipc->plane) : 0;
	start = (struct ipc_start){ .name = ipc->name,
				    .plane = ipc->plane,
				    .roudi = ipc->roudi,
				    .timeout_ms = o->timeout_ms ? o->timeout_ms : 2000,
				    .max_loan = o->max_loan,
				    .bus = o->bus,
				    .state = ipc->state };
	until_mono_ns += (int64_t)start.timeout_ms * 1000000;
	r = ipc->ops->attach(&start, &why, &ipc->back);
	if (r < 0)
		goto err_why;
	if (o->prefault)
		prefault(ipc, until_mono_ns); /* optional: without it only the first message is slow */
	if (o->prompt && ipc->ops->be_prompt)
		ipc->ops->be_prompt(ipc->back);
	*ret = ipc;
	return 0;
err_why:
	ipc_fail(r, "%s", why.s);
err:
	ipc_free(ipc);
	return r;
}

static void quiesce(struct ipc_handle *h)
{
	while (atomic_load_explicit(&h->busy, memory_order_seq_cst))
		sched_yield();
}

static void back_destroy(struct ipc_handle *h)
{
	void *back = h->back;

	h->back = NULL;
	if (!back)
		return;
	if (h->kind == IPC_PUB)
		h->ops->pub_destroy(back);
	else if (h->kind == IPC_SUB)
		h->ops->sub_destroy(back);
	else
		h->ops->waiter_destroy(back);
}

static void wake_all(struct ipc *ipc)
{
	for (struct ipc_handle *h = ipc->handles; h; h = h->next) {
		if (h->kind == IPC_WAITER && h->back) {
			atomic_store(&((struct ipc_waiter *)h)->woken, true);
			h->ops->waiter_wake(h->back);
		}
	}
}

void ipc_abandon(struct ipc *ipc)
{
	uint32_t live = IPC_LIVE;

	if (!ipc || !atomic_compare_exchange_strong(ipc->state, &live, IPC_STALE))
		return;
	pthread_mutex_lock(&ipc->lock);
	wake_all(ipc);
	pthread_mutex_unlock(&ipc->lock);
}

bool ipc_alive(const struct ipc *ipc)
{
	return ipc && ipc_state_of(ipc->state) == IPC_LIVE;
}

const char *ipc_end_error(struct ipc *ipc)
{
	return ipc->ops->end_error && ipc->back ? ipc->ops->end_error(ipc->back) : "";
}

bool ipc_was_impersonated(struct ipc *ipc)
{
	bool yes;

	pthread_mutex_lock(&ipc->lock);
	yes = ipc_state_of(ipc->state) == IPC_LIVE && ipc->ops->stray && ipc->ops->stray(ipc->back);
	pthread_mutex_unlock(&ipc->lock);
	return yes;
}

const char *ipc_runtime_name(const struct ipc *ipc)
{
	return ipc ? ipc->name : "";
}

pid_t ipc_roudi_pid(const struct ipc *ipc)
{
	return ipc ? ipc->roudi : 0;
}

static void handle_free(struct ipc_handle *h)
{
	struct ipc *ipc = h->ipc;

	*h->link = h->next;
	if (h->next)
		h->next->link = h->link;
	ipc->refs--; /* never the last reference: the owner or the caller holds one */
	free(h);
}

/* Waiters first: they refer to subscribers. Then everything else; zombies are freed. */
static void drop_backs(struct ipc *ipc)
{
	struct ipc_handle *next;

	wake_all(ipc);
	for (struct ipc_handle *h = ipc->handles; h; h = h->next) {
		quiesce(h);
		if (h->kind == IPC_WAITER)
			back_destroy(h);
	}
	for (struct ipc_handle *h = ipc->handles; h; h = next) {
		next = h->next;
		back_destroy(h);
		if (h->kind == IPC_SUB && ((struct ipc_sub *)h)->closing)
			handle_free(h);
	}
}

void ipc_detach(struct ipc *ipc)
{
	uint32_t state;

	if (!ipc)
		return;
	state = ipc_state_of(ipc->state);
	if (state == IPC_FORKED) /* the parent's objects must not be touched */
		return;
	atomic_store_explicit(ipc->state, IPC_STALE, memory_order_seq_cst);
	pthread_mutex_lock(&ipc->lock);
	drop_backs(ipc);
	if (ipc->beacon_pub)
		handle_free(&ipc->beacon_pub->h);
	if (ipc->beacon_sub)
		handle_free(&ipc->beacon_sub->h);
	ipc->ops->detach(ipc->back, state != IPC_LIVE);
	ipc->back = NULL;
	pthread_mutex_unlock(&ipc->lock);
	ipc_unref(ipc);
}

/* ---- creating and destroying handles ---- */

int ipc_begin(struct ipc *ipc, const void *ret)
{
	if (!ipc || !ret)
		return ipc_fail(-EINVAL, "no data plane, or the output pointer is NULL");
	pthread_mutex_lock(&ipc->lock);
	if (ipc_state_of(ipc->state) == IPC_LIVE)
		return 0;
	pthread_mutex_unlock(&ipc->lock);
	return ipc_fail_state(ipc->state);
}

static void handle_init(struct ipc_handle *h, struct ipc *ipc, enum ipc_kind kind, void *back)
{
	h->kind = kind;
	h->state = ipc->state;
	h->ops = ipc->ops;
	h->ipc = ipc;
	h->back = back;
	h->next = ipc->handles;
	h->link = &ipc->handles;
	if (h->next)
		h->next->link = &h->next;
	ipc->handles = h;
	ipc->refs++;
}

/*
 * h: calloc()ed, NULL if that failed; freed when r is negative. If RouDi did not answer a creation in time, its late
 * reply would be taken for that of the next creation: so the attachment is over.
 */
static int end_create(struct ipc *ipc, int r, const struct ipc_text *why, struct ipc_handle *h, enum ipc_kind kind,
		      void *back)
{
	if (r < 0)
		free(h);
	else
		handle_init(h, ipc, kind, back);
	if (r == -ETIMEDOUT || r == -ESTALE) {
		uint32_t live = IPC_LIVE;

		if (atomic_compare_exchange_strong(ipc->state, &live, IPC_STALE))
			wake_all(ipc);
	}
	pthread_mutex_unlock(&ipc->lock);
	return r < 0 ? ipc_fail(r, "%s", why->s) : r;
}

int ipc_pub_create(struct ipc *ipc, const char *channel, const struct ipc_pub_options *o, struct ipc_pub **ret)
{
	struct ipc_text why = { "out of memory while creating a publisher" };
	struct ipc_pub *pub;
	void *back = NULL;
	int r = check_channel(channel);

	if (r < 0)
		return r;
	if (o && o->history > 1)
		return ipc_fail(-EINVAL, "channel %s: history %u; a publisher keeps 0 or 1 message", channel,
				o->history);
	r = ipc_begin(ipc, ret);
	if (r < 0)
		return r;
	pub = calloc(1, sizeof(*pub));
	r = pub ? ipc->ops->pub_create(ipc->back, channel, o ? o->history : 0, &why, &back) : -ENOMEM;
	if (r == 0) {
		pub->max_loan = ipc->max_loan ? ipc->max_loan : UINT32_MAX - 4096u;
		*ret = pub;
	}
	return end_create(ipc, r, &why, (struct ipc_handle *)pub, IPC_PUB, back);
}

int ipc_sub_create(struct ipc *ipc, const char *channel, const struct ipc_sub_options *o, struct ipc_sub **ret)
{
	struct ipc_text why = { "out of memory while creating a subscriber" };
	struct ipc_sub *sub;
	uint32_t depth = o ? o->depth : 1;
	void *back = NULL;
	int r = check_channel(channel);

	if (r < 0)
		return r;
	if (depth < 1 || depth > IPC_DEPTH_MAX)
		return ipc_fail(-EINVAL, "channel %s: depth %u; a queue holds 1 to %d messages", channel, depth,
				IPC_DEPTH_MAX);
	r = ipc_begin(ipc, ret);
	if (r < 0)
		return r;
	sub = calloc(1, sizeof(*sub));
	r = sub ? ipc->ops->sub_create(ipc->back, channel, depth, o && o->history, &why, &back) : -ENOMEM;
	if (r == 0)
		*ret = sub;
	return end_create(ipc, r, &why, (struct ipc_handle *)sub, IPC_SUB, back);
}

int ipc_waiter_create(struct ipc *ipc, struct ipc_waiter **ret)
{
	struct ipc_text why = { "out of memory while creating a waiter" };
	struct ipc_waiter *w;
	void *back = NULL;
	int r = ipc_begin(ipc, ret);

	if (r < 0)
		return r;
	w = calloc(1, sizeof(*w));
	r = w ? ipc->ops->waiter_create(ipc->back, &why, &back) : -ENOMEM;
	if (r == 0)
		*ret = w;
	return end_create(ipc, r, &why, (struct ipc_handle *)w, IPC_WAITER, back);
}

/* Whether this process may destroy the handle: a forked child must not touch the parent's ports. */
static bool begin_destroy(struct ipc_handle *h)
{
	if (ipc_state_of(h->state) == IPC_FORKED)
		return false;
	pthread_mutex_lock(&h->ipc->lock);
	return true;
}

static void end_destroy(struct ipc_handle *h, bool gone)
{
	struct ipc *ipc = h->ipc;

	if (gone) {
		ipc->refs++; /* handle_free() drops one reference; ipc_unref() drops the last */
		handle_free(h);
	}
	pthread_mutex_unlock(&ipc->lock);
	if (gone)
		ipc_unref(ipc);
}

void ipc_pub_destroy(struct ipc_pub *pub)
{
	if (!pub || !begin_destroy(&pub->h))
		return;
	/*
	 * At once; a port that is destroyed with loans frees them only later. Those of a dead attachment need not be
	 * freed.
	 */
	for (uint32_t i = 0; i < pub->n_loans && pub->h.back && ipc_state_of(pub->h.state) == IPC_LIVE; i++)
		pub->h.ops->unloan(pub->h.back, pub->loans[i]);
	back_destroy(&pub->h);
	end_destroy(&pub->h, true);
}

void ipc_sub_destroy(struct ipc_sub *sub)
{
	bool keep;

	if (!sub || !begin_destroy(&sub->h))
		return;
	if (sub->waiter)
		ipc_waiter_unlink(sub->waiter, sub);
	keep = sub->n_held > 0 && sub->h.back;
	if (keep) {
		sub->h.ops->sub_close(sub->h.back);
		sub->closing = true;
	} else {
		back_destroy(&sub->h);
	}
	end_destroy(&sub->h, !keep);
}

/* Called when the last held slot of a destroyed subscriber was released. */
void ipc_sub_bury(struct ipc_sub *sub)
{
	if (!begin_destroy(&sub->h))
		return;
	back_destroy(&sub->h);
	end_destroy(&sub->h, true);
}

void ipc_waiter_destroy(struct ipc_waiter *w)
{
	if (!w || !begin_destroy(&w->h))
		return;
	while (w->n_subs)
		ipc_waiter_unlink(w, w->subs[w->n_subs - 1]);
	back_destroy(&w->h);
	end_destroy(&w->h, true);
}

/* ---- the rest of the attachment ---- */

int ipc_prefault(struct ipc *ipc, uint64_t at, uint64_t bytes)
{
	int r;

	if (!ipc)
		return ipc_fail(-EINVAL, "no data plane to prefault");
	if (!ipc_alive(ipc))
		return ipc_fail_state(ipc->state);
	if (bytes == 0)
		return prefault(ipc, 0);
	r = ipc->ops->prefault(ipc->back, at, bytes < IPC_PREFAULT_MAX ? bytes : IPC_PREFAULT_MAX, 0);
	return r < 0 ? ipc_fail(r, "the slots could not be populated: %s", strerror(-r)) : 0;
}

int ipc_pools(struct ipc *ipc, struct ipc_pool *ret, unsigned int max)
{
	int r = ipc_begin(ipc, ret);

	if (r < 0)
		return r;
	r = ipc->ops->pools(ipc->back, ret, max);
	pthread_mutex_unlock(&ipc->lock);
	return r < 0 ? ipc_fail(r, "RouDi has not reported its pools yet; ask again in a second") : r;
}

int ipc_free_peer(struct ipc *ipc, const char *app)
{
	struct ipc_text why = { "" };
	int r = check_app(app);

	if (r < 0)
		return r;
	r = ipc_begin(ipc, ipc);
	if (r < 0)
		return r;
	r = ipc->ops->free_peer ? ipc->ops->free_peer(ipc->back, app, &why) : roudi_free_app(ipc->plane, app, &why);
	pthread_mutex_unlock(&ipc->lock);
	return r < 0 ? ipc_fail(r, "%s", why.s) : 0;
}
