/* SPDX-License-Identifier: Apache-2.0 */
/* See node.h. */
#include "node.h"

#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>

const char *const node_settings[NODE_SETTINGS] = { "nothing", "ROS_LOCALHOST_ONLY=1",
						   "ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET",
						   "ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST",
						   "ROS_AUTOMATIC_DISCOVERY_RANGE=OFF" };

#define INDEX "<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>"
#define FAR   "<Peer address=\"10.77.0.1\"/>"

/* What rmw_cyclonedds puts before CYCLONEDDS_URI. Of SUBNET and LOCALHOST ROS_STATIC_PEERS becomes peers: the second text. */
static const struct {
	const char *here, *with_peer;
} cyclone[NODE_SETTINGS] = {
	{ "", "<Discovery>" INDEX "<Peers>" FAR "</Peers></Discovery>" },
	{ "<General><Interfaces><NetworkInterface address=\"127.0.0.1\"/></Interfaces></General>",
	  "<General><Interfaces><NetworkInterface address=\"127.0.0.1\"/></Interfaces></General>" },
	{ "<Discovery>" INDEX "</Discovery>", "<Discovery>" INDEX "<Peers>" FAR "</Peers></Discovery>" },
	{ "<General><AllowMulticast>false</AllowMulticast></General><Discovery>" INDEX
	  "<Peers><Peer address=\"localhost\"/></Peers></Discovery>",
	  "<General><AllowMulticast>false</AllowMulticast></General><Discovery>" INDEX
	  "<Peers><Peer address=\"localhost\"/>" FAR "</Peers></Discovery>" },
	{ "<General><AllowMulticast>false</AllowMulticast></General><Discovery><ParticipantIndex>none</ParticipantIndex>"
	  "<Tag>ros_discovery_off_1</Tag></Discovery>",
	  "<General><AllowMulticast>false</AllowMulticast></General><Discovery><ParticipantIndex>none</ParticipantIndex>"
	  "<Tag>ros_discovery_off_1</Tag></Discovery>" },
};

/* Words of fastdds_node.h. */
static const char *const fastdds[NODE_SETTINGS] = { "default", "localhost-only", "default", "localhost", "off" };

bool node_can_be(bool fast)
{
	return access(fast ? PEER : NODE, X_OK) == 0;
}

/* In the child. */
static _Noreturn void be(bool fast, unsigned setting, const char *command, pid_t net)
{
	char uri[1024], path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)net);
	if (net && ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0 || setns(fd, CLONE_NEWNET) < 0))
		_exit(126);
	snprintf(uri, sizeof(uri), "<CycloneDDS><Domain Id=\"any\">%s</Domain></CycloneDDS>",
		 net ? cyclone[setting].with_peer : cyclone[setting].here);
	setenv("CYCLONEDDS_URI", uri, 1);
	if (fast)
		execl(PEER, PEER, "16", fastdds[setting], net ? "10.77.0.1" : (char *)NULL, (char *)NULL);
	else
		execl(NODE, NODE, command, (char *)NULL);
	_exit(127);
}

void node_start(struct node *n, bool fast, unsigned setting, unsigned command, pid_t net)
{
	int in[2], out[2];
	char text[16];

	*n = (struct node){ .name = node_settings[setting], .said = "\n", .n = 1 };
	snprintf(text, sizeof(text), "%u", command);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	n->pid = fork();
	if (!n->pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		be(fast, setting, text, net);
	}
	close(in[0]);
	close(out[1]);
	n->in = in[1];
	n->out = out[0];
	if (fast)
		assert_true(dprintf(n->in, "clock rt/clock\nimage rt/camera\ngear rt/control/command/gear_cmd %u\n",
				    command) > 0);
}

static void take(struct node *n)
{
	char line[512];
	ssize_t r = read(n->out, line, sizeof(line));

	if (r <= 0)
		fail_msg("a node with %s has ended; it said:%s", n->name, n->said);
	if (n->n + (size_t)r >= sizeof(n->said)) { /* clocks, again and again */
		memmove(n->said, n->said + n->n - 512, 512);
		n->n = 512;
	}
	memcpy(n->said + n->n, line, (size_t)r);
	n->n += (size_t)r;
	n->said[n->n] = '\0';
}

void node_wait(struct node *n)
{
	bool clock = false, image = false;

	while (!clock || !image) {
		take(n);
		clock |= strstr(n->said, "\nclock") != NULL;
		image |= strstr(n->said, "\nimage") != NULL;
	}
}

bool node_has(struct node *n)
{
	struct pollfd p = { .fd = n->out, .events = POLLIN };

	while (poll(&p, 1, 0) > 0)
		take(n);
	return strstr(n->said, "\nclock") || strstr(n->said, "\nimage");
}

void node_forget(struct node *n)
{
	(void)node_has(n);
	n->n = 1;
	n->said[1] = '\0';
}

void node_end(struct node *n)
{
	int status = -1;

	close(n->in);
	assert_int_equal(waitpid(n->pid, &status, 0), n->pid);
	assert_int_equal(status, 0);
	close(n->out);
}
