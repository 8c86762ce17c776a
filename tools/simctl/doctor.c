/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor: checks whether this machine can run simd well; each finding says what to do. Works without simd. Exit code: 0
 * all well, 1 something is broken (warnings alone leave it 0). Thread: main.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "doctor.h"
#include "err.h"
#include "fd.h"
#include "group.h"
#include "plane.h"
#include "planes.h"
#include "printable.h"
#include "simctl.h"

#define MIB 1048576.0

void doctor_find(struct doctor *d, const char *check, enum doctor_grade g, const char *fmt, ...)
{
	static const char *const names[] = { "ok", "warning", "error" };
	char text[768], fit[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printable(fit, sizeof(fit), text, strlen(text)); /* names of files and processes come from others */
	d->bad += g == DOCTOR_BAD;
	json_array_append_new(d->findings,
			      json_pack("{s:s, s:s, s:s}", "check", check, "result", names[g], "text", fit));
}

/*
 * RouDi's socket in simd's data plane (`plane` from GetInfo); for an external RouDi, where plane is "", iceoryx's own
 * path.
 */
static int roudi_address(const char *plane, struct sockaddr_un *ret)
{
	ret->sun_family = AF_UNIX;
	return plane_file(plane, PLANE_ROUDI, ret->sun_path, sizeof(ret->sun_path)) ? 0 : -ENAMETOOLONG;
}

/* RouDi has a datagram socket: connect() fails if no process serves it. Returns 0 or a negative errno. */
static int roudi_state(const char *plane)
{
	struct sockaddr_un a;
	int fd, r = roudi_address(plane, &a);

	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	r = connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : 0;
	close(fd);
	return r;
}

static void check_roudi(struct doctor *d, const char *plane)
{
	int r = roudi_state(plane);

	if (!r)
		doctor_find(d, "roudi", DOCTOR_FINE, "iox-roudi answers, in %s", *plane ? plane : "/tmp");
	else if (r == -EACCES)
		doctor_find(d, "roudi", DOCTOR_FINE, "an iox-roudi runs; the check \"group\" shows who may use it");
	else if ((r == -ENOENT || r == -ECONNREFUSED) && *plane)
		doctor_find(d, "roudi", DOCTOR_WARN, "no iox-roudi runs in %s; simd starts one again", plane);
	else if (r == -ENOENT || r == -ECONNREFUSED)
		doctor_find(d, "roudi", DOCTOR_WARN,
			    "no iox-roudi runs, and simd does not start one (roudi.start is \"external\"): start it");
	else
		doctor_find(d, "roudi", DOCTOR_BAD, "iox-roudi cannot be reached: %s", err_text(r));
}

static const char *find_program(const char *name, char *buf, size_t size)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t n = strcspn(path, ":");

		snprintf(buf, size, "%.*s/%s", (int)n, path, name);
		if (access(buf, X_OK) == 0)
			return buf;
		path += n + (path[n] == ':');
	}
	return NULL;
}

/* Looks beside this program, then in PATH. */
static bool find_simd(char *buf, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", buf, size - 8);
	char *slash;

	buf[n > 0 ? n : 0] = '\0';
	slash = strrchr(buf, '/');
	if (slash) {
		strcpy(slash + 1, "simd");
		if (access(buf, X_OK) == 0)
			return true;
	}
	return find_program("simd", buf, size) != NULL;
}

static void check_programs(struct doctor *d)
{
	char buf[4096];
	const char *p = find_program("iox-roudi", buf, sizeof(buf));

	if (p)
		doctor_find(d, "iceoryx", DOCTOR_FINE, "%s", p);
	else
		doctor_find(d, "iceoryx", DOCTOR_BAD, "iox-roudi is not installed: apt-get install iceoryx");
}

