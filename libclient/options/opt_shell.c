/* SPDX-License-Identifier: Apache-2.0 */
/* Completion for zsh and fish from the option tables; bash's is in opt_print.c. Thread: main. */
#include "opt_private.h"

#include <ctype.h>
#include <string.h>

/* ---- words ---- */

/* Writes text for use inside single quotes. also: a character to escape as well, such as a separator; 0: none. */
static void put_quoted(FILE *out, const char *text, char also, const char *quote)
{
	for (; text && *text; text++) {
		if (*text == '\'')
			fputs(quote, out);
		else if (*text == also || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

void opt_put_function(FILE *out, const char *name)
{
	for (; *name; name++)
		fputc(isalnum((unsigned char)*name) ? *name : '_', out);
}

/* Writes the shell expression for the positional argument %N, as the functions below collect it. */
static void put_argument(const struct opt_program *p, FILE *out, int number, enum opt_sh sh)
{
	if (sh == OPT_BASH) {
		fprintf(out, "\"${args[%d]}\"", number - 1);
	} else if (sh == OPT_ZSH) {
		fprintf(out, "\"${(Q)args[%d]}\"", number);
	} else {
		fputs("(__", out);
		opt_put_function(out, p->name);
		fprintf(out, "_look)[%d]", number + 1);
	}
}

void opt_put_source(const struct opt_program *p, FILE *out, const char *complete, enum opt_sh sh)
{
	size_t n = strlen(p->name);

	if (strncmp(complete, p->name, n) == 0 && complete[n] == ' ') {
		fputs("__", out);
		opt_put_function(out, p->name);
		fputs("_run", out);
		complete += n;
	}
	for (; *complete; complete++)
		if (*complete == '%' && isdigit((unsigned char)complete[1]))
			put_argument(p, out, *++complete - '0', sh);
		else
			fputc(*complete, out);
	fputs(" 2>/dev/null", out);
}

static void put_taking(FILE *out, const char *cmd, const struct opt *t, const char *before, const char *between)
{
	for (; t && t->name; t++) {
		if (t->kind != OPT_OPTION || !opt_takes_value(t))
			continue;
		fprintf(out, "%s%s%s:--%s'", between, before, cmd, t->name);
		if (t->letter)
			fprintf(out, "%s%s%s:-%c'", between, before, cmd, t->letter);
	}
}

void opt_put_taking(const struct opt_program *p, FILE *out, const char *before, const char *between)
{
	fputs("'-'", out); /* a first pattern, as the program may have no such options */
	put_taking(out, "", p->opts, before, between);
	for (const struct opt_command *c = p->commands; c && c->name; c++)
		put_taking(out, c->name, c->opts, before, between);
}

void opt_put_positionals(const struct opt_program *p, FILE *out, const char *cmd, const struct opt *t, enum opt_sh sh,
			 void (*value)(const struct opt_program *p, FILE *out, const struct opt *o))
{
	int k = 0;

	fprintf(out, "\t\t'%s') case %s in\n", cmd, sh == OPT_BASH ? "${#args[@]}" : "$#args");
	for (; t && t->name; t++) {
		if (t->kind == OPT_OPTION)
			continue;
		if (t->kind == OPT_MANY)
			fputs("\t\t\t*) ", out);
		else
			fprintf(out, "\t\t\t%d) ", k++);
		if (t->complete)
			value(p, out, t);
		fputs(";;\n", out);
	}
	fputs("\t\t\tesac;;\n", out);
}

bool opt_put_valued(const struct opt_program *p, FILE *out, const char *between, const char *end)
{
	bool any = false;

	for (const struct opt *o = p->opts; o && o->name; o++) {
		if (o->kind != OPT_OPTION || !opt_takes_value(o))
			continue;
		fprintf(out, "%s--%s%s", any ? between : "", o->name, end);
		if (o->letter)
			fprintf(out, "%s-%c%s", between, o->letter, end);
		any = true;
	}
	return any;
}

bool opt_first_of_group(const struct opt_program *p, const struct opt_command *c)
{
	size_t n = strcspn(c->name, " ");

	for (const struct opt_command *d = p->commands; d != c; d++)
		if (!strncmp(d->name, c->name, n) && (d->name[n] == ' ' || !d->name[n]))
			return false;
	return true;
}

void opt_put_command_cases(const struct opt_program *p, FILE *out)
{
	for (const struct opt_command *c = p->commands; c && c->name; c++) {
		size_t n = strcspn(c->name, " ");

		fprintf(out, "\t\t'%s') cmd='%s';;\n", c->name, c->name);
		if (c->name[n] && opt_first_of_group(p, c))
			fprintf(out, "\t\t'%.*s') cmd='%.*s';;\n", (int)n, c->name, (int)n, c->name);
	}
}

/* ---- zsh ---- */

#define ZSH_QUOTE "'\\''"

static void zsh_pair(FILE *out, const char *dashes, const char *name, const char *help)
{
	fprintf(out, " '%s", dashes);
	put_quoted(out, name, ':', ZSH_QUOTE);
	fputc(':', out);
	put_quoted(out, help, 0, ZSH_QUOTE);
	fputc('\'', out);
}

static void zsh_options(FILE *out, const char *cmd, const struct opt *t)
{
	if (cmd)
		fprintf(out, "\t\t'%s') some+=(", cmd);
	else
		fprintf(out, "\t\tsome=(");
	for (; t && t->name; t++)
		if (t->kind == OPT_OPTION)
			zsh_pair(out, "--", t->name, t->help);
	fputs(cmd ? ");;\n" : " '--help:show help' '--version:show the version')\n", out);
}

/*
 * Writes NAME_run(), which runs the program as the user typed it, because it need not be in PATH, with the options
 * before the cursor.
 */
static void zsh_run(const struct opt_program *p, FILE *out)
{
	fputs("__", out);
	opt_put_function(out, p->name);
	fputs("_run()\n{\n\tlocal i\n\tlocal -a given\n\tfor ((i = 2; i < CURRENT; i++)); do\n\t\tcase $words[i] in\n\t\t",
	      out);
	if (opt_put_valued(p, out, "|", "")) {
		fputs(") given+=(\"$words[i]\" \"${(Q)words[i+1]}\");;\n\t\t", out);
		(void)opt_put_valued(p, out, "|", "=*");
		fputs(") given+=(\"${(Q)words[i]}\");;\n", out);
	}
	fputs("\t\tesac\n\tdone\n\t\"${${(Q)words[1]}/#\\~\\//$HOME/}\" $given \"$@\"\n}\n", out);
}

static void zsh_value(const struct opt_program *p, FILE *out, const struct opt *o)
{
	if (!o->complete)
		fputs(":", out);
	else if (!strcmp(o->complete, "file"))
		fputs("_files", out);
	else if (!strcmp(o->complete, "dir"))
		fputs("_files -/", out);
	else {
		fputs("compadd -- $(", out);
		opt_put_source(p, out, o->complete, OPT_ZSH);
		fputs(")", out);
	}
}

static void zsh_values(const struct opt_program *p, FILE *out, const char *cmd, const struct opt *t)
{
	for (; t && t->name; t++) {
		if (t->kind != OPT_OPTION || !opt_takes_value(t))
			continue;
		fprintf(out, "\t'%s:--%s'", cmd, t->name);
		if (t->letter)
			fprintf(out, "|'%s:-%c'", cmd, t->letter);
		fputs(") ", out);
		zsh_value(p, out, t);
		fputs("; return;;\n", out);
	}
}

static void zsh_group(const struct opt_program *p, FILE *out, const char *group, size_t n)
{
	fprintf(out, "\t'%.*s') some=(", (int)n, group);
	for (const struct opt_command *c = p->commands; c->name; c++)
		if (!n && opt_first_of_group(p, c))
			fprintf(out, " '%.*s'", (int)strcspn(c->name, " "), c->name);
		else if (n && !strncmp(c->name, group, n) && c->name[n] == ' ')
			zsh_pair(out, "", c->name + n + 1, c->help);
	fputs("); _describe command some;;\n", out);
}

void opt_print_zsh(const struct opt_program *p, FILE *out)
{
	fprintf(out, "#compdef %s\n# zsh completion, generated by %s --completion-zsh\n", p->name, p->name);
	if (p->commands)
		zsh_run(p, out);
	fputc('_', out);
	opt_put_function(out, p->name);
	fputs("()\n{\n\tlocal cmd='' i\n\tlocal -a some args\n\tfor ((i = 2; i < CURRENT; i++)); do\n"
	      "\t\tif [[ $words[i] == -* ]]; then\n\t\t\tcase \"$cmd:$words[i]\" in\n\t\t\t",
	      out);
	opt_put_taking(p, out, "*'", "|");
	fputs(") ((i++));;\n\t\t\tesac\n\t\t\tcontinue\n\t\tfi\n\t\tcase \"$cmd${cmd:+ }$words[i]\" in\n", out);
	opt_put_command_cases(p, out);
	fputs("\t\t*) args+=(\"$words[i]\");;\n\t\tesac\n\tdone\n\tcase \"$cmd:$words[CURRENT-1]\" in\n", out);
	for (const struct opt_command *c = p->commands; c && c->name; c++) {
		zsh_values(p, out, c->name, c->opts);
		zsh_values(p, out, c->name, p->opts);
	}
	zsh_values(p, out, "", p->opts);
	fputs("\tesac\n\tif [[ $words[CURRENT] == -* ]]; then\n", out);
	zsh_options(out, NULL, p->opts);
	fputs("\t\tcase \"$cmd\" in\n", out);
	for (const struct opt_command *c = p->commands; c && c->name; c++)
		zsh_options(out, c->name, c->opts);
	fputs("\t\tesac\n\t\t_describe -o option some\n\t\treturn\n\tfi\n\tcase \"$cmd\" in\n", out);
	if (p->commands)
		zsh_group(p, out, "", 0);
	else
		opt_put_positionals(p, out, "", p->opts, OPT_ZSH, zsh_value);
	for (const struct opt_command *c = p->commands; c && c->name; c++) {
		size_t n = strcspn(c->name, " ");

		if (c->name[n] && opt_first_of_group(p, c))
			zsh_group(p, out, c->name, n);
		opt_put_positionals(p, out, c->name, c->opts, OPT_ZSH, zsh_value);
	}
	fputs("\tesac\n}\n_", out);
	opt_put_function(out, p->name);
	fputs(" \"$@\"\n", out);
}

/* ---- fish ---- */

#define FISH_QUOTE "\\'"

/*
 * Writes the start of one rule. It holds when the words so far are cmd (NULL: always) and there are `place` positional
 * arguments (negative: any number; more: or more).
 */
static void fish_rule(const struct opt_program *p, FILE *out, const char *cmd, size_t n, int place, bool more)
{
	fprintf(out, "complete -c %s", p->name);
	if (!cmd)
		return;
	fputs(" -n '__", out);
	opt_put_function(out, p->name);
	fprintf(out, "_at \"%.*s\"", (int)n, cmd);
	if (place >= 0)
		fprintf(out, " %d %s", place, more ? "-ge" : "-eq");
	fputc('\'', out);
}

static void fish_help(FILE *out, const char *help)
{
	fputs(" -d '", out);
	put_quoted(out, help, 0, FISH_QUOTE);
	fputs("'\n", out);
}

/* Writes NAME_run(), as zsh_run(). */
static void fish_run(const struct opt_program *p, FILE *out)
{
	fputs("function __", out);
	opt_put_function(out, p->name);
	fputs("_run\n\tset -l w (commandline -opc)\n\tset -l given\n\tfor i in (seq 2 (count $w))\n\t\tswitch $w[$i]\n\t\tcase ",
	      out);
	if (opt_put_valued(p, out, " ", "")) {
		fputs("\n\t\t\tset given $given $w[$i] $w[(math $i + 1)]\n\t\tcase '", out);
		(void)opt_put_valued(p, out, "' '", "=*");
		fputs("'\n\t\t\tset given $given $w[$i]\n", out);
	}
	fputs("\t\tend\n\tend\n\t$w[1] $given $argv\nend\n", out);
}

static void fish_value(const struct opt_program *p, FILE *out, const struct opt *o)
{
	if (!o->complete)
		return;
	if (!strcmp(o->complete, "file"))
		fputs(" -F", out);
	else if (!strcmp(o->complete, "dir"))
		fputs(" -a '(__fish_complete_directories)'", out);
	else {
		fputs(" -a '(", out);
		opt_put_source(p, out, o->complete, OPT_FISH);
		fputs(")'", out);
	}
}

static void fish_table(const struct opt_program *p, FILE *out, const char *cmd, const struct opt *t)
{
	for (int k = 0; t && t->name; t++) {
		int place = t->kind == OPT_OPTION ? -1 : k++;

		if (t->kind != OPT_OPTION && !t->complete)
			continue;
		fish_rule(p, out, cmd, cmd ? strlen(cmd) : 0, place, t->kind == OPT_MANY);
		if (t->kind == OPT_OPTION)
			fprintf(out, " -l %s", t->name);
		if (t->letter)
			fprintf(out, " -s %c", t->letter);
		if (t->kind == OPT_OPTION && opt_takes_value(t))
			fputs(t->complete && !strcmp(t->complete, "file") ? " -r" : " -x", out);
		fish_value(p, out, t);
		fish_help(out, t->help);
	}
}

static void fish_command(const struct opt_program *p, FILE *out, const struct opt_command *c)
{
	size_t n = strcspn(c->name, " ");

	if (c->name[n]) {
		fish_rule(p, out, c->name, n, -1, false);
		fprintf(out, " -a '%s'", c->name + n + 1);
		fish_help(out, c->help);
	}
	if (opt_first_of_group(p, c)) {
		fish_rule(p, out, "", 0, -1, false);
		fprintf(out, " -a '%.*s'", (int)n, c->name);
		fish_help(out, c->name[n] ? "" : c->help);
	}
	fish_table(p, out, c->name, c->opts);
}

void opt_print_fish(const struct opt_program *p, FILE *out)
{
	fprintf(out, "# fish completion, generated by %s --completion-fish\n", p->name);
	if (p->commands)
		fish_run(p, out);
	fputs("function __", out);
	opt_put_function(out, p->name);
	fputs("_look\n\tset -l cmd\n\tset -l args\n\tset -l skip 0\n\tfor w in (commandline -opc)[2..-1]\n"
	      "\t\tif test $skip = 1\n\t\t\tset skip 0\n\t\t\tcontinue\n\t\tend\n"
	      "\t\tif string match -q -- '-*' $w\n\t\t\tswitch \"$cmd:$w\"\n\t\t\t\tcase ",
	      out);
	opt_put_taking(p, out, "'*", " ");
	fputs("\n\t\t\t\t\tset skip 1\n\t\t\tend\n\t\t\tcontinue\n\t\tend\n\t\tswitch \"$cmd $w\"\n", out);
	for (const struct opt_command *c = p->commands; c && c->name; c++) {
		size_t n = strcspn(c->name, " ");

		fprintf(out, "\t\tcase ' %s'\n\t\t\tset cmd ' %s'\n", c->name, c->name);
		if (c->name[n] && opt_first_of_group(p, c))
			fprintf(out, "\t\tcase ' %.*s'\n\t\t\tset cmd ' %.*s'\n", (int)n, c->name, (int)n, c->name);
	}
	fputs("\t\tcase '*'\n\t\t\tset args $args $w\n\t\tend\n\tend\n\tstring trim -- \"$cmd\"\n"
	      "\tfor a in $args\n\t\techo $a\n\tend\nend\nfunction __",
	      out);
	opt_put_function(out, p->name);
	fputs("_at\n\tset -l l (__", out);
	opt_put_function(out, p->name);
	fputs("_look)\n\ttest \"$l[1]\" = \"$argv[1]\"; or return 1\n"
	      "\tnot set -q argv[2]; or test (count $l) $argv[3] (math $argv[2] + 1)\nend\n",
	      out);
	fprintf(out, "complete -c %s -f\n", p->name);
	fish_table(p, out, NULL, p->opts);
	fprintf(out,
		"complete -c %s -l help -s h -d 'show help'\ncomplete -c %s -l version -s V -d 'show the version'\n",
		p->name, p->name);
	for (const struct opt_command *c = p->commands; c && c->name; c++)
		fish_command(p, out, c);
}
