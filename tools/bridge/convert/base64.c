/* SPDX-License-Identifier: Apache-2.0 */
/* See base64.h. */
#include "base64.h"

#include <errno.h>

static const char alphabet[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* ---- many at once; after W. Mula and D. Lemire, "Faster Base64 Encoding and Decoding Using AVX2 Instructions" (2018) ---- */

#if defined(__x86_64__)
#include <immintrin.h>

#define SPREAD 10, 11, 9, 10, 7, 8, 6, 7, 4, 5, 3, 4, 1, 2, 0, 1
#define OFFSETS \
	'a' - 26, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, \
		'+' - 62, '/' - 63, 'A', 0, 0

/* 24 bytes per step; 28 are read. Returns how many bytes were consumed. */
__attribute__((target("avx2"))) static size_t write_avx2(char *to, const uint8_t *from, size_t n)
{
	const __m256i spread = _mm256_set_epi8(SPREAD, SPREAD), offsets = _mm256_setr_epi8(OFFSETS, OFFSETS);
	size_t i = 0;

	for (; i + 28 <= n; i += 24, to += 32) {
		__m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(
							    _mm_loadu_si128((const __m128i *)(const void *)(from + i))),
						    _mm_loadu_si128((const __m128i *)(const void *)(from + i + 12)), 1);
		__m256i six, high, low, class;

		v = _mm256_shuffle_epi8(v, spread);
		high = _mm256_mulhi_epu16(_mm256_and_si256(v, _mm256_set1_epi32(0x0fc0fc00)),
					  _mm256_set1_epi32(0x04000040));
		low = _mm256_mullo_epi16(_mm256_and_si256(v, _mm256_set1_epi32(0x003f03f0)),
					 _mm256_set1_epi32(0x01000010));
		six = _mm256_or_si256(high, low);
		class = _mm256_or_si256(_mm256_subs_epu8(six, _mm256_set1_epi8(51)),
					_mm256_and_si256(_mm256_cmpgt_epi8(_mm256_set1_epi8(26), six),
							 _mm256_set1_epi8(13)));
		_mm256_storeu_si256((__m256i *)(void *)to, _mm256_add_epi8(six, _mm256_shuffle_epi8(offsets, class)));
	}
	return i;
}

/* 48 bytes per step: three bytes into each group of four, then shifts and look-ups of six bits. */
__attribute__((target("avx512f,avx512bw,avx512vbmi"))) static size_t write_vbmi(char *to, const uint8_t *from, size_t n)
{
#define THREE(i) 3 * (i) + 1, 3 * (i), 3 * (i) + 2, 3 * (i) + 1
#define FOUR(i)  THREE(i), THREE(i + 1), THREE(i + 2), THREE(i + 3)
	static const uint8_t places[64] = { FOUR(0), FOUR(4), FOUR(8), FOUR(12) };
	const __m512i spread = _mm512_loadu_si512(places), letters = _mm512_loadu_si512(alphabet);
	const __m512i shifts = _mm512_set1_epi64(0x3036242a1016040a);
	size_t i = 0;

	for (; i + 48 <= n; i += 48, to += 64) {
		__m512i v = _mm512_maskz_loadu_epi8((UINT64_C(1) << 48) - 1, from + i);

		v = _mm512_multishift_epi64_epi8(shifts, _mm512_permutexvar_epi8(spread, v));
		_mm512_storeu_si512(to, _mm512_permutexvar_epi8(v, letters));
	}
	return i;
}

/* 12 bytes per step; 16 are read. */
__attribute__((target("ssse3"))) static size_t write_ssse3(char *to, const uint8_t *from, size_t n)
{
	const __m128i spread = _mm_set_epi8(SPREAD), offsets = _mm_setr_epi8(OFFSETS);
	size_t i = 0;

	for (; i + 16 <= n; i += 12, to += 16) {
		__m128i v = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(from + i)), spread);
		__m128i six, high, low, class;

		high = _mm_mulhi_epu16(_mm_and_si128(v, _mm_set1_epi32(0x0fc0fc00)), _mm_set1_epi32(0x04000040));
		low = _mm_mullo_epi16(_mm_and_si128(v, _mm_set1_epi32(0x003f03f0)), _mm_set1_epi32(0x01000010));
		six = _mm_or_si128(high, low);
		class = _mm_or_si128(_mm_subs_epu8(six, _mm_set1_epi8(51)),
				     _mm_and_si128(_mm_cmpgt_epi8(_mm_set1_epi8(26), six), _mm_set1_epi8(13)));
		_mm_storeu_si128((__m128i *)(void *)to, _mm_add_epi8(six, _mm_shuffle_epi8(offsets, class)));
	}
	return i;
}

#define TWICE(...) __VA_ARGS__, __VA_ARGS__

