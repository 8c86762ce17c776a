/* SPDX-License-Identifier: Apache-2.0 */
/* See roudi.h. */
#include "roudi.h"

#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc.h"

#define CONFIG "/tmp/roudi-test.toml"

static int write_config(const struct ipc_mem_pool *pools, size_t n)
{
	FILE *f = fopen(CONFIG, "w");

	if (!f)
		return -1;
	fprintf(f, "[general]\nversion = 1\n\n[[segment]]\n");
	for (size_t i = 0; i < n; i++)
		fprintf(f, "\n[[segment.mempool]]\nsize = %llu\ncount = %u\n", (unsigned long long)pools[i].size,
			pools[i].count);
	return fclose(f);
}

static pid_t spawn(void)
{
	pid_t parent = getpid(), pid = fork();
	char preload[4096], both[8192];
	const char *output = getenv("ROUDI_OUTPUT"), *also = getenv("ROUDI_ALSO");
	int null;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	setsid();
	null = open(output ? output : "/dev/null", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (!getenv("ROUDI_VERBOSE") && null >= 0) {
		dup2(null, 1);
		dup2(null, 2);
	}
	if (!getenv("ROUDI_PLAIN") && ipc_roudi_preload(preload, sizeof(preload)) == 0) {
		snprintf(both, sizeof(both), "%s%s%s", preload, also ? ":" : "", also ? also : "");
		setenv("LD_PRELOAD", both, 1);
	}
	execlp("iox-roudi", "iox-roudi", "-c", CONFIG, "-m", "off", "-l", "warning", (char *)NULL);
	_exit(127);
}

int roudi_start(struct roudi *r, const struct ipc_mem_pool *pools, size_t n)
{
	int st;

	if (write_config(pools, n) < 0) {
		fprintf(stderr, "roudi: no configuration\n");
		return -1;
	}
	r->pid = spawn();
	while (ipc_probe(NULL, 1000) < 0) {
		if (waitpid(r->pid, &st, WNOHANG) == r->pid) {
			/* iceoryx refuses while the kernel is still ending the old process */
			r->pid = spawn();
		}
		wait_look_again();
	}
	return 0;
}

void roudi_kill(struct roudi *r)
{
	if (r->pid <= 0)
		return;
	kill(r->pid, SIGKILL);
	waitpid(r->pid, NULL, 0);
	r->pid = 0;
}

int roudi_restart(struct roudi *r, const struct ipc_mem_pool *pools, size_t n)
{
	roudi_kill(r);
	unlink("/tmp/roudi");
	unlink("/tmp/roudi.lock");
	unlink("/tmp/iox-unique-roudi.lock");
	if (system("rm -f /dev/shm/iceoryx_mgmt \"/dev/shm/$(id -gn)\"") != 0)
		return -1;
	return roudi_start(r, pools, n);
}

void roudi_stop(const struct roudi *r)
{
	kill(r->pid, SIGSTOP);
	AWAIT(test_stands(r->pid));
}

void roudi_continue(const struct roudi *r)
{
	kill(r->pid, SIGCONT);
}
