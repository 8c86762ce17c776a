/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "trust.h"

#define PREFIX    "sim_component_"
#define CLASS_MAX 100
#define BYTES_MAX ((off_t)1 << 30) /* of a library that is copied */

struct library {
	void *handle;
	char *path;
	/*
	 * memfd with the copy; -1: none. Kept open while loaded: dlopen() compares names, and the name contains the
	 * fd's number
	 */
	int fd;
};

/* ---- open ---- */

/* dlopen() of a FIFO would block until a process writes to it. */
static int check_file(const char *path)
{
	struct stat st;
	int r = trust_check(path);

	if (r < 0)
		return r;
	if (stat(path, &st) < 0)
		return err_sys(-errno, "library %s", path);
	return S_ISREG(st.st_mode) ? 0 : err_set(-ELIBBAD, "library %s is no regular file", path);
}

static int copy_to_memory(const char *path, int *ret)
{
	int r, from = open(path, O_RDONLY | O_CLOEXEC), to = -1;
	struct stat st;
	off_t at = 0;

	if (from < 0)
		return err_sys(-errno, "%s", path);
	if (fstat(from, &st) < 0 || (to = memfd_create("simhost", MFD_CLOEXEC)) < 0) {
		r = err_sys(-errno, "%s", path);
		goto out;
	}
	if (st.st_size > BYTES_MAX) {
		r = err_set(-EFBIG, "%s: file is larger than %lld bytes, the limit for loading it again", path,
			    (long long)BYTES_MAX);
		goto out;
	}
	errno = EIO; /* for a file that became shorter meanwhile */
	while (at < st.st_size && sendfile(to, from, &at, (size_t)(st.st_size - at)) > 0)
		;
	r = at == st.st_size ? 0 : err_sys(-errno, "%s: reading it", path);
out:
	fd_close(from);
	if (r < 0)
		fd_close(to);
	else
		*ret = to;
	return r;
}

/* RTLD_NOW resolves all symbols, so that a missing one is an error here and not a crash later. */
static int load(struct library *l, const char *path)
{
	l->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (l->handle)
		return 0;
	return err_set(access(l->path, R_OK) < 0 ? -ENOENT : -ELIBBAD, "library %s: %s", l->path, dlerror());
}

static int load_copy(struct library *l)
{
	char name[40];
	int r = copy_to_memory(l->path, &l->fd);

	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", l->fd);
	return load(l, name);
}

int library_open(const char *path, bool fresh, struct library **ret)
{
	struct library *l = MEM_NEW(struct library);
	int r;

	if (!l)
		return err_nomem();
	l->fd = -1;
	l->path = mem_strdup(path);
	r = l->path ? check_file(path) : err_nomem();
	if (r == 0)
		r = fresh ? load_copy(l) : load(l, path);
	if (r < 0) {
		library_close(l);
		return r;
	}
	*ret = l;
	return 0;
}

void library_close(struct library *l)
{
	if (!l)
		return;
	if (l->handle)
		dlclose(l->handle);
	fd_close(l->fd);
	mem_free(l->path);
	mem_free(l);
}

/* ---- classes ---- */

int library_class(const struct library *l, const char *name, const struct sim_component_class **ret)
{
	char symbol[sizeof(PREFIX) + CLASS_MAX];
	const struct sim_component_class *at;

	snprintf(symbol, sizeof(symbol), PREFIX "%s", name);
	at = dlsym(l->handle, symbol);
	if (at && (at->abi != SIM_COMPONENT_ABI || at->size != sizeof(*at)))
		return err_set(
			-ELIBBAD,
			"library %s: class %s was compiled for another version (ABI %u of %u bytes, wanted are %u of "
			"%zu), or %s is no class at all; compile it again",
			l->path, name, at->abi, at->size, SIM_COMPONENT_ABI, sizeof(*at), symbol);
	if (at) {
		*ret = at;
		return 0;
	}
	return err_set(
		-ENOENT,
		"library %s has no class \"%s\": the symbol %s is missing. SIM_COMPONENT() exports one; `nm -D %s | grep " PREFIX
		"` lists the classes that it has",
		l->path, name, symbol, l->path);
}
