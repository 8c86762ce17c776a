/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simgen: translates definitions of messages (.msg) and services (.srv) to C. For each requested file:
 * <outdir>/<package>/msg/<Name>.h (for a service: srv/) with the structs, their accessors and field tables. An error in
 * a definition is one line "file:line: reason" on stderr and exit status 1; then nothing is written. Wrong usage: exit
 * status 2. A file whose content would not change is left alone, so that nothing is rebuilt for it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "fd.h"
#include "gen/emit.h"
#include "gen/typeset.h"
#include "mem.h"
#include "opt.h"

/* ---- command line ---- */

struct options {
	const char *package; /* NULL: from the directory */
	const char *outdir;
	bool list, strict, hash;
	struct opt_strings include, files;
};

#define OPT_VALUES struct options
static const struct opt opts[] = {
	OPT("include", 'I', STRINGS, include, "DIR",
	    "where nested types are: DIR/<package>/[msg/]; package=DIR: of one package, in DIR itself",
	    .complete = "dir"),
	OPT("package", 'p', STRING, package, "NAME",
	    "package of the files; default: the folder above, or above msg/ or srv/"),
	OPT("outdir", 'o', STRING, outdir, "DIR",
	    "write DIR/<package>/msg/<Name>.h, of a service DIR/<package>/srv/<Name>.h", .complete = "dir"),
	OPT("list", 'l', FLAG, list, NULL, "also write all.h: every type or service of the package in one list"),
	OPT("strict", 's', FLAG, strict, NULL,
	    "the comment of every field begins with its unit, such as [m] or [-], and says more"),
	OPT("hash", 0, FLAG, hash, NULL,
	    "write nothing; print name, 64-bit hash and bytes of the fixed part of each type"),
	OPT_ARG("FILE", MANY, STRINGS, files, "definitions: .msg and .srv", .least = 1, .complete = "file"),
	{ 0 },
};

static const struct opt_program program = {
	.name = "simgen",
	.section = 1,
	.summary =
		"Turns definitions of messages (.msg) and services (.srv) into C: structs with accessors, and their\n"
		"field tables. Give -o DIR or --hash.",
	.version = SIM_VERSION,
	.opts = opts,
};

/* ---- output ---- */

static bool same_content(const char *path, const char *text, size_t len)
{
	char *old = NULL;
	size_t n;
	bool same = fd_read_file(path, len, &old, &n) == 0 && n == len && memcmp(old, text, len) == 0;

	mem_free(old);
	return same;
}

/* Writes dir/file, unless it already has that content. */
static int write_file(const char *dir, const char *file, const char *text, size_t len)
{
	char *path = mem_printf("%s/%s", dir, file);
	int r = path ? 0 : err_nomem();

	if (r == 0 && !same_content(path, text, len)) {
		r = fd_mkdir_p(dir, 0777);
		if (r == 0)
			r = fd_write_file(path, text, len, 0644);
	}
	mem_free(path);
	return r;
}

/* A writer of emit.h, to memory and then to <outdir>/<package>/<kind>/<name>.h. */
struct output {
	const struct typeset *set;
	const struct typeset_entry *e;   /* a type, */
	const struct typeset_service *v; /* or a service, */
	bool services;                   /* or the list: of services, or of types */
};

static void emit(FILE *f, const struct output *o, const char *package)
{
	if (o->e)
		emit_header(f, o->e);
	else if (o->v)
		emit_service_header(f, o->v);
	else
		emit_list_header(f, o->set, package, o->services);
}

static int write_output(const struct options *o, const struct output *out, const char *package)
{
	const char *name = out->e ? out->e->def->name : out->v ? out->v->name : "all";
	char *dir = mem_printf("%s/%s/%s", o->outdir, package, out->v || out->services ? "srv" : "msg");
	char file[TYPEDESC_IDENT_MAX + 3], *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int r = dir && f ? 0 : err_nomem();

	snprintf(file, sizeof(file), "%s.h", name);
	if (r == 0)
		emit(f, out, package);
	if (f && (ferror(f) | fclose(f)))
		r = err_nomem();
	if (r == 0)
		r = write_file(dir, file, text, len);
	if (r < 0)
		fprintf(stderr, "simgen: %s\n", err_why());
	mem_free(dir);
	free(text);
	return r;
}

static int write_all(const struct options *o, const struct typeset *s)
{
	const char *msg = NULL, *srv = NULL;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < typeset_count(s); i++) {
		const struct typeset_entry *e = typeset_entry(s, i);

		if (e->asked_for && !e->half)
			r = write_output(o, &(struct output){ .set = s, .e = e }, msg = e->def->package);
	}
	for (unsigned i = 0; r == 0 && i < typeset_services(s); i++) {
		const struct typeset_service *v = typeset_service(s, i);

		r = write_output(o, &(struct output){ .set = s, .v = v }, srv = v->package);
	}
	if (r == 0 && o->list && msg)
		r = write_output(o, &(struct output){ .set = s }, msg);
	if (r == 0 && o->list && srv)
		r = write_output(o, &(struct output){ .set = s, .services = true }, srv);
	return r;
}

/* ---- input ---- */

static int check_all(const struct typeset *s)
{
	char why[256];
	int line, r = 0;

	for (unsigned i = 0; i < typeset_count(s); i++) {
		const struct typeset_entry *e = typeset_entry(s, i);

		if (emit_check(e, &line, why) == 0)
			continue;
		if (line)
			fprintf(stderr, "%s:%d: %s\n", e->path, line, why);
		else
			fprintf(stderr, "%s: %s\n", e->path, why);
		r = -EINVAL;
	}
	return r;
}

static int read_all(const struct options *o, struct typeset *s)
{
	int r = 0;

	for (unsigned i = 0; i < o->files.n; i++) {
		if (typeset_add(s, o->package, o->files.v[i], NULL) < 0) {
			fprintf(stderr, "%s\n", typeset_why(s));
			r = -EINVAL;
		}
	}
	return r < 0 ? r : check_all(s);
}

static void print_hashes(const struct typeset *s)
{
	for (unsigned i = 0; i < typeset_count(s); i++) {
		const struct sim_type *t = &typeset_entry(s, i)->type;

		if (typeset_entry(s, i)->asked_for)
			printf("%s %016" PRIx64 " %" PRIu32 "\n", t->name, t->hash, t->fixed_size);
	}
}

static int run(const struct options *o, struct typeset *s)
{
	typeset_strict(s, o->strict);
	for (unsigned i = 0; i < o->include.n; i++) {
		if (typeset_search(s, o->include.v[i]) < 0) {
			fputs("simgen: no memory\n", stderr);
			return 1;
		}
	}
	if (read_all(o, s) < 0)
		return 1;
	if (o->hash)
		print_hashes(s);
	return o->hash || write_all(o, s) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	struct typeset *s;
	int status = 1;

	opt_parse_or_exit(&program, argc, argv, &o);
	if (!o.outdir && !o.hash) {
		fputs("simgen: no output folder given: -o DIR, or --hash (see simgen --help)\n", stderr);
		return 2;
	}
	s = typeset_create();
	if (s)
		status = run(&o, s);
	else
		fputs("simgen: no memory\n", stderr);
	typeset_destroy(s);
	return status;
}
