/* SPDX-License-Identifier: Apache-2.0 */
/* Components that misbehave: each is named, its process ends so that simd restarts it, and other processes continue. */
#include "stack.h"

#include <signal.h>

#include <sim/clock.h>
#include <sim/msg/Int32.h>
#include <sim/sim.h>

#define DAG "/tmp/bad.dag.json"
#define HOST(stuck) \
	STACK_POOLS \
	",\"process\":{\"restart_ms\":1,\"restart_max_ms\":1}," \
	"\"rigs\":[{\"name\":\"car\",\"processes\":[{\"name\":\"host\",\"command\":[\"simhost\",\"-d\",\"" DAG \
	"\",\"--stuck\",\"" stuck "\"],\"restart_limit\":2}]}]"
#define RIG "\"TimeSource\":\"system\"," HOST("1500ms")
#define CHAIN \
	"{\"library\":\"components.so\",\"components\":[" \
	"{\"class\":\"Count\",\"name\":\"count\",\"interval_ms\":5}," \
	"{\"class\":\"Times\",\"name\":\"times\",\"readers\":[{\"channel\":\"/count\",\"pending\":64}]}]}"
#define BAD(where, how) \
	"{\"library\":\"bad_component.so\",\"components\":[\n" \
	"{\"class\":\"Bad\",\"name\":\"rogue\",\"interval_ms\":5,\"config\":{\"where\":\"" where "\",\"how\":\"" how \
	"\"}}]}"

TEST_PROCESSES();

static pid_t simd;

/* Libraries are those of the build. */
static void write_dag(const char *head, const char *modules)
{
	FILE *f = fopen(DAG, "w");

	assert_non_null(f);
	assert_true(fprintf(f, "{%s\"modules\":[\n%s\n]}\n", head, modules) > 0);
	assert_int_equal(fclose(f), 0);
}

static void start(const char *conf)
{
	char shelf[PATH_MAX];

	assert_non_null(realpath(SHELF, shelf));
	setenv("SIM_LIB_PATH", shelf, 1);
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	simd = stack_start(conf);
}

static void end(void)
{
	stack_stop(simd);
}

static int clean(void **state)
{
	stack_expects_crash();
	return stack_sweep(state);
}

/* simhost alone, which ends by itself. */
static const struct ctl_result *host(const char *modules)
{
	static const char *const argv[] = { "simhost", "-d", DAG, NULL };

	write_dag("", modules);
	return stack_run(argv);
}

static void ends(const char *modules, int code, const char *says)
{
	const struct ctl_result *r = host(modules);

	if (r->code != code || !strstr(r->err, says))
		fail_msg("exit code %d where %d is wanted; \"%s\" says nothing of \"%s\"", r->code, code, r->err, says);
}

#define BY(number) (128 + (number))

TEST_WITH(a_crash_is_reported_with_its_component, NULL, clean)
{
	start("\"TimeSource\":\"system\"," STACK_POOLS);
	ends(BAD("init", "segv"), BY(SIGSEGV), "component rogue crashed: SIGSEGV");
	ends(BAD("proc", "segv"), BY(SIGSEGV), "component rogue crashed: SIGSEGV");
	ends(BAD("proc", "abort"), BY(SIGABRT), "component rogue crashed: SIGABRT");
	ends(BAD("reader", "segv"), BY(SIGSEGV), "component rogue crashed: SIGSEGV");
	ends(BAD("timer", "segv"), BY(SIGSEGV), "component rogue crashed: SIGSEGV");
	ends("{\"library\":\"bad_component_LOAD.so\",\"components\":[{\"class\":\"Bad\",\"name\":\"rogue\"}]}",
	     BY(SIGABRT), "component rogue crashed: SIGABRT");
	end();
}

/* Nothing is left of the stack of the thread to say it on. */
TEST_FULL_WITH(an_endless_recursion_is_reported_with_its_component, NULL, clean)
{
	start("\"TimeSource\":\"system\"," STACK_POOLS);
	ends(BAD("proc", "overflow"), BY(SIGSEGV), "component rogue crashed: SIGSEGV");
	ends(BAD("init", "overflow"), BY(SIGSEGV), "component rogue crashed: SIGSEGV");
	end();
}

