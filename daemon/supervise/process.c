/* SPDX-License-Identifier: Apache-2.0 */
/* One supervised process; contract in process.h. Thread: simd-main. */
#include "process.h"

#include "err.h"
#include "fd.h"
#include "log.h"
#include "memory_room.h"
#include "printable.h"
#include "timeutil.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>

LOG_TOPIC("process");

#define LINES_PER_S   200
#define STABLE_DUR_NS (10 * NS_PER_S) /* a process that has run that long starts with a clean record */

/* ---- output ---- */

static void on_line(void *arg, enum log_level level, const char *text, size_t len)
{
	struct process *p = (struct process *)arg;
	char line[LOG_LINE_MAX];
	uint64_t held;

	printable(p->last, sizeof(p->last), text, len);
	if (!log_on(&log_topic_here, level) || !log_limit_pass(&p->limit, exec_now(p->x), &held))
		return;
	if (held)
		log_write(LOG_LEVEL_WARN, p->o.name, "(%llu lines suppressed: rate limit, %d a second)",
			  (unsigned long long)held, LINES_PER_S);
	printable(line, sizeof(line), text, len); /* a NUL does not hide the rest */
	log_write(level, p->o.name, "%s", line);
}

static void close_output(struct process *p)
{
	exec_io_del(&p->out_io);
	p->child.out_fd = fd_close(p->child.out_fd);
	lines_end(&p->lines, on_line, p);
}

/* Reads a bounded amount per turn: a process that writes without pause must not keep simd from other work. */
static void on_output(void *arg, uint32_t events)
{
	struct process *p = (struct process *)arg;

	(void)events;
	if (!lines_read(&p->lines, p->child.out_fd, 4, on_line, p))
		close_output(p);
}

/* ---- the end of a process ---- */

const char *process_end_text(int status, int64_t oom_before, int64_t oom_now, char ret[PROCESS_END_TEXT])
{
	bool unseen = status == PROCESS_END_UNSEEN;
	bool killed = !unseen && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	size_t n;

	if (unseen)
		snprintf(ret, PROCESS_END_TEXT, "it is no child of this simd, so its exit status is unknown");
	else
		spawn_status_text(status, ret, PROCESS_END_TEXT);
	n = strlen(ret);
	if ((!unseen && !killed) || oom_before < 0 || oom_now < 0)
		return ret;
	if (oom_now > oom_before)
		snprintf(ret + n, PROCESS_END_TEXT - n,
			 "; meanwhile the kernel killed %lld of simd's control group, which was out of memory "
			 "(memory.events)",
			 (long long)(oom_now - oom_before));
	else if (killed)
		snprintf(ret + n, PROCESS_END_TEXT - n, ", not by the kernel's out-of-memory killer");
	return ret;
}

static void wait_for_next(struct process *p)
{
	int64_t pause = p->o.restart_dur_ns;

	for (uint32_t i = 1; i < p->failures && pause < p->o.restart_max_dur_ns; i++)
		pause *= 2;
	if (pause > p->o.restart_max_dur_ns)
		pause = p->o.restart_max_dur_ns;
	p->state = PROCESS_WAITING;
	exec_timer_at(&p->timer, exec_now(p->x) + pause);
}

/* Whether a restart cannot help. r: result of the start; status: exit status if it had started. */
static bool is_hopeless(int r, int status)
{
	if (r < 0)
		return r == -ENOENT || r == -EACCES || r == -ENOEXEC || r == -ENOTDIR || r == -EPERM;
	return WIFEXITED(status) &&
	       (WEXITSTATUS(status) == PROCESS_NEVER_WORKS || WEXITSTATUS(status) == PROCESS_NOT_EXECUTED ||
		WEXITSTATUS(status) == PROCESS_NOT_FOUND);
}

/* ---- what a run leaves to the next ---- */

/* A process without a pair starts all the same; it then cannot pass descriptors on. */
static void open_keep(struct process *p)
{
	int r = 0;

	if (p->o.keep && p->keep[0] < 0)
		r = fd_packet_pair(p->keep, SOCK_NONBLOCK);
	if (r < 0)
		log_warn("%s can keep no descriptors over its restarts: %s; ignoring", p->o.name, err_text(r));
	p->o.spawn.keep = p->keep[0] < 0 ? NULL : p->keep;
}