static void check_shm(struct doctor *d)
{
	struct statvfs v;

	if (statvfs("/dev/shm", &v) < 0)
		doctor_find(d, "shm", DOCTOR_BAD, "/dev/shm: %s: shared memory needs a tmpfs mounted there",
			    err_text(-errno));
	else
		doctor_find(d, "shm", DOCTOR_FINE, "/dev/shm has %.0f of %.0f MiB free",
			    (double)v.f_bavail * (double)v.f_frsize / MIB,
			    (double)v.f_blocks * (double)v.f_frsize / MIB);
}

static void check_need(struct doctor *d, const json_t *info)
{
	double need = json_num(info, "shm_need"), room = json_num(info, "shm_free");

	doctor_find(d, "memory", DOCTOR_FINE, "the data plane takes %.0f MiB of /dev/shm, %.0f MiB are free%s",
		    need / MIB, room / MIB,
		    room < need ? "; a restart of iox-roudi frees its memory first, which takes up to 10 s" : "");
}

/* Used if simd does not run: reports the first line of `simd --check-config`. */
static void check_configuration(struct doctor *d)
{
	char path[4096], command[4200], line[512] = "";
	FILE *f;
	int r;

	if (!find_simd(path, sizeof(path)) || strchr(path, '\''))
		return;
	snprintf(command, sizeof(command), "'%s' --check-config 2>&1", path);
	f = popen(command, "r");
	if (!f)
		return;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	r = pclose(f);
	doctor_find(d, "config", r || strstr(line, "would not start") ? DOCTOR_BAD : DOCTOR_FINE, "%s", line);
}

static void check_stale(struct doctor *d)
{
	json_t *all = planes_find(), *p;
	bool found = false;
	size_t i;

	json_array_foreach(json_object_get(all, "simds"), i, p) {
		if (strcmp(json_text(p, "status"), "dead"))
			continue;
		found = true;
		doctor_find(
			d, "stale", DOCTOR_WARN,
			"%s (%.0f MiB, user %s) was left by a simd that was killed: the next simd of runtime directory %s "
			"takes it over, `simd --clean-up --runtime-dir %s` removes it",
			json_text(p, "plane"), json_num(p, "memory") / MIB, json_text(p, "user"),
			json_text(p, "runtime"), json_text(p, "runtime"));
	}
	if (!found)
		doctor_find(d, "stale", DOCTOR_FINE, "no shared memory is left behind");
	json_decref(all);
}

/*
 * simd's own data plane is open to its group and to root; an external iceoryx decides by the groups that are listed for
 * the user's name.
 */
static void check_group(struct doctor *d, const char *plane)
{
	char group[GROUP_NAME_MAX];
	struct sockaddr_un a;
	struct stat st;

	if (roudi_address(plane, &a) < 0 || stat(*plane ? plane : a.sun_path, &st) < 0)
		return;
	group_name(st.st_gid, group);
	if (st.st_uid == geteuid() || (*plane ? group_check(st.st_gid) : group_check_listed(st.st_gid)) == 0)
		doctor_find(d, "group", DOCTOR_FINE, "this user may use iox-roudi (group %s)", group);
	else
		doctor_find(d, "group", geteuid() == 0 ? DOCTOR_WARN : DOCTOR_BAD,
			    "iox-roudi is for members of its group: %s", err_why());
}

static void check_limits(struct doctor *d)
{
	struct rlimit files = { 0 };

	getrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_cur < 1024)
		doctor_find(d, "files", DOCTOR_WARN, "only %llu descriptors a process: ulimit -n 1024",
			    (unsigned long long)files.rlim_cur);
	else
		doctor_find(d, "files", DOCTOR_FINE, "%llu descriptors a process", (unsigned long long)files.rlim_cur);
}

static void check_slow(struct doctor *d, const json_t *b)
{
	const char *channel;
	json_t *n;

	json_object_foreach(json_object_get(b, "slow"), channel, n)
		doctor_find(
			d, "bridge", DOCTOR_WARN, "%s has missed %lld messages of %s (bridge-slow): %s",
			json_text(b, "name"), (long long)json_integer_value(n), channel,
			json_yes(b, "lossless")
				? "it did not answer for dispatch.deadline_ms; its own log shows what it was waiting for"
				: "it fell behind the channel's other bridges; set \"lossless\": true for it if producers may wait "
				  "for it, or take the channel off it");
}

