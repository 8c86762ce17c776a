/* SPDX-License-Identifier: Apache-2.0 */
/* switch_path.h. What waits lies in a heap by the time at which it is due, then by the order in which it came. */
#include "switch_path.h"

#include "due.h"
#include "err.h"
#include "list.h"
#include "mem.h"
#include "rnd.h"
#include "timeutil.h"

#include <string.h>

#define DUR_MAX_NS  (3600 * NS_PER_S) /* of a rule: sums of some of them do not overflow */
#define RATE_MAX    INT64_C(1000000000000)
#define CHANCE_BITS 32

struct waiting {
	struct due due;  /* in: switch_path::queue */
	uint64_t number; /* of the frame it is, or copies */
	size_t len;
	unsigned char bytes[];
};

/* What the random numbers of a frame have decided. */
struct lot {
	bool lost, duplicated, held;
	int64_t jitter_dur_ns;
};

struct switch_path {
	struct switch_rules rules;
	struct rnd rnd;
	struct due_queue queue;
	struct waiting *given; /* by the last pop */
	size_t waiting;
	uint64_t order;         /* of the next that is queued */
	uint64_t furthest;      /* the greatest number that came out */
	int64_t last_mono_ns;   /* when the last one that keeps its order is due */
	int64_t bucket_mono_ns; /* when the bucket is full again */
	struct switch_counts counts;
};

int switch_path_create(uint64_t seed, struct switch_path **ret)
{
	struct switch_path *p = MEM_NEW(struct switch_path);

	if (!p)
		return err_nomem();
	rnd_seed(&p->rnd, seed);
	p->last_mono_ns = p->bucket_mono_ns = INT64_MIN;
	*ret = p;
	return 0;
}

void switch_path_destroy(struct switch_path *p)
{
	if (!p)
		return;
	while (p->queue.first) {
		struct waiting *w = container_of(p->queue.first, struct waiting, due);

		due_remove(&p->queue, &w->due);
		mem_free(w);
	}
	mem_free(p->given);
	mem_free(p);
}

/* ---- rules ---- */

static int check_chance(const char *name, double chance)
{
	return chance >= 0 && chance <= 1 ? 0 : err_set(-EINVAL, "%s is %g; a probability is 0 to 1", name, chance);
}

static int check_dur(const char *name, int64_t dur_ns)
{
	return dur_ns >= 0 && dur_ns <= DUR_MAX_NS
		       ? 0
		       : err_set(-EINVAL, "%s is %lld ns; 0 to one hour is possible", name, (long long)dur_ns);
}

static int check_rate(const struct switch_rules *r)
{
	if (r->rate_bytes_s < 0 || r->rate_bytes_s > RATE_MAX || r->burst_bytes < 0 || r->burst_bytes > RATE_MAX)
		return err_set(-EINVAL, "the rate or its burst is out of range; 0 to %lld bytes are possible",
			       (long long)RATE_MAX);
	if (r->rate_bytes_s && r->burst_bytes < SWITCH_FRAME_MAX)
		return err_set(-EINVAL,
			       "burst_bytes is %lld; a rate needs %d or more, or the longest frame never passes",
			       (long long)r->burst_bytes, SWITCH_FRAME_MAX);
	return 0;
}

static int check(const struct switch_rules *r)
{
	int e = check_chance("loss", r->loss);

	if (e == 0)
		e = check_chance("duplicate", r->duplicate);
	if (e == 0)
		e = check_chance("reorder", r->reorder);
	if (e == 0)
		e = check_dur("delay_dur_ns", r->delay_dur_ns);
	if (e == 0)
		e = check_dur("jitter_dur_ns", r->jitter_dur_ns);
	if (e == 0)
		e = check_dur("hold_dur_ns", r->hold_dur_ns);
	if (e == 0)
		e = check_dur("backlog_dur_ns", r->backlog_dur_ns);
	if (e == 0)
		e = check_rate(r);
	if (e == 0 && r->reorder > 0 && !r->hold_dur_ns)
		e = err_set(-EINVAL,
			    "reorder needs hold_dur_ns: for how long what is chosen waits for others to overtake it");
	return e;
}

int switch_path_set(struct switch_path *p, const struct switch_rules *rules)
{
	int e = check(rules);

	if (e == 0)
		p->rules = *rules;
	return e;
}

/* ---- in ---- */