/* The kernel closes the descriptors in the pair. */
static void drop_keep(struct process *p)
{
	p->keep[0] = fd_close(p->keep[0]);
	p->keep[1] = fd_close(p->keep[1]);
	p->o.spawn.keep = NULL;
}

/* ---- its end ---- */

/* People are shown the process's own last line, if it printed one; the log also has how it exited. */
static void end_for_good(struct process *p, const char *why)
{
	if (*p->last)
		why = p->last;
	drop_keep(p);
	printable(p->permanent, sizeof(p->permanent), why,
		  strlen(why)); /* printable() cuts between characters: the text goes out as JSON */
	p->hopeless = p->failures = p->respawns = 0;
	p->state = PROCESS_DONE;
}

/* Returns true if the process is given up for good. */
static bool give_up(struct process *p, bool hopeless, const char *why)
{
	p->hopeless = hopeless ? p->hopeless + 1 : 0;
	if (!p->o.give_up || p->hopeless < p->o.give_up)
		return false;
	log_error("%s is not started again after %u failed starts (process.give_up): permanent: %s", p->o.name,
		  p->hopeless, why);
	end_for_good(p, why);
	return true;
}

static bool limit_reached(struct process *p, const char *why)
{
	if (!p->o.restart_limit || p->respawns < p->o.restart_limit)
		return false;
	log_error("%s is not started again after %u restarts (its restart_limit): permanent: %s", p->o.name,
		  p->respawns, why);
	end_for_good(p, why);
	return true;
}

static bool again(const struct process *p, int status)
{
	bool failed = !(WIFEXITED(status) && WEXITSTATUS(status) == 0);

	return p->o.restart == PROCESS_ALWAYS || (p->o.restart == PROCESS_ON_FAILURE && failed);
}

static void process_ended(struct process *p, int status)
{
	bool stopping = p->state == PROCESS_STOPPING, restart = again(p, status) && !stopping;
	char text[PROCESS_END_TEXT], why[sizeof(text) + sizeof(p->last) + 2];

	exec_timer_cancel(&p->timer);
	if (exec_now(p->x) - p->started_mono_ns >= STABLE_DUR_NS)
		p->failures = 0;
	process_end_text(status, p->oom, memory_oom_kills(""), text);
	if (p->state == PROCESS_AGAIN) {
		log_info("%s exited: %s; restarting it, as requested", p->o.name, text);
		p->failures = p->respawns = 0; /* failures count only exits that were not requested */
		p->restarts++;
		process_start(p);
		return;
	}
	snprintf(why, sizeof(why), *p->last ? "%s: %s" : "%s", text, p->last);
	if (restart && (give_up(p, is_hopeless(0, status), why) || limit_reached(p, why)))
		return;
	if (restart) {
		p->failures++;
		p->respawns++;
		log_warn("%s exited: %s; restarting it", p->o.name, text);
		wait_for_next(p);
		return;
	}
	log_info("%s exited: %s", p->o.name, text);
	drop_keep(p);
	p->state = stopping ? PROCESS_IDLE : PROCESS_DONE;
	if (p->o.ended)
		p->o.ended(p->o.arg, status);
}

static void on_exit_fd(void *arg, uint32_t events)
{
	struct process *p = (struct process *)arg;
	int status = 0;

	(void)events;
	if (p->child.out_fd >= 0)
		(void)lines_read(&p->lines, p->child.out_fd, 64, on_line, p);
	close_output(p);
	(void)p->ops->reap(p->user, p->child.pid, p->child.pidfd, &status);
	exec_io_del(&p->exit_io);
	p->child.pidfd = fd_close(p->child.pidfd);
	p->child.pid = 0;
	process_ended(p, status);
}

/* ---- starting ---- */

static int watch(struct process *p)
{
	int r = exec_io_add(p->x, &p->exit_io, p->child.pidfd, EPOLLIN, on_exit_fd, p);

	if (r == 0 && p->child.out_fd >= 0)
		r = exec_io_add(p->x, &p->out_io, p->child.out_fd, EPOLLIN, on_output, p);
	return r;
}

