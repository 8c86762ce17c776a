/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a launch file, see launcher.h. Thread: main. */
#include "launcher.h"

#include "err.h"
#include "fd.h"
#include "launch_find.h"
#include "lines.h"
#include "log.h"
#include "mem.h"
#include "printable.h"
#include "spawn_ops.h"
#include "status.h"
#include "timeutil.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

LOG_TOPIC("launch");

#define PACE_DUR_NS    (200 * NS_PER_MS) /* minimum between two starts of a process: cyber_launch's polling interval */
#define LINES_PER_S    200
#define LABEL_CHARS    64
#define EXIT_BY_SIGINT (128 + SIGINT) /* exit status of a shell whose program was ended by SIGINT */
#define EXIT_NO_START  127            /* as in shells */
#define NEVER_NS       INT64_MAX

struct member {
	const struct launch_process *p;
	char label[LABEL_CHARS + 1]; /* printable */
	struct spawned child;        /* pid 0: not running */
	int64_t started_mono_ns;
	int64_t start_mono_ns; /* when to start it again; NEVER_NS: not planned */
	uint32_t restarts;
	int status; /* wait status of its last end */
	bool failed;
	struct lines lines; /* its output */
	struct log_limit limit;
};

struct launcher {
	struct launch *file;
	struct launch_plan *plan;
	struct member *members; /* in the order of the plan */
	struct pollfd *fds;     /* the signalfd; then two per member: pidfd, output */
	int signal_fd;
	int64_t kill_after_dur_ns;
	bool stopping;
	int64_t kill_mono_ns; /* when to send SIGKILL to processes that still run; NEVER_NS: not planned */
};

/* ---- rules ---- */

enum launcher_next launcher_next(const struct launch_module *m, uint32_t restarts)
{
	if (m->exception_handler == LAUNCH_EXIT)
		return LAUNCHER_STOP;
	if (m->exception_handler == LAUNCH_RESPAWN && restarts < m->respawn_limit)
		return LAUNCHER_AGAIN;
	return LAUNCHER_LEAVE;
}

bool launcher_ended_well(int status, bool stopping)
{
	if (WIFSIGNALED(status))
		return stopping && WTERMSIG(status) == SIGINT;
	return WEXITSTATUS(status) == 0 || (stopping && WEXITSTATUS(status) == EXIT_BY_SIGINT);
}

/* ---- output ---- */

static void on_line(void *user, enum log_level level, const char *text, size_t len)
{
	struct member *m = user;
	char line[LOG_LINE_MAX];
	uint64_t held;

	if (!log_on(&log_topic_here, level) || !log_limit_pass(&m->limit, mono_now_ns(), &held))
		return;
	if (held)
		log_write(LOG_LEVEL_WARN, m->label, "(%llu lines suppressed: rate limit, %d a second)",
			  (unsigned long long)held, LINES_PER_S);
	printable(line, sizeof(line), text, len);
	log_write(level, m->label, "%s", line);
}

static void close_output(struct member *m)
{
	m->child.out_fd = fd_close(m->child.out_fd);
	lines_end(&m->lines, on_line, m);
}

/* ---- ending ---- */

static void tell_to_end(struct launcher *l)
{
	if (l->stopping) {
		l->kill_mono_ns = mono_now_ns(); /* second request: kill at once */
		return;
	}
	l->stopping = true;
	l->kill_mono_ns = ns_add(mono_now_ns(), l->kill_after_dur_ns);
	for (unsigned i = 0; i < l->plan->n; i++) {
		struct member *m = &l->members[i];

		m->start_mono_ns = NEVER_NS;
		if (m->child.pid)
			(void)spawn_real.signal(NULL, m->child.pid, m->child.pidfd, SIGINT, false);
	}
}

static void kill_late(struct launcher *l)
{
	l->kill_mono_ns = NEVER_NS;
	for (unsigned i = 0; i < l->plan->n; i++) {
		struct member *m = &l->members[i];

		if (!m->child.pid)
			continue;
		log_warn("%s (pid %d) has not exited after SIGINT; killing it", m->label, (int)m->child.pid);
		(void)spawn_real.signal(NULL, m->child.pid, m->child.pidfd, SIGKILL, true);
	}
}

static void start_again(struct member *m, const char *how)
{
	int64_t now = mono_now_ns(), pace = m->started_mono_ns + PACE_DUR_NS;

	m->restarts++;
	m->start_mono_ns = now > pace ? now : pace;
	log_warn("%s exited: %s; restarting it, %u of %u", m->label, how, m->restarts, m->p->m.respawn_limit);
}

