/* SPDX-License-Identifier: Apache-2.0 */
/* The state file; contract in state.h. Thread: simd-main. */
#include "state.h"

#include "err.h"
#include "fd.h"
#include "jsonx.h"
#include "mem.h"
#include "number.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_FILE_MAX ((size_t)1 << 20)

/* ---- processes ---- */

/* Field `nth` of /proc/<pid>/stat; negative: there is no such process, or it is a zombie. */
static int64_t stat_field(pid_t pid, int nth)
{
	char path[64], state = 0;
	int64_t v;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	v = pid > 0 ? fd_stat_field(path, nth, &state) : -1;
	return state == 'Z' || state == 'X' ? -1 : v;
}

int64_t state_proc_start(pid_t pid)
{
	return stat_field(pid, 22);
}

bool state_proc_ending(pid_t pid)
{
	int64_t flags = stat_field(pid, 9);

	return flags < 0 || (flags & 4 /* PF_EXITING */);
}

/* The state letter; 0: no such thread. */
static char thread_state(pid_t pid, const char *tid)
{
	char path[300], state = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", (int)pid, tid);
	fd_stat_field(path, 4, &state);
	return state;
}

/* /proc shows a frozen process as sleeping, so its cgroup is checked. */
static bool frozen(pid_t pid)
{
	char path[4200], *text, *group;
	bool yes;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	if (fd_read_file(path, 4096, &text, NULL) < 0)
		return false;
	group = strstr(text, "0::/");
	if (group)
		snprintf(path, sizeof(path), "/sys/fs/cgroup%.*s/cgroup.events", (int)strcspn(group + 3, "\n"),
			 group + 3);
	mem_free(text);
	if (!group || fd_read_file(path, 4096, &text, NULL) < 0)
		return false;
	yes = strstr(text, "frozen 1") != NULL;
	mem_free(text);
	return yes;
}

bool state_proc_stopped(pid_t pid)
{
	const struct dirent *e;
	bool yes = false;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = pid > 0 ? opendir(path) : NULL;
	if (!d)
		return pid <= 0 || errno != ENOENT;
	while (!yes && (e = readdir(d))) {
		char c = e->d_name[0] == '.' ? '\0' : thread_state(pid, e->d_name);

		yes = c == 'T' || c == 't';
	}
	closedir(d);
	return yes || frozen(pid);
}

struct state_proc state_proc_of(pid_t pid)
{
	return (struct state_proc){ .pid = pid, .start = state_proc_start(pid) };
}

bool state_proc_alive(const struct state_proc *p)
{
	return p->pid > 0 && p->start >= 0 && state_proc_start(p->pid) == p->start;
}

/* Checks the start time again after opening: the pid may have been reused meanwhile. */
int state_proc_open(const struct state_proc *p)
{
	int fd = state_proc_alive(p) ? fd_pidfd_open(p->pid) : -ESRCH;

	if (fd < 0 || state_proc_alive(p))
		return fd;
	fd_close(fd);
	return -ESRCH;
}

pid_t state_proc_parent(pid_t pid)
{
	return (pid_t)stat_field(pid, 4);
}

bool state_proc_user(pid_t pid, uid_t *ret)
{
	char path[64], *text;
	const char *at;
	uint64_t uid;
	bool yes;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (pid <= 0 || fd_read_file(path, 65536, &text, NULL) < 0)
		return false;
	at = strstr(text, "\nUid:\t"); /* the real uid, then the effective one */
	at = at ? strchr(at + strlen("\nUid:\t"), '\t') : NULL;
	yes = at && (++at, number_take_u64(&at, NUMBER_DEC, UINT32_MAX, &uid) == 0);
	mem_free(text);
	if (yes)
		*ret = (uid_t)uid;
	return yes;
}

/* ---- reading ---- */

static int read_pid(const json_t *p, struct state_proc *ret)
{
	int64_t pid, start;
	int r = jsonx_int(p, "pid", 0, INT32_MAX, &pid);

	if (r == 0)
		r = jsonx_int(p, "start", -1, INT64_MAX, &start);
	if (r < 0)
		return r;
	*ret = (struct state_proc){ .pid = (pid_t)pid, .start = start };
	return 0;
}

static int read_proc(const json_t *o, const char *key, struct state_proc *ret)
{
	json_t *p;
	int r = jsonx_object(o, key, &p);

	return r < 0 ? r : read_pid(p, ret);
}

