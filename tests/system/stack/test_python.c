/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python package beside programs in C: each case of tests/system/python/cases.py is a process of its own. After it
 * has ended, all its slots are free.
 */
#include "stack.h"

#include <limits.h>

#define POOLS        "\"pools\":[{\"size\":\"1KiB\",\"count\":1500},{\"size\":\"256KiB\",\"count\":100}]"
#define CONF(source) "\"TimeSource\":\"" source "\"," POOLS ",\"rigs\":[{\"name\":\"car\",\"prefix\":\"/car\"}]"

static pid_t simd;

static int setup(void **state)
{
	(void)state;
	simd = stack_start(CONF("system"));
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	return 0;
}

static int setup_driven(void **state)
{
	(void)state;
	simd = stack_start(CONF("unity"));
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	return 0;
}

/* -X dev: with faulthandler, and with Python's own warnings, which are errors here. */
static int python(const char *script, const char *name)
{
	char lib[PATH_MAX], examples[PATH_MAX], ctl[PATH_MAX];
	const char *b = getenv("B");
	pid_t pid;

	b = b ? b : "build";
	snprintf(lib, sizeof(lib), "%s/lib/libsimclient.so.0", b);
	snprintf(examples, sizeof(examples), "%s/examples", b);
	snprintf(ctl, sizeof(ctl), "%s/bin/simctl", b);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("SIMCLIENT_LIBRARY", lib, 1);
		setenv("PYTHONPATH", "libclient/python", 1);
		setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
		execl("/usr/bin/python3", "python3", "-X", "dev", "-W", "error", script, name, examples, ctl,
		      (char *)NULL);
		_exit(127);
	}
	return stack_wait(pid);
}

static int python_case(const char *name)
{
	return python("tests/system/python/cases.py", name);
}

static void hold(const char *name)
{
	uint32_t before = stack_slots();

	assert_int_equal(python_case(name), 0);
	AWAIT(stack_slots() == before);
	stack_stop(simd);
}

#define CASE(sentence, name) \
	TEST_WITH(sentence, setup, stack_sweep) \
	{ \
		hold(name); \
	}

TEST(the_sources_are_python_3_9)
{
	assert_int_equal(python("tests/system/python/syntax.py", ""), 0);
}

CASE(a_message_goes_there_and_back, "there_and_back")
CASE(a_program_in_c_sends_to_python, "from_c")
CASE(python_sends_to_a_program_in_c, "to_c")
CASE(what_was_released_raises_and_arrays_keep_their_slot, "released")
CASE(a_loan_is_published_only_without_other_views, "loans")
CASE(what_is_closed_under_an_array_stays_until_it_has_gone, "closing")
CASE(wrong_values_are_refused_with_the_fields_name, "wrong_values")
CASE(a_second_thread_gets_an_error, "threads")
CASE(loans_that_another_thread_drops_go_back, "loans_dropped_elsewhere")
CASE(a_forked_child_cannot_use_the_handles, "fork")
CASE(python_may_end_with_messages_in_flight, "exit_in_flight")
CASE(two_interpreters_of_a_process_each_have_clients, "interpreters")
CASE(what_a_callback_raises_is_raised_by_the_next_call, "callbacks")
CASE(a_subscriber_is_read_in_asyncio, "in_asyncio")
CASE(a_reader_keeps_the_latest, "latest")
CASE(time_is_read_slept_and_controlled, "clock")
CASE(services_are_offered_and_called, "services")
CASE(parameters_are_declared_and_set, "params")

TEST_WITH(the_package_is_installed_without_a_network_and_its_examples_run, setup, stack_sweep)
{
	assert_int_equal(python("tests/system/python/examples.py", "system"), 0);
	stack_stop(simd);
}

TEST_WITH(the_example_that_drives_time_runs, setup_driven, stack_sweep)
{
	assert_int_equal(python("tests/system/python/examples.py", "driven"), 0);
	stack_stop(simd);
}

TEST_WITH(a_driver_and_a_participant_are_in_python, setup_driven, stack_sweep)
{
	assert_int_equal(python_case("driving"), 0); /* time has begun, so /clock has a message from now on */
	hold("driving");
}
