/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See enc_json.h. Text is written into room for its maximum length, and the unused rest is released. Numbers that a
 * mapping fills in itself are kept at the end of such room until the next call, so far behind the text that formatting
 * them never overwrites numbers not yet read.
 */
#include "enc_json.h"

#include "base64.h"
#include "shortest.h"
#include "utf8.h"

#define CHUNK 1024u /* elements of an array, or bytes of a string, for which room is taken at once */

static const uint8_t sizes[SIM_KIND_END] = {
#define X(id, num, name, bytes) [SIM_KIND_##id] = bytes,
	SIM_KINDS(X)
#undef X
};

#define WIDTH SHORTEST_ROOM /* of a number and the comma after it */

static struct enc_json *json_of(struct sim_enc *e)
{
	return (struct enc_json *)(void *)e;
}

static void *room(struct enc_json *j, size_t n)
{
	char *at = iov_buf_room(j->out, n);

	j->end = at ? at + n : NULL;
	if (!at)
		sim_enc_fail(&j->enc, -ENOMEM);
	return at;
}

/* Releases the room after `at`. */
static void trim(struct enc_json *j, const char *at)
{
	iov_buf_trim(j->out, (size_t)(j->end - at));
}

static char *put(char *at, const char *s, size_t n)
{
	memcpy(at, s, n);
	return at + n;
}

/* ---- numbers ---- */

static char *put_bad(enum json_nan nan, double v, char *at)
{
	if (nan == JSON_NAN_NULL || (nan == JSON_NAN_EXACT && v != v))
		return put(at, "null", 4);
	return v != v ? put(at, "NaN", 3) : v < 0 ? put(at, "-1e999", 6) : put(at, "1e999", 5);
}

static inline char *put_f32(enum json_nan nan, const uint8_t *v, char *at)
{
	float f;

	memcpy(&f, v, sizeof(f));
	return __builtin_expect(f - f == 0, 1) ? shortest_f32(f, at) : put_bad(nan, (double)f, at);
}

static inline char *put_f64(enum json_nan nan, const uint8_t *v, char *at)
{
	double d;

	memcpy(&d, v, sizeof(d));
	return __builtin_expect(d - d == 0, 1) ? shortest_f64(d, at) : put_bad(nan, d, at);
}

static int64_t signed_of(enum sim_kind kind, const uint8_t *v)
{
	uint64_t u = 0;
	unsigned shift = 64 - 8u * sizes[kind];

	memcpy(&u, v, sizes[kind]);
	return (int64_t)(u << shift) >> shift;
}

static char *put_number(enum json_nan nan, enum sim_kind kind, const uint8_t *v, char *at)
{
	uint64_t u = 0;

	switch (kind) {
	case SIM_KIND_FLOAT32:
		return put_f32(nan, v, at);
	case SIM_KIND_FLOAT64:
		return put_f64(nan, v, at);
	case SIM_KIND_BOOL:
		return *v ? put(at, "true", 4) : put(at, "false", 5);
	case SIM_KIND_INT8:
	case SIM_KIND_INT16:
	case SIM_KIND_INT32:
	case SIM_KIND_INT64:
		return shortest_i64(signed_of(kind, v), at);
	default:
		memcpy(&u, v, sizes[kind]);
		return shortest_u64(u, at);
	}
}

/* For arrays: a comma after each number. */
static char *put_numbers(enum json_nan nan, enum sim_kind kind, const uint8_t *v, uint32_t n, char *at)
{
	bool real = kind == SIM_KIND_FLOAT32 || kind == SIM_KIND_FLOAT64;

	for (uint32_t i = 0; i < n; i++, *at++ = ',') {
		const uint8_t *from = v + (size_t)i * sizes[kind];

		if (real)
			i += kind == SIM_KIND_FLOAT32 ? shortest_f32s(from, n - i, &at)
						      : shortest_f64s(from, n - i, &at);
		if (i == n)
			break;
		at = put_number(nan, kind, v + (size_t)i * sizes[kind], at);
	}
	return at;
}

/* ---- before a value ---- */

/* Formats the numbers that a mapping has filled in. */
static void flush(struct enc_json *j)
{
	size_t size = (size_t)j->n_pending * sizes[j->pending];
	const uint8_t *data = (const uint8_t *)j->end - size;
	char *at = j->end - size;

	if (j->binary) {
		at -= base64_length(j->n_pending) + 1;
		at = base64_write(at, data, j->n_pending);
		*at++ = '"';
	} else {
		at -= (size_t)j->n_pending * WIDTH + 1;
		at = put_numbers(j->nan, j->pending, data, j->n_pending, at);
		at[-1] = ']'; /* replaces the last comma; there is at least one number */
	}
	j->pending = 0;
	trim(j, at);
}

/*
 * Writes the comma and the name of the next value. Returns room for n more characters; NULL: no memory, or an earlier
 * error.
 */
