/* SPDX-License-Identifier: Apache-2.0 */
/* Thread: the handler runs in the one that crashed, and calls nothing that may not be called there. */
#include "crash.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sim/component.h>

#include "log.h"

#define STACK_SIZE (64 * 1024)

static const char *process_name = "simhost", *prefix = "";

static const struct {
	int number;
	const char *text;
} signals[] = {
	{ SIGSEGV, "SIGSEGV, it used an invalid address" }, { SIGBUS, "SIGBUS, it used memory that is not there" },
	{ SIGFPE, "SIGFPE, an arithmetic error" },          { SIGILL, "SIGILL, an invalid instruction" },
	{ SIGABRT, "SIGABRT, it called abort()" },
};

/* One line, as the log has them: what reads it takes it for an error. */
struct line {
	char text[300];
	size_t n;
};

static void add(struct line *l, const char *s)
{
	size_t len = strlen(s), room = sizeof(l->text) - l->n;

	len = len < room ? len : room;
	memcpy(l->text + l->n, s, len);
	l->n += len;
}

static void crashed(int number)
{
	const char *component = sim_component_current();
	struct line l = { .n = 0 };

	add(&l, prefix);
	add(&l, "simhost: ");
	add(&l, component ? "component " : process_name);
	add(&l, component ? component : " crashed outside any component: ");
	add(&l, component ? " crashed: " : "");
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (signals[i].number == number)
			add(&l, signals[i].text);
	add(&l, "\n");
	(void)!write(STDERR_FILENO, l.text, l.n);
	raise(number); /* its action is the default again */
}

void crash_watch(const char *process)
{
	struct sigaction sa = { .sa_handler = crashed, .sa_flags = (int)SA_RESETHAND | SA_ONSTACK | SA_NODEFER };
	stack_t stack = { .ss_size = STACK_SIZE };

	process_name = process;
	prefix = log_to_journal() ? "<3>" : "";
	stack.ss_sp = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp != MAP_FAILED)
		sigaltstack(&stack, NULL);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i].number, &sa, NULL);
}
