/* SPDX-License-Identifier: Apache-2.0 */
/* Pages behind the data plane; contract in segment_commit.h. Thread: simd-main. */
#include "segment_commit.h"

#include "err.h"
#include "fd.h"
#include "ipc_iox_layout.h"
#include "plane.h"
#include "roudi_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BALLAST_SPARE (1 << 20) /* for what is written after the measurement */

static uint64_t align8(uint64_t n)
{
	return (n + 7) / 8 * 8;
}

static int back(int fd, uint64_t at, uint64_t n)
{
	int r;

	if (n == 0)
		return 0;
	do
		r = fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)n) < 0 ? -errno : 0;
	while (r == -EINTR);
	return r;
}

void segment_commit_init(struct segment_commit *c)
{
	*c = (struct segment_commit){ .payload_fd = -1, .mgmt_fd = -1, .ballast_fd = -1 };
}

struct segment_commit segment_commit_end(struct segment_commit *c)
{
	struct segment_commit dead = *c;

	dead.ballast_fd = fd_close(dead.ballast_fd);
	segment_commit_init(c);
	return dead;
}

void segment_commit_close(struct segment_commit *dead)
{
	dead->payload_fd = fd_close(dead->payload_fd);
	dead->mgmt_fd = fd_close(dead->mgmt_fd);
}

static int open_mgmt(struct segment_commit *c, const char *path)
{
	struct stat st;

	c->mgmt_fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (c->mgmt_fd < 0 || fstat(c->mgmt_fd, &st) < 0)
		return err_sys(-errno, "management segment %s", path);
	c->mgmt_size = (uint64_t)st.st_size;
	return 0;
}

static uint64_t list_bytes(uint64_t slots)
{
	return align8(4 * (slots + 1));
}

uint64_t segment_commit_list_at(const struct segment_commit *c, unsigned cls)
{
	uint64_t at = IOX_MGMT_LISTS;

	for (unsigned i = 0; i < cls; i++)
		at += list_bytes(c->count[i]);
	return at;
}

/*
 * Computes where the lists of free slots, the entries and the list of free entries are. False: the segment has another
 * layout.
 */
static bool lay_out(struct segment_commit *c, uint64_t *ret_end)
{
	uint64_t at, slots = 0;

	for (unsigned i = 0; i < c->n; i++)
		slots += c->count[i];
	c->entries_at = segment_commit_list_at(c, c->n);
	at = c->entries_at + IOX_ENTRY_SIZE * slots + list_bytes(slots);
	*ret_end = at;
	return c->mgmt_size >= at + IOX_MGMT_TAIL && c->mgmt_size - at - IOX_MGMT_TAIL <= IOX_MGMT_SPARE;
}

struct range {
	uint64_t at, end;
};

/*
 * The parts of the management segment that need pages: all except the slots' entries, the part that introspection never
 * writes, and the ports of clients and servers, which simd does not use. Returns their number.
 */
static unsigned mgmt_ranges(struct segment_commit *c, struct range ret[8])
{
	static const struct range head[] = IOX_MGMT_HEAD;
	uint64_t end, size = c->mgmt_size;
	unsigned n = sizeof(head) / sizeof(head[0]);

	c->whole = !lay_out(c, &end);
	if (c->whole) {
		ret[0] = (struct range){ 0, size };
		return 1;
	}
	memcpy(ret, head, sizeof(head));
	ret[n++] = (struct range){ IOX_MGMT_LISTS, c->entries_at };
	ret[n++] = (struct range){ end, size - IOX_MGMT_SERVERS };
	ret[n++] = (struct range){ size - IOX_MGMT_LAST, size };
	return n;
}

/*
 * Whether an earlier simd has allocated the pages already. A second fallocate() would fill the unwritten ones with
 * zeros: they would look written, and could not be freed when there is no room.
 */
static bool has_pages(int fd, const struct range *r, unsigned n)
{
	uint64_t bytes = 0;
	struct stat st;

	for (unsigned i = 0; i < n; i++)
		bytes += r[i].end - r[i].at;
	return fstat(fd, &st) == 0 && (uint64_t)st.st_blocks * 512 >= bytes;
}

