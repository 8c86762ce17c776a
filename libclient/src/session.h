/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session: one connection to one run of simd, with the pages and descriptors that Hello handed out. It does not
 * outlive simd; the client then makes a new one. Reference-counted: by the client and by every registration whose hot
 * path writes into its pages.
 *
 * Thread: calls from any thread; the thread that pumps (client.h) reads the sockets, under client::lock, which guards
 * everything here but the pages and the doorbell.
 */
#ifndef SRC_SESSION_H
#define SRC_SESSION_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "client.h"
#include "plane.h"
#include "varlink.h"
#include "wire/pages.h"

/* Wakes one shard of simd's dispatch. Handed out with the first publisher of that shard, then kept; under setup. */
struct bell {
	int fd; /* -1: not yet */
	const struct wire_shard *shard;
	_Atomic uint64_t rung; /* wire_shard::turns at the last ring */
};

struct session {
	_Atomic uint32_t refs;
	const struct wire_layout_page *layout; /* NULL for tools, as are the next */
	void *dispatch, *counters;             /* pages; the layout page says where everything is */
	int completion;
	struct bell bells[WIRE_SHARDS_MAX];
	const struct sim_clock_page *clock; /* second mapping of simd's page: see clockmap.h */
	int clock_fd;

	/* guarded by client::lock */
	int sock;
	struct varlink *v;
	struct list calls; /* call::link, oldest first */
	bool dead;         /* the peer hung up, or broke the protocol */
	char dead_why[200];

	/* written once by session_open */
	uint64_t serial; /* unique among the sessions of this client */
	int64_t max_loan;
	char plane[PLANE_MAX];   /* of the data plane */
	uint32_t iox_generation; /* as in the reply to Hello */
	pid_t simd;              /* simd's process id; 0: not visible from here */
	char app[96], backend[16], prefix[100], runtime[PATH_MAX], simd_id[40];

	/* what events have reported since they were last read; guarded by client::lock */
	bool ev_dataplane, ev_ready;
	uint32_t ev_generation;
};

/* Connects and sends Hello, within the client's time-out. No thread reads the session yet. */
int session_open(struct sim_client *c, struct session **ret);
struct session *session_ref(struct session *s);
void session_unref(struct session *s); /* NULL is fine */
/* Closes the control socket: simd then frees everything of the session. Under lock. */
void session_hangup(struct session *s);

/*
 * One call. Takes params, even on failure. Returns 0: *ret is the successful reply, to be freed with
 * varlink_msg_finish() (ret NULL: dropped), *ret_params (may be NULL) its parameters, an object or NULL, borrowed from
 * it. Blocks up to CALL_DUR_NS, or < 0: for as long as it takes. Errors: what simd answered, -ENOTCONN, -ETIMEDOUT.
 */
#define CALL_DUR_NS (5 * NS_PER_S)
int session_call(struct sim_client *c, struct session *s, const char *method, json_t *params, struct varlink_msg *ret,
		 json_t **ret_params);
/*
 * As session_call(), but repeats the call after a moment while simd answers -EAGAIN: a channel is just being closed, or
 * RouDi has no CPU. max_body: simd makes slots for such messages meanwhile, which takes time when they are large.
 */
int session_call_again(struct sim_client *c, struct session *s, const char *method, json_t *params, size_t max_body,
		       struct varlink_msg *ret, json_t **ret_params);
int session_call_within(struct sim_client *c, struct session *s, const char *method, json_t *params,
			int64_t wall_timeout_dur_ns, struct varlink_msg *ret, json_t **ret_params);
/*
 * As session_call(), for a call that hands out a socket; with a sim-io thread the socket blocks. what: names it in the
 * sentence.
 */
int session_call_fd(struct sim_client *c, struct session *s, const char *method, json_t *params, const char *what,
		    int *ret_fd);
/*
 * As session_call_fd(), with the pages that follow the socket in the reply, mapped for the caller; all NULL if there
 * are none.
 */
