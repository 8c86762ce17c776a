/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attachments of the iox backend. Each generation (run of RouDi) needs a fresh copy of the iceoryx libraries, because
 * their runtime can be started once and never stopped: the module is loaded with dlmopen into a link namespace of its
 * own, the first time too (a process that has iceoryx through Cyclone DDS would otherwise share it, and the error hooks
 * would not be reached: measured).
 *
 * Namespaces belong to the process (11, or 15 with GLIBC_TUNABLES=glibc.rtld.nns=16) and are never freed, so this table
 * is process-wide: the one mutable global of the data plane. An attachment that was detached in good order, or whose
 * start still waits for RouDi, is reused by any application of the process, under the runtime name by which RouDi knows
 * it. So only simultaneous attachments count.
 *
 * Thread: any; attachments.lock.
 */
#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "err.h"
#include "ipc_int.h"
#include "ipc_roudi.h"
#include "rnd.h"
#include "trust.h"

#define MODULE  "ipc_iox.so"
#define PRELOAD "roudi_robust.so"
#define TAG_LEN 8

struct attachment {
	const struct ipc_ops *ops;
	pid_t pid;                   /* process that loaded it; a fork inherits the table */
	char plane[PLANE_MAX];       /* never changes */
	char app[IPC_APP_MAX + 1];   /* application that uses it, or used it last */
	char name[IPC_APP_MAX + 12]; /* never changes: made for the first application */
};

static struct {
	pthread_mutex_t lock;
	unsigned int n;
	struct attachment at[IPC_ATTACHMENTS_MAX]; /* the runtime name of the i-th ends in .<i + 1> */
} attachments = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- finding the module ---- */

static const char *installed = "/usr/local/lib/simd";

void ipc_installed(const char *dir)
{
	installed = dir;
}

static bool readable(const char *path)
{
	return access(path, R_OK) == 0;
}

/*
 * Looks beside the file that holds this code: <dir>/simd/ for an installed library, <dir>/ and <dir>/../lib/simd/ in a
 * build.
 */
static bool beside(const char *file, const char *what, char *ret, size_t n)
{
	static const char *const places[] = { "simd", ".", "../lib/simd", "../simd", "../../lib/simd" };
	char buf[PATH_MAX];
	const char *dir;

	if (snprintf(buf, sizeof(buf), "%s", file) >= (int)sizeof(buf))
		return false;
	dir = dirname(buf);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (snprintf(ret, n, "%s/%s/%s", dir, places[i], what) < (int)n && readable(ret))
			return true;
	return false;
}

/* Looks beside this library; beside the executable; in the installation directory. */
static bool find_object(const char *what, char *ret, size_t n)
{
	char exe[PATH_MAX];
	Dl_info info;
	ssize_t len;

	if (dladdr((const void *)(uintptr_t)&find_object, &info) && info.dli_fname && strchr(info.dli_fname, '/') &&
	    beside(info.dli_fname, what, ret, n))
		return true;
	len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (len > 0) {
		exe[len] = '\0';
		if (beside(exe, what, ret, n))
			return true;
	}
	return snprintf(ret, n, "%s/%s", installed, what) < (int)n && readable(ret);
}

int ipc_roudi_preload(char *ret, size_t n)
{
	if (find_object(PRELOAD, ret, n))
		return 0;
	return ipc_fail(-ELIBACC, "%s is not beside the program, nor in %s", PRELOAD, installed);
}

/* SIM_IPC_MODULE, or find_object(). */
static int find_module(char *ret, size_t n, struct ipc_text *why)
{
	const char *env = secure_getenv("SIM_IPC_MODULE");

	if (env && *env) {
		snprintf(ret, n, "%s", env);
		if (readable(ret))
			return 0;
		snprintf(why->s, sizeof(why->s), "SIM_IPC_MODULE names %.150s, which cannot be read", env);
		return -ELIBACC;
	}
	if (find_object(MODULE, ret, n))
		return 0;
	snprintf(why->s, sizeof(why->s),
		 "%s is not beside the library or the program, nor in %s; install simd, or set "
		 "SIM_IPC_MODULE",
		 MODULE, installed);
	return -ELIBACC;
}

/* ---- loading ---- */