/* 32 characters per step, up to the first invalid one, or the last 48. Returns how many characters were consumed. */
__attribute__((target("avx2"))) static size_t read_avx2(uint8_t *to, const char *text, size_t n)
{
	const __m256i lows = _mm256_setr_epi8(
		TWICE(0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1a, 0x1b, 0x1b, 0x1b, 0x1a));
	const __m256i highs = _mm256_setr_epi8(
		TWICE(0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10));
	const __m256i offsets = _mm256_setr_epi8(TWICE(0, 16, 19, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0));
	const __m256i gather = _mm256_setr_epi8(TWICE(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1));
	const __m256i low4 = _mm256_set1_epi8(0x2f);
	size_t i = 0;

	for (; i + 48 <= n; i += 32, to += 24) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(text + i));
		__m256i high = _mm256_and_si256(_mm256_srli_epi32(v, 4), low4);
		__m256i slash = _mm256_cmpeq_epi8(v, low4);

		if (!_mm256_testz_si256(_mm256_shuffle_epi8(lows, _mm256_and_si256(v, low4)),
					_mm256_shuffle_epi8(highs, high)))
			break;
		v = _mm256_add_epi8(v, _mm256_shuffle_epi8(offsets, _mm256_add_epi8(slash, high)));
		v = _mm256_madd_epi16(_mm256_maddubs_epi16(v, _mm256_set1_epi32(0x01400140)),
				      _mm256_set1_epi32(0x00011000));
		v = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(v, gather),
						_mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7));
		_mm256_storeu_si256((__m256i *)(void *)to, v);
	}
	return i;
}

static size_t write_many(char *to, const uint8_t *from, size_t n)
{
	size_t done = __builtin_cpu_supports("avx512vbmi") ? write_vbmi(to, from, n) : 0;

	if (__builtin_cpu_supports("avx2"))
		done += write_avx2(to + done / 3 * 4, from + done, n - done);
	if (__builtin_cpu_supports("ssse3"))
		done += write_ssse3(to + done / 3 * 4, from + done, n - done);
	return done;
}

static size_t read_many(uint8_t *to, const char *text, size_t n)
{
	return __builtin_cpu_supports("avx2") ? read_avx2(to, text, n) : 0;
}
#else
static size_t write_many(char *to, const uint8_t *from, size_t n)
{
	(void)to;
	(void)from;
	(void)n;
	return 0;
}

static size_t read_many(uint8_t *to, const char *text, size_t n)
{
	(void)to;
	(void)text;
	(void)n;
	return 0;
}
#endif

/* ---- write ---- */

char *base64_write(char *to, const void *data, size_t n)
{
	const uint8_t *from = data;
	size_t done;

	if (!n)
		return to;
	done = write_many(to, from, n);
	from += done;
	n -= done;
	to += done / 3 * 4;

	for (; n >= 3; n -= 3, from += 3, to += 4) {
		uint32_t v = (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];

		to[0] = alphabet[v >> 18];
		to[1] = alphabet[v >> 12 & 63];
		to[2] = alphabet[v >> 6 & 63];
		to[3] = alphabet[v & 63];
	}
	if (!n)
		return to;
	to[0] = alphabet[from[0] >> 2];
	to[1] = alphabet[(from[0] << 4 & 63) | (n > 1 ? from[1] >> 4 : 0)];
	to[2] = n > 1 ? alphabet[from[1] << 2 & 63] : '=';
	to[3] = '=';
	return to + 4;
}

/* ---- read ---- */

/* 0 to 63; larger: not in the alphabet. */
static unsigned value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (unsigned)(c - 'A');
	if (c >= 'a' && c <= 'z')
		return (unsigned)(c - 'a') + 26;
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0') + 52;
	return c == '+' ? 62 : c == '/' ? 63 : 64;
}

ssize_t base64_read(uint8_t *to, const char *text, size_t n)
{
	const uint8_t *start = to;
	unsigned bad = 0;
	size_t pad = 0, done;

	if (n % 4)
		return -EBADMSG;
	while (pad < 2 && pad < n && text[n - 1 - pad] == '=')
		pad++;
	done = read_many(to, text, n);
	to += done / 4 * 3;
	for (size_t i = done; i < n; i += 4) {
		unsigned left = i + 4 == n ? (unsigned)pad : 0, v = 0;

		for (unsigned k = 0; k < 4; k++) {
			unsigned c = k < 4 - left ? value_of(text[i + k]) : 0;

			bad |= c & 64;
			v = v << 6 | (c & 63);
		}
		*to++ = (uint8_t)(v >> 16);
		if (left < 2)
			*to++ = (uint8_t)(v >> 8);
		if (left < 1)
			*to++ = (uint8_t)v;
	}
	return bad ? -EBADMSG : to - start;
}
