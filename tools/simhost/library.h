/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared objects with component classes.
 *
 * Each opening is an instance of its own where it has to be (fresh): for a reload a private copy is loaded, as the loader
 * would hand out the old one for the same file.
 *
 * Thread: one at a time.
 */
#ifndef SIMHOST_LIBRARY_H
#define SIMHOST_LIBRARY_H

#include <stdbool.h>

#include <sim/component.h>

struct library;

/*
 * Errors: -ENOENT no such file, -ELIBBAD the loader refuses it (its own words are in the sentence) or it is no regular file, -EPERM root
 * runs us and others could change it, -EFBIG, -ENOMEM.
 */
int library_open(const char *path, bool fresh, struct library **ret);
/* No component of it is left. NULL is fine. */
void library_close(struct library *l);
/* By the name in its DAG file. -ENOENT; -ELIBBAD it is of another version. */
int library_class(const struct library *l, const char *name, const struct sim_component_class **ret);

#endif