TEST_FULL_WITH(a_crash_in_a_thread_of_the_component_is_attributed_by_its_code, NULL, clean)
{
	start("\"TimeSource\":\"system\"," STACK_POOLS);
	ends(CHAIN "," BAD("proc", "thread"), BY(SIGSEGV),
	     "component rogue crashed, in a thread that is not simhost's");
	end();
}

#ifdef HAS_CXX
#define CXX(class, how) \
	"{\"library\":\"component_cxx.so\",\"components\":[{\"class\":\"" class \
		"\",\"name\":\"rogue\",\"interval_ms\":5,\"config\":{\"how\":\"" how "\"}}]}"

/* std::terminate ends the process; whose it was is seen by its code. */
TEST_FULL_WITH(an_exception_that_leaves_a_thread_is_reported, NULL, clean)
{
	start("\"TimeSource\":\"system\"," STACK_POOLS);
	ends(CHAIN "," CXX("Own", "raw"), BY(SIGABRT), "component rogue crashed, in a thread that is not simhost's");
	end();
}

TEST_WITH(an_exception_of_a_destructor_is_reported, NULL, stack_sweep)
{
	write_dag("", CHAIN "," CXX("Last", ""));
	start(RIG);
	AWAIT(stack_said("3 components run in reality"));
	end();
	AWAIT(stack_said("component rogue: the destructor threw: not without me"));
}
#endif

/* It would look like a requested exit, after which the process is not restarted. */
TEST_FULL_WITH(a_component_that_calls_exit_is_named_and_counts_as_failed, NULL, clean)
{
	start("\"TimeSource\":\"system\"," STACK_POOLS);
	ends(BAD("init", "exit"), 70, "component rogue called exit()");
	ends(BAD("proc", "exit"), 70, "component rogue called exit()");
	ends(BAD("proc", "thread_exit"), 70, "component rogue called exit(), in a thread that is not simhost's");
	end();
}

/* Neither the library nor simhost catches an exception of a plain C++ callback: it counts as a crash. */
TEST_WITH(an_uncaught_exception_is_reported_with_its_component, NULL, clean)
{
#define THROWS(where) \
	"{\"library\":\"bad_component_cxx.so\",\"components\":[{\"class\":\"Thrower\",\"name\":\"rogue\",\"interval_ms\":5," \
	"\"config\":{\"where\":\"" where "\"}}]}"
	if (access(SHELF "/bad_component_cxx.so", R_OK) < 0) {
		print_message("no C++ compiler was there when this was built\n");
		skip();
	}
	start("\"TimeSource\":\"system\"," STACK_POOLS);
	ends(THROWS("init"), BY(SIGABRT), "component rogue crashed: SIGABRT");
	ends(THROWS("proc"), BY(SIGABRT), "component rogue crashed: SIGABRT");
	ends(THROWS("timer"), BY(SIGABRT), "component rogue crashed: SIGABRT");
	end();
}

/* ---- at the hands of others ---- */

static void rig(const char *where, const char *how)
{
	char modules[1024];

	snprintf(modules, sizeof(modules), CHAIN "," BAD("%s", "%s"), where, how);
	write_dag("", modules);
	start(RIG);
	AWAIT(stack_said("3 components run in reality"));
	assert_false(stack_said("wait for each other")); /* what its node reads besides is no input */
}

TEST_FULL_WITH(a_parameter_callback_is_attributed_to_its_component, NULL, clean)
{
	rig("param", "segv");
	(void)stack_ctl("param", "set", "rogue", "p", "1", NULL);
	AWAIT(stack_said("component rogue crashed: SIGSEGV"));
	AWAIT(stack_said("restarting it"));
	end();
}

TEST_FULL_WITH(a_service_handler_is_attributed_to_its_component, NULL, clean)
{
	rig("service", "exit");
	(void)stack_ctl("service", "call", "/rogue/poke", NULL);
	AWAIT(stack_said("component rogue called exit()"));
	AWAIT(stack_said("host exited: exit code 70") || stack_said("restarting it"));
	end();
}

TEST_FULL_WITH(a_crash_in_shutdown_is_named, NULL, clean)
{
	rig("shutdown", "segv");
	(void)stack_ctl("service", "call", "/rogue/reload", NULL);
	AWAIT(stack_said("component rogue crashed: SIGSEGV"));
	end();
}

