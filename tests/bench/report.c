/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics, printed output, and build/bench.json. Thread: main. */
#include "bench.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	bool alone = form == BENCH_VALUE || form == BENCH_LEAST;
	struct bench_result *r = add_result(b);

	for (unsigned i = 0; i < n; i++) {
		ours[i] = pairs[i].ours;
		refs[i] = pairs[i].reference;
		ratios[i] = alone ? pairs[i].ours : ratio_of(form, pairs[i]);
	}
	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(r->unit, sizeof(r->unit), "%s", unit);
	snprintf(r->against, sizeof(r->against), "%s", against ? against : "");
	r->has_reference = !alone;
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

/* ---- output ---- */

int bench_write_json(const struct bench *b, const char *path)
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
