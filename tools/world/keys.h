/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small certificate authority for `sim-world --make-keys`: ca.pem with ca.key, server.pem with server.key, and
 * NAME.pem with NAME.key for each client. P-256; key files have mode 0600. Existing files are never overwritten.
 * Thread: any.
 */
#ifndef WORLD_KEYS_H
#define WORLD_KEYS_H

#include <stdint.h>

#define KEYS_NAMES_MAX 32u /* names of the server */

struct keys_options {
	const char *dir;            /* created if missing, mode 0700 */
	const char *const *names;   /* host names and addresses of the server, in addition to localhost and 127.0.0.1 */
	const char *const *clients; /* 1 to 63 letters, digits, "." "_" "-" */
	unsigned n_names, n_clients;
	int64_t wall_ns; /* start of validity; 0: an hour ago */
};

/*
 * Creates the missing ones of the authority's and the server's files, and the clients'. ret_made: number of
 * certificates created, may be NULL. Everything is checked first: -EEXIST a client's file exists, or the server's
 * although names are given; -EINVAL a malformed name; -EPERM others may write to dir, or read ca.key; -ENOENT one file
 * of a pair is missing; or the system's error. With the reason in err_why().
 */
int keys_make(const struct keys_options *o, unsigned *ret_made) __attribute__((warn_unused_result));

#endif
