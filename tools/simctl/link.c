/* SPDX-License-Identifier: Apache-2.0 */
/* link …: makes the keys of the machines that a link connects. Thread: main. */
#include <stdio.h>

#include "err.h"
#include "link_keys.h"
#include "simctl.h"

static int fail(void)
{
	fprintf(stderr, "simctl: %s\n", err_why());
	return 1;
}

static void print_made(const json_t *made)
{
	const char *dir = json_text(made, "dir");
	const json_t *hosts = json_object_get(made, "hosts"), *host;
	size_t i;

	json_array_foreach(hosts, i, host)
		printf("%s/%s: keys of machine %s, until %s UTC\n", dir, json_text(host, "host"),
		       json_text(host, "host"), json_text(host, "until"));
	printf("Copy each folder to its machine only, and name it there as \"keys\" of the link. Keep what else is in %s on this "
	       "machine: its keys can make machines that all others accept.\n",
	       dir);
}

int cmd_link_make_keys(struct ctl *c)
{
	const struct link_keys_options o = {
		.dir = c->a.dir, .hosts = c->a.hosts.v, .n_hosts = c->a.hosts.n, .days = (long)c->a.days
	};
	json_t *hosts;

	if (!o.n_hosts) {
		fputs("simctl: link make-keys: give a --host NAME, the \"host\" of its link, for each machine\n",
		      stderr);
		return 2;
	}
	if (link_keys_make(&o) < 0)
		return fail();
	hosts = json_array();
	for (unsigned i = 0; i < o.n_hosts; i++) {
		char until[32];

		if (link_keys_until(o.dir, o.hosts[i], until) < 0) {
			json_decref(hosts);
			return fail();
		}
		json_array_append_new(hosts, json_pack("{s:s, s:s}", "host", o.hosts[i], "until", until));
	}
	return ctl_show(c, json_pack("{s:s, s:o}", "dir", o.dir, "hosts", hosts), print_made);
}
