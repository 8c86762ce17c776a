/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose function the thread is in: the name of a component or node while the library calls what its author wrote, so that a handler
 * of crashes can name it. Callbacks may nest; who enters gives back what was there before.
 *
 *     before = whose_enter(n->name);
 *     fn(user);
 *     whose_leave(before);
 *
 * Thread: each has its own; whose() may be called in a signal handler.
 */
#ifndef BASE_WHOSE_H
#define BASE_WHOSE_H

const char *whose(void); /* NULL: nobody's; borrows until that function returns */
/* name: kept until whose_leave(); NULL: nobody's. Returns what is to be given to whose_leave(). */
const char *whose_enter(const char *name);
void whose_leave(const char *before);

#endif
