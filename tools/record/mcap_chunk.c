/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of MCAP: their fields, and compression of their records with lz4 and zstd. Thread: as log.h. */
#include <errno.h>
#include <lz4frame.h>
#include <string.h>
#include <zstd.h>

#include "mcap_private.h"
#include "mem.h"

#define ZSTD_LEVEL 1 /* fast, so that a recording keeps up */
#define PIECE      ((size_t)1 << 20)

const char *mcap_compression_name(int compression)
{
	return compression == LOG_COMPRESSION_LZ4 ? "lz4" : compression == LOG_COMPRESSION_ZSTD ? "zstd" : "";
}

static int compression_of(struct log_bytes name)
{
	for (int c = LOG_COMPRESSION_NONE; c <= LOG_COMPRESSION_ZSTD; c++)
		if (strlen(mcap_compression_name(c)) == name.size &&
		    !memcmp(mcap_compression_name(c), name.data, name.size))
			return c;
	return -1;
}

bool mcap_chunk_head(const uint8_t *content, size_t have, uint64_t length, struct mcap_chunk_head *ret)
{
	struct mcap_cursor c = { .p = content, .left = have };
	struct log_bytes name;
	size_t n;

	ret->start = mcap_get_int(&c, 8);
	ret->end = mcap_get_int(&c, 8);
	ret->uncompressed = mcap_get_int(&c, 8);
	ret->crc = (uint32_t)mcap_get_int(&c, 4);
	name = mcap_get_str(&c);
	ret->records = mcap_get_int(&c, 8);
	if (c.bad)
		return false;
	ret->compression = compression_of(name);
	n = name.size < sizeof(ret->name) - 1 ? name.size : sizeof(ret->name) - 1;
	memcpy(ret->name, name.data, n);
	ret->name[n] = '\0';
	ret->size = MCAP_CHUNK_MIN + name.size;
	return ret->size <= length && ret->records <= length - ret->size;
}

/* ---- decompression ---- */

struct inflate {
	const uint8_t *src;
	size_t left;
	uint8_t *out;
	size_t n, cap, max;
};

/* Enlarges the output as data comes, never above the size that the chunk states. */
static int more_room(struct inflate *f)
{
	size_t cap = f->cap ? f->cap * 2 : f->left * 4 + 4096;
	uint8_t *p;

	if (f->cap >= f->max)
		return -EOVERFLOW;
	if (cap > f->max || cap < f->cap)
		cap = f->max;
	p = mem_realloc(f->out, cap ? cap : 1);
	if (!p)
		return -ENOMEM;
	f->out = p;
	f->cap = cap;
	return 0;
}

/* One step of either library: 1: more to come; 0: a frame is complete; or an errno. */
static int step_lz4(LZ4F_dctx *d, struct inflate *f)
{
	size_t n = f->cap - f->n, k = f->left, r;

	r = LZ4F_decompress(d, f->out + f->n, &n, f->src, &k, NULL);
	if (LZ4F_isError(r))
		return -EBADMSG;
	f->n += n;
	f->src += k;
	f->left -= k;
	return !r ? 0 : n || k ? 1 : f->left ? -EOVERFLOW : -ENODATA;
}

static int step_zstd(ZSTD_DStream *d, struct inflate *f)
{
	ZSTD_outBuffer out = { .dst = f->out, .size = f->cap, .pos = f->n };
	ZSTD_inBuffer in = { .src = f->src, .size = f->left };
	size_t r = ZSTD_decompressStream(d, &out, &in), n = out.pos - f->n;

	if (ZSTD_isError(r))
		return -EBADMSG;
	f->n = out.pos;
	f->src += in.pos;
	f->left -= in.pos;
	return !r ? 0 : n || in.pos ? 1 : f->left ? -EOVERFLOW : -ENODATA;
}

/* Contexts are reused for all chunks: creating one takes longer than a small chunk. */
static int make_ready(struct mcap_inflaters *d, bool lz4)
{
	if (lz4 && d->lz4)
		LZ4F_resetDecompressionContext(d->lz4);
	else if (lz4 && LZ4F_isError(LZ4F_createDecompressionContext(&d->lz4, LZ4F_VERSION)))
		return -ENOMEM;
	if (!lz4 && d->zstd)
		(void)ZSTD_DCtx_reset(d->zstd, ZSTD_reset_session_only);
	else if (!lz4 && !(d->zstd = ZSTD_createDStream()))
		return -ENOMEM;
	return 0;
}

void mcap_inflaters_finish(struct mcap_inflaters *d)
{
	LZ4F_freeDecompressionContext(d->lz4);
	ZSTD_freeDStream(d->zstd);
	*d = (struct mcap_inflaters){ 0 };
}

static int run(struct mcap_inflaters *d, bool lz4, struct inflate *f)
{
	int r = make_ready(d, lz4);

	if (r < 0)
		return r;
	r = 1;
	while (f->left || r == 1) {
		if (f->n == f->cap) {
			int room = more_room(f);

			/* when the output is full, the rest may be the frame's end, which produces no bytes */
			if (room < 0 && (room != -EOVERFLOW || !f->left)) {
				r = room == -EOVERFLOW && r == 1 ? -ENODATA : room;
				break;
			}
		}
		r = lz4 ? step_lz4(d->lz4, f) : step_zstd(d->zstd, f);
		if (r < 0)
			break;
		if (!r && !f->left)
			break;
	}
	return r < 0 ? r : 0;
}