static char *next(struct enc_json *j, const char *name, size_t n, const struct ros_field **ret_f)
{
	const struct ros_field *f = enc_names_next(&j->names);
	size_t len;
	char *at;

	if (j->pending)
		flush(j);
	if (ret_f)
		*ret_f = f;
	name = name && f ? f->name : name;
	len = name ? strlen(name) : 0;
	at = j->enc.err ? NULL : room(j, len + 4 + n);
	if (!at)
		return NULL;
	if (j->more)
		*at++ = ',';
	j->more = true;
	if (!name)
		return at;
	*at++ = '"';
	at = put(at, name, len);
	return put(at, "\":", 2);
}

/* ---- operations ---- */

static void json_value(struct sim_enc *e, const char *name, enum sim_kind kind, const void *v)
{
	struct enc_json *j = json_of(e);
	char *at = next(j, name, WIDTH, NULL);

	if (at)
		trim(j, put_number(j->nan, kind, v, at));
}

/* Writes the character at s, at most 6 bytes; *ret_n: its length in s. */
static char *put_char(char *at, const char *s, size_t n, size_t *ret_n)
{
	static const char hex[] = "0123456789abcdef";
	static const char escapes[0x20] = { ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't' };
	uint8_t c = (uint8_t)*s;
	size_t len = utf8_char(s, n);

	*ret_n = len ? len : 1;
	if (!len)
		return put(at, "\xef\xbf\xbd", 3);
	if (c >= 0x20 && c != '"' && c != '\\')
		return put(at, s, len);
	*at++ = '\\';
	if (c >= 0x20 || escapes[c]) {
		*at++ = c >= 0x20 ? (char)c : escapes[c];
		return at;
	}
	at = put(at, "u00", 3);
	*at++ = hex[c >> 4];
	*at++ = hex[c & 15];
	return at;
}

int json_put_string(struct iov_buf *out, const char *s, size_t len)
{
	size_t n, used = 0;

	if (json_put(out, "\"") < 0)
		return -ENOMEM;
	while (used < len) {
		size_t part = len - used < CHUNK ? len - used : CHUNK;
		char *start = iov_buf_room(out, part * 6), *at = start;

		if (!at)
			return -ENOMEM;
		for (size_t end = used + part; used < end; used += n)
			at = put_char(at, s + used, len - used, &n);
		iov_buf_trim(out, part * 6 - (size_t)(at - start));
	}
	return json_put(out, "\"");
}

static void json_string(struct sim_enc *e, const char *name, const char *s, size_t len)
{
	struct enc_json *j = json_of(e);
	char *at = next(j, name, 0, NULL);

	if (!at)
		return;
	trim(j, at);
	if (json_put_string(j->out, s, len) < 0)
		sim_enc_fail(e, -ENOMEM);
}

static char *put_time(struct enc_json *j, enum sim_kind kind, int64_t ns, char *at)
{
	struct enc_time t = enc_time(&j->enc, j->words, kind, ns);
	bool ros1 = j->words == ROS_GENERIC_ROS1, ours = j->words == ROS_GENERIC_OURS;

	at = ros1 ? put(at, "{\"secs\":", 8) : put(at, "{\"sec\":", 7);
	at = shortest_i64(t.sec, at);
	at = ros1 ? put(at, ",\"nsecs\":", 9) : ours ? put(at, ",\"nsec\":", 8) : put(at, ",\"nanosec\":", 11);
	at = shortest_u64(t.nsec, at);
	*at++ = '}';
	return at;
}

#define TIME_MAX 96u

static void json_time(struct sim_enc *e, const char *name, enum sim_kind kind, int64_t ns)
{
	struct enc_json *j = json_of(e);
	char *at = next(j, name, TIME_MAX, NULL);

	if (at)
		trim(j, put_time(j, kind, ns, at));
}

/* Whether the array is base64; rosbridge has ROS's `byte` as numbers. */
static bool is_binary(enum sim_kind kind, const struct ros_field *f)
{
	return kind == SIM_KIND_UINT8 && !(f && f->prim == ROS_BYTE);
}

static void put_base64(struct enc_json *j, const char *name, const void *data, uint32_t n)
{
	size_t length = base64_length(n);
	char *at;

	at = next(j, name, length + 2, NULL);
	if (!at)
		return;
	*at++ = '"';
	at = base64_write(at, data, n);
	*at++ = '"';
	trim(j, at);
	j->out->copied += n;
}

