/* SPDX-License-Identifier: Apache-2.0 */
/* See cuda_stand_in.h: memory of the device, of other processes, and of the program; arrays; copies. */
#include "cuda_stand_in_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define IPC_MAGIC 0x43495043u

/* ---- memory ---- */

static struct memory *add_memory(struct list *to, uintptr_t base, size_t size)
{
	struct memory *m = calloc(1, sizeof(*m));

	if (!m)
		abort();
	m->base = base;
	m->size = size;
	m->fd = -1;
	list_append(to, &m->link);
	return m;
}

static struct memory *exactly(const struct list *head, uintptr_t base)
{
	struct memory *m;

	list_for_each(m, head, link) {
		if (m->base == base)
			return m;
	}
	return NULL;
}

static void remove_memory(struct memory *m)
{
	driver.n.misuse += driver_in_use(m->base, m->size);
	list_remove(&m->link);
	free(m);
}

static int host_alloc(void **ret, size_t size)
{
	void *p = size ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;

	if (p == MAP_FAILED)
		return CUDA_OUT_OF_MEMORY;
	(void)add_memory(&driver.allocated, (uintptr_t)p, size);
	driver.n.allocated++;
	*ret = p;
	return CUDA_OK;
}

static int host_free(void *p)
{
	struct memory *m = exactly(&driver.allocated, (uintptr_t)p);

	if (!m)
		return CUDA_INVALID_VALUE;
	munmap(p, m->size);
	remove_memory(m);
	driver.n.allocated--;
	return CUDA_OK;
}

static int host_register(void *at, size_t size, unsigned flags)
{
	uintptr_t p = (uintptr_t)at, page = (uintptr_t)sysconf(_SC_PAGESIZE);
	unsigned char there;

	if (!size || p % page || size % page || flags & ~15u || mincore(at, page, &there) < 0)
		return CUDA_INVALID_VALUE;
	if (driver_overlaps(&driver.registered, p, size) || driver_overlaps(&driver.allocated, p, size))
		return CUDA_HOST_MEMORY_ALREADY_REGISTERED;
	(void)add_memory(&driver.registered, p, size);
	driver.n.registered++;
	driver.n.registers++;
	return CUDA_OK;
}

static int host_unregister(void *p)
{
	struct memory *m = exactly(&driver.registered, (uintptr_t)p);

	if (!m)
		return HOST_NOT_REGISTERED;
	remove_memory(m);
	driver.n.registered--;
	return CUDA_OK;
}

static int map_file(int fd, size_t size, uintptr_t *ret)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	*ret = (uintptr_t)p;
	return p == MAP_FAILED ? CUDA_OUT_OF_MEMORY : CUDA_OK;
}

static int alloc(cuda_pointer *ret, size_t size)
{
	int fd = memfd_create("cuda-stand-in", MFD_CLOEXEC);
	uintptr_t p;

	if (fd < 0 || !size || ftruncate(fd, (off_t)size) < 0 || map_file(fd, size, &p) != CUDA_OK)
		return CUDA_OUT_OF_MEMORY;
	add_memory(&driver.memories, p, size)->fd = fd;
	*ret = p;
	return CUDA_OK;
}

static int free_memory(cuda_pointer p)
{
	struct memory *m = exactly(&driver.memories, (uintptr_t)p);

	if (!m)
		return CUDA_INVALID_VALUE;
	close(m->fd);
	munmap((void *)(uintptr_t)p, m->size);
	remove_memory(m);
	return CUDA_OK;
}

static int range(cuda_pointer *base, size_t *size, cuda_pointer p)
{
	const struct memory *m = driver_covering(&driver.memories, (uintptr_t)p, 1);

	if (!m)
		m = driver_covering(&driver.opened, (uintptr_t)p, 1);
	if (!m)
		return NOT_FOUND;
	*base = m->base;
	*size = m->size;
	return CUDA_OK;
}

