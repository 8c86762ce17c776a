/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small authority of one's own, for `sim-world --make-keys`: ca.pem with ca.key, server.pem with server.key, and NAME.pem with NAME.key
 * for each client. P-256; keys of mode 0600. What is there already is never written to.
 * Thread: any.
 */
#ifndef WORLD_KEYS_H
#define WORLD_KEYS_H

#include <stdint.h>

#define KEYS_NAMES_MAX 32u /* of a server */

struct keys_options {
	const char *dir;            /* made if it is not there, for its owner alone */
	const char *const *names;   /* of the server, and addresses of it, beside localhost and 127.0.0.1 */
	const char *const *clients; /* 1 to 63 letters, digits, "." "_" "-" */
	unsigned n_names, n_clients;
	int64_t wall_ns; /* from when certificates are valid; 0: since an hour ago */
};

/*
 * The authority and the server's are made where they are not there. ret_made: how many certificates were, may be NULL. All is looked at before anything is made: -EEXIST a client's file
 * is there, or the server's and names are asked for; -EINVAL a name; -EPERM others may write to dir, or read ca.key;
 * -ENOENT one of a pair of files is missing; as the system says. With a sentence.
 */
int keys_make(const struct keys_options *o, unsigned *ret_made) __attribute__((warn_unused_result));

#endif
