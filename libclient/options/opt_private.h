/* SPDX-License-Identifier: Apache-2.0 */
/* What opt.c, opt_print.c and opt_shell.c share. Thread: main. */
#ifndef BASE_OPT_PRIVATE_H
#define BASE_OPT_PRIVATE_H

#include "opt.h"

extern const struct opt opt_builtin[];

bool opt_takes_value(const struct opt *o);
/* Whether c is the first of the commands that share its first word. */
bool opt_first_of_group(const struct opt_program *p, const struct opt_command *c);
enum opt_sh { OPT_BASH, OPT_ZSH, OPT_FISH };
/*
 * Shell: writes the command that prints the words of a completion. A command that begins with the program's own name
 * runs through its function NAME_run.
 */
void opt_put_source(const struct opt_program *p, FILE *out, const char *complete, enum opt_sh sh);
/*
 * Shell: writes patterns of the program's options that take a value, each followed by `end`. Returns false if it has
 * none.
 */
bool opt_put_valued(const struct opt_program *p, FILE *out, const char *between, const char *end);
/*
 * Shell: writes a pattern "COMMAND:OPTION" for each option that takes a value, each after `before` and with a closing
 * quote.
 */
void opt_put_taking(const struct opt_program *p, FILE *out, const char *before, const char *between);
/*
 * bash, zsh: writes the completion of the positional arguments of cmd, selected by the number of positionals before the
 * cursor.
 */
void opt_put_positionals(const struct opt_program *p, FILE *out, const char *cmd, const struct opt *t, enum opt_sh sh,
			 void (*value)(const struct opt_program *p, FILE *out, const struct opt *o));
/* Writes the program's name as part of a shell function's name. */
void opt_put_function(FILE *out, const char *name);
/* Shell: writes a case for each command and first word, which sets cmd. */
void opt_put_command_cases(const struct opt_program *p, FILE *out);
/* Prints the commands that begin with `group`, one per line. */
void opt_print_group_help(const struct opt_program *p, const char *group, FILE *out);

#endif
