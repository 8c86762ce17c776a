/* SPDX-License-Identifier: Apache-2.0 */
/* The orchestrator: starts simd, runs cases, prints and writes build/bench.json. Thread: main. */
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/futex.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sim/client.h>
#include <sim/msg/Ultrasonic.h>

#include "err.h"
#include "fd.h"
#include "opt.h"
#include "plugins/stamp.h"
#include "timeutil.h"

#define ADDRESS(name) &bench_##name,
static const struct bench_case *const cases[] = { BENCH_CASES(ADDRESS) };
#define CASES (sizeof(cases) / sizeof(*cases))

#define WORD(name) " " #name
#define GROUPS     BENCH_CASES(WORD)

/* ---- statistics ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double bench_percentile(double *v, unsigned n, double p)
{
	if (!n)
		return NAN;
	qsort(v, n, sizeof(*v), by_value);
	return v[(unsigned)((n - 1) * p)];
}

double bench_median(double *v, unsigned n)
{
	return bench_percentile(v, n, 0.5);
}

static double ratio_of(enum bench_form form, struct bench_pair p)
{
	return form == BENCH_TIMES ? p.reference / p.ours : p.ours / p.reference;
}

/* Largest over smallest of the references: above two, the floor itself was not quiet. */
static double spread_of(const double *v, unsigned n)
{
	double lo = INFINITY, hi = 0;

	for (unsigned i = 0; i < n; i++) {
		lo = fmin(lo, v[i]);
		hi = fmax(hi, v[i]);
	}
	return lo > 0 ? hi / lo : NAN;
}

static struct bench_result *add_result(struct bench *b)
{
	if (b->n == b->cap) {
		b->cap = b->cap ? b->cap * 2 : 32;
		b->results = realloc(b->results, b->cap * sizeof(*b->results));
		if (!b->results)
			abort();
	}
	memset(&b->results[b->n], 0, sizeof(*b->results));
	return &b->results[b->n++];
}

static void print_result(const struct bench_result *r)
{
	printf("%-26s %12.4g %-6s", r->name, r->value, r->unit);
	if (r->has_reference)
		printf(" %-28s %12.4g  ratio %8.4g", r->against, r->reference, r->ratio);
	if (r->has_bar)
		printf("  bar %s %.4g %s", r->upper ? "<=" : ">=", r->bar,
		       (r->upper ? r->ratio <= r->bar : r->ratio >= r->bar) ? "met" : "MISSED");
	printf("  (%u runs, spread %.2f", r->runs, r->spread);
	if (r->has_reference)
		printf(", reference %.2f", r->reference_spread);
	printf(")%s%s\n", *r->note ? " " : "", r->note);
	fflush(stdout);
}

void bench_report(struct bench *b, const char *name, const char *unit, const char *against, enum bench_form form,
		  const struct bench_pair *pairs, unsigned n, double bar)
{
	double ours[BENCH_PAIRS_MAX], refs[BENCH_PAIRS_MAX], ratios[BENCH_PAIRS_MAX];
	struct bench_result *r = add_result(b);

	for (unsigned i = 0; i < n; i++) {
		ours[i] = pairs[i].ours;
		refs[i] = pairs[i].reference;
		ratios[i] = form == BENCH_VALUE ? pairs[i].ours : ratio_of(form, pairs[i]);
	}
	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(r->unit, sizeof(r->unit), "%s", unit);
	snprintf(r->against, sizeof(r->against), "%s", against ? against : "");
	r->has_reference = form != BENCH_VALUE;
	r->has_bar = bar > 0 || (form == BENCH_VALUE && bar == 0 && against);
	r->upper = form == BENCH_COST || form == BENCH_VALUE;
	r->bar = bar;
	r->runs = n;
	r->spread = spread_of(ratios, n);
	r->reference_spread = r->has_reference ? spread_of(refs, n) : 0;
	if (r->reference_spread > 2)
		snprintf(r->note, sizeof(r->note), "the reference itself spreads %.1f-fold: no measurement",
			 r->reference_spread);
	r->value = bench_median(ours, n);
	r->reference = r->has_reference ? bench_median(refs, n) : 0;
	r->ratio = bench_median(ratios, n);
	print_result(r);
}

unsigned bench_runs(const struct bench *b, unsigned full)
{
	return b->smoke ? 1 : full;
}

/* ---- tools ---- */

void bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0 && errno != EINVAL)
		perror("bench: pinning");
}

