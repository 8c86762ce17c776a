/* SPDX-License-Identifier: Apache-2.0 */
/* See apollo.h. */
#include "apollo.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "printable.h"

static void say(void *arg, bool fatal, const char *sentence)
{
	char text[2000];

	(void)arg;
	(void)fatal;
	printable(text, sizeof(text), sentence, strlen(sentence));
	fprintf(stderr, "simctl: %s\n", text);
}

static int usage(const char *sentence)
{
	say(NULL, true, sentence);
	return 2;
}

int ctl_apollo_read(const struct args *a, bool apollo, struct codec_apollo *ret)
{
	static const struct apollo_set_log log = { say, NULL };
	int r;

	*ret = (struct codec_apollo){ .release = APOLLO_10 };
	if ((a->apollo || a->definitions) && !apollo)
		return usage("--apollo and --definitions are for messages in the encoding apollo, as of a .record");
	r = codec_apollo_read(a->apollo, a->definitions, &log, ret);
	if (r == -EINVAL)
		return usage("--apollo is a release of Apollo: 5.0 to 7.0, 8.0 to 10.0");
	return r < 0;
}
