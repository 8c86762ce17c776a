/* SPDX-License-Identifier: Apache-2.0 */
/* See named_reader.h. Only requested values are decoded; skipped ones are checked for their syntax. */
#include "named_private.h"

#include <math.h>
#include <stdlib.h>

#define FRAME_MAX 255u
#define BLOCK_MIN 16384u

struct named_block {
	struct named_block *older;
	size_t used, size;
	_Alignas(16) uint8_t bytes[];
};

static struct named_reader *reader_of(struct sim_dec *d)
{
	return (struct named_reader *)(void *)d;
}

static struct named_level *level_of(struct named_reader *r)
{
	return &r->level[r->depth];
}

/* ---- memory ---- */

/* Frees all blocks but the newest, which is the largest. */
static void free_older(struct named_reader *r)
{
	struct named_block *b = r->blocks ? r->blocks->older : NULL;

	for (struct named_block *older; b; b = older) {
		older = b->older;
		free(b);
	}
	if (r->blocks)
		r->blocks->older = NULL;
}

void *named_alloc(struct named_reader *r, size_t n)
{
	size_t need = (n + 15) & ~(size_t)15, size = r->blocks ? r->blocks->size * 2 : BLOCK_MIN;
	struct named_block *b = r->blocks;

	if (!b || need > b->size - b->used) {
		size = size < need ? need : size;
		b = malloc(sizeof(*b) + size);
		if (!b) {
			sim_dec_fail(&r->dec, -ENOMEM);
			return NULL;
		}
		*b = (struct named_block){ .older = r->blocks, .size = size };
		r->blocks = b;
	}
	b->used += need;
	return b->bytes + b->used - need;
}

/* ---- numbers ---- */

size_t named_size(enum sim_kind kind)
{
	static const uint8_t sizes[SIM_KIND_END] = {
#define X(id, num, name, bytes) [SIM_KIND_##id] = bytes,
		SIM_KINDS(X)
#undef X
	};

	return sizes[kind];
}

bool named_store_integer(enum sim_kind kind, bool negative, uint64_t v, void *ret)
{
	unsigned bits = 8 * (unsigned)named_size(kind);
	bool is_signed =
		kind == SIM_KIND_INT8 || kind == SIM_KIND_INT16 || kind == SIM_KIND_INT32 || kind == SIM_KIND_INT64;

	if (kind == SIM_KIND_FLOAT32 || kind == SIM_KIND_FLOAT64) {
		named_store_real(kind, negative ? (double)(int64_t)v : (double)v, ret);
		return true;
	}
	if (kind == SIM_KIND_BOOL)
		bits = 1;
	if (negative ? !is_signed || (int64_t)v < INT64_MIN >> (64 - bits)
		     : v > (is_signed || bits < 64 ? (UINT64_C(1) << (bits - is_signed)) - 1 : UINT64_MAX))
		return false;
	memcpy(ret, &v, named_size(kind));
	return true;
}

void named_store_real(enum sim_kind kind, double v, void *ret)
{
	float f = (float)v;

	if (kind == SIM_KIND_FLOAT32)
		memcpy(ret, &f, sizeof(f));
	else
		memcpy(ret, &v, sizeof(v));
}

/* ---- finding ---- */

static void push(struct named_reader *r, struct named_level l)
{
	if (r->depth + 1 == NAMED_DEPTH)
		sim_dec_fail(&r->dec, -EMSGSIZE);
	else
		r->level[++r->depth] = l;
}

static bool is_key(const struct named_field *f, const char *name, size_t len)
{
	return f->key_len == len && memcmp(f->key, name, len) == 0;
}

/* Indexes the fields of the map at `at`, after those already open. Returns its end. */
static const uint8_t *index_map(struct named_reader *r, const uint8_t *at)
{
	unsigned first = r->n_fields;
	struct named_iter i;
	const uint8_t *v;

	r->format->enter(r, &i, at);
	while ((v = r->format->next(r, &i, true)) && !r->dec.err) {
		if (r->n_fields - first == NAMED_FIELDS || r->n_fields == NAMED_OPEN || i.key_len > UINT32_MAX)
			return named_fail(r, -EMSGSIZE);
		for (unsigned k = first; k < r->n_fields; k++)
			if (is_key(&r->field[k], i.key, i.key_len))
				return named_fail(r, -EBADMSG);
		r->field[r->n_fields++] = (struct named_field){ .key = i.key, .key_len = (uint32_t)i.key_len, .at = v };
		i.at = r->format->skip(r, v, NAMED_DEPTH - r->depth - 1);
		if (!i.at)
			return NULL;
	}
	return i.at;
}