/* 0 is never, 1 always. */
static bool chosen(struct rnd *rnd, double chance)
{
	return (double)(rnd_u64(rnd) >> CHANCE_BITS) < chance * (double)(UINT64_C(1) << CHANCE_BITS);
}

static struct lot draw(struct switch_path *p)
{
	const struct switch_rules *r = &p->rules;
	struct lot l;

	l.lost = chosen(&p->rnd, r->loss);
	l.duplicated = chosen(&p->rnd, r->duplicate);
	l.held = chosen(&p->rnd, r->reorder);
	l.jitter_dur_ns =
		(int64_t)(((int128)(rnd_u64(&p->rnd) >> CHANCE_BITS) * (r->jitter_dur_ns + 1)) >> CHANCE_BITS);
	return l;
}

/*
 * When the bucket has enough for the frame; it is then taken. False: that would be too late. The level is kept as the time at which
 * the bucket is full again, so that nothing is to be refilled.
 */
static bool take_tokens(struct switch_path *p, int64_t now_mono_ns, size_t len, int64_t *ret_mono_ns)
{
	const struct switch_rules *r = &p->rules;
	int64_t full, leave;

	*ret_mono_ns = now_mono_ns;
	if (!r->rate_bytes_s)
		return true;
	full = p->bucket_mono_ns > now_mono_ns ? p->bucket_mono_ns : now_mono_ns;
	/* rounded up: never more than the rate */
	full += (int64_t)(((int128)len * NS_PER_S + r->rate_bytes_s - 1) / r->rate_bytes_s);
	leave = full - (int64_t)((int128)r->burst_bytes * NS_PER_S / r->rate_bytes_s);
	if (leave > now_mono_ns + r->backlog_dur_ns)
		return false;
	p->bucket_mono_ns = full;
	if (leave > now_mono_ns)
		*ret_mono_ns = leave;
	return true;
}

static bool enqueue(struct switch_path *p, int64_t due_mono_ns, const void *frame, size_t len)
{
	struct waiting *w =
		p->waiting < SWITCH_FRAMES_MAX && len <= SWITCH_FRAME_MAX ? mem_alloc(sizeof(*w) + len) : NULL;

	if (!w) {
		p->counts.over_frames++;
		return false;
	}
	w->due = (struct due){ 0 };
	w->number = p->counts.in;
	w->len = len;
	memcpy(w->bytes, frame, len);
	due_add(&p->queue, &w->due, due_mono_ns, p->order++);
	p->waiting++;
	return true;
}

void switch_path_push(struct switch_path *p, int64_t now_mono_ns, const void *frame, size_t len)
{
	struct lot l = draw(p);
	int64_t due;

	p->counts.in++;
	p->counts.bytes += len;
	if (l.lost) {
		p->counts.lost++;
		return;
	}
	if (!take_tokens(p, now_mono_ns, len, &due)) {
		p->counts.over_rate++;
		return;
	}
	due += p->rules.delay_dur_ns + l.jitter_dur_ns;
	if (due < p->last_mono_ns)
		due = p->last_mono_ns;
	if (l.held) {
		p->counts.held++;
		due += p->rules.hold_dur_ns;
	} else {
		p->last_mono_ns = due;
	}
	if (enqueue(p, due, frame, len) && l.duplicated)
		p->counts.duplicated += enqueue(p, due, frame, len);
}

/* ---- out ---- */

int64_t switch_path_next(const struct switch_path *p)
{
	return p->queue.first ? p->queue.first->at_ns : INT64_MAX;
}

static void count_out(struct switch_path *p, const struct waiting *w, int64_t now_mono_ns)
{
	p->counts.out++;
	p->counts.reordered += w->number < p->furthest;
	p->counts.late += now_mono_ns - w->due.at_ns > SWITCH_LATE_DUR_NS;
	if (w->number > p->furthest)
		p->furthest = w->number;
}

bool switch_path_pop(struct switch_path *p, int64_t now_mono_ns, const void **ret_frame, size_t *ret_len)
{
	struct waiting *w;

	if (switch_path_next(p) > now_mono_ns || !p->queue.first)
		return false;
	w = container_of(p->queue.first, struct waiting, due);
	due_remove(&p->queue, &w->due);
	p->waiting--;
	count_out(p, w, now_mono_ns);
	mem_free(p->given);
	p->given = w;
	*ret_frame = w->bytes;
	*ret_len = w->len;
	return true;
}

const struct switch_counts *switch_path_counts(const struct switch_path *p)
{
	return &p->counts;
}
