/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of the machines that a link joins, for `simctl link make-keys`. They are written into one directory: two
 * authorities, one for identities and one for permissions; the signed rules for all hosts (governance.p7s); and for
 * each host a directory of its name with exactly the files that its link needs. Existing files are never overwritten.
 * The files follow DDS Security 1.1: P-256, S/MIME. Thread: any.
 */
#ifndef KEYS_LINK_KEYS_H
#define KEYS_LINK_KEYS_H

#include <stdint.h>

#define LINK_KEYS_DAYS     1825L /* validity of a host's certificate, by default */
#define LINK_KEYS_DAYS_MAX 7300L /* validity of the authorities; a host's may not be longer */
#define LINK_KEYS_HOST_MAX 39u   /* equals SIM_HOST_NAME_MAX */

struct link_keys_options {
	const char *dir;          /* created with mode 0700 if it does not exist */
	const char *const *hosts; /* names of 1 to 39 letters, digits, "_", "." or "-" */
	unsigned n_hosts;
	long days;       /* 0: LINK_KEYS_DAYS */
	int64_t wall_ns; /* start of validity; 0: an hour ago */
};

/*
 * Creates the keys of the hosts, and the authorities if there are none yet. Checks all options and files before it
 * writes. -EEXIST: a host has keys already; -EINVAL: a name, or days; -ENOENT: a part of an authority is missing;
 * -EPERM: other users may write to dir, or read the key of an authority; others as the system returns them. Sets
 * err_why().
 */
int link_keys_make(const struct link_keys_options *o) __attribute__((warn_unused_result));
/* Writes the end of validity of a host's certificate, UTC, as "2031-11-26 19:00". The host's keys must exist. */
int link_keys_until(const char *dir, const char *host, char ret[32]) __attribute__((warn_unused_result));

#endif
