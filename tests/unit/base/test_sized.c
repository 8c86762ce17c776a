/* SPDX-License-Identifier: Apache-2.0 */
/* sized.h: structs of programs that are older or newer than we are. Thread: one. */
#include "tests/support/sizes.h"

#include "err.h"
#include "sized.h"

struct own {
	size_t size;
	uint64_t depth;
	const char *name;
};

static int taken(const void *given, void *arg)
{
	return SIZED_TAKE((struct own *)arg, given, "channel %s: the options", "/a");
}

TEST(every_struct_size_is_accepted_or_refused)
{
	struct own own, o = { .size = sizeof(o), .depth = 7 };

	sizes_check(&o, sizeof(o), taken, &own);
	assert_int_equal(own.depth, 7);
	assert_int_equal(own.size, sizeof(own));
}

TEST(members_that_an_older_program_lacks_are_0)
{
	struct own own, o = { .size = 16, .depth = 7, .name = "not of that program" };

	assert_int_equal(taken(&o, &own), 0);
	assert_int_equal(own.depth, 7);
	assert_null(own.name);
	assert_int_equal(own.size, sizeof(own));
	assert_int_equal(taken(NULL, &own), 0);
	assert_int_equal(own.depth, 0);
	assert_int_equal(own.size, sizeof(own));
}

TEST(the_refusal_names_both_sizes)
{
	struct {
		struct own o;
		uint64_t more;
	} n = { .o.size = sizeof(n), .more = 1 };
	struct own own;

	assert_int_equal(taken(&n, &own), -E2BIG);
	assert_string_equal(err_why(),
			    "channel /a: the options have 32 bytes and set something that this library, which "
			    "knows 24 of them, does not have: it is older than the headers that the program "
			    "was built with");
	n.o.size = 0;
	assert_int_equal(taken(&n, &own), -EINVAL);
	assert_string_equal(err_why(),
			    "channel /a: the options say that their size is 0; set .size to the sizeof of the "
			    "struct");
}