void bench_pin_process(pid_t pid, int cpu)
{
	char path[64];
	struct dirent *e;
	cpu_set_t set;
	DIR *d;

	CPU_ZERO(&set);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (cpu < 0 || i == cpu)
			CPU_SET((size_t)i, &set);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (*e->d_name != '.')
			sched_setaffinity((pid_t)strtol(e->d_name, NULL, 10), sizeof(set), &set);
	if (d)
		closedir(d);
}

void *bench_arena(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED) {
		perror("bench: arena");
		exit(1);
	}
	return p;
}

void bench_arena_free(void *arena, size_t size)
{
	munmap(arena, size);
}

pid_t bench_fork(int (*fn)(void *arg), void *arg)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	_exit(fn(arg));
}

int bench_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int64_t bench_cpu_ns(pid_t pid)
{
	char path[300];
	struct dirent *e;
	int64_t sum = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		long long ns = 0;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid, e->d_name);
		f = *e->d_name == '.' ? NULL : fopen(path, "r");
		if (f && fscanf(f, "%lld", &ns) == 1)
			sum += ns;
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return sum;
}

int bench_call(struct bench *b, const char *method, const char *params, char **ret)
{
	struct sim_client_options o = { .size = sizeof(o),
					.name = "bench",
					.socket = b->socket,
					.flags = SIM_CLIENT_NO_DATA | SIM_CLIENT_NO_THREAD };
	struct sim_client *c;
	char *reply = NULL;
	int r = sim_connect(&o, &c);

	if (r < 0)
		return r;
	r = sim_call(c, method, params, &reply);
	sim_disconnect(c);
	if (r >= 0 && ret)
		*ret = reply;
	else
		free(reply);
	return r;
}

void bench_futex_wait(_Atomic uint32_t *word, uint32_t old, int64_t dur_ns)
{
	struct timespec t = timespec_from_ns(dur_ns);

	syscall(SYS_futex, word, FUTEX_WAIT, old, dur_ns ? &t : NULL, NULL, 0);
}

void bench_futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* ---- roles ---- */

static int burn(void *apart)
{
	if (*(bool *)apart)
		setsid();
	for (volatile unsigned n = 0;; n++)
		continue;
	return 0;
}

void bench_burn_start(struct bench_burners *ret, bool apart)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	for (ret->n = 0; ret->n < 64 && ret->n < cpus; ret->n++)
		ret->pid[ret->n] = bench_fork(burn, &apart);
}

void bench_burn_stop(struct bench_burners *x)
{
	while (x->n) {
		kill(x->pid[--x->n], SIGKILL);
		bench_wait(x->pid[x->n]);
	}
}

static void give_up(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, sim_why());
	exit(1);
}

struct sim_client *bench_connect(const struct bench *b, const char *name)
{
	struct sim_client_options o = { .size = sizeof(o), .name = name, .socket = b->socket };
	struct sim_client *c;

	if (sim_connect(&o, &c) < 0)
		give_up(name);
	return c;
}

struct sim_publisher *bench_advertise(struct sim_client *c, const char *channel, size_t max_body, unsigned flags)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = max_body, .flags = flags };
	struct sim_publisher *p;

	if (sim_advertise(c, channel, &sim_Ultrasonic_type, &o, &p) < 0)
		give_up(channel);
	return p;
}

void bench_await_bridge(const struct sim_publisher *p)
{
	struct sim_bridges known = { 0, 0 };

	for (int64_t until = mono_now_ns() + 20 * NS_PER_S; !sim_publisher_bridges(p).connected;)
		if (sim_publisher_bridges_wait(p, &known, until - mono_now_ns()) != 1)
			give_up("no bridge is connected");
}

int bench_queue(struct sim_publisher *p, size_t size, sim_done_fn cb, void *user, int64_t *ret_mono_ns)
{
	struct sim_slot *slot;
	int r = sim_loan(p, size, &slot);

	if (r < 0)
		return r;
	memset(sim_slot_body_mut(slot), 0, 64);
	if (ret_mono_ns)
		*ret_mono_ns = mono_now_ns();
	return sim_try_queue(p, slot, NULL, cb, user);
}

/* ---- simd ---- */

/* Slots of up to 24 MiB. */
static const char usual_pools[] = "{\"size\":256,\"count\":4096},{\"size\":65536,\"count\":256},"
				  "{\"size\":6815744,\"count\":24},{\"size\":25296896,\"count\":16}";