/* Finds a field of the open message; NULL: it is absent. */
static struct named_field *find(struct named_reader *r, const char *name)
{
	struct named_level *l = level_of(r);
	size_t len = strlen(name);
	unsigned n = r->n_fields - l->first;

	if (r->dec.err || l->list)
		return NULL;
	for (unsigned i = 0; i < n; i++) {
		unsigned k = l->next + i < n ? l->next + i : l->next + i - n;

		if (is_key(&r->field[l->first + k], name, len)) {
			l->next = k + 1 < n ? k + 1 : 0;
			return &r->field[l->first + k];
		}
	}
	return NULL;
}

static const uint8_t *element(struct named_reader *r)
{
	struct named_level *l = level_of(r);
	const uint8_t *at = l->at;
	struct named_iter i = { .at = at, .left = l->left - 1u };

	if (r->dec.err || !l->list || !l->left)
		return NULL;
	if (--l->left) {
		i.at = r->format->skip(r, at, NAMED_DEPTH - r->depth);
		l->at = i.at ? r->format->next(r, &i, false) : NULL;
	}
	return r->dec.err ? NULL : at;
}

/* Takes a value, which may be null: of the field `name`, or with NULL of the next element. */
static const uint8_t *take_any(struct named_reader *r, const char *name)
{
	struct named_field *f = name ? find(r, name) : NULL;

	if (f)
		f->taken = true;
	return name ? f ? f->at : NULL : element(r);
}

static const uint8_t *take(struct named_reader *r, const char *name)
{
	const uint8_t *at = take_any(r, name);

	return at && r->format->what(r, at) != NAMED_NULL ? at : NULL;
}

/* ---- operations ---- */

static void on_value(struct sim_dec *d, const char *name, enum sim_kind kind, void *ret)
{
	struct named_reader *r = reader_of(d);
	const uint8_t *at = take_any(r, name);

	memset(ret, 0, named_size(kind));
	if (!at)
		return;
	if (r->format->what(r, at) != NAMED_NULL)
		r->format->number(r, at, kind, ret);
	else if (kind == SIM_KIND_FLOAT32 || kind == SIM_KIND_FLOAT64)
		named_store_real(kind, (double)NAN, ret);
	if (d->err)
		memset(ret, 0, named_size(kind));
}

static const char *on_string(struct sim_dec *d, const char *name, size_t max, size_t *ret_len)
{
	struct named_reader *r = reader_of(d);
	const uint8_t *at = take(r, name);
	size_t len = 0;
	const char *s = at ? r->format->string(r, at, &len) : NULL;

	if (s && memchr(s, '\0', len))
		sim_dec_fail(d, -EBADMSG);
	if (s && len > max)
		sim_dec_fail(d, -EMSGSIZE);
	*ret_len = s && !d->err ? len : 0;
	return *ret_len ? s : "";
}

static void on_begin(struct sim_dec *d, const char *name)
{
	struct named_reader *r = reader_of(d);
	const uint8_t *at = take(r, name);

	push(r, (struct named_level){ .first = r->n_fields });
	if (!at || d->err)
		return;
	if (r->format->what(r, at) == NAMED_MAP)
		index_map(r, at);
	else
		sim_dec_fail(d, -EBADMSG);
}

/* Counts unrequested fields of the open message. */
static void count_ignored(struct named_reader *r)
{
	for (unsigned i = level_of(r)->first; i < r->n_fields; i++) {
		const struct named_field *f = &r->field[i];
		size_t n = f->key_len < sizeof(r->ignored_one) - 1 ? f->key_len : sizeof(r->ignored_one) - 1;

		if (f->taken)
			continue;
		if (!r->ignored++) {
			memcpy(r->ignored_one, f->key, n);
			r->ignored_one[n] = '\0';
		}
	}
}

static void on_end(struct sim_dec *d)
{
	struct named_reader *r = reader_of(d);

	if (d->err || !r->depth || level_of(r)->list)
		return;
	count_ignored(r);
	r->n_fields = level_of(r)->first;
	r->depth--;
}

