/* SPDX-License-Identifier: Apache-2.0 */
/* The orchestrator: starts simd, runs cases, prints and writes build/bench.json. Thread: main. */
#include "bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/client.h>

#include "err.h"
#include "fd.h"
#include "opt.h"

#define ADDRESS(name) &bench_##name,
static const struct bench_case *const cases[] = { BENCH_CASES(ADDRESS) };
#define CASES (sizeof(cases) / sizeof(*cases))

#define WORD(name) " " #name
#define GROUPS     BENCH_CASES(WORD)

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

/* How much of the word is that name, of `len` characters; 0: neither that nor "name_...". */
static size_t fits_name(const char *name, size_t len, const char *word, size_t n)
{
	return n >= len && !strncmp(word, name, len) && (n == len || word[len] == '_') ? len : 0;
}

static size_t fits(const struct bench_case *c, const char *word, size_t n)
{
	size_t best = fits_name(c->name, strlen(c->name), word, n);

	for (const char *at = c->covers ? c->covers : ""; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
		size_t fit = fits_name(at, strcspn(at, " "), word, n);

		best = fit > best ? fit : best;
	}
	return best;
}

/* Marks the cases that fit best. */
static int pick(const char *word, size_t n, bool *picked)
{
	size_t best = 0;

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
	return 0;
}

static int run_case(struct bench *b, const struct bench_case *c)
{
	int r = b->usual ? 0 : bench_simd(b, NULL);

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
		return 1;
	}
	for (unsigned i = 0; i < CASES; i++)
		if (picked[i] && run_case(&b, cases[i]) < 0)
			failed = 1;
	bench_stop_simd(&b);
	if (bench_write_json(&b, a.out) < 0)
		failed = 1;
	else
		printf("written to %s\n", a.out);
	free(b.results);
	return failed;
}