/* ---- callbacks that never return ---- */

TEST_FULL_WITH(an_init_that_never_returns_is_named_and_ended, NULL, clean)
{
	write_dag("", CHAIN "," BAD("init", "hang"));
	start("\"TimeSource\":\"system\"," HOST("300ms")); /* init has ten times as long */
	AWAIT(stack_said("component rogue has been in init for"));
	AWAIT(stack_said("(--stuck): ending the process"));
	AWAIT(stack_said("restarting it"));
	end();
}

/* A second request to reload while it hangs does not switch off the watchdog. */
TEST_FULL_WITH(a_component_that_hangs_during_a_reload_is_named_and_ended, NULL, clean)
{
	rig("shutdown", "hang");
	(void)stack_ctl("service", "call", "--timeout", "1s", "/rogue/reload", NULL);
	AWAIT(stack_said("component rogue has been ending (its last proc, or shutdown) for"));
	AWAIT(stack_said("(--stuck): ending the process"));
	AWAIT(stack_said("restarting it"));
	end();
}

TEST_WITH(a_component_that_holds_up_the_end_of_the_process_is_named, NULL, clean)
{
	rig("shutdown", "hang");
	end();
	AWAIT(stack_said("component rogue has been ending (its last proc, or shutdown) for"));
}

static void hangs(const char *where, const char *says)
{
	rig(where, "hang");
	(void)stack_ctl("param", "set", "rogue", "p", "1", NULL);
	(void)stack_ctl("service", "call", "--timeout", "1s", "/rogue/poke", NULL);
	AWAIT(stack_said(says));
	AWAIT(stack_said("(--stuck): ending the process"));
	AWAIT(stack_said("restarting it"));
	assert_int_equal(stack_count("has been in", ": it holds up"), stack_count(says, ": it holds up"));
	end();
}

TEST_WITH(a_reader_s_callback_that_hangs_is_named_with_its_channel, NULL, clean)
{
	hangs("reader", "component rogue has been in its reader of /bad for");
}

TEST_FULL_WITH(a_timer_that_hangs_is_named, NULL, clean)
{
	hangs("timer", "component rogue has been in its timer rogue_timer for");
}

/* The service set_parameter calls the component's callback: the component that was called is named. */
TEST_FULL_WITH(a_change_of_a_parameter_that_hangs_is_named, NULL, clean)
{
	hangs("param", "component rogue has been in its parameter p for");
}

TEST_FULL_WITH(a_service_that_hangs_is_named, NULL, clean)
{
	hangs("service", "component rogue has been in its service rogue/poke for");
}

TEST_WITH(a_component_that_publishes_without_pause_is_named_and_others_lose_nothing, NULL, clean)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "test", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 64 };
	const struct sim_message *m;
	struct sim_subscriber *s;
	struct sim_client *c;
	int32_t v = 0;

	rig("proc", "flood");
	assert_int_equal(sim_connect(&o, &c), 0);
	assert_int_equal(sim_subscribe(c, "/times", &sim_Int32_type, &so, &s), 0);
	for (int i = 0; i < 100; i++) {
		int32_t got;

		assert_int_equal(sim_wait(s, -1), 1);
		assert_int_equal(sim_take(s, &m), 0);
		got = sim_Int32_from(m->body, m->body_size)->data;
		sim_release(s, m);
		if (got < v) /* the process was started again */
			break;
		assert_true(!v || got == v + 2);
		v = got;
	}
	assert_true(v > 0);
	AWAIT(stack_said("component rogue has been in proc for"));
	AWAIT(stack_said("restarting it"));
	sim_subscriber_destroy(s);
	sim_disconnect(c);
	end();
}

