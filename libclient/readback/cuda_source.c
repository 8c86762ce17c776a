/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source: linear memory of this process or of another one, or an array (a texture). Its properties are queried from
 * the driver and compared with the request, as the driver itself would read past its end. Thread: the owner's.
 */
#include <string.h>

#include "cuda_private.h"
#include "err.h"
#include "mem.h"

/* ---- memory of other processes ---- */

static void close_opened(struct cuda *c, struct cuda_opened *o)
{
	(void)c->cu.IpcCloseMemHandle(o->base);
	list_remove(&o->link);
	c->n_opened--;
	mem_free(o);
}

void cuda_close_all(struct cuda *c)
{
	struct cuda_opened *o;

	while ((o = list_first(&c->opened, struct cuda_opened, link)))
		close_opened(c, o);
}

/* Closes the least recently used one. */
static int make_room(struct cuda *c)
{
	struct cuda_opened *o;

	if (c->n_opened < SIM_READBACK_CUDA_IPC_MAX)
		return 0;
	list_for_each(o, &c->opened, link) {
		if (!o->refs) {
			close_opened(c, o);
			return 0;
		}
	}
	return err_set(-ENOBUFS, "cuda: memory of %u other allocations is being read; process some first",
		       SIM_READBACK_CUDA_IPC_MAX);
}

static int open_handle(struct cuda *c, const struct cuda_ipc_handle *h, struct cuda_opened **ret)
{
	struct cuda_opened *o = MEM_NEW(struct cuda_opened);
	int result;

	if (!o)
		return err_nomem();
	o->handle = *h;
	result = c->cu.IpcOpenMemHandle(&o->base, *h, CUDA_IPC_LAZY_PEER_ACCESS);
	if (result != CUDA_OK) {
		mem_free(o);
		/* an error of the handle, not of the context */
		if (result == CUDA_INVALID_CONTEXT)
			return err_set(-EIO,
				       "cuda: source.cuda.ipc cannot be opened in this context: %s, %d; it is of "
				       "this process, or another context here has opened one of that device",
				       cuda_result_name(&c->cu, result), result);
		return cuda_failed(&c->cu, "source.cuda.ipc, a handle of another process's memory, cannot be opened",
				   result);
	}
	list_append(&c->opened, &o->link);
	c->n_opened++;
	*ret = o;
	return 0;
}

static int opened_of(struct cuda *c, const void *handle, struct cuda_opened **ret)
{
	struct cuda_ipc_handle h;
	struct cuda_opened *o;
	int r;

	memcpy(&h, handle, sizeof(h));
	list_for_each(o, &c->opened, link) {
		if (memcmp(&o->handle, &h, sizeof(h)) == 0) {
			list_remove(&o->link);
			list_append(&c->opened, &o->link);
			*ret = o;
			return 0;
		}
	}
	r = make_room(c);
	return r < 0 ? r : open_handle(c, &h, ret);
}

/* ---- linear memory ---- */

/* at: where the caller's part of the allocation begins, before source.offset. */
static int check_range(struct cuda *c, const struct device_request *q, cuda_pointer at)
{
	const size_t size = (q->height - 1) * q->source_pitch + q->width * q->pixel;
	cuda_pointer base = 0;
	size_t all = 0, left;
	int result = c->cu.MemGetAddressRange(&base, &all, at);

	/* memory that was mapped, not allocated, is unknown to it: the copy itself fails if it does not exist */
	if (result != CUDA_OK)
		return cuda_failed(&c->cu, "cuMemGetAddressRange", result) == -ENODEV ? -ENODEV : 0;
	left = at < base || at - base > all ? 0 : all - (size_t)(at - base);
	if (q->source->offset > left || size > left - q->source->offset)
		return err_set(
			-EINVAL,
			"cuda: the source has %zu bytes, and the rows need %zu behind an offset of %llu; give a smaller "
			"shape or another row_pitch",
			left, size, (unsigned long long)q->source->offset);
	return 0;
}