static void check_carried(struct doctor *d, const json_t *topics)
{
	json_t *t;
	size_t i;

	json_array_foreach(topics, i, t)
		if (*json_text(t, "why"))
			doctor_find(d, "channel", DOCTOR_WARN, "%s is not carried by %s: %s", json_text(t, "channel"),
				    json_text(t, "bridge"), json_text(t, "why"));
}

/* A connected bridge puts what it cannot reach behind "; but " in its detail. */
static enum doctor_grade grade_of(const char *status, const char *detail)
{
	if (!strcmp(status, "connected"))
		return strstr(detail, "; but ") ? DOCTOR_WARN : DOCTOR_FINE;
	return !strcmp(status, "permanent") ? DOCTOR_BAD : DOCTOR_WARN;
}

static void check_locks(struct doctor *d, const json_t *info)
{
	double pid = json_num(info, "roudi_pid");

	if (pid > 0 && !json_yes(info, "roudi_robust"))
		doctor_find(
			d, "locks", DOCTOR_WARN,
			"the locks of iox-roudi (pid %.0f) are not robust: a program that is killed while it publishes can block it; "
			"simd then replaces it only if simd has started it; %s",
			pid,
			json_yes(info, "roudi_owned")
				? "see simd's log for the reason"
				: "let simd start it, or start it with LD_PRELOAD=.../simd/roudi_robust.so");
	else if (pid > 0)
		doctor_find(d, "locks", DOCTOR_FINE, "iox-roudi is not held up by programs that die or are stopped");
}

/* 'T': stopped by a signal; 't': stopped by a debugger. */
static char state_of(long long pid)
{
	char path[64], state = '\0';

	snprintf(path, sizeof(path), "/proc/%lld/stat", pid);
	(void)fd_stat_field(path, 4, &state);
	return state;
}

static void check_stopped(struct doctor *d, struct ctl *c)
{
	json_t *reply = ctl_call(c, "io.simd.Control.ListClients", NULL), *cl;
	size_t i;

	json_array_foreach(json_object_get(reply, "clients"), i, cl) {
		long long pid = (long long)json_num(cl, "pid");
		char state = state_of(pid);

		if (state == 'T')
			doctor_find(d, "stopped", DOCTOR_WARN, "client %s (pid %lld) is stopped: kill -CONT %lld",
				    json_text(cl, "name"), pid, pid);
		else if (state == 't')
			doctor_find(
				d, "stopped", DOCTOR_WARN,
				"client %s (pid %lld) is stopped by a debugger; if it is in the middle of a publish, iox-roudi "
				"waits for it and is replaced",
				json_text(cl, "name"), pid);
	}
	json_decref(reply);
}

static void check_given_up(struct doctor *d, const json_t *list)
{
	json_t *p;
	size_t i;

	json_array_foreach(list, i, p)
		doctor_find(d, "process", DOCTOR_BAD, "%s: permanent: %s", json_text(p, "name"), json_text(p, "why"));
}

static void check_bridges(struct doctor *d, struct ctl *c)
{
	json_t *reply = ctl_call(c, "io.simd.Control.ListBridges", NULL), *b;
	size_t i;

	json_array_foreach(json_object_get(reply, "bridges"), i, b) {
		doctor_find(d, "bridge", grade_of(json_text(b, "status"), json_text(b, "detail")), "%s: %s%s%s",
			    json_text(b, "name"), json_text(b, "status"), *json_text(b, "detail") ? ": " : "",
			    json_text(b, "detail"));
		if (json_yes(b, "stalled"))
			doctor_find(
				d, "bridge", DOCTOR_WARN,
				"%s is stalled: no answer for dispatch.deadline_ms; `simctl bridge restart %s` starts it again",
				json_text(b, "name"), json_text(b, "name"));
		check_slow(d, b);
		check_carried(d, json_object_get(b, "topics"));
	}
	json_decref(reply);
}

