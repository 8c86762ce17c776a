/* SPDX-License-Identifier: Apache-2.0 */
/* What opt.c, opt_print.c and opt_shell.c share. Thread: main. */
#ifndef BASE_OPT_PRIVATE_H
#define BASE_OPT_PRIVATE_H

#include "opt.h"

extern const struct opt opt_builtin[];

bool opt_takes_value(const struct opt *o);
/* The first of the commands that share a first word. */
bool opt_first_of_group(const struct opt_program *p, const struct opt_command *c);
enum opt_sh { OPT_BASH, OPT_ZSH, OPT_FISH };
/* Shell: what prints the words that complete; a command of the program's own runs by its function NAME_run. */
void opt_put_source(const struct opt_program *p, FILE *out, const char *complete, enum opt_sh sh);
/* Shell: patterns of the program's own options with a value, each followed by `end`. False: it has none. */
bool opt_put_valued(const struct opt_program *p, FILE *out, const char *between, const char *end);
/* Shell: patterns of "COMMAND:OPTION" for each option that takes a value, each `before` it and ending with a quote. */
void opt_put_taking(const struct opt_program *p, FILE *out, const char *before, const char *between);
/* bash, zsh: what completes the positional arguments of cmd, by the number of those that are there already. */
void opt_put_positionals(const struct opt_program *p, FILE *out, const char *cmd, const struct opt *t, enum opt_sh sh,
			 void (*value)(const struct opt_program *p, FILE *out, const struct opt *o));
/* A program's name as a shell takes it for a function's. */
void opt_put_function(FILE *out, const char *name);
/* Shell: a case for each command and first word, which sets cmd. */
void opt_put_command_cases(const struct opt_program *p, FILE *out);
/* The commands that begin with `group`, a line each. */
void opt_print_group_help(const struct opt_program *p, const char *group, FILE *out);

#endif