struct stamp_page *bench_stamp(const struct bench *b, const char *name, const char *channels, int sleep_us, char *ret,
			       size_t size)
{
	char file[2 * BENCH_PATH];
	struct stamp_page *page;
	int fd;

	snprintf(file, sizeof(file), "%s/%s", b->dir, name);
	snprintf(ret, size,
		 "{\"name\":\"%s\",\"plugin\":\"%s/../test/plugins/stamp.so\",\"channels\":[\"%s\"],"
		 "\"options\":{\"file\":\"%s\",\"sleep_us\":%d}}",
		 name, b->bin, channels, file, sleep_us);
	fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, sizeof(*page)) < 0)
		return NULL;
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	close(fd);
	return page == MAP_FAILED ? NULL : page;
}

static int write_config(const char *path, const char *pools, const char *rigs)
{
	static const char format[] =
		"{\"TimeSource\":\"unity\",\"clock\":{\"rate_hz\":100},\"pools\":[%s],\"rigs\":[%s]}\n";
	size_t size = sizeof(format) + strlen(pools) + strlen(rigs);
	char *text = malloc(size);
	int r = -ENOMEM;

	if (text) {
		snprintf(text, size, format, pools, rigs);
		r = fd_write_file(path, text, strlen(text), 0644);
	}
	free(text);
	return r;
}

static pid_t spawn_simd(const struct bench *b, const char *config)
{
	char program[BENCH_PATH + 16], run[BENCH_PATH + 16];
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	snprintf(program, sizeof(program), "%s/simd", b->bin);
	snprintf(run, sizeof(run), "%s/run", b->dir);
	execl(program, "simd", "--config", config, "--runtime-dir", run, (char *)NULL);
	_exit(127);
}

static int start_simd(struct bench *b, const char *pools, const char *rigs)
{
	int64_t end = mono_now_ns() + 20 * NS_PER_S;
	char config[BENCH_PATH + 16];

	snprintf(config, sizeof(config), "%s/bench.json", b->dir);
	if (write_config(config, pools, rigs) < 0)
		return -1;
	b->simd_pid = spawn_simd(b, config);
	while (bench_call(b, "io.simd.Control.GetInfo", "{}", NULL) < 0) { /* its readiness is what is waited for */
		if (mono_now_ns() > end || waitpid(b->simd_pid, NULL, WNOHANG) > 0) {
			fprintf(stderr, "bench: simd does not answer: %s\n", sim_why());
			return -1;
		}
		wait_look_again();
	}
	return 0;
}

static void stop_simd(struct bench *b)
{
	if (b->simd_pid > 0 && kill(b->simd_pid, SIGTERM) == 0)
		bench_wait(b->simd_pid);
	b->simd_pid = 0;
}

static int start_usual_simd(struct bench *b, const char *pools)
{
	char stamp[3 * BENCH_PATH], rigs[4 * BENCH_PATH];

	if (b->stamp)
		munmap(b->stamp, sizeof(*b->stamp));
	b->stamp = bench_stamp(b, "stamp", "/stamp/*", 0, stamp, sizeof(stamp));
	snprintf(
		rigs, sizeof(rigs),
		"{\"name\":\"bench\",\"bridges\":[{\"name\":\"null\",\"plugin\":\"null\",\"channels\":[\"/busy/*\"]},%s]}",
		stamp);
	return b->stamp ? start_simd(b, pools, rigs) : -1;
}

int bench_simd(struct bench *b, const char *pools, const char *rigs)
{
	stop_simd(b);
	b->own_simd = true;
	return rigs ? start_simd(b, pools, rigs) : start_usual_simd(b, pools);
}

/* ---- output ---- */