/* The loader reports the cause only as text. */
static int errno_in(const char *text)
{
	static const int causes[] = { EMFILE, ENFILE, ENOMEM, EACCES, EIO };

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (strstr(text, strerror(causes[i])))
			return -causes[i];
	return strstr(text, "failed to map segment") ? -ENOMEM : -ELIBACC;
}

static int load_failed(const char *path, struct ipc_text *why)
{
	const char *e = dlerror();
	int r;

	e = e ? e : "unknown error";
	if (strstr(e, "namespace") || strstr(e, "static TLS")) {
		snprintf(why->s, sizeof(why->s),
			 "this process has used up its %u attachments to the data plane: start it "
			 "again (GLIBC_TUNABLES=glibc.rtld.nns=16 in its environment gives 15)",
			 attachments.n);
		return -ENOTRECOVERABLE;
	}
	r = errno_in(e);
	snprintf(why->s, sizeof(why->s), "%.80s cannot be loaded: %.120s%s", path, e,
		 r == -ENOMEM && !strstr(e, strerror(ENOMEM)) ? " (out of memory)" : "");
	return r;
}

static int load(const struct ipc_ops **ret, struct ipc_text *why)
{
	const struct ipc_ops *(*get)(void);
	char path[PATH_MAX];
	void *module;
	int r = find_module(path, sizeof(path), why);

	if (r == 0 && trust_check(path) < 0) {
		snprintf(why->s, sizeof(why->s), "%s", err_why());
		r = -ELIBACC;
	}
	if (r < 0)
		return r;
	module = dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL);
	if (!module)
		return load_failed(path, why);
	*(void **)&get = dlsym(module, IPC_OPS_SYMBOL);
	if (!get || get()->abi != IPC_OPS_ABI || get()->size != sizeof(struct ipc_ops)) {
		snprintf(why->s, sizeof(why->s),
			 "%.120s belongs to another version of this library; install both again", path);
		return -ELIBACC;
	}
	*ret = get();
	return 0;
}

/* ---- attachments ---- */

static int attachment_new(const char *plane, const char *app, struct ipc_text *why, struct attachment **ret)
{
	struct attachment *l = &attachments.at[attachments.n];
	int r;

	if (attachments.n == IPC_ATTACHMENTS_MAX) {
		snprintf(why->s, sizeof(why->s),
			 "this process has used up its %u attachments to the data plane: start it "
			 "again",
			 attachments.n);
		return -ENOTRECOVERABLE;
	}
	r = load(&l->ops, why);
	if (r < 0)
		return r;
	attachments.n++;
	l->pid = getpid();
	snprintf(l->plane, sizeof(l->plane), "%s", plane);
	snprintf(l->name, sizeof(l->name), "%.*s.%u", IPC_APP_MAX, app, attachments.n);
	*ret = l;
	return 0;
}

/*
 * Finds an idle or waiting one of this plane: of this application, or of others. -EEXIST: the application is attached;
 * -ENOENT.
 */
static int attachment_idle(const struct ipc_options *o, bool its_own, struct attachment **ret)
{
	for (unsigned int i = 0; i < attachments.n; i++) {
		struct attachment *l = &attachments.at[i];
		int r;

		if ((strcmp(l->app, o->app) == 0) != its_own || strcmp(l->plane, ipc_plane_of(o->plane)) != 0)
			continue;
		r = l->ops->reserve();
		if (r == 0)
			*ret = l;
		if (r == 0 || (r == -EEXIST && its_own))
			return r;
	}
	return -ENOENT;
}

/* Bit n: the runtime name <app>.<n> belongs to this process, so to no other application. */
static unsigned int own_names(const char *app)
{
	size_t len = strlen(app);
	unsigned int own = 0;

	for (unsigned int i = 0; i < attachments.n; i++) {
		const struct attachment *l = &attachments.at[i];

		if (l->pid == getpid() && strncmp(l->name, app, len) == 0 && l->name[len] == '.')
			own |= 2u << i;
	}
	return own;
}

/* Chooses another, unpredictable tag in "simd-TAG" or "NAME-TAG-ID". */
static bool new_tag(char *app)
{
	char tag[TAG_LEN + 1];

	for (size_t n = strlen(app); n > TAG_LEN; n--) {
		char *at = app + n - TAG_LEN;

		if (at[-1] != '-' || (at[TAG_LEN] && at[TAG_LEN] != '-') || strspn(at, "0123456789abcdef") != TAG_LEN)
			continue;
		snprintf(tag, sizeof(tag), "%08x", (unsigned)(rnd_entropy() >> 32));
		memcpy(at, tag, TAG_LEN);
		return true;
	}
	return false;
}