static int inflate_why(int r, const struct mcap_chunk_head *h, const struct inflate *f, char *why, size_t why_size)
{
	const char *name = h->name;

	switch (r) {
	case -EOVERFLOW:
		return log_fail(why, why_size, -EBADMSG, "its %s holds more than the %llu bytes that it says", name,
				(unsigned long long)h->uncompressed);
	case -ENODATA:
		return log_fail(why, why_size, -EBADMSG, "its %s ends too early", name);
	case -ENOMEM:
		return log_fail(why, why_size, r, "no memory for %llu bytes", (unsigned long long)h->uncompressed);
	case 0:
		if (f->n == h->uncompressed)
			return 0;
		return log_fail(why, why_size, -EBADMSG, "its %s holds %zu bytes, and it says %llu", name, f->n,
				(unsigned long long)h->uncompressed);
	default:
		return log_fail(why, why_size, r, "its %s is damaged", name);
	}
}

int mcap_inflate(struct mcap_inflaters *d, const struct mcap_chunk_head *h, const uint8_t *records, size_t n,
		 uint8_t **ret, size_t *ret_n, char *why, size_t why_size)
{
	struct inflate f = { .src = records, .left = n, .max = h->uncompressed };
	int r = 0;

	*ret = NULL;
	*ret_n = 0;
	if (!n && !h->uncompressed)
		return 0;
	r = run(d, h->compression == LOG_COMPRESSION_LZ4, &f);
	*ret = f.out;
	*ret_n = f.n;
	return inflate_why(r, h, &f, why, why_size);
}

/* ---- compression ---- */

struct mcap_deflate {
	LZ4F_cctx *lz4;
	ZSTD_CCtx *zstd;
	LZ4F_preferences_t prefs;
};

int mcap_deflate_create(enum log_compression c, int level, struct mcap_deflate **ret)
{
	struct mcap_deflate *d = MEM_NEW(struct mcap_deflate);

	if (!d)
		return -ENOMEM;
	if (c == LOG_COMPRESSION_LZ4) {
		d->prefs.compressionLevel = level;
		d->prefs.frameInfo.blockSizeID = LZ4F_max1MB;
		if (LZ4F_isError(LZ4F_createCompressionContext(&d->lz4, LZ4F_VERSION)))
			goto err;
	} else {
		d->zstd = ZSTD_createCCtx();
		if (!d->zstd ||
		    ZSTD_isError(ZSTD_CCtx_setParameter(d->zstd, ZSTD_c_compressionLevel, level ? level : ZSTD_LEVEL)))
			goto err;
	}
	*ret = d;
	return 0;
err:
	mcap_deflate_destroy(d);
	return -ENOMEM;
}

void mcap_deflate_destroy(struct mcap_deflate *d)
{
	if (!d)
		return;
	LZ4F_freeCompressionContext(d->lz4);
	ZSTD_freeCCtx(d->zstd);
	mem_free(d);
}

size_t mcap_deflate_bound(const struct mcap_deflate *d, size_t n)
{
	return d->lz4 ? LZ4F_compressFrameBound(n, &d->prefs) : ZSTD_compressBound(n) + 1024;
}

int mcap_deflate_begin(struct mcap_deflate *d, struct mcap_buf *out)
{
	uint8_t *p = mcap_buf_room(out, LZ4F_HEADER_SIZE_MAX);
	size_t r;

	if (!p)
		return -ENOMEM;
	r = d->lz4 ? LZ4F_compressBegin(d->lz4, p, LZ4F_HEADER_SIZE_MAX, &d->prefs)
		   : ZSTD_CCtx_reset(d->zstd, ZSTD_reset_session_only);
	if (d->lz4 ? LZ4F_isError(r) : ZSTD_isError(r))
		return -ENOMEM;
	if (d->lz4)
		out->n += r;
	return 0;
}

static int add_zstd(struct mcap_deflate *d, const void *data, size_t n, ZSTD_EndDirective end, struct mcap_buf *out)
{
	ZSTD_inBuffer in = { .src = data, .size = n };
	size_t left;

	do {
		uint8_t *p = mcap_buf_room(out, ZSTD_CStreamOutSize());
		ZSTD_outBuffer o = { .dst = p, .size = ZSTD_CStreamOutSize() };

		if (!p)
			return -ENOMEM;
		left = ZSTD_compressStream2(d->zstd, &o, &in, end);
		if (ZSTD_isError(left))
			return -ENOMEM;
		out->n += o.pos;
	} while (in.pos < in.size || (end == ZSTD_e_end && left));
	return 0;
}

int mcap_deflate_add(struct mcap_deflate *d, const void *data, size_t n, struct mcap_buf *out)
{
	const uint8_t *from = data;

	if (d->zstd)
		return add_zstd(d, data, n, ZSTD_e_continue, out);
	while (n) {
		size_t k = n < PIECE ? n : PIECE, room = LZ4F_compressBound(k, &d->prefs), r;
		uint8_t *p = mcap_buf_room(out, room);

		if (!p)
			return -ENOMEM;
		r = LZ4F_compressUpdate(d->lz4, p, room, from, k, NULL);
		if (LZ4F_isError(r))
			return -ENOMEM;
		out->n += r;
		from += k;
		n -= k;
	}
	return 0;
}

int mcap_deflate_end(struct mcap_deflate *d, struct mcap_buf *out)
{
	size_t room = LZ4F_compressBound(0, &d->prefs), r;
	uint8_t *p;

	if (d->zstd)
		return add_zstd(d, NULL, 0, ZSTD_e_end, out);
	p = mcap_buf_room(out, room);
	if (!p)
		return -ENOMEM;
	r = LZ4F_compressEnd(d->lz4, p, room, NULL);
	if (LZ4F_isError(r))
		return -ENOMEM;
	out->n += r;
	return 0;
}