static void json_array(struct sim_enc *e, const char *name, enum sim_kind kind, const void *data, uint32_t n, int fixed)
{
	struct enc_json *j = json_of(e);
	const struct enc_names_level *l = &j->names.level[j->names.depth];
	const struct ros_field *f = l->type && l->at < l->type->n_fields ? &l->type->fields[l->at] : NULL;
	char *at;

	(void)fixed;
	if (is_binary(kind, f)) {
		put_base64(j, name, data, n);
		return;
	}
	at = next(j, name, 2, NULL);
	if (!at)
		return;
	*at++ = '[';
	trim(j, at);
	for (uint32_t i = 0; i < n; i += CHUNK) {
		uint32_t part = n - i < CHUNK ? n - i : CHUNK;

		at = room(j, (size_t)part * WIDTH);
		if (!at)
			return;
		at = put_numbers(j->nan, kind, (const uint8_t *)data + (size_t)i * sizes[kind], part, at);
		trim(j, at);
	}
	at = n ? at - 1 : room(j, 1);
	if (at)
		*at = ']';
	j->out->copied += (uint64_t)n * sizes[kind];
}

static void *json_room(struct sim_enc *e, const char *name, enum sim_kind kind, uint32_t n, int fixed)
{
	struct enc_json *j = json_of(e);
	const struct ros_field *f;
	bool binary;
	char *at;

	(void)fixed;
	at = next(j, name, 2, &f);
	if (!at)
		return NULL;
	binary = is_binary(kind, f);
	*at++ = binary ? '"' : '[';
	if (!n) {
		*at++ = binary ? '"' : ']';
		trim(j, at);
		return NULL;
	}
	trim(j, at);
	at = room(j, (binary ? base64_length(n) : (size_t)n * WIDTH) + 1 + (size_t)n * sizes[kind]);
	if (!at)
		return NULL;
	j->pending = kind;
	j->n_pending = n;
	j->binary = binary;
	j->out->copied += (uint64_t)n * sizes[kind];
	return j->end - (size_t)n * sizes[kind];
}

static void open_one(struct enc_json *j, const char *name, char bracket)
{
	const struct ros_field *f;
	char *at = next(j, name, 1, &f);

	enc_names_push(&j->names, &j->enc, f, bracket == '[');
	if (!at)
		return;
	*at++ = bracket;
	trim(j, at);
	j->more = false;
}

static void close_one(struct enc_json *j, char bracket)
{
	char *at;

	if (j->pending)
		flush(j);
	enc_names_pop(&j->names);
	at = j->enc.err ? NULL : room(j, 1);
	if (at)
		*at = bracket;
	j->more = true;
}

static void json_open(struct sim_enc *e, const char *name)
{
	open_one(json_of(e), name, '{');
}
static void json_close(struct sim_enc *e)
{
	close_one(json_of(e), '}');
}
static void json_list(struct sim_enc *e, const char *name, uint32_t n, int fixed)
{
	(void)n;
	(void)fixed;
	open_one(json_of(e), name, '[');
}
static void json_list_end(struct sim_enc *e)
{
	close_one(json_of(e), ']');
}

static void json_header(struct sim_enc *e, const char *name, const struct sim_enc_header *h)
{
	struct enc_json *j = json_of(e);
	char *at = next(j, name, 64 + TIME_MAX, NULL);

	if (!at)
		return;
	*at++ = '{';
	if (j->words == ROS_GENERIC_ROS1) {
		at = shortest_u64(h->seq, put(at, "\"seq\":", 6));
		*at++ = ',';
	}
	at = put_time(j, SIM_KIND_TIME, h->stamp_sim_ns, put(at, "\"stamp\":", 8));
	trim(j, put(at, ",\"frame_id\":", 12));
	if (json_put_string(j->out, h->frame, strlen(h->frame)) < 0 || json_put(j->out, "}") < 0)
		sim_enc_fail(e, -ENOMEM);
}

static const struct sim_enc_ops json_ops = {
	.abi = SIM_ENC_ABI,
	.size = sizeof(json_ops),
	.value = json_value,
	.string = json_string,
	.time = json_time,
	.array = json_array,
	.room = json_room,
	.begin = json_open,
	.end = json_close,
	.list = json_list,
	.list_end = json_list_end,
	.header = json_header,
};

int json_put(struct iov_buf *out, const char *text)
{
	size_t n = strlen(text);
	char *at = iov_buf_room(out, n);

	if (!at)
		return -ENOMEM;
	memcpy(at, text, n);
	return 0;
}

void json_begin(struct enc_json *j, enum ros_generic_words words, enum json_nan nan, const struct ros_type *type,
		struct iov_buf *out)
{
	j->enc = (struct sim_enc){ .ops = &json_ops };
	j->out = out;
	j->words = words;
	j->nan = nan;
	j->more = false;
	j->pending = 0;
	enc_names_begin(&j->names, type);
	if (json_put(out, "{") < 0)
		sim_enc_fail(&j->enc, -ENOMEM);
}

int json_finish(struct enc_json *j)
{
	if (j->pending)
		flush(j);
	if (!j->enc.err && json_put(j->out, "}") < 0)
		sim_enc_fail(&j->enc, -ENOMEM);
	return j->enc.err;
}