struct session_pages {
	const struct wire_layout_page *layout;
	void *dispatch;
};
int session_call_pages(struct sim_client *c, struct session *s, const char *method, json_t *params, const char *what,
		       int *ret_fd, struct session_pages *ret);
void session_pages_unmap(struct session_pages *p); /* all NULL is fine */
/*
 * As session_call(), without waiting for the reply, which is dropped. Takes params. Returns 0, or why it could not be
 * sent.
 */
int session_post(struct sim_client *c, struct session *s, const char *method, json_t *params, unsigned flags);

/*
 * As session_post(), with one more parameter as JSON text (NULL: none). tag: of a CallService, whose refusal goes to
 * services_refused(); else -1.
 */
int session_post_text(struct sim_client *c, struct session *s, const char *method, json_t *params, int64_t tag,
		      const struct varlink_text *text);

/* Waits a moment for a message; reads it unless another thread does. Under lock, which it releases meanwhile. */
void session_wait_locked(struct sim_client *c, struct session *s, int64_t until_mono_ns);

/* Reads what the control socket has. Under lock. */
void session_pump(struct sim_client *c, struct session *s);

/* Items of the pages; the numbers come from simd, and were checked when they arrived. */
static inline struct wire_channel *session_channel(const struct session *s, uint32_t id)
{
	return wire_at(s->dispatch, s->layout->channels, id);
}

static inline const struct wire_channel_info *session_info(const struct session *s, uint32_t id)
{
	return wire_at_const(s->layout, s->layout->infos, id);
}

static inline _Atomic uint64_t *session_rung(const struct session *s, uint32_t shard)
{
	return wire_at(s->dispatch, s->layout->rung, shard);
}

static inline struct wire_stepper *session_stepper(const struct session *s, uint32_t i)
{
	return wire_at(s->dispatch, s->layout->steppers, i);
}

/* NULL: this simd sends turns to participants in packets. */
static inline const struct wire_turn *session_turn(const struct session *s)
{
	return s->layout && s->layout->turns.count ? wire_at_const(s->layout, s->layout->turns, 0) : NULL;
}

/* NULL: this simd answers its driver in packets. */
static inline struct wire_grant *pages_grant(const struct wire_layout_page *l, void *dispatch)
{
	return l && l->turns.count && l->grants.count ? wire_at(dispatch, l->grants, 0) : NULL;
}

static inline struct wire_counters *session_row(const struct session *s, uint32_t row)
{
	return wire_at(s->counters, s->layout->rows, row);
}

/*
 * The doorbell of a shard, which came with this reply or an earlier one. Under setup. -EPROTO: there is none; then
 * hangs up.
 */
int session_bell(struct sim_client *c, struct session *s, uint32_t shard, struct varlink_msg *m, struct bell **ret);

/*
 * Wakes simd's dispatch. Call it after wire_rung_set(), whose fences these loads need. Not needed while dispatch is
 * awake, as it then looks at the bits once more before it sleeps; nor if it has deferred the channel (NULL: none),
 * which it reads when a bridge answers, or in a moment. A bell is not rung twice for one turn: while simd has not begun
 * another one, the first ring has yet to wake it.
 */
static inline void session_doorbell(struct bell *b, const struct wire_channel_info *ch)
{
	static const uint64_t one = 1;
	uint64_t turn;

	/* simd fences too: after `turns` and `awake`, before its last look at the bits */
	if (atomic_load_explicit(&b->shard->awake, memory_order_relaxed) ||
	    (ch && atomic_load_explicit(&ch->deferred, memory_order_relaxed)))
		return;
	turn = atomic_load_explicit(&b->shard->turns, memory_order_acquire);
	if (turn && turn == atomic_load_explicit(&b->rung, memory_order_relaxed))
		return;
	if (write(b->fd, &one, sizeof(one)) == sizeof(one))
		atomic_store_explicit(&b->rung, turn, memory_order_relaxed);
}

#endif
