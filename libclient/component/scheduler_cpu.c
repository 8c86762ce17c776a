/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of CPUs, and placing threads on them. Thread: any. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "err.h"
#include "number.h"
#include "scheduler_private.h"

/* ---- text ---- */

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

/* Blanks around it are ignored, as in Cyber: "0-7, 16-23". */
static int cpu_number(const char **s, uint64_t *ret)
{
	*s = skip_blanks(*s);
	if (number_take_u64(s, NUMBER_DEC, INT_MAX, ret) < 0)
		return -EINVAL;
	*s = skip_blanks(*s);
	return 0;
}

/* One number, or first-last. Returns 1 if some CPUs are beyond CPU_SETSIZE. */
static int cpus_range(const char **s, cpu_set_t *set)
{
	uint64_t first, last;

	if (cpu_number(s, &first) < 0)
		return -EINVAL;
	last = first;
	if (**s == '-') {
		++*s;
		if (cpu_number(s, &last) < 0 || last < first)
			return -EINVAL;
	}
	for (; first <= last && first < CPU_SETSIZE; first++)
		CPU_SET(first, set);
	return last >= CPU_SETSIZE;
}

/* A trailing comma is allowed, as in Cyber. */
int sched_cpus_parse(const char *s, struct sched_cpus *ret)
{
	struct sched_cpus c = { .n = 0 };
	const char *at = s;
	int beyond = 0, r;

	CPU_ZERO(&c.set);
	do {
		r = cpus_range(&at, &c.set);
		if (r < 0 || (*at && *at != ','))
			return err_set(-EINVAL, "\"%.100s\" is no list of CPUs, such as \"0-3,8\"", s);
		beyond |= r;
	} while (*at++ == ',' && *at);
	c.n = (uint32_t)CPU_COUNT(&c.set);
	*ret = c;
	return beyond;
}

static int cpu_after(const cpu_set_t *set, int cpu, bool member)
{
	while (++cpu < CPU_SETSIZE)
		if (!!CPU_ISSET((size_t)cpu, set) == member)
			break;
	return cpu;
}

/* In the form that sched_cpus_parse() takes; cut at size. */
static void cpus_text(const cpu_set_t *set, char *ret, size_t size)
{
	size_t n = 0;

	*ret = '\0';
	for (int first = cpu_after(set, -1, true); first < CPU_SETSIZE && n < size;) {
		int last = cpu_after(set, first, false) - 1;

		n += (size_t)snprintf(ret + n, size - n, last > first ? "%s%d-%d" : "%s%d", n ? "," : "", first, last);
		first = cpu_after(set, last, true);
	}
}

/* ---- this machine ---- */

static int cpus_allowed(cpu_set_t *ret)
{
	CPU_ZERO(ret);
	return sched_getaffinity(0, sizeof(*ret), ret) < 0 ? err_sys(-errno, "which CPUs there are") : 0;
}

uint32_t sched_cpu_count(void)
{
	cpu_set_t set;

	return cpus_allowed(&set) < 0 || CPU_COUNT(&set) < 1 ? 1 : (uint32_t)CPU_COUNT(&set);
}

int sched_cpus_fit(struct sched_cpus *c, const char *what, struct sched_said *notes)
{
	cpu_set_t allowed, beyond, left;
	char missing[64], has[64];
	int r = c->n ? cpus_allowed(&allowed) : 0;

	if (r < 0 || !c->n)
		return r;
	CPU_AND(&left, &c->set, &allowed);
	CPU_XOR(&beyond, &left, &c->set);
	if (!CPU_COUNT(&beyond))
		return 0;
	c->set = left;
	c->n = (uint32_t)CPU_COUNT(&left);
	cpus_text(&beyond, missing, sizeof(missing));
	cpus_text(c->n ? &left : &allowed, has, sizeof(has));
	sched_note(notes, "%s: there is no CPU %s for this process: %s %s", what, missing,
		   c->n ? "what is left is" : "none is left, so all are taken:", has);
	return 0;
}

/* ---- threads ---- */

static int policy_set(const struct sched_place *p)
{
	struct sched_param param = { .sched_priority = p->prio };

	if (p->policy == SCHED_OTHER)
		return p->prio && setpriority(PRIO_PROCESS, 0, p->prio) < 0 ? -errno : 0;
	return -pthread_setschedparam(pthread_self(), p->policy, &param);
}

int sched_place_self(const struct sched_place *p)
{
	int r = p->cpus.n ? -pthread_setaffinity_np(pthread_self(), sizeof(p->cpus.set), &p->cpus.set) : 0;
	int res = policy_set(p);

	return r < 0 ? r : res;
}

void sched_place_note(struct sched_said *to, const char *who, const struct sched_place *p, int r)
{
	if (r == -EPERM && p->policy != SCHED_OTHER)
		sched_note(
			to,
			"%s: real-time scheduling is not permitted, so it runs as others do; give the process CAP_SYS_NICE, or a "
			"limit RTPRIO of %d",
			who, p->prio);
	else if (r == -EPERM || r == -EACCES)
		sched_note(to, "%s: nice %d is not permitted; give the process CAP_SYS_NICE, or a limit NICE of %d",
			   who, p->prio, 20 - p->prio);
	else if (r < 0)
		sched_note(to, "%s: where it should run cannot be had: %s", who, err_text(r));
}