static int read_app(const json_t *o, struct state_app *ret)
{
	const char *app;
	int r = jsonx_string(o, "app", STATE_APP_MAX - 1, &app);

	if (r == 0)
		r = jsonx_bool(o, "bridge", &ret->bridge);
	if (r == 0) /* absent in files of older simds */
		r = jsonx_opt_bool(o, "client", false, &ret->client);
	if (r == 0)
		r = read_proc(o, "process", &ret->proc);
	if (r == 0)
		snprintf(ret->app, sizeof(ret->app), "%s", app);
	return r;
}

/* Absent in files of older simds. */
static int read_children(const json_t *j, struct state *s)
{
	json_t *children, *item;
	size_t i;
	int r = json_object_get(j, "children") ? jsonx_array(j, "children", STATE_CHILDREN_MAX, &children) : -ENOENT;

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	json_array_foreach(children, i, item) {
		r = read_pid(item, &s->children[s->n_children]);
		if (r < 0)
			return r;
		s->n_children++;
	}
	return 0;
}

static int read_state(const json_t *j, struct state *s)
{
	const char *app, *hash;
	int64_t generation;
	json_t *apps, *item;
	size_t i;
	int r = jsonx_string(j, "app", STATE_APP_MAX - 1, &app);

	if (r == 0)
		r = read_proc(j, "simd", &s->simd);
	if (r == 0)
		r = jsonx_int(j, "iox_generation", 0, UINT32_MAX, &generation);
	if (r == 0)
		r = read_proc(j, "roudi", &s->roudi);
	if (r == 0)
		r = jsonx_bool(j, "roudi_owned", &s->roudi_owned);
	if (r == 0)
		r = jsonx_string(j, "roudi_config", 16, &hash);
	if (r == 0)
		r = jsonx_array(j, "apps", STATE_APPS_MAX, &apps);
	if (r == 0 && !number_hash(hash, &s->roudi_hash))
		r = err_set(-EINVAL, "\"roudi_config\" is not 16 hexadecimal digits");
	if (r < 0)
		return r;
	snprintf(s->simd_app, sizeof(s->simd_app), "%s", app);
	s->generation = (uint32_t)generation;
	json_array_foreach(apps, i, item) {
		r = read_app(item, &s->apps[s->n_apps]);
		if (r < 0)
			return r;
		s->n_apps++;
	}
	return read_children(j, s);
}

int state_load(const char *path, struct state *ret)
{
	struct stat st;
	struct state *s;
	char *text;
	json_t *j;
	size_t len;
	int r;

	/* simd ends processes by this file's content */
	if (lstat(path, &st) == 0 && (st.st_uid != geteuid() || (st.st_mode & 022)))
		return err_set(-EPERM, "%s belongs to user %u, or others may write it (mode %03o)", path,
			       (unsigned)st.st_uid, (unsigned)st.st_mode & 0777);
	r = fd_read_file(path, STATE_FILE_MAX, &text, &len);
	if (r < 0)
		return r;
	s = MEM_NEW(struct state);
	j = json_loadb(text, len, 0, NULL);
	mem_free(text);
	r = s ? (json_is_object(j) ? read_state(j, s) : err_set(-EINVAL, "not a JSON object")) : err_nomem();
	json_decref(j);
	if (r == 0)
		*ret = *s;
	mem_free(s);
	return r < 0 ? err_prefix(r, "%s", path) : 0;
}

/* ---- writing ---- */

static json_t *proc_json(const struct state_proc *p)
{
	return JSONX_MAKE(JX_INT("pid", p->pid), JX_INT("start", p->start));
}

int state_save(const char *path, const struct state *s)
{
	char hash[17], *text;
	json_t *apps = json_array(), *children = json_array(), *j;
	int r;

	for (unsigned i = 0; i < s->n_apps; i++)
		json_array_append_new(apps,
				      JSONX_MAKE(JX_STR("app", s->apps[i].app), JX_BOOL("bridge", s->apps[i].bridge),
						 JX_BOOL("client", s->apps[i].client),
						 JX_NEW("process", proc_json(&s->apps[i].proc))));
	for (unsigned i = 0; i < s->n_children; i++)
		json_array_append_new(children, proc_json(&s->children[i]));
	snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)s->roudi_hash);
	j = JSONX_MAKE(JX_STR("app", s->simd_app), JX_NEW("simd", proc_json(&s->simd)),
		       JX_INT("iox_generation", s->generation), JX_NEW("roudi", proc_json(&s->roudi)),
		       JX_BOOL("roudi_owned", s->roudi_owned), JX_STR("roudi_config", hash), JX_NEW("apps", apps),
		       JX_NEW("children", children));
	text = j ? jsonx_text(j) : NULL;
	json_decref(j);
	if (!text)
		return err_nomem();
	r = fd_write_file(path, text, strlen(text), 0644);
	mem_free(text);
	return r;
}
