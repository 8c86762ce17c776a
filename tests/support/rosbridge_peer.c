/* SPDX-License-Identifier: Apache-2.0 */
/* rosbridge-peer [PORT]: the test server of rosbridge_server.h, a relay, as a program, for `make demo BRIDGES=rosbridge`. At its end it lists what has come. */
#include "rosbridge_server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	static char text[65536];
	const struct rosbridge_server_how how = { .relay = true };
	struct rosbridge_server *s;
	sigset_t end;
	int sig;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGINT);
	sigprocmask(SIG_BLOCK, &end, NULL);
	s = rosbridge_server_create(argc > 1 ? (unsigned)atoi(argv[1]) : 9090, &how);
	if (!s) {
		perror("rosbridge-peer");
		return 1;
	}
	printf("rosbridge-peer: ws://127.0.0.1:%u\n", rosbridge_server_port(s));
	fflush(stdout);
	sigwait(&end, &sig);
	rosbridge_server_list(s, text, sizeof(text));
	printf("%s%s%s\n", text, *rosbridge_server_fault(s) ? "fault: " : "", rosbridge_server_fault(s));
	rosbridge_server_destroy(s);
	return 0;
}
