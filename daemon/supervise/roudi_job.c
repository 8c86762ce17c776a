/* SPDX-License-Identifier: Apache-2.0 */
/* See roudi_job.h. Thread: simd-help. */
#include "roudi_job.h"

#include "fd.h"
#include "ipc.h"
#include "list.h"
#include "log.h"
#include "proc_cpu.h"
#include "admission.h"
#include "timeutil.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

LOG_TOPIC("roudi");

#define FRESH_ATTACH_MS 6000
#define READY_POLL_MS   50
#define READY_TIMES     12 /* times roudi.ready_ms, for a RouDi that is at work */

/* Whether it runs or is ready to run. It first fills its memory, which takes long if other programs use the CPUs. */
static bool is_at_work(const struct roudi_job *j, struct proc_cpu *before)
{
	struct proc_cpu now = proc_cpu_now(j->pid);
	bool works = now.ready || now.ran_ns - before->ran_ns > j->timeout_ms * NS_PER_MS / 20;

	*before = now;
	return works;
}

static void await_answer(struct roudi_job *j)
{
	const int64_t begin = mono_now_ns(), dur_ns = j->timeout_ms * NS_PER_MS;
	struct proc_cpu before = proc_cpu_now(j->pid);
	int64_t until = begin + dur_ns;

	do {
		j->result = ipc_probe(j->plane, READY_POLL_MS);
		if (j->result < 0 && j->fresh && mono_now_ns() >= until && until < begin + READY_TIMES * dur_ns &&
		    is_at_work(j, &before)) {
			log_warn(
				"iox-roudi (pid %d) is not ready yet, %lld s after its start, but at work: waiting for it",
				(int)j->pid, (long long)((until - begin) / NS_PER_S));
			until += dur_ns;
		}
	} while (j->result < 0 && !atomic_load(&j->cancel) && mono_now_ns() < until &&
		 fd_wait(-1, 0, 5 * NS_PER_MS) >= 0);
}

static void probe(struct roudi_job *j)
{
	int64_t begin = mono_now_ns();
	struct proc_cpu now, before = proc_cpu_now(j->pid);

	j->result = ipc_probe(j->plane, j->timeout_ms);
	now = proc_cpu_now(j->pid);
	j->starved = j->result == -ETIMEDOUT && proc_cpu_starved(&now, &before, mono_now_ns() - begin);
}

static void attach(struct roudi_job *j)
{
	int64_t until = mono_now_ns() + j->timeout_ms * NS_PER_MS;
	struct ipc_options o = {
		.backend = "iox", .app = j->app, .plane = j->plane, .app_by_simd = true, .prompt = true
	};
	struct ipc_pool have[POOLS_MAX];

	await_answer(j);
	/* on a loaded machine a new RouDi opens its socket long before it has zeroed its memory and answers */
	if (j->fresh)
		o.timeout_ms = FRESH_ATTACH_MS;
	if (j->result == 0)
		j->result = ipc_attach(&o, &j->ipc);
	/* a RouDi that simd did not start reports its pools once a second; simd's own has the configured ones */
	while (j->foreign && j->result == 0 && ipc_pools(j->ipc, have, POOLS_MAX) == -EAGAIN && mono_now_ns() < until)
		(void)fd_wait(-1, 0, 20 * NS_PER_MS);
}

void roudi_job_run(struct helper_job *hj)
{
	struct roudi_job *j = container_of(hj, struct roudi_job, job);

	if (j->attach)
		attach(j);
	else
		probe(j);
	if (j->result < 0)
		snprintf(j->why, sizeof(j->why), "%s", *ipc_why() ? ipc_why() : err_text(j->result));
}
