/* SPDX-License-Identifier: Apache-2.0 */
/* See dec_watch.h. */
#include "dec_watch.h"

#include <errno.h>
#include <string.h>

static struct dec_watch *watch_of(struct sim_dec *d)
{
	return (struct dec_watch *)(void *)d;
}

/* The decoder behind this one, which also gets this one's error. */
static struct sim_dec *from_of(struct sim_dec *d)
{
	struct sim_dec *from = watch_of(d)->from;

	if (d->err)
		sim_dec_fail(from, d->err);
	return from;
}

static void w_value(struct sim_dec *d, const char *name, enum sim_kind kind, void *ret)
{
	struct sim_dec *from = from_of(d);

	from->ops->value(from, name, kind, ret);
	d->err = from->err;
}

static const char *w_string(struct sim_dec *d, const char *name, size_t max, size_t *ret_len)
{
	struct sim_dec *from = from_of(d);
	const char *s = from->ops->string(from, name, max, ret_len);

	d->err = from->err;
	return s;
}

static int64_t w_time(struct sim_dec *d, const char *name, enum sim_kind kind)
{
	struct sim_dec *from = from_of(d);
	int64_t ns = from->ops->time(from, name, kind);

	d->err = from->err;
	return ns;
}

static const void *w_array(struct sim_dec *d, const char *name, enum sim_kind kind, uint32_t fixed, uint32_t *ret_n)
{
	struct sim_dec *from = from_of(d);
	const void *at = from->ops->array(from, name, kind, fixed, ret_n);

	d->err = from->err;
	return at;
}

static void w_begin(struct sim_dec *d, const char *name)
{
	struct sim_dec *from = from_of(d);

	watch_of(d)->depth++;
	from->ops->begin(from, name);
	d->err = from->err;
}

static void w_end(struct sim_dec *d)
{
	struct sim_dec *from = from_of(d);

	watch_of(d)->depth--;
	from->ops->end(from);
	d->err = from->err;
}

static uint32_t w_list(struct sim_dec *d, const char *name, uint32_t fixed, size_t min)
{
	struct sim_dec *from = from_of(d);
	uint32_t n = from->ops->list(from, name, fixed, min);

	d->err = from->err;
	return n;
}

static void w_list_end(struct sim_dec *d)
{
	struct sim_dec *from = from_of(d);

	from->ops->list_end(from);
	d->err = from->err;
}

static int64_t w_header(struct sim_dec *d, const char *name, const char **ret_frame, size_t *ret_len)
{
	struct dec_watch *w = watch_of(d);
	struct sim_dec *from = from_of(d);
	const char *frame = "";
	size_t len = 0;
	int64_t stamp_sim_ns = from->ops->header(from, name, &frame, &len);

	if (!w->noted && w->depth == 0)
		dec_watch_note(from, stamp_sim_ns, frame, len, w->to);
	w->noted = w->noted || w->depth == 0;
	if (ret_frame) {
		*ret_frame = frame;
		*ret_len = len;
	}
	d->err = from->err;
	return stamp_sim_ns;
}

static int w_has(struct sim_dec *d, const char *name)
{
	return sim_dec_has(watch_of(d)->from, name);
}

static const struct sim_dec_ops watch_ops = {
	.abi = SIM_DEC_ABI,
	.size = sizeof(watch_ops),
	.value = w_value,
	.string = w_string,
	.time = w_time,
	.array = w_array,
	.begin = w_begin,
	.end = w_end,
	.list = w_list,
	.list_end = w_list_end,
	.header = w_header,
	.has = w_has,
};

void dec_watch_begin(struct dec_watch *w, struct sim_dec *from, struct message_in *to)
{
	*w = (struct dec_watch){ .dec = { &watch_ops, from->err }, .from = from, .to = to };
}

void dec_watch_note(struct sim_dec *d, int64_t stamp_sim_ns, const char *frame, size_t len, struct message_in *to)
{
	if (len > SIM_FRAME_ID_MAX)
		sim_dec_fail(d, -EMSGSIZE);
	if (d->err)
		return;
	to->stamp_sim_ns = stamp_sim_ns;
	if (len)
		memcpy(to->frame, frame, len);
	to->frame[len] = '\0';
}
