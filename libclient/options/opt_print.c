/* SPDX-License-Identifier: Apache-2.0 */
/* Help, bash completion and the list for the check of the man page, from the option tables. Thread: main. */
#include "opt_private.h"

#include <string.h>

#define HELP_COLUMN 30

static const char *metavar(const struct opt *o)
{
	static const char *const names[] = {
		[OPT_INT] = "N",       [OPT_DOUBLE] = "X",     [OPT_DUR] = "DURATION",
		[OPT_STRING] = "TEXT", [OPT_STRINGS] = "TEXT",
	};

	return o->metavar ? o->metavar : names[o->type];
}

static void print_row(FILE *out, const char *left, const char *help)
{
	if (strlen(left) < HELP_COLUMN - 1)
		fprintf(out, "%-*s%s\n", HELP_COLUMN, left, help ? help : "");
	else
		fprintf(out, "%s\n%-*s%s\n", left, HELP_COLUMN, "", help ? help : "");
}

static void print_option(FILE *out, const struct opt *o)
{
	char left[128], letter[8] = "    ";

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	snprintf(left, sizeof(left), "  %s--%s%s%s", letter, o->name, opt_takes_value(o) ? " " : "",
		 opt_takes_value(o) ? metavar(o) : "");
	print_row(out, left, o->help);
}

static void print_options(FILE *out, const char *title, const struct opt *t)
{
	bool any = false;

	for (const struct opt *o = t; o && o->name; o++) {
		if (o->kind != OPT_OPTION)
			continue;
		if (!any)
			fprintf(out, "\n%s\n", title);
		any = true;
		print_option(out, o);
	}
}

/* Prints --help and --version; the other built-in options are for the build only. */
static void print_builtin(FILE *out)
{
	print_option(out, &opt_builtin[0]);
	print_option(out, &opt_builtin[1]);
}

static void print_usage_arguments(FILE *out, const struct opt *t)
{
	for (const struct opt *o = t; o && o->name; o++)
		if (o->kind == OPT_REQUIRED)
			fprintf(out, " %s", o->name);
		else if (o->kind == OPT_OPTIONAL)
			fprintf(out, " [%s]", o->name);
		else if (o->kind == OPT_MANY)
			fprintf(out, o->least ? " %s ..." : " [%s ...]", o->name);
}

static bool has_kind(const struct opt *t, bool option)
{
	for (; t && t->name; t++)
		if ((t->kind == OPT_OPTION) == option)
			return true;
	return false;
}

static void print_arguments(FILE *out, const struct opt *t)
{
	if (has_kind(t, false))
		fprintf(out, "\narguments:\n");
	for (const struct opt *o = t; o && o->name; o++) {
		char left[96];

		if (o->kind == OPT_OPTION)
			continue;
		snprintf(left, sizeof(left), "  %s", o->name);
		print_row(out, left, o->help);
	}
}

static void print_command_help(const struct opt_program *p, const struct opt_command *cmd, FILE *out)
{
	fprintf(out, "usage: %s %s%s", p->name, cmd->name, has_kind(cmd->opts, true) ? " [options]" : "");
	print_usage_arguments(out, cmd->opts);
	fprintf(out, "\n\n%s\n", cmd->help);
	print_arguments(out, cmd->opts);
	print_options(out, "options:", cmd->opts);
	print_options(out, "options of every command:", p->opts);
	if (!has_kind(p->opts, true))
		fprintf(out, "\noptions of every command:\n");
	print_builtin(out);
}

/* Prints the commands that begin with the group's word; "": all. */
static void print_commands(FILE *out, const struct opt_program *p, const char *group)
{
	size_t n = strlen(group);

	fprintf(out, "\ncommands:\n");
	for (const struct opt_command *c = p->commands; c->name; c++) {
		char left[64];

		if (n && (strncmp(c->name, group, n) || c->name[n] != ' '))
			continue;
		snprintf(left, sizeof(left), "  %s", c->name);
		print_row(out, left, c->help);
	}
}