static void leave(const struct member *m, const char *how)
{
	enum log_level level = m->failed ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO;

	if (m->p->m.exception_handler == LAUNCH_RESPAWN)
		log_at(level, "%s exited: %s; it is not started again after %u restarts (its respawn_limit)", m->label,
		       how, m->restarts);
	else
		log_at(level, "%s exited: %s; it is not started again (its exception_handler)", m->label, how);
}

/* how: how it ended, such as "(pid 12) with exit code 3". */
static void after_end(struct launcher *l, struct member *m, const char *how)
{
	m->failed = !launcher_ended_well(m->status, l->stopping);
	if (l->stopping) {
		log_at(m->failed ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO, "%s exited: %s", m->label, how);
		return;
	}
	switch (launcher_next(&m->p->m, m->restarts)) {
	case LAUNCHER_AGAIN:
		start_again(m, how);
		break;
	case LAUNCHER_LEAVE:
		leave(m, how);
		break;
	case LAUNCHER_STOP:
		log_at(m->failed ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO,
		       "%s exited: %s; stopping all others (its exception_handler)", m->label, how);
		tell_to_end(l);
		break;
	}
}

static void on_end(struct launcher *l, struct member *m)
{
	pid_t pid = m->child.pid;
	char text[64], how[96];

	if (m->child.out_fd >= 0)
		(void)lines_read(&m->lines, m->child.out_fd, 64, on_line, m);
	close_output(m);
	(void)spawn_real.reap(NULL, pid, m->child.pidfd, &m->status);
	m->child.pidfd = fd_close(m->child.pidfd);
	m->child.pid = 0;
	snprintf(how, sizeof(how), "%s (pid %d)", spawn_status_text(m->status, text, sizeof(text)), (int)pid);
	after_end(l, m, how);
}

/* ---- starting ---- */

static void tell_nice(const struct member *m)
{
	int got;

	errno = 0;
	got = getpriority(PRIO_PROCESS, (id_t)m->child.pid);
	if (m->p->m.nice && errno == 0 && got != m->p->m.nice)
		log_warn("%s runs with nice %d, not %d, which is not permitted (CAP_SYS_NICE, or ulimit -e)", m->label,
			 got, m->p->m.nice);
}

static int start(struct member *m)
{
	struct spawn s = { .argv = (const char *const *)m->p->argv, .death_signal = SIGKILL, .nice = m->p->m.nice };
	int r;

	m->start_mono_ns = NEVER_NS;
	m->started_mono_ns = mono_now_ns();
	r = spawn_real.start(NULL, &s, &m->child);
	if (r < 0) {
		m->child = (struct spawned){ .pidfd = -1, .out_fd = -1 };
		m->status = W_EXITCODE(EXIT_NO_START, 0);
		return r;
	}
	log_info("%s started, pid %d", m->label, (int)m->child.pid);
	tell_nice(m);
	return 0;
}

/* If one process cannot start, all are stopped, as in cyber_launch. */
static void start_all(struct launcher *l)
{
	for (unsigned i = 0; i < l->plan->n && !l->stopping; i++) {
		struct member *m = &l->members[i];

		if (start(m) == 0)
			continue;
		log_error("%s: %s; stopping all", m->label, err_why());
		m->failed = true;
		tell_to_end(l);
	}
}

static void start_due(struct launcher *l, int64_t now_mono_ns)
{
	for (unsigned i = 0; i < l->plan->n; i++) {
		struct member *m = &l->members[i];

		if (m->start_mono_ns <= now_mono_ns && start(m) < 0)
			after_end(l, m, err_why());
	}
}

/* ---- the loop ---- */

static bool all_ended(const struct launcher *l)
{
	for (unsigned i = 0; i < l->plan->n; i++)
		if (l->members[i].child.pid || l->members[i].start_mono_ns != NEVER_NS)
			return false;
	return true;
}

/* Returns ms until the next action is due, rounded up, at most 1000; -1: none is due. */
static int patience_ms(const struct launcher *l, int64_t now_mono_ns)
{
	int64_t due = l->kill_mono_ns;

	for (unsigned i = 0; i < l->plan->n; i++)
		if (l->members[i].start_mono_ns < due)
			due = l->members[i].start_mono_ns;
	if (due == NEVER_NS)
		return -1;
	if (due <= now_mono_ns)
		return 0;
	return due - now_mono_ns > NS_PER_S ? 1000 : (int)((due - now_mono_ns) / NS_PER_MS) + 1;
}

static void on_signal(struct launcher *l)
{
	struct signalfd_siginfo si;

	if (read(l->signal_fd, &si, sizeof(si)) != (ssize_t)sizeof(si))
		return;
	log_info("%s: stopping all processes%s", strsignal((int)si.ssi_signo), l->stopping ? " at once" : "");
	tell_to_end(l);
}

