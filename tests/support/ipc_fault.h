/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a process crash or stop at one instruction of a publish: see ipc_fault.c. Only under tests/support/ns.sh. */
#ifndef TEST_IPC_FAULT_H
#define TEST_IPC_FAULT_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Call it before this process attaches. where: "push:N", "notify:N", "fatal:N", "loan:N", "stop-push:N" or
 * "stop-notify:N".
 */
static inline bool ipc_fault_at(const char *where)
{
	char path[4096] = "";
	FILE *f;
	bool ok;

	if (readlink("/proc/self/exe", path, sizeof(path) - 64) < 0 || !strrchr(path, '/'))
		return false;
	snprintf(strrchr(path, '/'), 64, "/lib/ipc_fault.so");
	ok = setenv("SIM_IPC_MODULE", path, 1) == 0;
	snprintf(path, sizeof(path), "/tmp/ipc_fault.%d", (int)getpid());
	f = fopen(path, "w");
	return f && fputs(where, f) >= 0 && fclose(f) == 0 && ok;
}

#endif
