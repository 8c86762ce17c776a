/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of this attachment. The C binding does not report where the payload segment is mapped; the hooks on shm_open
 * and mmap do. (/proc/self/maps would not do: two attachments of one process may map the same file.)
 *
 * Thread: the worker notes; any thread looks up (its own lock).
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "iox_plane.h"
#include "ipc_iox_int.h"

#define SEGS_MAX 8
#define STEP     ((size_t)16 << 20) /* bytes populated between two checks of the clock */
#define PAGE     4096u

static pthread_mutex_t segs_lock = PTHREAD_MUTEX_INITIALIZER;
static struct iox_seg segs[SEGS_MAX];
static unsigned int n_segs;

void iox_seg_note(const char *name, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return;
	pthread_mutex_lock(&segs_lock);
	if (n_segs < SEGS_MAX)
		segs[n_segs++] = (struct iox_seg){
			.dev = st.st_dev, .ino = st.st_ino, .fd = fd, .mgmt = strstr(name, PLANE_MGMT) != NULL
		};
	pthread_mutex_unlock(&segs_lock);
}

void iox_seg_mapped(int fd, const char *base, size_t size, bool writable)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return;
	pthread_mutex_lock(&segs_lock);
	for (unsigned int i = 0; i < n_segs; i++) {
		struct iox_seg *s = &segs[i];

		if (s->ino != st.st_ino || s->dev != st.st_dev)
			continue;
		s->base = base;
		s->size = size;
		s->writable = writable;
	}
	pthread_mutex_unlock(&segs_lock);
}

/* Keeps the addresses reserved: stray accesses must not reach other memory that is mapped there later. */
static void unmap(struct iox_seg *s)
{
	if (s->base)
		(void)mmap((void *)(uintptr_t)s->base, s->size, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	s->base = NULL;
}

void iox_seg_drop(void)
{
	struct stat st;

	pthread_mutex_lock(&segs_lock);
	for (unsigned int i = 0; i < n_segs; i++) {
		struct iox_seg *s = &segs[i];

		unmap(s);
		if (s->fd >= 0 && fstat(s->fd, &st) == 0 && st.st_ino == s->ino && st.st_dev == s->dev)
			close(s->fd); /* still that segment: iceoryx does not close it any more */
		s->fd = -1;
	}
	pthread_mutex_unlock(&segs_lock);
}

/* The last one mapped, preferably a writable one. */
static int find(bool mgmt, struct iox_seg *ret)
{
	int r = -ENOENT;

	pthread_mutex_lock(&segs_lock);
	for (unsigned int i = 0; i < n_segs; i++) {
		if (segs[i].mgmt != mgmt || !segs[i].base || (r == 0 && !segs[i].writable))
			continue;
		*ret = segs[i];
		r = 0;
	}
	pthread_mutex_unlock(&segs_lock);
	return r;
}

int iox_seg_payload(struct iox_seg *ret)
{
	return find(false, ret);
}

int iox_seg_mgmt(struct iox_seg *ret)
{
	return find(true, ret);
}

bool iox_seg_has(const void *p)
{
	bool has = false;

	pthread_mutex_lock(&segs_lock);
	for (unsigned int i = 0; i < n_segs; i++)
		has |= segs[i].base && (const char *)p >= segs[i].base && (const char *)p < segs[i].base + segs[i].size;
	pthread_mutex_unlock(&segs_lock);
	return has;
}

bool iox_seg_current(void)
{
	char path[PLANE_PATH_MAX];
	struct stat st;
	bool same = false;

	if (!plane_memory(iox_plane(), PLANE_MGMT, path, sizeof(path)) || stat(path, &st) < 0)
		return false;
	pthread_mutex_lock(&segs_lock);
	for (unsigned int i = 0; i < n_segs; i++)
		same |= segs[i].mgmt && segs[i].ino == st.st_ino && segs[i].dev == st.st_dev;
	pthread_mutex_unlock(&segs_lock);
	return same;
}

static void touch(const char *base, size_t n, bool writable)
{
	for (size_t at = 0; at < n; at += PAGE) {
		const char *p = base + at;

		if (writable)
			/* maps the page, changes nothing */
			__atomic_fetch_or((char *)(uintptr_t)p, 0, __ATOMIC_RELAXED);
		else
			(void)*(const volatile char *)p;
	}
}

/* -ENOMEM: no memory for pages that simd has freed; an access to those raises SIGBUS. */
static int populate(const struct iox_seg *s, size_t from, size_t end, int64_t until_mono_ns)
{
	for (size_t at = from; at < end; at += STEP) {
		size_t n = end - at < STEP ? end - at : STEP;

		if (until_mono_ns && iox_mono_now_ns() >= until_mono_ns)
			return 0; /* the rest is mapped when used */
		if (iox_attachment_dead())
			return 0; /* pages that simd has freed must not be allocated again */
		if (madvise((void *)(uintptr_t)(s->base + at), n,
			    s->writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0)
			continue;
		if (errno != EINVAL)
			return -ENOMEM;
		touch(s->base + at, n, s->writable); /* kernels before Linux 5.14 */
	}
	return 0;
}

/* Populates the written part: queues and lists of chunks, which every message uses. */
static int populate_written(const struct iox_seg *s, int64_t until_mono_ns)
{
	off_t at = 0, hole;
	int r = 0;

	while (r == 0 && (at = lseek(s->fd, at, SEEK_DATA)) >= 0) {
		hole = lseek(s->fd, at, SEEK_HOLE);
		if (hole < 0)
			break;
		r = populate(s, (size_t)at, (size_t)hole < s->size ? (size_t)hole : s->size, until_mono_ns);
		at = hole;
	}
	return r;
}

void iox_seg_map(const void *p, size_t n)
{
	struct iox_seg s;
	uint64_t at;

	if (iox_seg_mgmt(&s) < 0 || (const char *)p < s.base || (const char *)p + n > s.base + s.size)
		return;
	at = (uint64_t)((const char *)p - s.base);
	(void)populate(&s, at / PAGE * PAGE, at + n, 0);
}

int iox_seg_prefault(uint64_t at, uint64_t bytes, int64_t until_mono_ns)
{
	struct iox_seg s;
	int r = bytes ? iox_seg_payload(&s) : iox_seg_mgmt(&s);

	if (r < 0 || bytes == 0)
		return r < 0 ? r : populate_written(&s, until_mono_ns);
	if (at >= s.size)
		return -EINVAL;
	bytes = bytes < s.size - at ? bytes : s.size - at;
	return populate(&s, at / PAGE * PAGE, at + bytes, until_mono_ns);
}