/* Its writer is in proc as long as it is: the message is handed over inside the call. */
TEST_FULL_WITH(in_simulation_the_component_inside_the_call_is_named, NULL, clean)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "test", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};
	struct sim_driver *d;
	struct sim_client *c;
	int64_t granted;

	write_dag(
		"\"mode\":\"simulation\",",
		"{\"library\":\"components.so\",\"components\":[{\"class\":\"Count\",\"name\":\"count\",\"interval_ms\":5},"
		"{\"class\":\"Hang\",\"name\":\"well\",\"readers\":[{\"channel\":\"/count\"}]}]}");
	start("\"TimeSource\":\"unity\"," HOST("1500ms"));
	assert_int_equal(sim_connect(&o, &c), 0);
	assert_int_equal(sim_driver_acquire(c, 0, &d), 0);
	AWAIT(stack_said("2 components run in simulation"));
	for (int i = 0; i < 2; i++) /* it is asleep in the first of them */
		if (sim_driver_advance(d, 10 * NS_PER_MS, &granted) < 0)
			fail_msg("%s", sim_why());
	AWAIT(stack_said("component well has been in proc for"));
	AWAIT(stack_said("(--stuck): ending the process"));
	assert_int_equal(stack_count("component count has been in proc", ""), 0);
	sim_driver_release(d);
	sim_disconnect(c);
	end();
}

/* The message goes to its own reader inside the call, again and again: it is not that one which does not come back. */
TEST_FULL_WITH(in_simulation_a_component_that_publishes_without_end_is_named, NULL, clean)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "test", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};
	struct sim_driver *d;
	struct sim_client *c;
	int64_t granted;

	write_dag("\"mode\":\"simulation\",", CHAIN "," BAD("proc", "flood"));
	start("\"TimeSource\":\"unity\"," HOST("1500ms"));
	assert_int_equal(sim_connect(&o, &c), 0);
	assert_int_equal(sim_driver_acquire(c, 0, &d), 0);
	AWAIT(stack_said("3 components run in simulation"));
	for (int i = 0; i < 2; i++)
		if (sim_driver_advance(d, 10 * NS_PER_MS, &granted) < 0)
			fail_msg("%s", sim_why());
	AWAIT(stack_said("component rogue has been in proc for"));
	AWAIT(stack_said("(--stuck): ending the process"));
	AWAIT(stack_said("restarting it"));
	assert_int_equal(stack_count("has been in", ": it holds up"),
			 stack_count("component rogue has been in proc for", ": it holds up"));
	sim_driver_release(d);
	sim_disconnect(c);
	end();
}

/* ---- what cannot work ---- */

static void refused(const char *modules, const char *says)
{
	ends(modules, 78, says);
}

TEST_WITH(a_library_built_for_another_version_is_refused_with_name_and_line, NULL, clean)
{
	start("\"TimeSource\":\"system\"," STACK_POOLS);
	refused("{\"library\":\"bad_component.so\",\"components\":[\n{\"class\":\"Old\",\"name\":\"rogue\"}]}",
		DAG ":3: component rogue: library ");
	refused("{\"library\":\"bad_component.so\",\"components\":[\n{\"class\":\"None\",\"name\":\"rogue\"}]}",
		"sim_component_None is no class at all");
	refused(CHAIN ",{\"library\":\"bad_component.so\",\"components\":[\n{\"class\":\"Other\",\"name\":\"rogue\"}]}",
		DAG
		":3: component rogue: init of class Other failed: channel /count carries another version of sim/Int32");
	refused("{\"library\":\"bad_component.so\",\"components\":[\n{\"class\":\"Bad\",\"name\":\"\"}]}", DAG ":3:");
	end();
}

TEST_WITH(an_invalid_scheduler_is_refused_with_its_line, NULL, clean)
{
	static const char *const argv[] = { "simhost", "-d", DAG, NULL };
	const struct ctl_result *r;

	write_dag("\n\"scheduler\":{\"policy\":5},", CHAIN);
	start("\"TimeSource\":\"system\"," STACK_POOLS);
	r = stack_run(argv);
	assert_int_equal(r->code, 78);
	assert_non_null(strstr(r->err, DAG ":2: scheduler: policy: a string is expected"));
	end();
}

TEST_WITH(a_cycle_is_named_with_file_and_line, NULL, clean)
{
	write_dag("", "{\"library\":\"components.so\",\"components\":[\n"
		      "{\"class\":\"Times\",\"name\":\"self\",\"readers\":[{\"channel\":\"/times\"}]}]}");
	start(RIG);
	AWAIT(stack_said(DAG ":3: components wait for each other for ever: self -> /times -> self"));
	end();
}