static int linear(struct cuda *c, struct device_request *q, struct cuda_copy_side *ret)
{
	const struct sim_readback_source *s = q->source;
	cuda_pointer base = s->cuda.pointer;
	struct cuda_opened *o = NULL;
	int r;

	if (s->cuda.ipc) {
		r = opened_of(c, s->cuda.ipc, &o);
		if (r < 0)
			return r;
		base = o->base;
	}
	if (q->source_pitch > c->pitch_max && q->height > 1)
		return err_set(-EINVAL, "cuda: the source's row_pitch, %zu bytes, is above the device's %zu",
			       q->source_pitch, c->pitch_max);
	r = check_range(c, q, base);
	if (r < 0)
		return r;
	*ret = (struct cuda_copy_side){ .type = CUDA_MEMORY_DEVICE,
					.device = base + s->offset,
					.pitch = q->source_pitch };
	if (o) {
		o->refs++;
		((struct cuda_place *)q->own)->opened = o;
	}
	return 0;
}

/* ---- arrays ---- */

static size_t element_size(int format) /* 0: a format of a later version */
{
	switch (format) {
	case CUDA_FORMAT_UNSIGNED_INT8:
	case CUDA_FORMAT_SIGNED_INT8:
		return 1;
	case CUDA_FORMAT_UNSIGNED_INT16:
	case CUDA_FORMAT_SIGNED_INT16:
	case CUDA_FORMAT_HALF:
		return 2;
	case CUDA_FORMAT_UNSIGNED_INT32:
	case CUDA_FORMAT_SIGNED_INT32:
	case CUDA_FORMAT_FLOAT:
		return 4;
	default:
		return 0;
	}
}

static unsigned channels(enum sim_readback_format f)
{
	return f == SIM_READBACK_RGBA8 || f == SIM_READBACK_BGRA8 || f == SIM_READBACK_RGBA32F ? 4 : 1;
}

static int check_array(const struct device_request *q, const struct cuda_array *a)
{
	size_t element = element_size(a->format);

	if (a->depth)
		return err_set(-EINVAL, "cuda: the array has depth or layers; give one of two dimensions");
	if (a->width < q->width || (a->height ? a->height : 1) < q->height)
		return err_set(-EINVAL, "cuda: the array has %zu x %zu elements, fewer than the shape's %u x %u",
			       a->width, a->height ? a->height : 1, q->width, q->height);
	if (element && (a->channels != channels(q->source->format) || element * a->channels != q->pixel))
		return err_set(-EINVAL,
			       "cuda: an element of the array has %u channels of %zu bytes, which source.format has not",
			       a->channels, element);
	return 0;
}

static int array(struct cuda *c, const struct device_request *q, struct cuda_copy_side *ret)
{
	const struct sim_readback_source *s = q->source;
	struct cuda_array a = { .width = 0 };
	int r, result;

	if (s->offset || s->row_pitch)
		return err_set(-EINVAL,
			       "cuda: source.offset and row_pitch are of linear memory, and an array was given");
	result = c->cu.Array3DGetDescriptor(&a, s->cuda.array);
	if (result != CUDA_OK) {
		r = cuda_failed(&c->cu, "source.cuda.array is not an array of this context", result);
		return r == -EIO ? -EINVAL : r;
	}
	r = check_array(q, &a);
	if (r < 0)
		return r;
	*ret = (struct cuda_copy_side){ .type = CUDA_MEMORY_ARRAY, .array = s->cuda.array };
	return 0;
}

int cuda_source(struct cuda *c, struct device_request *q, struct cuda_copy_side *ret)
{
	const struct sim_readback_source *s = q->source;

	if ((s->cuda.pointer != 0) + (s->cuda.array != NULL) + (s->cuda.ipc != NULL) != 1)
		return err_set(-EINVAL, "cuda: one of source.cuda.pointer, array and ipc has to be given");
	return s->cuda.array ? array(c, q, ret) : linear(c, q, ret);
}