static int back_mgmt(struct segment_commit *c)
{
	struct range r[8];
	unsigned n = mgmt_ranges(c, r);
	int rc = 0;

	if (has_pages(c->mgmt_fd, r, n))
		return 0;
	for (unsigned i = 0; i < n && rc == 0; i++)
		rc = back(c->mgmt_fd, r[i].at, r[i].end - r[i].at);
	return rc;
}

static void know_classes(struct segment_commit *c, const struct pools *p)
{
	c->n = p->n;
	for (unsigned i = 0; i < p->n; i++) {
		c->at[i] = (uint64_t)pools_at(p, (int)i);
		c->chunk[i] = (uint64_t)pools_chunk_bytes(p, (int)i);
		c->count[i] = p->c[i].count;
	}
}

/* Members of simd's group may write to the plane: the file must not be a link to a file of another simd. */
static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1;
}

int segment_commit_find(struct segment_commit *c, const char *plane, uint32_t generation, const struct pools *p)
{
	char path[SEGMENT_PATH_MAX];
	uint64_t end;
	int r;

	if (!roudi_aside_path(plane, true, generation, path, sizeof(path)))
		return -ENAMETOOLONG;
	r = open_mgmt(c, path);
	if (r < 0)
		return r;
	(void)roudi_aside_path(plane, false, generation, path, sizeof(path));
	c->payload_fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (c->payload_fd < 0)
		return -errno;
	know_classes(c, p);
	return is_ours(c->mgmt_fd) && is_ours(c->payload_fd) && lay_out(c, &end) ? 0 : -EPROTO;
}

int segment_commit_begin(struct segment_commit *c, const char *plane, const struct pools *p)
{
	char path[SEGMENT_PATH_MAX];
	int r;

	if (!plane_memory(plane, PLANE_MGMT, path, sizeof(path)))
		return err_set(-ENAMETOOLONG, "the management segment of %s has too long a name", plane);
	r = open_mgmt(c, path);
	if (r < 0)
		return r;
	c->payload_fd = roudi_open_segment(plane);
	if (c->payload_fd < 0)
		return c->payload_fd;
	know_classes(c, p);
	r = back_mgmt(c);
	return r < 0 ? err_sys(r, "the data plane's management needs %lld MiB of /dev/shm",
			       (long long)(POOL_MGMT_BYTES >> 20))
		     : 0;
}

static uint64_t slots_with_pages(const struct segment_commit *c)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < c->n; i++)
		n += c->slots[i];
	return n;
}

int segment_commit_slots(struct segment_commit *c, unsigned cls, uint32_t slots)
{
	uint64_t before = slots_with_pages(c), more = slots - c->slots[cls];
	int r = 0;

	if (!c->whole)
		r = back(c->mgmt_fd, c->entries_at + IOX_ENTRY_SIZE * before, IOX_ENTRY_SIZE * more);
	if (r == 0)
		r = back(c->payload_fd, c->at[cls] + c->chunk[cls] * c->slots[cls], c->chunk[cls] * more);
	if (r == 0)
		c->slots[cls] = slots;
	return r;
}

/* Bytes of a file that were written: for SEEK_DATA, pages that were only reserved are holes. */
static int64_t written(int fd)
{
	off_t at = 0, end;
	int64_t n = 0;

	while ((at = lseek(fd, at, SEEK_DATA)) >= 0 && (end = lseek(fd, at, SEEK_HOLE)) > at) {
		n += end - at;
		at = end;
	}
	return n;
}

void segment_commit_ballast(struct segment_commit *c, const char *plane)
{
	int64_t due = written(c->mgmt_fd) + BALLAST_SPARE;

	due = due > POOL_ASIDE_BYTES ? due : POOL_ASIDE_BYTES;
	if (c->ballast_fd < 0)
		c->ballast_fd = open(plane, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (c->ballast_fd < 0 || due <= c->ballast)
		return;
	if (back(c->ballast_fd, (uint64_t)c->ballast, (uint64_t)(due - c->ballast)) == 0)
		c->ballast = due;
}
