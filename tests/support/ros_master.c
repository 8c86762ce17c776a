/* SPDX-License-Identifier: Apache-2.0 */
/* See ros_master.h. */
#include "ros_master.h"

#include "test.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wait.h"

static unsigned port;
static pid_t pid;

int ros_master_group(void **state)
{
	static const char *const needed[] = { "/usr/bin/rosmaster",
					      "/usr/bin/rostopic",
					      "/usr/bin/rosnode",
					      "/usr/bin/rosparam",
					      "/usr/bin/rosbag",
					      "/usr/bin/rosservice",
					      "/usr/lib/python3/dist-packages/std_srvs" };

	(void)state;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (access(needed[i], X_OK) == 0)
			continue;
		print_message("no %s here: run tools/dev/deps.sh check\n", needed[i]);
		if (test_full())
			return -1;
		exit(77);
	}
	return 0;
}

/* A socket of loopback; bound: to a port, 0 is one that is free. Returns the descriptor, or -1. */
static int meet(bool listens)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

	assert_true(fd >= 0);
	r = listens ? bind(fd, (struct sockaddr *)(void *)&a, n) : connect(fd, (struct sockaddr *)(void *)&a, n);
	if (r == 0 && listens && getsockname(fd, (struct sockaddr *)(void *)&a, &n) == 0)
		port = ntohs(a.sin_port);
	close(fd);
	return r;
}

void ros_master_again(void)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", port);
	pid = fork();
	if (pid == 0) {
		if (!freopen("/tmp/out-rosmaster.log", "a", stdout) || dup2(1, 2) < 0)
			_exit(126);
		execl("/usr/bin/rosmaster", "rosmaster", "--core", "-p", number, (char *)NULL);
		_exit(127);
	}
	AWAIT(meet(false) == 0);
}

const char *ros_master_start(void)
{
	static char uri[64];

	port = 0;
	assert_int_equal(meet(true), 0);
	snprintf(uri, sizeof(uri), "http://127.0.0.1:%u", port);
	setenv("ROS_MASTER_URI", uri, 1);
	setenv("ROS_IP", "127.0.0.1", 1);
	setenv("ROS_HOME", "/tmp/out-ros", 1);
	setenv("PYTHONUNBUFFERED", "1", 1); /* else a line a second is seen when there are 8 KiB of them */
	ros_master_again();
	return uri;
}

void ros_master_kill(void)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	pid = 0;
}

const char *ros_output(const char *command, int *ret_code)
{
	static char text[65536];
	char line[1024];
	FILE *f;
	size_t n;
	int status;

	snprintf(line, sizeof(line), "%s 2>&1", command);
	f = popen(line, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	status = pclose(f);
	if (ret_code)
		*ret_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	return text;
}

void ros_prints(const char *command, const char *part)
{
	const char *text = ros_output(command, NULL);

	if (!strstr(text, part))
		fail_msg("%s: no \"%s\" in: %s", command, part, text);
}

FILE *ros_begin(const char *command)
{
	FILE *f = popen(command, "r");

	assert_non_null(f);
	return f;
}

void ros_next_line(FILE *f, const char *expected)
{
	char line[1024] = "";

	assert_non_null(fgets(line, sizeof(line), f));
	line[strcspn(line, "\n")] = '\0';
	assert_string_equal(line, expected);
}

void ros_until_line(FILE *f, const char *part)
{
	char line[1024] = "";

	while (!strstr(line, part))
		if (!fgets(line, sizeof(line), f))
			fail_msg("it ended without \"%s\"", part);
}