/* Reads seconds and fraction, under the names of ROS 1, ROS 2 or Foxglove. */
static int64_t on_time(struct sim_dec *d, const char *name, enum sim_kind kind)
{
	struct named_reader *r = reader_of(d);
	const char *rest;
	bool ros1;
	int64_t sec, nsec;

	on_begin(d, name);
	ros1 = find(r, "secs") || find(r, "nsecs");
	sec = sim_dec_i64(d, ros1 ? "secs" : "sec");
	rest = ros1 ? "nsecs" : find(r, "nsec") ? "nsec" : "nanosec";
	nsec = sim_dec_i64(d, rest);
	on_end(d);
	if (nsec <= -1000000000 || nsec >= 1000000000 || sec < INT32_MIN || sec > (int64_t)UINT32_MAX ||
	    (kind == SIM_KIND_TIME && nsec < 0))
		sim_dec_fail(d, -EBADMSG);
	return d->err ? 0 : sec * 1000000000 + nsec;
}

static const void *on_array(struct sim_dec *d, const char *name, enum sim_kind kind, uint32_t fixed, uint32_t *ret_n)
{
	struct named_reader *r = reader_of(d);
	const uint8_t *at = take(r, name);
	const void *data;

	*ret_n = 0;
	data = at ? r->format->array(r, at, kind, ret_n) : NULL;
	if (fixed && *ret_n > fixed)
		sim_dec_fail(d, -EBADMSG);
	if (d->err)
		*ret_n = 0;
	return *ret_n ? data : NULL;
}

static uint32_t on_list(struct sim_dec *d, const char *name, uint32_t fixed, size_t min)
{
	struct named_reader *r = reader_of(d);
	const uint8_t *at = take(r, name), *v;
	struct named_iter i;
	uint32_t n = 0;

	(void)min;
	push(r, (struct named_level){ .list = true, .first = r->n_fields });
	if (!at || d->err)
		return 0;
	if (r->format->what(r, at) != NAMED_LIST)
		sim_dec_fail(d, -EBADMSG);
	for (r->format->enter(r, &i, at); !d->err && (v = r->format->next(r, &i, false)) && n < UINT32_MAX; n++) {
		if (!n)
			level_of(r)->at = v;
		i.at = r->format->skip(r, v, NAMED_DEPTH - r->depth - 1);
	}
	if (fixed && n > fixed)
		sim_dec_fail(d, -EBADMSG);
	level_of(r)->left = d->err ? 0 : n;
	return level_of(r)->left;
}

static void on_list_end(struct sim_dec *d)
{
	struct named_reader *r = reader_of(d);

	if (!d->err && r->depth && level_of(r)->list)
		r->depth--;
}

static int64_t on_header(struct sim_dec *d, const char *name, const char **ret_frame, size_t *ret_len)
{
	int64_t stamp_sim_ns;
	const char *frame;
	size_t len;

	on_begin(d, name);
	(void)take(reader_of(d), "seq");
	stamp_sim_ns = on_time(d, "stamp", SIM_KIND_TIME);
	frame = on_string(d, "frame_id", FRAME_MAX, &len);
	on_end(d);
	if (ret_frame) {
		*ret_frame = frame;
		*ret_len = len;
	}
	return stamp_sim_ns;
}

static int on_has(struct sim_dec *d, const char *name)
{
	struct named_reader *r = reader_of(d);
	const struct named_field *f = find(r, name);

	return f && r->format->what(r, f->at) != NAMED_NULL;
}

static const struct sim_dec_ops named_ops = {
	.abi = SIM_DEC_ABI,
	.size = sizeof(named_ops),
	.value = on_value,
	.string = on_string,
	.time = on_time,
	.array = on_array,
	.begin = on_begin,
	.end = on_end,
	.list = on_list,
	.list_end = on_list_end,
	.header = on_header,
	.has = on_has,
};

/* ---- lifetime ---- */

void named_reader_init(struct named_reader *r)
{
	r->blocks = NULL;
}

void named_reader_end(struct named_reader *r)
{
	if (!r->dec.err && !r->depth)
		count_ignored(r);
}

void named_reader_finish(struct named_reader *r)
{
	free_older(r);
	free(r->blocks);
	r->blocks = NULL;
}

void named_begin(struct named_reader *r, const struct named_format *format, const void *data, size_t len)
{
	r->dec = (struct sim_dec){ .ops = &named_ops };
	r->format = format;
	r->end = (const uint8_t *)data + len;
	r->depth = 0;
	r->n_fields = 0;
	r->ignored = 0;
	r->ignored_one[0] = '\0';
	free_older(r);
	if (r->blocks)
		r->blocks->used = 0;
	r->level[0] = (struct named_level){ .at = NULL };
	if (!len || format->what(r, data) != NAMED_MAP || index_map(r, data) != r->end)
		sim_dec_fail(&r->dec, -EBADMSG);
}
