/* SPDX-License-Identifier: Apache-2.0 */
/* The simd that is measured, with its configuration. Thread: main. */
#include "bench.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <sim/client.h>

#include "fd.h"
#include "plugins/stamp.h"

struct stamp_page *bench_stamp(const struct bench *b, const char *name, const char *channels, int sleep_us, char *ret,
			       size_t size)
{
	char file[2 * BENCH_PATH];
	struct stamp_page *page;
	int fd;

	snprintf(file, sizeof(file), "%s/%s", b->dir, name);
	snprintf(ret, size,
		 "{\"name\":\"%s\",\"plugin\":\"%s/../test/plugins/stamp.so\",\"channels\":[\"%s\"],"
		 "\"options\":{\"file\":\"%s\",\"sleep_us\":%d}}",
		 name, b->bin, channels, file, sleep_us);
	fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, sizeof(*page)) < 0)
		return NULL;
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	close(fd);
	return page == MAP_FAILED ? NULL : page;
}

static int write_config(const struct bench *b, const char *path, const char *rigs)
{
	static const char format[] =
		"{\"TimeSource\":\"unity\",\"clock\":{\"rate_hz\":100},\"dispatch\":{\"lanes\":%u},"
		"\"ss2\":{\"command\":[\"%s/sim-ss2\",\"--port\",\"%d\"%s%s%s]},\"rigs\":[%s]}\n";
	const char *vehicle = b->ss2_vehicle;
	size_t size = sizeof(format) + strlen(b->bin) + strlen(rigs) + (vehicle ? strlen(vehicle) : 0) + 64;
	char *text = malloc(size);
	int r = -ENOMEM;

	if (text) {
		snprintf(text, size, format, b->lanes, b->bin, BENCH_SS2_PORT, vehicle ? ",\"--vehicle\",\"" : "",
			 vehicle ? vehicle : "", vehicle ? "\"" : "", rigs);
		r = fd_write_file(path, text, strlen(text), 0644);
	}
	free(text);
	return r;
}

static pid_t spawn_simd(const struct bench *b, const char *config)
{
	char program[BENCH_PATH + 16], run[BENCH_PATH + 16];
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	snprintf(program, sizeof(program), "%s/simd", b->bin);
	snprintf(run, sizeof(run), "%s/run", b->dir);
	execl(program, "simd", "--config", config, "--runtime-dir", run, (char *)NULL);
	_exit(127);
}

static int start_simd(struct bench *b, const char *rigs)
{
	int64_t end = mono_now_ns() + BENCH_PATIENCE * NS_PER_S;
	char config[BENCH_PATH + 16];

	snprintf(config, sizeof(config), "%s/bench.json", b->dir);
	if (write_config(b, config, rigs) < 0)
		return -1;
	b->simd_pid = spawn_simd(b, config);
	while (bench_call(b, "io.simd.Control.GetInfo", "{}", NULL) < 0) { /* the loop waits for its readiness */
		if (mono_now_ns() > end || waitpid(b->simd_pid, NULL, WNOHANG) > 0) {
			fprintf(stderr, "bench: simd does not answer: %s\n", sim_why());
			return -1;
		}
		wait_look_again();
	}
	return 0;
}

void bench_stop_simd(struct bench *b)
{
	if (b->simd_pid > 0 && kill(b->simd_pid, SIGTERM) == 0)
		bench_wait(b->simd_pid);
	b->simd_pid = 0;
}

static int start_usual_rig(struct bench *b)
{
	char stamp[3 * BENCH_PATH], rigs[4 * BENCH_PATH];

	if (b->stamp)
		munmap(b->stamp, sizeof(*b->stamp));
	b->stamp = bench_stamp(b, "stamp", "/stamp/*", 0, stamp, sizeof(stamp));
	snprintf(
		rigs, sizeof(rigs),
		"{\"name\":\"bench\",\"bridges\":[{\"name\":\"null\",\"plugin\":\"null\",\"channels\":[\"/busy/*\"]},%s]}",
		stamp);
	return b->stamp ? start_simd(b, rigs) : -1;
}

int bench_simd(struct bench *b, const char *rigs)
{
	bench_stop_simd(b);
	b->usual = !rigs;
	return rigs ? start_simd(b, rigs) : start_usual_rig(b);
}