static void print_where_more(FILE *out, const struct opt_program *p, const char *group)
{
	fprintf(out, "\n%s %s%sCOMMAND --help tells more about a command; see also %s(%d).\n", p->name, group,
		*group ? " " : "", p->name, p->section);
}

void opt_print_group_help(const struct opt_program *p, const char *group, FILE *out)
{
	fprintf(out, "usage: %s %s COMMAND ...\n", p->name, group);
	print_commands(out, p, group);
	print_where_more(out, p, group);
}

void opt_print_help(const struct opt_program *p, const struct opt_command *cmd, FILE *out)
{
	if (cmd) {
		print_command_help(p, cmd, out);
		return;
	}
	fprintf(out, "usage: %s [options]%s", p->name, p->commands ? " COMMAND ..." : "");
	print_usage_arguments(out, p->opts);
	fprintf(out, "\n\n%s\n", p->summary);
	if (p->commands)
		print_commands(out, p, "");
	print_arguments(out, p->opts);
	fprintf(out, "\noptions:\n");
	for (const struct opt *o = p->opts; o && o->name; o++)
		if (o->kind == OPT_OPTION)
			print_option(out, o);
	print_builtin(out);
	if (p->epilog)
		fprintf(out, "\n%s\n", p->epilog);
	if (p->commands)
		print_where_more(out, p, "");
}

/* ---- the list for the manual check ---- */

static void list_table(FILE *out, const struct opt *t)
{
	for (; t && t->name; t++) {
		if (t->kind != OPT_OPTION)
			continue;
		fprintf(out, "option --%s\n", t->name);
		if (t->letter)
			fprintf(out, "letter -%c\n", t->letter);
	}
}

void opt_print_list(const struct opt_program *p, FILE *out)
{
	list_table(out, p->opts);
	for (const struct opt_command *c = p->commands; c && c->name; c++) {
		fprintf(out, "command %s\n", c->name);
		list_table(out, c->opts);
	}
	fputs("option --help\noption --version\n", out);
}

/* ---- bash completion ---- */

static void bash_words(FILE *out, const struct opt *t)
{
	for (; t && t->name; t++)
		if (t->kind == OPT_OPTION)
			fprintf(out, " --%s", t->name);
}

/*
 * Writes NAME_run(), which runs the program as the user typed it, because it need not be in PATH, with the options
 * before the cursor. In COMP_WORDS, bash splits off each "=" as a word.
 */
static void bash_run(const struct opt_program *p, FILE *out)
{
	fputs("__", out);
	opt_put_function(out, p->name);
	fputs("_run()\n{\n\tlocal i given=()\n\tfor ((i = 1; i < COMP_CWORD; i++)); do\n\t\tcase \"${COMP_WORDS[i]}\" in\n\t\t",
	      out);
	if (opt_put_valued(p, out, "|", ""))
		fputs(") given+=(\"${COMP_WORDS[i]}\"); [[ ${COMP_WORDS[i+1]} == = ]] && ((i++)); "
		      "given+=(\"${COMP_WORDS[++i]}\");;\n",
		      out);
	fputs("\t\tesac\n\tdone\n\t\"${COMP_WORDS[0]/#\\~\\//$HOME/}\" \"${given[@]}\" \"$@\"\n}\n", out);
}

/* Writes the shell command that sets COMPREPLY for a value of o. */
static void bash_value(const struct opt_program *p, FILE *out, const struct opt *o)
{
	if (!o->complete)
		fprintf(out, "COMPREPLY=()");
	else if (!strcmp(o->complete, "file"))
		fprintf(out, "COMPREPLY=($(compgen -f -- \"$cur\"))");
	else if (!strcmp(o->complete, "dir"))
		fprintf(out, "COMPREPLY=($(compgen -d -- \"$cur\"))");
	else {
		fputs("COMPREPLY=($(compgen -W \"$(", out);
		opt_put_source(p, out, o->complete, OPT_BASH);
		fputs(")\" -- \"$cur\"))", out);
	}
}

