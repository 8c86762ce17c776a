/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compresses and decompresses chunks of a .bag. ROS writes LZ4 with roslz4, in frames of independent blocks of 4 MiB
 * with a checksum at the end, and refuses other frames. This writes the same, and reads any frame. Thread: any.
 */
#include <bzlib.h>
#include <errno.h>
#include <limits.h>
#include <lz4frame.h>

#include "bag_format.h"
#include "mem.h"

#define FIRST_ROOM ((size_t)1 << 20)

static const LZ4F_preferences_t lz4_frame = {
	.frameInfo = { .blockSizeID = LZ4F_max4MB,
		       .blockMode = LZ4F_blockIndependent,
		       .contentChecksumFlag = LZ4F_contentChecksumEnabled },
};

int64_t bag_zip_bound(enum log_compression c, size_t n)
{
	if (n > UINT_MAX / 2)
		return -EMSGSIZE;
	return c == LOG_COMPRESSION_LZ4 ? (int64_t)LZ4F_compressFrameBound(n, &lz4_frame)
					: (int64_t)(n + n / 100 + 600);
}

int64_t bag_zip(enum log_compression c, int level, const void *from, size_t n, void *to, size_t room)
{
	unsigned len = (unsigned)room;
	int r;

	if (n > UINT_MAX / 2 || room > UINT_MAX)
		return -EMSGSIZE;
	if (c == LOG_COMPRESSION_LZ4) {
		LZ4F_preferences_t p = lz4_frame;
		size_t k;

		p.compressionLevel = level;
		k = LZ4F_compressFrame(to, room, from, n, &p);
		return LZ4F_isError(k) ? -ENOMEM : (int64_t)k;
	}
	r = BZ2_bzBuffToBuffCompress(to, &len, (char *)from, (unsigned)n, level >= 1 && level <= 9 ? level : 9, 0, 0);
	return r == BZ_OK ? (int64_t)len : -ENOMEM;
}

/* Enlarges `to`, up to max + 1 bytes; the extra byte detects data longer than max. */
static int grow(struct bag_bytes *to, size_t max)
{
	size_t room = to->room ? to->room * 2 : FIRST_ROOM;
	uint8_t *data;

	if (to->size > max)
		return -EMSGSIZE;
	if (room > max)
		room = max + 1;
	data = mem_realloc(to->data, room);
	if (!data)
		return -ENOMEM;
	to->data = data;
	to->room = room;
	return 0;
}

static int un_lz4(const uint8_t *from, size_t n, size_t max, struct bag_bytes *to)
{
	LZ4F_dctx *d;
	size_t at = 0, hint = 1;
	int r = 0;

	if (LZ4F_isError(LZ4F_createDecompressionContext(&d, LZ4F_VERSION)))
		return -ENOMEM;
	while (!r && hint) {
		size_t in = n - at, out;

		if (to->size == to->room && (r = grow(to, max)) < 0)
			break;
		out = to->room - to->size;
		hint = LZ4F_decompress(d, to->data + to->size, &out, from + at, &in, NULL);
		if (LZ4F_isError(hint) || (hint && !in && !out)) {
			r = -EBADMSG;
			break;
		}
		at += in;
		to->size += out;
	}
	LZ4F_freeDecompressionContext(d);
	return r;
}

static int un_bz2(const uint8_t *from, size_t n, size_t max, struct bag_bytes *to)
{
	bz_stream s = { .next_in = (char *)from, .avail_in = n > UINT_MAX ? UINT_MAX : (unsigned)n };
	int r = 0, k = BZ_OK;

	if (BZ2_bzDecompressInit(&s, 0, 0) != BZ_OK)
		return -ENOMEM;
	while (!r && k == BZ_OK) {
		size_t room;
		unsigned in = s.avail_in;

		if (to->size == to->room && (r = grow(to, max)) < 0)
			break;
		room = to->room - to->size;
		s.next_out = (char *)to->data + to->size;
		s.avail_out = room > UINT_MAX ? UINT_MAX : (unsigned)room;
		room = s.avail_out;
		k = BZ2_bzDecompress(&s);
		to->size += room - s.avail_out;
		if (k == BZ_OK && s.avail_in == in && s.avail_out == room)
			r = -EBADMSG; /* the data ends before the stream does */
	}
	BZ2_bzDecompressEnd(&s);
	if (!r && k != BZ_STREAM_END)
		r = k == BZ_MEM_ERROR ? -ENOMEM : -EBADMSG;
	return r;
}

int bag_unzip(enum log_compression c, const void *from, size_t n, size_t max, struct bag_bytes *to)
{
	int r;

	to->size = 0;
	r = c == LOG_COMPRESSION_LZ4 ? un_lz4(from, n, max, to) : un_bz2(from, n, max, to);
	if (to->size > max) {
		to->size = max;
		r = r == -ENOMEM ? r : -EMSGSIZE;
	}
	return r;
}