static void check_missing(struct doctor *d, struct ctl *c)
{
	json_t *reply = ctl_call(c, "io.simd.Control.ListChannels", NULL), *ch;
	size_t i;

	json_array_foreach(json_object_get(reply, "channels"), i, ch) {
		double n = json_num(json_object_get(ch, "drops"), sim_reason_name(SIM_REASON_MISSING));

		if (n > 0)
			doctor_find(
				d, "channel", DOCTOR_WARN,
				"%s: %.0f messages were published and never arrived (missing): an iceoryx application outside simd "
				"publishes there, or a program writes past the end of its slots",
				json_text(ch, "name"), n);
	}
	json_decref(reply);
}

static void check_pages(struct doctor *d, struct ctl *c)
{
	json_t *reply = ctl_call(c, "io.simd.Control.GetDispatch", NULL);
	double n = json_num(json_object_get(reply, "dispatch"), "strange_claims");

	if (n > 0)
		doctor_find(
			d, "pages", DOCTOR_WARN,
			"%.0f credits or tokens were claimed that belong to no publisher, and freed: a client writes where it should "
			"not, or lost its connection while it published",
			n);
	else
		doctor_find(d, "pages", DOCTOR_FINE, "all claimed credits and tokens belong to publishers");
	json_decref(reply);
}

/* Reports one size of slots: its memory, its use, and the channel with the most slots. */
static void find_pool(struct doctor *d, const json_t *p)
{
	const json_t *first = json_array_get(json_object_get(p, "holders"), 0);
	double size = json_num(p, "size"), count = json_num(p, "count");
	char text[32], holder[160] = "";

	if (size >= MIB)
		snprintf(text, sizeof(text), "%.1f MiB", size / MIB);
	else if (size >= 1024)
		snprintf(text, sizeof(text), "%.0f KiB", size / 1024);
	else
		snprintf(text, sizeof(text), "%.0f bytes", size);
	if (first)
		snprintf(holder, sizeof(holder), "; %.0f are for %.99s", json_num(first, "slots"),
			 json_text(first, "channel"));
	doctor_find(d, "pools", DOCTOR_FINE,
		    "slots of %s: %.0f have memory (%.1f MiB), %.0f in use, %.0f at most so far%s", text, count,
		    count * size / MIB, json_num(p, "used"), json_num(p, "peak"), holder);
}

static void check_pools(struct doctor *d, const json_t *info)
{
	const char *why = json_text(info, "reclaim_why");
	double used = 0, count = 0;
	json_t *p;
	size_t i;

	json_array_foreach(json_object_get(info, "pools"), i, p) {
		used += json_num(p, "used");
		count += json_num(p, "count");
	}
	if (*why)
		doctor_find(d, "pools", DOCTOR_WARN,
			    "%s: slots that a killed process holds stay lost until iox-roudi is replaced", why);
	else
		doctor_find(d, "pools", DOCTOR_FINE, "%.0f of the %.0f slots that have memory are in use", used, count);
	json_array_foreach(json_object_get(info, "pools"), i, p)
		find_pool(d, p);
}

/* Reports the priority of simd's clock thread; if simd does not run, the one that this user may set. */
static void check_realtime(struct doctor *d, const json_t *clock)
{
	double priority = json_num(clock, "priority");
	struct rlimit rt = { 0 };

	getrlimit(RLIMIT_RTPRIO, &rt);
	if (priority > 0)
		doctor_find(d, "realtime", DOCTOR_FINE, "the clock thread has real-time priority %.0f", priority);
	else if (clock)
		doctor_find(
			d, "realtime", DOCTOR_WARN,
			"simd's clock thread has no real-time priority: /clock is late, or left out, while the CPUs are busy; allow "
			"it with LimitRTPRIO=50 or `ulimit -r 50`, and see clock.priority");
	else if (rt.rlim_cur == 0 && geteuid() != 0)
		doctor_find(d, "realtime", DOCTOR_WARN,
			    "this user may not give simd's clock thread a real-time priority (ulimit -r)");
	else
		doctor_find(d, "realtime", DOCTOR_FINE, "this user may give simd's clock thread a real-time priority");
}

