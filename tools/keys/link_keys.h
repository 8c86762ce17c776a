/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of the machines that a link joins, for `simctl link make-keys`: in dir two authorities, of identities and of permissions, the
 * signed rules that hold for all (governance.p7s), and for each host a directory of its name with all that its link needs and no more.
 * What is there already is never written to. The files are those of DDS Security 1.1: P-256, S/MIME. Thread: any.
 */
#ifndef KEYS_LINK_KEYS_H
#define KEYS_LINK_KEYS_H

#include <stdint.h>

#define LINK_KEYS_DAYS     1825L /* of a host, unless said otherwise */
#define LINK_KEYS_DAYS_MAX 7300L /* of the authorities, which hosts do not outlive */
#define LINK_KEYS_HOST_MAX 39u   /* as SIM_HOST_NAME_MAX */

struct link_keys_options {
	const char *dir;          /* made if it is not there, for its owner alone */
	const char *const *hosts; /* 1 to 39 letters, digits, "_", "." or "-" */
	unsigned n_hosts;
	long days;       /* 0: LINK_KEYS_DAYS */
	int64_t wall_ns; /* from when it is valid; 0: since an hour ago */
};

/*
 * All is looked at before anything is made. -EEXIST: a host is there; -EINVAL: a name, or days; -ENOENT: a part of an authority is
 * missing; -EPERM: others may write to dir, or read a key of an authority; as the system says. With a sentence.
 */
int link_keys_make(const struct link_keys_options *o) __attribute__((warn_unused_result));
/* Until when a host's certificate is valid, UTC, as "2031-11-26 19:00"; of a host that was made. */
int link_keys_until(const char *dir, const char *host, char ret[32]) __attribute__((warn_unused_result));

#endif
