/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that a killed simd had started and that have not exited yet. The kernel has sent them SIGTERM, but a bridge
 * may still write its data, or hang; and the processes that this simd starts instead would write the same file or use
 * the same port. So simd is not ready before they have exited, by themselves or by SIGKILL after process.stop_ms.
 * Thread: simd-main.
 */
#include "supervisor_private.h"

#include "conf.h"
#include "fd.h"
#include "log.h"
#include "timeutil.h"

#include <signal.h>

LOG_TOPIC("supervisor");

static void on_orphan_exit(struct wait *o)
{
	struct supervisor *k = o->k;

	/* ends the rest of its session; a pid that is still a process group is not reused */
	(void)kill(-o->app.proc.pid, SIGKILL);
	wait_free(o);
	if (!list_empty(&k->orphans))
		return;
	exec_timer_cancel(&k->orphan_timer);
	supervisor_maybe_ready(k);
}

static void add_orphan(struct supervisor *k, const struct state_proc *p)
{
	int fd = state_proc_open(p);

	if (fd < 0)
		return;
	(void)fd_pidfd_kill(fd, SIGTERM);
	if (wait_create(&k->orphans, &(struct wait){ .k = k, .exited = on_orphan_exit, .app = { .proc = *p } }, fd) <
	    0) {
		(void)fd_pidfd_kill(fd, SIGKILL); /* it cannot be watched, so it is killed at once */
		fd_close(fd);
		return;
	}
	log_info("waiting for pid %d, started by the earlier simd, to exit", (int)p->pid);
}

static int64_t stop_dur_ns(const struct supervisor *k)
{
	return conf_int(conf_object(conf_root(k->o.conf), "process"), "stop_ms") * NS_PER_MS;
}

void supervisor_on_orphan_timer(void *arg)
{
	struct supervisor *k = (struct supervisor *)arg;
	const struct wait *o;

	list_for_each(o, &k->orphans, link) {
		log_warn("pid %d, started by the earlier simd, has not exited %lld ms after SIGTERM; killing it",
			 (int)o->app.proc.pid, (long long)(stop_dur_ns(k) / NS_PER_MS));
		(void)fd_pidfd_kill(o->pidfd, SIGKILL);
	}
}

void supervisor_end_orphans(struct supervisor *k)
{
	for (unsigned i = 0; k->left && i < k->left->n_children; i++)
		add_orphan(k, &k->left->children[i]);
	if (!list_empty(&k->orphans))
		exec_timer_at(&k->orphan_timer, exec_now(k->x) + stop_dur_ns(k));
}

void supervisor_forget_orphans(struct supervisor *k)
{
	struct wait *o, *tmp;

	exec_timer_cancel(&k->orphan_timer);
	list_for_each_safe(o, tmp, &k->orphans, link)
		wait_free(o);
}
