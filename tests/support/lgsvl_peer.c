/* SPDX-License-Identifier: Apache-2.0 */
/* lgsvl-peer [PORT]: the test server of lgsvl_server.h as a program, for `make demo BRIDGES=lgsvl`. At its end it lists what has come. */
#include "lgsvl_server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	static char text[65536];
	struct lgsvl_server *s;
	sigset_t end;
	int sig;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGINT);
	sigprocmask(SIG_BLOCK, &end, NULL);
	s = lgsvl_server_create(argc > 1 ? (unsigned)atoi(argv[1]) : 9090);
	if (!s) {
		perror("lgsvl-peer");
		return 1;
	}
	printf("lgsvl-peer: 127.0.0.1:%u\n", lgsvl_server_port(s));
	fflush(stdout);
	sigwait(&end, &sig);
	lgsvl_server_list(s, text, sizeof(text));
	printf("%s%s%s\n", text, *lgsvl_server_fault(s) ? "fault: " : "", lgsvl_server_fault(s));
	lgsvl_server_destroy(s);
	return 0;
}