static int write_json(const struct bench *b, const char *path)
{
	json_t *all = json_array();
	int r;

	for (unsigned i = 0; i < b->n; i++) {
		const struct bench_result *x = &b->results[i];
		json_t *j = json_pack("{s:s, s:s, s:f, s:i, s:f}", "name", x->name, "unit", x->unit, "value", x->value,
				      "runs", (int)x->runs, "spread", isfinite(x->spread) ? x->spread : 0.0);

		if (x->has_reference) {
			json_object_set_new(j, "against", json_string(x->against));
			json_object_set_new(j, "reference", json_real(x->reference));
			json_object_set_new(j, "ratio", json_real(x->ratio));
			json_object_set_new(j, "reference_spread",
					    json_real(isfinite(x->reference_spread) ? x->reference_spread : 0));
		}
		if (x->has_bar)
			json_object_set_new(j, "bar", json_real(x->bar));
		if (*x->note)
			json_object_set_new(j, "note", json_string(x->note));
		json_array_append_new(all, j);
	}
	r = json_dump_file(all, path, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	json_decref(all);
	return r;
}

struct args {
	const char *only, *out, *dir, *bin;
	bool smoke;
};

#define OPT_VALUES struct args
static const struct opt options[] = {
	OPT("only", 0, STRING, only, "NAME,...", "groups or results to run; groups:" GROUPS),
	OPT("out", 0, STRING, out, "FILE", "where to write JSON"),
	OPT("dir", 0, STRING, dir, "DIR", "scratch folder"),
	OPT("bin", 0, STRING, bin, "DIR", "folder of the programs"),
	OPT("smoke", 0, FLAG, smoke, NULL, "one short repetition of each"),
	{ 0 },
};

static const struct opt_program program = {
	.name = "bench", .section = 1, .summary = "measure, as ratios", .version = SIM_VERSION, .opts = options
};

/* 2: the word is that name, of `len` characters; 1: it begins with it and "_". */
static int fits_name(const char *name, size_t len, const char *word, size_t n)
{
	if (n < len || strncmp(word, name, len) != 0)
		return 0;
	return n == len ? 2 : word[len] == '_';
}

static int fits(const struct bench_case *c, const char *word, size_t n)
{
	int best = fits_name(c->name, strlen(c->name), word, n);

	for (const char *at = c->covers ? c->covers : ""; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
		int fit = fits_name(at, strcspn(at, " "), word, n);

		best = fit > best ? fit : best;
	}
	return best;
}

/* Marks the cases that fit best. */
static int pick(const char *word, size_t n, bool *picked)
{
	int best = 0;

	for (unsigned i = 0; i < CASES; i++)
		if (fits(cases[i], word, n) > best)
			best = fits(cases[i], word, n);
	if (!best) {
		fprintf(stderr, "bench: no group or result is named %.*s; groups:%s\n", (int)n, word, GROUPS);
		return -1;
	}
	for (unsigned i = 0; i < CASES; i++)
		picked[i] |= fits(cases[i], word, n) == best;
	return 0;
}

static int pick_all(const char *only, bool *picked)
{
	for (unsigned i = 0; i < CASES; i++)
		picked[i] = !only || !*only;
	for (const char *at = only; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (pick(at, strcspn(at, ","), picked) < 0)
			return -1;
	return 0;
}

static int prepare(struct bench *b, const struct args *a)
{
	if (fd_mkdir_p(a->dir, 0755) < 0 || !realpath(a->dir, b->dir) || !realpath(a->bin, b->bin))
		return -1;
	snprintf(b->socket, sizeof(b->socket), "%.4000s/run/control", b->dir);
	snprintf(b->ros2_plugin, sizeof(b->ros2_plugin), "%s/../lib/simd/bridge_ros2.so", b->bin);
	b->smoke = a->smoke;
	return start_usual_simd(b, usual_pools);
}

static int run_case(struct bench *b, const struct bench_case *c)
{
	int r = 0;

	if (b->own_simd) {
		stop_simd(b);
		r = start_usual_simd(b, usual_pools);
	}
	b->own_simd = false;
	if (r == 0)
		r = c->run(b);
	if (r < 0)
		fprintf(stderr, "bench: %s could not be measured\n", c->name);
	return r;
}

int main(int argc, char **argv)
{
	struct args a = { .out = "build/bench.json", .dir = "build/bench", .bin = "build/bin" };
	struct bench b = { 0 };
	bool picked[CASES];
	int failed = 0;

	opt_parse_or_exit(&program, argc, argv, &a);
	signal(SIGPIPE, SIG_IGN);
	if (pick_all(a.only, picked) < 0)
		return 2;
	if (prepare(&b, &a) < 0) {
		fprintf(stderr, "bench: %s\n", err_why());
		stop_simd(&b);
		return 1;
	}
	for (unsigned i = 0; i < CASES; i++)
		if (picked[i] && run_case(&b, cases[i]) < 0)
			failed = 1;
	stop_simd(&b);
	if (write_json(&b, a.out) < 0)
		failed = 1;
	else
		printf("written to %s\n", a.out);
	free(b.results);
	return failed;
}