API(cuMemHostAlloc, 0, (void **p, size_t size, unsigned flags), flags & ~7u ? CUDA_INVALID_VALUE : host_alloc(p, size))
API(cuMemFreeHost, RELEASES, (void *p), host_free(p))
API(cuMemHostRegister_v2, 0, (void *p, size_t size, unsigned flags), host_register(p, size, flags))
API(cuMemHostUnregister, RELEASES, (void *p), host_unregister(p))
API(cuMemAlloc_v2, 0, (cuda_pointer * p, size_t size), alloc(p, size))
API(cuMemFree_v2, 0, (cuda_pointer p), free_memory(p))
API(cuMemGetAddressRange_v2, 0, (cuda_pointer * base, size_t *size, cuda_pointer p), range(base, size, p))

/* ---- memory of other processes ---- */

struct ipc {
	unsigned magic;
	int pid, fd;
	size_t size;
};

static int get_handle(struct cuda_ipc_handle *h, cuda_pointer p)
{
	const struct memory *m = exactly(&driver.memories, (uintptr_t)p);
	struct ipc i = { IPC_MAGIC, getpid(), m ? m->fd : -1, m ? m->size : 0 };

	memset(h, 0, sizeof(*h));
	memcpy(h, &i, sizeof(i));
	return m ? CUDA_OK : CUDA_INVALID_VALUE;
}

static int map_other(const struct ipc *i, uintptr_t *ret)
{
	char path[64];
	int fd, r;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", i->pid, i->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return MAP_FAILED_;
	r = map_file(fd, i->size, ret);
	close(fd);
	return r;
}

static int open_handle(cuda_pointer *ret, struct cuda_ipc_handle h, unsigned flags)
{
	struct memory *m;
	struct ipc i;
	uintptr_t p;
	int r;

	memcpy(&i, &h, sizeof(i));
	if (flags != CUDA_IPC_LAZY_PEER_ACCESS || i.magic != IPC_MAGIC)
		return flags == CUDA_IPC_LAZY_PEER_ACCESS ? CUDA_INVALID_HANDLE : CUDA_INVALID_VALUE;
	if (i.pid == getpid())
		return CUDA_INVALID_CONTEXT;
	list_for_each(m, &driver.opened, link) {
		if (memcmp(&m->handle, &h, sizeof(h)) == 0) {
			m->refs++;
			*ret = m->base;
			return CUDA_OK;
		}
	}
	r = map_other(&i, &p);
	if (r != CUDA_OK)
		return r;
	m = add_memory(&driver.opened, p, i.size);
	m->refs = 1;
	m->handle = h;
	driver.n.opened++;
	driver.n.opens++;
	*ret = p;
	return CUDA_OK;
}

static int close_handle(cuda_pointer p)
{
	struct memory *m = exactly(&driver.opened, (uintptr_t)p);

	if (!m)
		return CUDA_INVALID_VALUE;
	if (--m->refs)
		return CUDA_OK;
	munmap((void *)(uintptr_t)p, m->size);
	remove_memory(m);
	driver.n.opened--;
	return CUDA_OK;
}

API(cuIpcGetMemHandle, 0, (struct cuda_ipc_handle * handle, cuda_pointer p), get_handle(handle, p))
API(cuIpcOpenMemHandle_v2, 0, (cuda_pointer * p, struct cuda_ipc_handle handle, unsigned flags),
    open_handle(p, handle, flags))
API(cuIpcCloseMemHandle, RELEASES, (cuda_pointer p), close_handle(p))

/* ---- arrays ---- */

static size_t element_size(const struct cuda_array *a)
{
	switch (a->format) {
	case CUDA_FORMAT_UNSIGNED_INT8:
	case CUDA_FORMAT_SIGNED_INT8:
		return a->channels;
	case CUDA_FORMAT_UNSIGNED_INT16:
	case CUDA_FORMAT_SIGNED_INT16:
	case CUDA_FORMAT_HALF:
		return 2 * a->channels;
	default:
		return 4 * a->channels;
	}
}

static int create_array(void **ret, const struct cuda_array *want)
{
	struct array *a = calloc(1, sizeof(*a));

	if (!a)
		return CUDA_OUT_OF_MEMORY;
	a->a = *want;
	a->element = element_size(want);
	a->data = calloc((want->height ? want->height : 1) * (want->depth ? want->depth : 1), want->width * a->element);
	list_append(&driver.arrays, &a->link);
	*ret = a;
	return a->data ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}

