/* SPDX-License-Identifier: Apache-2.0 */
/* What opt.c and opt_print.c share. Thread: main. */
#ifndef BASE_OPT_PRIVATE_H
#define BASE_OPT_PRIVATE_H

#include "opt.h"

extern const struct opt opt_builtin[];

bool opt_takes_value(const struct opt *o);

#endif
