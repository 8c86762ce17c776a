/* SPDX-License-Identifier: Apache-2.0 */
/* Connections in memory that outlives the process. See peers_memory.h. */
#include "peers_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"

#define MAGIC     UINT64_C(0x3130737265657073) /* "speers01" */
#define PAGE_SIZE 4096
#define SIZE      (PAGE_SIZE + 2 * PEERS_MAX * PEERS_RING)

struct change {
	struct peers_line line;
	uint64_t i, answered;
};

/*
 * A change is written to the entry that is not the last one, becomes the last one with a single store, and is then
 * carried out. A process that finds it as the last one carries it out again.
 */
struct peers_page {
	uint64_t magic, size, last_id;
	_Atomic uint32_t which;
	struct change change[2];
	struct peers_line line[PEERS_MAX];
};

_Static_assert(sizeof(struct peers_page) <= PAGE_SIZE, "it has a page");
_Static_assert(PEERS_RING % PAGE_SIZE == 0, "rings are mapped");

/* ---- mapping ---- */

static off_t ring_at(unsigned i, bool out)
{
	return (off_t)(PAGE_SIZE + (2 * i + out) * PEERS_RING);
}

static int map_twice(int fd, off_t at, uint8_t **ret)
{
	uint8_t *p = mmap(NULL, 2 * PEERS_RING, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	*ret = p;
	for (size_t k = 0; k < 2; k++) {
		if (mmap(p + k * PEERS_RING, PEERS_RING, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, at) ==
		    MAP_FAILED)
			return -errno;
	}
	return 0;
}

static int map_all(struct peers_memory *m)
{
	int r = 0;

	m->page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (m->page == MAP_FAILED) {
		m->page = NULL;
		return -errno;
	}
	for (unsigned i = 0; r == 0 && i < PEERS_MAX; i++) {
		r = map_twice(m->fd, ring_at(i, false), &m->in[i]);
		if (r == 0)
			r = map_twice(m->fd, ring_at(i, true), &m->out[i]);
	}
	return r;
}

static int make(void)
{
	int fd = memfd_create("sim-ss2", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && (ftruncate(fd, SIZE) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0))
		return fd_close(fd);
	return fd;
}

static bool is_ours(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(fd, &st) == 0 && st.st_size == (off_t)SIZE;
}

static void redo(struct peers_page *p)
{
	const struct change *c = &p->change[atomic_load(&p->which) & 1];

	if (c->i < PEERS_MAX)
		p->line[c->i] = c->line;
}

int peers_memory_open(struct peers_memory *m, int fd)
{
	bool found = fd >= 0;
	int r = 0;

	*m = (struct peers_memory){ .fd = found ? fd : make() };
	if (m->fd < 0)
		return err_sys(-errno, "memory for connections");
	if (found && !is_ours(fd))
		r = err_set(-EINVAL, "what the previous process has left is not memory of connections");
	if (r == 0) {
		r = map_all(m);
		if (r < 0)
			err_sys(r, "mapping memory for connections");
	}
	if (r == 0 && found && (m->page->magic != MAGIC || m->page->size != SIZE))
		r = err_set(-EINVAL, "what the previous process has left is of another version");
	if (r < 0) {
		peers_memory_close(m);
		return r;
	}
	m->page->magic = MAGIC;
	m->page->size = SIZE;
	redo(m->page);
	return 0;
}

void peers_memory_close(struct peers_memory *m)
{
	for (unsigned i = 0; i < PEERS_MAX; i++) {
		if (m->in[i])
			munmap(m->in[i], 2 * PEERS_RING);
		if (m->out[i])
			munmap(m->out[i], 2 * PEERS_RING);
	}
	if (m->page)
		munmap(m->page, PAGE_SIZE);
	fd_close(m->fd);
	*m = (struct peers_memory){ .fd = -1 };
}

/* ---- contents ---- */

struct peers_line peers_memory_line(const struct peers_memory *m, unsigned i)
{
	return m->page->line[i];
}

void peers_memory_change(struct peers_memory *m, unsigned i, const struct peers_line *next, uint64_t answered)
{
	uint32_t to = !(atomic_load_explicit(&m->page->which, memory_order_relaxed) & 1);

	m->page->change[to] = (struct change){ .line = *next, .i = i, .answered = answered };
	atomic_signal_fence(
		memory_order_seq_cst); /* a process is killed between two instructions, so only their order matters */
	atomic_store_explicit(&m->page->which, to, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	m->page->line[i] = *next;
	atomic_signal_fence(memory_order_seq_cst);
}

uint64_t peers_memory_answered(const struct peers_memory *m)
{
	return m->page->change[atomic_load(&m->page->which) & 1].answered;
}

uint64_t peers_memory_new_id(struct peers_memory *m)
{
	return ++m->page->last_id;
}

void peers_memory_forget(struct peers_memory *m, unsigned i)
{
	(void)fallocate(m->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, ring_at(i, false), 2 * PEERS_RING);
}