static int attachment_make(const struct ipc_options *o, struct ipc_text *why, struct attachment **ret)
{
	const char *plane = ipc_plane_of(o->plane);
	char app[IPC_APP_MAX + 8];
	int r;

	snprintf(app, sizeof(app), "%s", o->app);
	r = roudi_check_name(plane, app, own_names(app), why);
	if (r == -EEXIST && o->app_by_simd && new_tag(app))
		r = roudi_check_name(plane, app, own_names(app), why);
	return r < 0 ? r : attachment_new(plane, app, why, ret);
}

static int attachment_pick(const struct ipc_options *o, struct ipc_text *why, struct attachment **ret)
{
	int r = attachment_idle(o, true, ret);

	if (r == -ENOENT)
		r = attachment_idle(o, false, ret);
	if (r == -EEXIST)
		snprintf(why->s, sizeof(why->s),
			 "this process is attached as %s already; give each attachment its own "
			 "name",
			 o->app);
	if (r == -ENOENT) {
		r = attachment_make(o, why, ret);
		if (r == 0)
			r = (*ret)->ops->reserve();
	}
	if (r == 0)
		snprintf((*ret)->app, sizeof((*ret)->app), "%s", o->app);
	return r;
}

/* ---- fork: the child's first attach must not find the lock held by a thread that the child does not have ---- */

static void lock_attachments(void)
{
	pthread_mutex_lock(&attachments.lock);
}

static void unlock_attachments(void)
{
	pthread_mutex_unlock(&attachments.lock);
}

/*
 * Before any attach: a fork that has begun does not see handlers that another thread adds, and would then find a module
 * half loaded.
 */
__attribute__((constructor)) static void guard_forks(void)
{
	(void)pthread_atfork(lock_attachments, unlock_attachments, unlock_attachments);
}

int ipc_load_iox(const struct ipc_options *o, struct ipc_text *why, const struct ipc_ops **ret_ops, char *ret_name,
		 size_t name_size)
{
	struct attachment *l;
	int r = roudi_check(ipc_plane_of(o->plane), why);

	if (r < 0)
		return r;
	if (!*ipc_plane_of(o->plane))
		roudi_sweep_own();
	pthread_mutex_lock(&attachments.lock);
	r = attachment_pick(o, why, &l);
	if (r == 0) {
		*ret_ops = l->ops;
		snprintf(ret_name, name_size, "%s", l->name);
	}
	pthread_mutex_unlock(&attachments.lock);
	return r;
}

/* ---- RouDi from outside ---- */

/* A name of this process that the plane's RouDi knows, so that a probe leaves no line in RouDi's log. */
static bool known_name(const char *plane, char *ret, size_t n)
{
	bool found = false;

	pthread_mutex_lock(&attachments.lock);
	for (unsigned int i = attachments.n; i-- > 0 && !found;) {
		found = strcmp(attachments.at[i].plane, plane) == 0 && attachments.at[i].ops->registered();
		if (found)
			snprintf(ret, n, "%s", attachments.at[i].name);
	}
	pthread_mutex_unlock(&attachments.lock);
	return found;
}

int ipc_probe(const char *plane, uint32_t timeout_ms)
{
	struct ipc_text why = { "" };
	char name[IPC_APP_MAX + 12];
	bool known = known_name(ipc_plane_of(plane), name, sizeof(name));
	int r = roudi_probe(ipc_plane_of(plane), known ? name : NULL, timeout_ms, &why);

	return r < 0 ? ipc_fail(r, "%s", why.s) : 0;
}

int ipc_free_app(const char *plane, const char *app)
{
	struct ipc_text why = { "" };
	int r;

	if (!app || strchr(app, ',') || strlen(app) > IPC_APP_MAX + 4)
		return ipc_fail(-EINVAL, "\"%.100s\" is not the name of an application", app ? app : "");
	r = roudi_free_app(ipc_plane_of(plane), app, &why);
	return r < 0 ? ipc_fail(r, "%s", why.s) : 0;
}