static void fill_fds(struct launcher *l)
{
	l->fds[0] = (struct pollfd){ .fd = l->signal_fd, .events = POLLIN };
	for (unsigned i = 0; i < l->plan->n; i++) {
		const struct spawned *c = &l->members[i].child;

		l->fds[1 + 2 * i] = (struct pollfd){ .fd = c->pidfd, .events = POLLIN };
		l->fds[2 + 2 * i] = (struct pollfd){ .fd = c->out_fd, .events = POLLIN };
	}
}

static void turn(struct launcher *l)
{
	int64_t now = mono_now_ns();

	if (l->kill_mono_ns <= now)
		kill_late(l);
	start_due(l, now);
	fill_fds(l);
	if (poll(l->fds, 1 + 2 * l->plan->n, patience_ms(l, mono_now_ns())) <= 0)
		return;
	for (unsigned i = 0; i < l->plan->n; i++) {
		struct member *m = &l->members[i];

		if (l->fds[2 + 2 * i].revents && !lines_read(&m->lines, m->child.out_fd, 4, on_line, m))
			close_output(m);
		if (l->fds[1 + 2 * i].revents)
			on_end(l, m);
	}
	if (l->fds[0].revents)
		on_signal(l);
}

static int exit_status(const struct launcher *l)
{
	int worst = 0;

	for (unsigned i = 0; i < l->plan->n; i++) {
		const struct member *m = &l->members[i];

		if (m->failed && WIFEXITED(m->status) && WEXITSTATUS(m->status) == STATUS_NEVER_WORKS)
			return STATUS_NEVER_WORKS;
		worst |= m->failed;
	}
	return worst;
}

/* ---- create and destroy ---- */

/* Runs before any process is started, so that missing or wrong files end the launcher first. */
static int prepare_process(struct launcher *l, struct launch_process *p, const struct launch_child *c)
{
	struct notes notes = { 0 };
	int r = launch_find(l->file, p, &notes);

	for (unsigned i = 0; i < notes.n; i++)
		log_info("%s", notes.text[i]);
	notes_finish(&notes);
	if (r == 0)
		r = launch_check_dags(l->file, p);
	return r < 0 ? r : launch_plan_command(p, c);
}

static int prepare(struct launcher *l, const struct launcher_options *o)
{
	struct launch_child c = { .socket = o->socket, .mode = o->mode, .stuck_dur_ns = o->stuck_dur_ns };
	char program[PATH_MAX];
	int r = launch_read(o->file, &l->file);

	for (unsigned i = 0; r == 0 && i < l->file->notes.n; i++)
		log_info("%s", l->file->notes.text[i]);
	if (r == 0)
		r = launch_environment(l->file);
	if (r == 0)
		r = launch_plan_make(l->file, &l->plan);
	if (r == 0)
		r = launch_own_program(program);
	c.program = program;
	for (unsigned i = 0; r == 0 && i < l->plan->n; i++)
		r = prepare_process(l, &l->plan->processes[i], &c);
	return r;
}

static int catch_signals(struct launcher *l)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN); /* the reader of the log may end before simhost */
	l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return l->signal_fd < 0 ? err_sys(-errno, "cannot wait for signals") : 0;
}

static int make_members(struct launcher *l)
{
	l->members = mem_calloc(l->plan->n + 1, sizeof(*l->members));
	l->fds = mem_calloc(1 + 2 * (size_t)l->plan->n, sizeof(*l->fds));
	if (!l->members || !l->fds)
		return err_nomem();
	for (unsigned i = 0; i < l->plan->n; i++) {
		const struct launch_process *p = &l->plan->processes[i];
		struct member *m = &l->members[i];

		*m = (struct member){ .p = p,
				      .child = { .pidfd = -1, .out_fd = -1 },
				      .start_mono_ns = NEVER_NS,
				      .limit = LOG_LIMIT(NS_PER_S, LINES_PER_S) };
		printable(m->label, sizeof(m->label), p->label, strlen(p->label));
	}
	return 0;
}

static void finish(struct launcher *l)
{
	fd_close(l->signal_fd);
	mem_free(l->members);
	mem_free(l->fds);
	launch_plan_destroy(l->plan);
	launch_destroy(l->file);
}

int launcher_run(const struct launcher_options *o)
{
	struct launcher l = { .signal_fd = -1, .kill_after_dur_ns = o->kill_after_dur_ns, .kill_mono_ns = NEVER_NS };
	int r = prepare(&l, o);

	if (r == 0)
		r = make_members(&l);
	if (r == 0)
		r = catch_signals(&l);
	if (r < 0) {
		log_error("%s", err_why());
		finish(&l);
		return status_of(r);
	}
	start_all(&l);
	while (!all_ended(&l))
		turn(&l);
	r = exit_status(&l);
	log_info("all processes of %s have ended%s", l.file->path, r ? "" : " well");
	finish(&l);
	return r;
}
