/* SPDX-License-Identifier: Apache-2.0 */
/* Completion for zsh and fish from the option tables; bash's is in opt_print.c. Thread: main. */
#include "opt_private.h"

#include <ctype.h>
#include <string.h>

/* ---- words ---- */

/* Inside single quotes; also: a character that means something to who reads the word then. */
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

void opt_put_source(const struct opt_program *p, FILE *out, const char *complete)
{
	size_t n = strlen(p->name);

	if (strncmp(complete, p->name, n) == 0 && complete[n] == ' ') {
		fputs("__", out);
		opt_put_function(out, p->name);
		fprintf(out, "_run%s", complete + n);
	} else {
		fputs(complete, out);
	}
	fputs(" 2>/dev/null", out);
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

/* Runs the program as the user typed it, since it need not be in the path, with the options before the cursor. */
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
		opt_put_source(p, out, o->complete);
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

static void zsh_positional(const struct opt_program *p, FILE *out, const char *cmd, const struct opt *t)
{
	for (; t && t->name; t++) {
		if (t->kind == OPT_OPTION || !t->complete)
			continue;
		fprintf(out, "\t'%s') ", cmd);
		zsh_value(p, out, t);
		fputs(";;\n", out);
		return;
	}
}

void opt_print_zsh(const struct opt_program *p, FILE *out)
{
	fprintf(out, "#compdef %s\n# zsh completion, generated by %s --completion-zsh\n", p->name, p->name);
	if (p->commands)
		zsh_run(p, out);
	fputc('_', out);
	opt_put_function(out, p->name);
	fputs("()\n{\n\tlocal cmd='' i\n\tlocal -a some\n\tfor ((i = 2; i < CURRENT; i++)); do\n"
	      "\t\t[[ $words[i] == -* ]] && continue\n\t\tcase \"$cmd${cmd:+ }$words[i]\" in\n",
	      out);
	opt_put_command_cases(p, out);
	fputs("\t\tesac\n\tdone\n\tcase \"$cmd:$words[CURRENT-1]\" in\n", out);
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
		zsh_positional(p, out, "", p->opts);
	for (const struct opt_command *c = p->commands; c && c->name; c++) {
		size_t n = strcspn(c->name, " ");

		if (c->name[n] && opt_first_of_group(p, c))
			zsh_group(p, out, c->name, n);
		zsh_positional(p, out, c->name, c->opts);
	}
	fputs("\tesac\n}\n_", out);
	opt_put_function(out, p->name);
	fputs(" \"$@\"\n", out);
}

/* ---- fish ---- */

#define FISH_QUOTE "\\'"

/* One rule: where the words so far are cmd (NULL: anywhere). */
static void fish_rule(const struct opt_program *p, FILE *out, const char *cmd, size_t n)
{
	fprintf(out, "complete -c %s", p->name);
	if (!cmd)
		return;
	fputs(" -n '__", out);
	opt_put_function(out, p->name);
	fprintf(out, "_at \"%.*s\"'", (int)n, cmd);
}

static void fish_help(FILE *out, const char *help)
{
	fputs(" -d '", out);
	put_quoted(out, help, 0, FISH_QUOTE);
	fputs("'\n", out);
}

/* As zsh_run(). */
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
		opt_put_source(p, out, o->complete);
		fputs(")'", out);
	}
}

static void fish_table(const struct opt_program *p, FILE *out, const char *cmd, const struct opt *t)
{
	for (; t && t->name; t++) {
		if (t->kind != OPT_OPTION && !t->complete)
			continue;
		fish_rule(p, out, cmd, cmd ? strlen(cmd) : 0);
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
		fish_rule(p, out, c->name, n);
		fprintf(out, " -a '%s'", c->name + n + 1);
		fish_help(out, c->help);
	}
	if (opt_first_of_group(p, c)) {
		fish_rule(p, out, "", 0);
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
	fputs("_at\n\tset -l cmd\n\tfor w in (commandline -opc)[2..-1]\n\t\tstring match -q -- '-*' $w; and continue\n"
	      "\t\tswitch \"$cmd $w\"\n",
	      out);
	for (const struct opt_command *c = p->commands; c && c->name; c++) {
		size_t n = strcspn(c->name, " ");

		fprintf(out, "\t\tcase ' %s'\n\t\t\tset cmd ' %s'\n", c->name, c->name);
		if (c->name[n] && opt_first_of_group(p, c))
			fprintf(out, "\t\tcase ' %.*s'\n\t\t\tset cmd ' %.*s'\n", (int)n, c->name, (int)n, c->name);
	}
	fputs("\t\tend\n\tend\n\ttest (string trim -- \"$cmd\") = \"$argv[1]\"\nend\n", out);
	fprintf(out, "complete -c %s -f\n", p->name);
	fish_table(p, out, NULL, p->opts);
	fprintf(out,
		"complete -c %s -l help -s h -d 'show help'\ncomplete -c %s -l version -s V -d 'show the version'\n",
		p->name, p->name);
	for (const struct opt_command *c = p->commands; c && c->name; c++)
		fish_command(p, out, c);
}
