/* SPDX-License-Identifier: Apache-2.0 */
/* Fusion with the newest message of each partner: all-latest, hold. Thread: under fusion::lock. */
#include "fusion_private.h"

/* Takes m0. All partners have had a message. */
static void push_with_latest(struct fusion *f, struct msg *m0, struct fallen *x)
{
	struct tuple t = { .m = { m0 } };

	for (unsigned i = 1; i < f->o.n; i++)
		t.m[i] = msg_ref(f->latest[i]);
	fusion_push(f, t, x);
}

static void replace_latest(struct fusion *f, unsigned input, struct msg *m, struct fallen *x)
{
	fallen_add(x, f->latest[input]);
	f->latest[input] = msg_ref(m);
	f->missing &= ~(1u << input);
}

bool fusion_put_latest(struct fusion *f, unsigned input, struct msg *m, struct fallen *x)
{
	if (input) {
		replace_latest(f, input, m, x);
		return false;
	}
	if (f->missing) {
		fusion_count(f, f->missing);
		return false;
	}
	push_with_latest(f, msg_ref(m), x);
	return true;
}

bool fusion_put_hold(struct fusion *f, unsigned input, struct msg *m, struct fallen *x)
{
	struct waiting *w, *tmp;
	bool ret = false;

	if (!input && f->missing) {
		fusion_wait(f, &(struct waiting){ .t.m = { msg_ref(m) }, .open = f->missing }, x);
		return false;
	}
	if (!input || !(f->missing & 1u << input))
		return fusion_put_latest(f, input, m, x);
	replace_latest(f, input, m, x);
	list_for_each_safe(w, tmp, &f->waiting, link) {
		w->open = f->missing;
		if (w->open)
			continue;
		push_with_latest(f, w->t.m[0], x);
		fusion_waits_no_more(f, w);
		ret = true;
	}
	return ret;
}
