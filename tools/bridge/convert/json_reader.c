/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See json_reader.h. Values are read only after skip() has checked them: then they are well-formed, and text follows
 * them.
 */
#include "json_reader.h"

#include <math.h>

#include "base64.h"
#include "named_private.h"
#include "number.h"
#include "utf8.h"

/* ---- form ---- */

static const uint8_t *space(const struct named_reader *r, const uint8_t *at)
{
	while (at < r->end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
		at++;
	return at;
}

static bool is_digit(const struct named_reader *r, const uint8_t *at)
{
	return at < r->end && *at >= '0' && *at <= '9';
}

static const uint8_t *skip_digits(struct named_reader *r, const uint8_t *at)
{
	if (!is_digit(r, at))
		return named_fail(r, -EBADMSG);
	while (is_digit(r, at))
		at++;
	return at;
}

static const uint8_t *skip_number(struct named_reader *r, const uint8_t *at)
{
	at += *at == '-';
	at = is_digit(r, at) && *at == '0' ? at + 1 : skip_digits(r, at);
	if (at && at < r->end && *at == '.')
		at = skip_digits(r, at + 1);
	if (!at || at == r->end || (*at | 0x20) != 'e')
		return at;
	at++;
	at += at < r->end && (*at == '+' || *at == '-');
	return skip_digits(r, at);
}

static int hex_of(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The position after the escape at the backslash `at`. */
static const uint8_t *skip_escape(struct named_reader *r, const uint8_t *at)
{
	size_t left = (size_t)(r->end - at);

	if (left < 2 || !memchr("\"\\/bfnrtu", at[1], 9))
		return named_fail(r, -EBADMSG);
	if (at[1] != 'u')
		return at + 2;
	for (unsigned i = 2; i < 6; i++)
		if (i >= left || hex_of(at[i]) < 0)
			return named_fail(r, -EBADMSG);
	return at + 6;
}

static const uint8_t *skip_string(struct named_reader *r, const uint8_t *at)
{
	for (at++; at && at < r->end && *at != '"';) {
		if (*at == '\\') {
			at = skip_escape(r, at);
		} else {
			size_t n = utf8_char((const char *)at, (size_t)(r->end - at));

			if (!n || *at < 0x20)
				return named_fail(r, -EBADMSG);
			at += n;
		}
	}
	return at && at < r->end ? at + 1 : named_fail(r, -EBADMSG);
}

static const struct word {
	const char *text;
	uint8_t len;
} words[] = { { "null", 4 }, { "true", 4 }, { "false", 5 }, { "NaN", 3 }, { "Infinity", 8 }, { "-Infinity", 9 } };
enum { WORD_NULL, WORD_TRUE, WORD_FALSE, WORD_NAN, WORD_INFINITY, WORD_MINUS_INFINITY, WORDS };

/* Index of the word at `at`; WORDS: none of them. */
static unsigned word_at(const struct named_reader *r, const uint8_t *at)
{
	unsigned i = 0;

	while (i < WORDS && ((size_t)(r->end - at) < words[i].len || memcmp(at, words[i].text, words[i].len) != 0))
		i++;
	return i;
}

static void json_enter(struct named_reader *r, struct named_iter *i, const uint8_t *at)
{
	(void)r;
	*i = (struct named_iter){ .at = at + 1, .first = true };
}

/* Decodes a string; in place if it has no escapes. */
static const char *json_string(struct named_reader *r, const uint8_t *at, size_t *ret_len);

/* Reads the key of a pair, and the colon. */
static const uint8_t *key(struct named_reader *r, struct named_iter *i)
{
	const uint8_t *at = i->at;

	if (at == r->end || *at != '"')
		return named_fail(r, -EBADMSG);
	i->at = skip_string(r, at);
	if (!i->at)
		return NULL;
	i->key = json_string(r, at, &i->key_len);
	at = space(r, i->at);
	if (at == r->end || *at != ':')
		return named_fail(r, -EBADMSG);
	return space(r, at + 1);
}

static const uint8_t *json_next(struct named_reader *r, struct named_iter *i, bool map)
{
	bool first = i->first;

	i->first = false;
	i->at = space(r, i->at);
	if (i->at < r->end && *i->at == (map ? '}' : ']')) {
		i->at++;
		return NULL;
	}
	if (!first && (i->at == r->end || *i->at++ != ','))
		return named_fail(r, -EBADMSG);
	i->at = space(r, i->at);
	if (map)
		i->at = key(r, i);
	return i->at && i->at < r->end ? i->at : named_fail(r, -EBADMSG);
}

static const uint8_t *json_skip(struct named_reader *r, const uint8_t *at, unsigned depth)
{
	struct named_iter i;
	const uint8_t *v;
	bool map = *at == '{';
	unsigned word;

	if (*at == '"')
		return skip_string(r, at);
	if (!map && *at != '[') {
		word = word_at(r, at);
		return word < WORDS ? at + words[word].len : skip_number(r, at);
	}
	if (!depth)
		return named_fail(r, -EMSGSIZE);
	for (json_enter(r, &i, at); (v = json_next(r, &i, map));) {
		i.at = json_skip(r, v, depth - 1);
		if (!i.at)
			return NULL;
	}
	return r->dec.err ? NULL : i.at;
}

static enum named_what json_what(const struct named_reader *r, const uint8_t *at)
{
	(void)r;
	return *at == '{' ? NAMED_MAP : *at == '[' ? NAMED_LIST : *at == 'n' ? NAMED_NULL : NAMED_OTHER;
}

/* ---- strings ---- */

static uint32_t unit_of(const uint8_t *at)
{
	return (uint32_t)(hex_of(at[2]) << 12 | hex_of(at[3]) << 8 | hex_of(at[4]) << 4 | hex_of(at[5]));
}

static char *put_utf8(char *to, uint32_t c)
{
	unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const uint8_t lead[] = { 0, 0xc0, 0xe0, 0xf0 };

	*to++ = (char)(lead[more] | c >> 6 * more);
	while (more--)
		*to++ = (char)(0x80 | (c >> 6 * more & 0x3f));
	return to;
}

/* Decodes the escape at `at`; an unpaired surrogate becomes U+FFFD. */
static char *unescape(char *to, const uint8_t **at)
{
	static const char from[] = "bfnrt", meant[] = "\b\f\n\r\t";
	const char *c = strchr(from, (*at)[1]);
	uint32_t unit, low;

	if ((*at)[1] != 'u') {
		*to++ = c ? meant[c - from] : (char)(*at)[1];
		*at += 2;
		return to;
	}
	unit = unit_of(*at);
	*at += 6;
	if (unit < 0xd800 || unit > 0xdfff)
		return put_utf8(to, unit);
	low = unit < 0xdc00 && (*at)[0] == '\\' && (*at)[1] == 'u' ? unit_of(*at) : 0;
	if (low < 0xdc00 || low > 0xdfff)
		return put_utf8(to, 0xfffd);
	*at += 6;
	return put_utf8(to, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
}

/* Length of the string at `at`, in characters of the text, and whether it has escapes. */
static size_t extent(const uint8_t *at, bool *ret_escaped)
{
	const uint8_t *p = at;

	*ret_escaped = false;
	for (; *p != '"'; p++)
		if (*p == '\\') {
			*ret_escaped = true;
			p++;
		}
	return (size_t)(p - at);
}

static const char *json_string(struct named_reader *r, const uint8_t *at, size_t *ret_len)
{
	const uint8_t *end;
	bool escaped;
	size_t n;
	char *text, *to;

	if (*at != '"')
		return named_fail(r, -EBADMSG);
	n = extent(++at, &escaped);
	*ret_len = n;
	if (!escaped)
		return (const char *)at;
	text = to = named_alloc(r, n);
	for (end = at + n; to && at < end;)
		if (*at == '\\')
			to = unescape(to, &at);
		else
			*to++ = (char)*at++;
	*ret_len = to ? (size_t)(to - text) : 0;
	return text;
}

/* ---- numbers ---- */

/*
 * m * 10^e, directly if both are exact doubles and one operation rounds correctly; else by the library, which parses
 * the text.
 */
static double real_of(const uint8_t *text, bool negative, uint64_t m, int e)
{
	static const double tens[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
				       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
	const char *at = (const char *)text;
	double v = (double)INFINITY;

	if (m >> 53 || e < -22 || e > 22)
		return number_take_f64(&at, &v) < 0 && negative ? -v : v;
	v = e < 0 ? (double)m / tens[-e] : (double)m * tens[e];
	return negative ? -v : v;
}

struct number {
	bool negative, whole, lost; /* lost: m does not hold all digits */
	uint64_t m;
	int e;
};

/* Reads digits into n; those after the point decrement e. */
static const uint8_t *digits(const uint8_t *at, struct number *n, bool fraction)
{
	for (; *at >= '0' && *at <= '9'; at++) {
		n->lost |= __builtin_mul_overflow(n->m, 10u, &n->m);
		n->lost |= __builtin_add_overflow(n->m, (uint64_t)(*at - '0'), &n->m);
		n->e -= fraction;
	}
	return at;
}

static struct number number_of(const uint8_t *at)
{
	struct number n = { .negative = *at == '-', .whole = true };
	int e = 0, sign = 1;

	at = digits(at + n.negative, &n, false);
	if (*at == '.') {
		n.whole = false;
		at = digits(at + 1, &n, true);
	}
	if ((*at | 0x20) != 'e')
		return n;
	n.whole = false;
	at++;
	if (*at == '-' || *at == '+')
		sign = *at++ == '-' ? -1 : 1;
	for (; *at >= '0' && *at <= '9'; at++)
		e = e < 100000 ? e * 10 + (*at - '0') : e;
	n.e += sign * e;
	return n;
}

/* A whole number written with a fraction or an exponent. */
static bool store_as_integer(enum sim_kind kind, double v, void *ret)
{
	double size = v < 0 ? -v : v;

	return size < 0x1p53 && (double)(int64_t)v == v && named_store_integer(kind, v < 0, (uint64_t)(int64_t)v, ret);
}

static void store_number(struct named_reader *r, const uint8_t *at, enum sim_kind kind, void *ret)
{
	bool real = kind == SIM_KIND_FLOAT32 || kind == SIM_KIND_FLOAT64, ok;
	struct number n = number_of(at);

	if (real || !n.whole) {
		double v = real_of(at, n.negative, n.lost ? UINT64_MAX : n.m, n.e);

		ok = real || store_as_integer(kind, v, ret);
		if (real)
			named_store_real(kind, v, ret);
	} else {
		ok = !n.lost && !(n.negative && n.m > (uint64_t)INT64_MAX + 1) &&
		     named_store_integer(kind, n.negative && n.m, n.negative ? -n.m : n.m, ret);
	}
	if (!ok)
		sim_dec_fail(&r->dec, -EBADMSG);
}

static void json_number(struct named_reader *r, const uint8_t *at, enum sim_kind kind, void *ret)
{
	static const double values[WORDS] = { [WORD_NULL] = __builtin_nan(""),
					      [WORD_NAN] = __builtin_nan(""),
					      [WORD_INFINITY] = __builtin_inf(),
					      [WORD_MINUS_INFINITY] = -__builtin_inf() };
	bool real = kind == SIM_KIND_FLOAT32 || kind == SIM_KIND_FLOAT64;
	unsigned word = WORDS;

	if (*at >= '0' && *at <= '9')
		store_number(r, at, kind, ret);
	else if ((word = word_at(r, at)) == WORD_TRUE || word == WORD_FALSE)
		kind == SIM_KIND_BOOL ? (void)(*(uint8_t *)ret = word == WORD_TRUE) : sim_dec_fail(&r->dec, -EBADMSG);
	else if (word < WORDS && real)
		named_store_real(kind, values[word], ret);
	else if (word < WORDS || *at != '-')
		sim_dec_fail(&r->dec, -EBADMSG);
	else
		store_number(r, at, kind, ret);
}

/* ---- arrays ---- */

static const void *binary(struct named_reader *r, const uint8_t *at, enum sim_kind kind, uint32_t *ret_n)
{
	size_t len;
	const char *text = kind == SIM_KIND_UINT8 ? json_string(r, at, &len) : named_fail(r, -EBADMSG);
	uint8_t *to = text && len ? named_alloc(r, len / 4 * 3 + 3) : NULL;
	ssize_t n = to ? base64_read(to, text, len) : 0;

	if (n < 0 || n > UINT32_MAX)
		sim_dec_fail(&r->dec, -EBADMSG);
	*ret_n = n > 0 ? (uint32_t)n : 0;
	return to;
}

static const void *json_array(struct named_reader *r, const uint8_t *at, enum sim_kind kind, uint32_t *ret_n)
{
	size_t size = named_size(kind), n = 0;
	struct named_iter i;
	const uint8_t *v;
	uint8_t *to;

	if (*at == '"')
		return binary(r, at, kind, ret_n);
	if (*at != '[')
		return named_fail(r, -EBADMSG);
	for (json_enter(r, &i, at); (v = json_next(r, &i, false)); n++)
		i.at = json_skip(r, v, NAMED_DEPTH);
	if (n > UINT32_MAX)
		return named_fail(r, -EMSGSIZE);
	to = n ? named_alloc(r, n * size) : NULL;
	if (!to)
		return NULL;
	n = 0;
	for (json_enter(r, &i, at); !r->dec.err && (v = json_next(r, &i, false)); n++) {
		json_number(r, v, kind, to + n * size);
		i.at = json_skip(r, v, NAMED_DEPTH);
	}
	*ret_n = (uint32_t)n;
	return to;
}

static const struct named_format json_format = {
	.what = json_what,
	.skip = json_skip,
	.enter = json_enter,
	.next = json_next,
	.number = json_number,
	.string = json_string,
	.array = json_array,
};

void json_reader_begin(struct named_reader *r, const char *text, size_t len)
{
	while (len && strchr(" \t\r\n", text[len - 1]) && text[len - 1])
		len--;
	while (len && strchr(" \t\r\n", *text) && *text) {
		text++;
		len--;
	}
	named_begin(r, &json_format, text, len);
}
