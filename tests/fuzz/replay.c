/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz harness over its corpus (tests/fuzz/corpus/<name>), or over the files given, so that every test run
 * checks past findings again. Also truncates and flips each file a little, seeded, so that the harness sees more than
 * the corpus itself. Thread: one.
 */
#include "tests/support/test.h"

#include "fd.h"
#include "mem.h"
#include "rnd.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#define VARIANTS 200
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef VARIANTS
#define VARIANTS 10 /* what it looks for is not in a byte */
#endif
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned runs;

static void run_variants(const char *path)
{
	struct rnd rnd;
	char *text;
	size_t len;

	if (fd_read_file(path, 1 << 20, &text, &len) < 0)
		fail_msg("%s cannot be read", path);
	LLVMFuzzerTestOneInput((const uint8_t *)text, len);
	rnd_seed(&rnd, test_seed(len));
	for (int i = 0; i < VARIANTS && len; i++) {
		size_t cut = rnd_below(&rnd, (uint32_t)len) + 1, at = rnd_below(&rnd, (uint32_t)len);
		char kept = text[at];
		char *copy;

		text[at] = (char)rnd_u64(&rnd);
		copy = mem_dup(text,
			       i % 2 ? cut : len); /* a block of its own, so that a sanitizer sees reads beyond it */
		assert_non_null(copy);
		LLVMFuzzerTestOneInput((const uint8_t *)copy, i % 2 ? cut : len);
		mem_free(copy);
		text[at] = kept;
	}
	mem_free(text);
	runs++;
}

TEST(the_corpus_is_run_without_a_fault)
{
	const char *name = strrchr(program_invocation_short_name, '-');
	char dir[128], path[PATH_MAX];
	struct dirent *e;
	DIR *d;

	snprintf(dir, sizeof(dir), "tests/fuzz/corpus/%s", name ? name + 1 : "");
	d = opendir(dir);
	if (!d)
		fail_msg("%s is missing", dir);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		run_variants(path);
	}
	closedir(d);
	assert_true(runs > 0);
}
