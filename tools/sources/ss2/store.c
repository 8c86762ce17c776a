/* SPDX-License-Identifier: Apache-2.0 */
/* What a killed sim-ss2 leaves. See store.h. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "scene.h"

#define HEAD_SIZE 4096

_Static_assert(sizeof(struct store_head) <= HEAD_SIZE, "the head has a page");

/* A plain file of our own, of that size, that nobody else can write. */
static int open_file(const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), r = 0;
	struct stat st;

	if (fd < 0)
		return err_sys(-errno, "%s", path);
	if (fstat(fd, &st) < 0)
		r = err_sys(-errno, "%s", path);
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		r = err_set(-EPERM, "%s is no file of ours alone; remove it", path);
	else if (st.st_size != (off_t)size && (ftruncate(fd, 0) < 0 || ftruncate(fd, (off_t)size) < 0))
		r = err_sys(-errno, "%s", path);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

int store_open(struct store *s, const char *path, size_t more)
{
	size_t scene = (scene_size() + 63) / 64 * 64, size = HEAD_SIZE + scene + more;
	int fd = path ? open_file(path, size) : -1;
	void *at;

	*s = (struct store){ .fd = -1 };
	if (path && fd < 0)
		return fd;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED,
		  fd, 0);
	if (at == MAP_FAILED) {
		int r = err_sys(-errno, "mapping %s", path ? path : "memory");

		if (fd >= 0)
			close(fd);
		return r;
	}
	*s = (struct store){ .head = at, .scene = (char *)at + HEAD_SIZE, .size = size, .fd = fd };
	s->more = (char *)s->scene + scene;
	if (s->head->magic != STORE_MAGIC || s->head->size != size || s->head->n_entities > SCENE_ENTITIES_MAX ||
	    s->head->n_bulbs > SCENE_BULBS_MAX)
		store_reset(s);
	return 0;
}

void store_close(struct store *s)
{
	if (s->head)
		munmap(s->head, s->size);
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct store){ .fd = -1 };
}

void store_reset(struct store *s)
{
	*s->head = (struct store_head){ .magic = STORE_MAGIC, .size = s->size };
}
