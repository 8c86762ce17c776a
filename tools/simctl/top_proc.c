/* SPDX-License-Identifier: Apache-2.0 */
/* See top_proc.h. */
#include "top_proc.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "timeutil.h"

/* The process's name, in parentheses, may hold anything, so fields are counted from the last parenthesis. */
int top_proc_parse(const char *line, struct top_proc *ret)
{
	const char *at = strrchr(line, ')');
	unsigned long long user, system;
	long long pages;
	char state;

	if (!at ||
	    sscanf(at, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %*u %*u %lld",
		   &state, &user, &system, &pages) != 4)
		return -EBADMSG;
	*ret = (struct top_proc){
		.state = state,
		.cpu_ns = (int64_t)(user + system) * (NS_PER_S / sysconf(_SC_CLK_TCK)),
		.rss = pages * sysconf(_SC_PAGESIZE),
	};
	return 0;
}

int top_proc_read(pid_t pid, struct top_proc *ret)
{
	char path[32], line[1024];
	FILE *f;
	bool read;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return -ESRCH;
	read = fgets(line, sizeof(line), f);
	fclose(f);
	return read ? top_proc_parse(line, ret) : -ESRCH;
}