static void bash_values(const struct opt_program *p, FILE *out, const char *cmd, const struct opt *t)
{
	for (; t && t->name; t++) {
		if (t->kind != OPT_OPTION || !opt_takes_value(t))
			continue;
		fprintf(out, "\t'%s'*:--%s", cmd, t->name);
		if (t->letter)
			fprintf(out, "|'%s'*:-%c", cmd, t->letter);
		fprintf(out, ") ");
		bash_value(p, out, t);
		fprintf(out, "; return;;\n");
	}
}

/* Writes a case for each first word of two-word commands, with their second words. */
static void bash_second_words(const struct opt_program *p, FILE *out)
{
	for (const struct opt_command *c = p->commands; c && c->name; c++) {
		size_t n = strcspn(c->name, " ");

		if (!c->name[n] || !opt_first_of_group(p, c))
			continue;
		fprintf(out, "\t\t'%.*s') words='", (int)n, c->name);
		for (const struct opt_command *d = c; d->name; d++)
			if (!strncmp(d->name, c->name, n + 1))
				fprintf(out, " %s", d->name + n + 1);
		fprintf(out, "';;\n");
	}
}

/* Writes the completion for a word: commands, second words, or the words of the positional. */
static void bash_words_here(const struct opt_program *p, FILE *out)
{
	fprintf(out, "\t\tcase \"$cmd\" in\n");
	if (p->commands) {
		fprintf(out, "\t\t'') words='");
		for (const struct opt_command *c = p->commands; c->name; c++)
			fprintf(out, " %.*s", (int)strcspn(c->name, " "), c->name);
		fprintf(out, "';;\n");
	} else {
		opt_put_positionals(p, out, "", p->opts, OPT_BASH, bash_value);
	}
	bash_second_words(p, out);
	for (const struct opt_command *c = p->commands; c && c->name; c++)
		opt_put_positionals(p, out, c->name, c->opts, OPT_BASH, bash_value);
	fprintf(out, "\t\tesac\n");
}

static void bash_options_here(const struct opt_program *p, FILE *out)
{
	fprintf(out, "\t\twords='");
	bash_words(out, p->opts);
	fprintf(out, " --help --version'\n\t\tcase \"$cmd\" in\n");
	for (const struct opt_command *c = p->commands; c && c->name; c++) {
		if (!has_kind(c->opts, true))
			continue;
		fprintf(out, "\t\t'%s') words=\"$words", c->name);
		bash_words(out, c->opts);
		fprintf(out, "\";;\n");
	}
	fprintf(out, "\t\tesac\n");
}

void opt_print_bash(const struct opt_program *p, FILE *out)
{
	fprintf(out, "# bash completion for %s, generated by %s --completion-bash\n", p->name, p->name);
	if (p->commands)
		bash_run(p, out);
	fputc('_', out);
	opt_put_function(out, p->name);
	fprintf(out, "()\n{\n\tlocal cur prev cmd='' words='' i args=()\n\tCOMPREPLY=()\n"
		     "\tcur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
		     "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		     "\t\tif [[ ${COMP_WORDS[i]} == -* ]]; then\n\t\t\tcase \"$cmd:${COMP_WORDS[i]}\" in\n\t\t\t");
	opt_put_taking(p, out, "*'", "|");
	fprintf(out, ") [[ ${COMP_WORDS[i+1]} == = ]] && ((i++)); ((i++));;\n\t\t\tesac\n\t\t\tcontinue\n\t\tfi\n"
		     "\t\tcase \"$cmd${cmd:+ }${COMP_WORDS[i]}\" in\n");
	opt_put_command_cases(p, out);
	fprintf(out, "\t\t*) args+=(\"${COMP_WORDS[i]}\");;\n\t\tesac\n\tdone\n\tcase \"$cmd:$prev\" in\n");
	for (const struct opt_command *c = p->commands; c && c->name; c++)
		bash_values(p, out, c->name, c->opts);
	bash_values(p, out, "", p->opts);
	fprintf(out, "\tesac\n\tif [[ $cur == -* ]]; then\n");
	bash_options_here(p, out);
	fprintf(out, "\telse\n");
	bash_words_here(p, out);
	fprintf(out, "\tfi\n\t[[ -n $words ]] && COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -F _");
	opt_put_function(out, p->name);
	fprintf(out, " %s\n", p->name);
}