static int destroy_array(struct array *a)
{
	if (!driver_is_in(&driver.arrays, a))
		return CUDA_INVALID_HANDLE;
	list_remove(&a->link);
	free(a->data);
	free(a);
	return CUDA_OK;
}

static int describe(struct cuda_array *ret, const struct array *a)
{
	if (!driver_is_in(&driver.arrays, a))
		return CUDA_INVALID_HANDLE;
	*ret = a->a;
	return CUDA_OK;
}

API(cuArray3DCreate_v2, 0, (void **array, const struct cuda_array *a), create_array(array, a))
API(cuArrayDestroy, 0, (void *array), destroy_array(array))
API(cuArray3DGetDescriptor_v2, 0, (struct cuda_array * a, void *array), describe(a, array))

/* ---- copies ---- */

static bool side_possible(const struct cuda_copy *c, const struct cuda_copy_side *s)
{
	const struct array *a = s->type == CUDA_MEMORY_ARRAY ? driver_array_of(s) : NULL;

	if (s->type == CUDA_MEMORY_ARRAY)
		return a && s->x_bytes % a->element == 0 && s->x_bytes + c->width_bytes <= a->a.width * a->element &&
		       s->y + c->height <= (a->a.height ? a->a.height : 1);
	if (c->height > 1 && (s->pitch > (size_t)driver.pitch_max || s->pitch < c->width_bytes))
		return false;
	return s->type == CUDA_MEMORY_HOST || (s->type == CUDA_MEMORY_DEVICE && driver_side_exists(c, s));
}

static int copy_now(const struct cuda_copy *c)
{
	int r = driver_synchronise();

	if (r == CUDA_OK)
		driver_copy_rows(c);
	return r;
}

static int copy_later(const struct cuda_copy *c, void *stream)
{
	const struct stream *s = driver_stream_here(stream);
	uintptr_t to = (uintptr_t)c->to.host;
	size_t size = driver_extent(c, c->to.pitch);
	struct operation *o;

	if (!s || s->capturing)
		return s ? CAPTURED : CUDA_INVALID_HANDLE;
	if (!c->width_bytes || !c->height || !side_possible(c, &c->from) || !side_possible(c, &c->to))
		return CUDA_INVALID_VALUE;
	driver.n.copies++;
	if (!driver_side_exists(c, &c->to)) {
		if (driver_overlaps(&driver.registered, to, size) || driver_overlaps(&driver.allocated, to, size))
			return CUDA_INVALID_VALUE;
		driver.n.pageable++;
		return copy_now(c);
	}
	o = driver_operation();
	o->copy = *c;
	driver_put(o);
	return CUDA_OK;
}

static struct cuda_copy linear(void *host, cuda_pointer device_p, size_t size, bool to_host)
{
	struct cuda_copy_side h = { .type = CUDA_MEMORY_HOST, .host = host, .pitch = size };
	struct cuda_copy_side d = { .type = CUDA_MEMORY_DEVICE, .device = device_p, .pitch = size };

	return (struct cuda_copy){ .from = to_host ? d : h, .to = to_host ? h : d, .width_bytes = size, .height = 1 };
}

static int copy_out(void *to, cuda_pointer from, size_t size, void *stream)
{
	struct cuda_copy c = linear(to, from, size, true);

	return copy_later(&c, stream);
}

static int copy_in(cuda_pointer to, const void *from, size_t size)
{
	struct cuda_copy c = linear((void *)(uintptr_t)from, to, size, false);

	return side_possible(&c, &c.to) ? copy_now(&c) : CUDA_INVALID_VALUE;
}

static int copy_2d_now(const struct cuda_copy *c)
{
	return side_possible(c, &c->from) && side_possible(c, &c->to) ? copy_now(c) : CUDA_INVALID_VALUE;
}

API(cuMemcpyDtoHAsync_v2, 0, (void *to, cuda_pointer from, size_t size, void *stream), copy_out(to, from, size, stream))
API(cuMemcpy2DAsync_v2, 0, (const struct cuda_copy *copy, void *stream),
    (driver.n.copies_2d++, copy_later(copy, stream)))
API(cuMemcpyHtoD_v2, 0, (cuda_pointer to, const void *from, size_t size), copy_in(to, from, size))
API(cuMemcpy2D_v2, 0, (const struct cuda_copy *copy), copy_2d_now(copy))