/* Reports why time has not begun although a driver is connected. */
static void check_start(struct doctor *d, const json_t *clock)
{
	json_t *names = json_object_get(clock, "waits_for"), *v;
	size_t i;

	if (!json_is_object(json_object_get(clock, "driver")))
		return;
	json_array_foreach(names, i, v)
		doctor_find(
			d, "clock", DOCTOR_WARN,
			"time has not begun: it waits for %s (rigs[].wait_for), until that is connected, takes part in lock-step or "
			"reports that it is ready",
			json_string_value(v));
}

static void check_clock(struct doctor *d, struct ctl *c)
{
	json_t *reply = ctl_call(c, "io.simd.Control.GetClock", NULL);

	if (reply) {
		check_realtime(d, json_object_get(reply, "clock"));
		check_start(d, json_object_get(reply, "clock"));
	}
	json_decref(reply);
}

static void check_simd(struct doctor *d, struct ctl *c)
{
	json_t *info;
	int r = ctl_connect(c);

	if (r < 0) {
		doctor_find(d, "simd", r == -ENOENT || r == -ECONNREFUSED ? DOCTOR_WARN : DOCTOR_BAD, "%s", sim_why());
		check_configuration(d);
		check_realtime(d, NULL);
		if (r == -ENOENT || r == -ECONNREFUSED)
			doctor_find(d, "roudi", DOCTOR_FINE, "no iox-roudi of that simd runs; simd starts one");
		return;
	}
	info = ctl_call(c, "io.simd.Control.GetInfo", NULL);
	doctor_find(d, "simd", DOCTOR_FINE, "simd %s, pid %.0f, runtime %s, %.0f channels, %.0f clients",
		    json_text(info, "version"), json_num(info, "pid"), json_text(info, "runtime"),
		    json_num(info, "channels"), json_num(info, "clients"));
	if (strcmp(json_text(info, "version"), sim_version()))
		doctor_find(d, "versions", DOCTOR_WARN,
			    "simd is %s, this simctl's library is %s: install both from one build",
			    json_text(info, "version"), sim_version());
	else
		doctor_find(d, "versions", DOCTOR_FINE, "simd and library are %s", sim_version());
	if (info) {
		check_roudi(d, json_text(info, "plane"));
		check_group(d, json_text(info, "plane"));
	}
	check_locks(d, info);
	check_given_up(d, json_object_get(info, "given_up"));
	check_need(d, info);
	check_pools(d, info);
	json_decref(info);
	check_stopped(d, c);
	check_bridges(d, c);
	check_missing(d, c);
	check_pages(d, c);
	check_clock(d, c);
}

static void print_findings(const struct doctor *d)
{
	json_t *f;
	size_t i;

	json_array_foreach(d->findings, i, f)
		printf("%-8s %-9s %s\n", json_text(f, "result"), json_text(f, "check"), json_text(f, "text"));
}

int cmd_doctor(struct ctl *c)
{
	struct doctor d = { .findings = json_array() };

	ctl_begin_wait(c);
	check_programs(&d);
	check_shm(&d);
	check_stale(&d);
	check_limits(&d);
	doctor_check_gpus(&d);
	check_simd(&d, c);
	if (c->a.json) {
		json_t *all = json_pack("{s:o, s:b}", "findings", d.findings, "healthy", d.bad == 0);

		ctl_print_json(c, all);
		json_decref(all);
	} else {
		print_findings(&d);
		json_decref(d.findings);
	}
	return d.bad ? 1 : 0;
}