void process_start(struct process *p)
{
	int r;

	if (process_alive(p))
		return;
	p->started_mono_ns = exec_now(p->x);
	p->oom = memory_oom_kills("");
	p->permanent[0] = p->last[0] = '\0';
	open_keep(p);
	r = p->ops->start(p->user, &p->o.spawn, &p->child);
	if (r < 0) {
		p->child = (struct spawned){ .pidfd = -1, .out_fd = -1 };
		if (give_up(p, is_hopeless(r, 0), err_why()))
			return;
		p->failures++;
		log_error("%s: %s; trying again", p->o.name, err_why());
		wait_for_next(p);
		return;
	}
	p->state = PROCESS_RUNNING;
	if (watch(p) < 0) {
		log_error("%s: cannot be watched, so it is killed", p->o.name);
		(void)p->ops->signal(p->user, p->child.pid, p->child.pidfd, SIGKILL, true);
		return;
	}
	log_info("%s started, pid %d", p->o.name, (int)p->child.pid);
	if (p->o.started)
		p->o.started(p->o.arg);
}

static void on_timer(void *arg)
{
	struct process *p = (struct process *)arg;

	if (p->state == PROCESS_STOPPING || p->state == PROCESS_AGAIN) {
		log_warn("%s has not exited %lld ms after SIGTERM; killing it", p->o.name,
			 (long long)(p->o.stop_dur_ns / NS_PER_MS));
		(void)p->ops->signal(p->user, p->child.pid, p->child.pidfd, SIGKILL, true);
	} else if (p->state == PROCESS_RUNNING) {
		process_kill(p, p->why);
	} else if (p->state == PROCESS_WAITING) {
		p->restarts++;
		process_start(p);
	}
}

void process_init(struct process *p, struct exec *x, const struct spawn_ops *ops, void *user,
		  const struct process_options *o)
{
	memset(p, 0, sizeof(*p));
	p->o = *o;
	p->x = x;
	p->ops = ops;
	p->user = user;
	p->child.pidfd = p->child.out_fd = p->keep[0] = p->keep[1] = -1;
	p->limit = (struct log_limit)LOG_LIMIT(NS_PER_S, LINES_PER_S);
	exec_timer_init(&p->timer, x, on_timer, p);
}

void process_finish(struct process *p)
{
	if (!p->x)
		return;
	exec_timer_cancel(&p->timer);
	exec_io_del(&p->exit_io);
	if (process_alive(p)) {
		int status;

		(void)p->ops->signal(p->user, p->child.pid, p->child.pidfd, SIGKILL, true);
		(void)p->ops->reap(p->user, p->child.pid, p->child.pidfd, &status);
	}
	close_output(p);
	drop_keep(p);
	p->child.pidfd = fd_close(p->child.pidfd);
	p->child.pid = 0;
	p->state = PROCESS_IDLE;
}

/* ---- ending ---- */

bool process_alive(const struct process *p)
{
	return p->child.pid > 0;
}

static void ask_to_end(struct process *p, enum process_state state)
{
	p->state = state;
	(void)p->ops->signal(p->user, p->child.pid, p->child.pidfd, SIGTERM, false);
	exec_timer_at(&p->timer, exec_now(p->x) + p->o.stop_dur_ns);
}

void process_stop(struct process *p)
{
	if (!process_alive(p)) {
		exec_timer_cancel(&p->timer);
		drop_keep(p);
		p->state = PROCESS_IDLE;
		if (p->o.ended)
			p->o.ended(p->o.arg, 0);
		return;
	}
	if (p->state != PROCESS_STOPPING)
		ask_to_end(p, PROCESS_STOPPING);
}

void process_kill(struct process *p, const char *why)
{
	if (!process_alive(p) || p->state == PROCESS_STOPPING || p->state == PROCESS_AGAIN)
		return;
	log_warn("killing %s: %s", p->o.name, why);
	(void)p->ops->signal(p->user, p->child.pid, p->child.pidfd, SIGKILL, true);
}

void process_expect_end(struct process *p, const char *why)
{
	if (!process_alive(p) || p->state != PROCESS_RUNNING)
		return;
	snprintf(p->why, sizeof(p->why), "%s", why);
	exec_timer_at(&p->timer, exec_now(p->x) + p->o.stop_dur_ns);
}

void process_again(struct process *p)
{
	if (p->state == PROCESS_STOPPING || p->state == PROCESS_AGAIN)
		return;
	if (process_alive(p)) {
		ask_to_end(p, PROCESS_AGAIN);
		return;
	}
	exec_timer_cancel(&p->timer);
	p->hopeless = p->respawns = 0;
	p->restarts++;
	process_start(p);
}
