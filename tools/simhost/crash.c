/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread: the handler runs in the thread that crashed and calls only async-signal-safe functions, with two exceptions:
 * backtrace(), which crash_begin() has already called once, and dladdr(). They are called only after the line with the
 * signal has been written.
 */
#include "crash.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sim/component.h>

#include "dag.h"
#include "log.h"

#define STACK_SIZE (64 * 1024)
#define FRAMES     64

struct code {
	_Atomic(const char *) name;
	/* base address of the component's library; NULL: no library, also while name changes */
	_Atomic(const void *) library;
};

static const char *process_name = "simhost", *prefix = "";
static struct code code[DAG_COMPONENTS_MAX];
static _Thread_local const char *works_for;
static _Atomic pid_t owner; /* the process that may not call exit(); 0: exit() is allowed */

static const struct {
	int number;
	const char *text;
} signals[] = {
	{ SIGSEGV, "SIGSEGV, it used an invalid address" }, { SIGBUS, "SIGBUS, it used memory that is not there" },
	{ SIGFPE, "SIGFPE, an arithmetic error" },          { SIGILL, "SIGILL, an invalid instruction" },
	{ SIGABRT, "SIGABRT, it called abort()" },          { SIGTRAP, "SIGTRAP, a breakpoint" },
	{ SIGSYS, "SIGSYS, a forbidden system call" },
};

/* One line in the format of the log, so that simd's reader of the output takes it for an error. */
struct line {
	char text[400];
	size_t n;
};

static void add(struct line *l, const char *s)
{
	size_t len = strlen(s), room = sizeof(l->text) - 1 - l->n;

	len = len < room ? len : room;
	memcpy(l->text + l->n, s, len);
	l->n += len;
}

static void begin_line(struct line *l)
{
	l->n = 0;
	add(l, prefix);
	add(l, "simhost: ");
}

static void put_line(struct line *l)
{
	l->text[l->n++] = '\n';
	(void)!write(STDERR_FILENO, l->text, l->n);
}

static const char *culprit(void)
{
	const char *component = sim_component_current();

	return component ? component : works_for;
}

/* ---- a thread of a component's own: by whose code it is in ---- */

static const void *library_of(const void *at)
{
	Dl_info info;

	return dladdr(at, &info) ? info.dli_fbase : NULL;
}

/*
 * Appends "component a" or "component a or b": components of one library share its code. Returns false if `at` is in no
 * component's library.
 */
static bool add_owners(struct line *l, const void *at)
{
	const void *library = library_of(at);
	bool any = false;

	for (unsigned i = 0; library && i < DAG_COMPONENTS_MAX; i++) {
		if (atomic_load(&code[i].library) != library)
			continue;
		add(l, any ? " or " : "component ");
		add(l, atomic_load(&code[i].name));
		any = true;
	}
	return any;
}

static void name_by_code(const char *what)
{
	void *frame[FRAMES];
	int n = backtrace(frame, FRAMES);
	struct line l;

	begin_line(&l);
	for (int i = 0; i < n; i++)
		if (add_owners(&l, frame[i])) {
			add(&l, what);
			put_line(&l);
			return;
		}
}

/* ---- signals ---- */

static const char *text_of(int number)
{
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (signals[i].number == number)
			return signals[i].text;
	return "an unexpected signal";
}

static void crashed(int number)
{
	const char *component = culprit();
	struct line l;

	begin_line(&l);
	add(&l, component ? "component " : process_name);
	add(&l, component ? component : " crashed outside any component");
	add(&l, component ? " crashed: " : ": ");
	add(&l, text_of(number));
	put_line(&l);
	if (!component)
		name_by_code(" crashed, in a thread that is not simhost's");
	raise(number); /* SA_RESETHAND has restored the default action */
}

static void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = crashed, .sa_flags = (int)SA_RESETHAND | SA_ONSTACK | SA_NODEFER };
	stack_t stack = { .ss_size = STACK_SIZE };

	stack.ss_sp = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp != MAP_FAILED)
		sigaltstack(&stack, NULL);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i].number, &sa, NULL);
	(void)signal(SIGPIPE, SIG_IGN); /* a write to a closed pipe fails with EPIPE instead */
}

/* ---- exit() ---- */

/* simd does not restart a process that ends with 0: a component that calls exit() must not look like a normal end. */
static void exit_called(void)
{
	const char *component = culprit();
	struct line l;

	if (atomic_load(&owner) != getpid()) /* in a process that a component forked, exit() is allowed */
		return;
	begin_line(&l);
	add(&l, component ? "component " : process_name);
	add(&l, component ? component : ": something in it");
	add(&l, " called exit(); a component returns an error instead");
	put_line(&l);
	if (!component)
		name_by_code(" called exit(), in a thread that is not simhost's");
	_exit(CRASH_EXIT);
}

/* ---- what others call ---- */

void crash_begin(const char *process)
{
	void *frame[1];

	process_name = process;
	prefix = log_to_journal() ? "<3>" : "";
	(void)backtrace(frame, 1); /* the first call loads libgcc, which a signal handler must not do */
	catch_signals();
	atomic_store(&owner, getpid());
	(void)atexit(exit_called);
	(void)at_quick_exit(exit_called);
}

void crash_end(void)
{
	atomic_store(&owner, 0);
}

void crash_works_for(const char *component)
{
	works_for = component;
}

void crash_code(unsigned index, const char *component, const void *inside)
{
	struct code *c = &code[index];

	atomic_store(&c->library, NULL);
	atomic_store(&c->name, component);
	atomic_store(&c->library, component ? library_of(inside) : NULL);
}
