/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared objects with component classes.
 *
 * Thread: one at a time.
 */
#ifndef SIMHOST_LIBRARY_H
#define SIMHOST_LIBRARY_H

#include <stdbool.h>

#include <sim/component.h>

struct library;

/*
 * Loads a library. fresh: loads a private copy of the file, for a reload: dlopen() would return the library already
 * loaded for the same file.
 * Errors: -ENOENT no such file, -ELIBBAD dlopen() refuses it (err_why() has dlerror()) or it is not a regular file,
 * -EPERM simhost runs as root and other users could change it, -EFBIG, -ENOMEM.
 */
int library_open(const char *path, bool fresh, struct library **ret);
/* All of its components must have been destroyed. NULL is fine. */
void library_close(struct library *l);
/* Finds a class by the name used in DAG files. -ENOENT: no such class; -ELIBBAD: compiled for another ABI version. */
int library_class(const struct library *l, const char *name, const struct sim_component_class **ret);

#endif
