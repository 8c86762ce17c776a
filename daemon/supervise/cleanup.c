/* SPDX-License-Identifier: Apache-2.0 */
/* Contract in cleanup.h. Thread: main. */
#include "cleanup.h"

#include "err.h"
#include "fd.h"
#include "log.h"
#include "mem.h"
#include "roudi_files.h"
#include "state.h"
#include "timeutil.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

LOG_TOPIC("cleanup");

#define KILL_DUR_NS (5 * NS_PER_S)

/* Sends sig, then SIGKILL if the process has not exited after dur_ns. SIGKILL as sig is sent once. */
static int end_process(const struct state_proc *p, const char *what, int sig, int64_t dur_ns)
{
	int fd = state_proc_open(p), r;

	if (fd < 0)
		return 0;
	log_info("ending %s (pid %d)", what, (int)p->pid);
	r = fd_pidfd_kill(fd, sig);
	if (r == 0 && sig != SIGKILL && fd_pidfd_wait(fd, dur_ns) == 0)
		r = fd_pidfd_kill(fd, SIGKILL);
	if (r == 0 && fd_pidfd_wait(fd, KILL_DUR_NS) == 0)
		r = -ETIMEDOUT;
	fd_close(fd);
	return r == -ESRCH || r >= 0 ? 0
				     : err_set(r, "%s (pid %d) cannot be ended: %s", what, (int)p->pid, err_text(r));
}

/* Ends the process and what is left of its session. */
static int end_child(const struct state_proc *p, int64_t stop_dur_ns)
{
	bool alive = state_proc_alive(p);
	int r = end_process(p, "a process that simd had started", SIGTERM, stop_dur_ns);

	if (alive && r == 0)
		(void)kill(-p->pid, SIGKILL);
	return r;
}

/* Ends the RouDi that a simd started, not any other. Its files are removed with the plane. */
static int end_roudi(const struct runtime *rt, const struct state *left, const char *config)
{
	struct state_proc p = left ? left->roudi : (struct state_proc){ 0 };

	if (!left || !left->roudi_owned || !state_proc_alive(&p) || !roudi_is_ours(p.pid, config))
		p = state_proc_of(roudi_find(rt->own, config));
	return end_process(&p, "iox-roudi", SIGKILL, 0);
}

/* For a RouDi that simd did not start: the next simd frees the ports. simd's own files go with the plane. */
static void forget_apps(const struct state *left)
{
	roudi_forget_dead("");
	for (unsigned i = 0; i < left->n_apps; i++)
		if (!state_proc_alive(&left->apps[i].proc))
			roudi_forget_app("", left->apps[i].app, true);
}

static void remove_file(const struct runtime *rt, const char *name)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s/%s", rt->dir, name) < (int)sizeof(path))
		(void)unlink(path);
}

static int clean(struct runtime *rt, const struct state *left, int64_t stop_dur_ns)
{
	char *config = mem_printf("%s/roudi.toml", rt->dir);
	int r = config ? 0 : err_nomem();

	for (unsigned i = 0; r == 0 && left && i < left->n_children; i++)
		r = end_child(&left->children[i], stop_dur_ns);
	if (r == 0)
		r = end_roudi(rt, left, config);
	mem_free(config);
	if (r < 0)
		return r;
	if (left && !left->roudi_owned) {
		forget_apps(left);
		runtime_clear_external(rt);
	}
	remove_file(rt, "roudi.toml");
	remove_file(rt, "roudi.log");
	remove_file(rt, "roudi.log.1");
	remove_file(rt, "state.json");
	remove_file(rt, "control");
	return 0;
}

int cleanup(struct runtime *rt, int64_t stop_dur_ns)
{
	struct state *left = MEM_NEW(struct state);
	int r;

	if (!left)
		return err_nomem();
	r = state_load(rt->state, left);
	if (r < 0 && r != -ENOENT)
		log_warn("ignoring previous state file: %s", err_why());
	r = clean(rt, r < 0 ? NULL : left, stop_dur_ns);
	mem_free(left);
	return r;
}
