/* SPDX-License-Identifier: Apache-2.0 */
/* What opt.c and opt_print.c share. Thread: main. */
#ifndef BASE_OPT_PRIVATE_H
#define BASE_OPT_PRIVATE_H

#include "opt.h"

extern const struct opt opt_builtin[];

bool opt_takes_value(const struct opt *o);
/* The commands that begin with `group`, a line each. */
void opt_print_group_help(const struct opt_program *p, const char *group, FILE *out);

#endif
