/* SPDX-License-Identifier: Apache-2.0 */
/* The output of doctor about graphics drivers: present, missing, broken. */
#include "stack.h"

#include <jansson.h>

#include <sim/readback.h>

/* The text of the finding about GPUs that has this in it; "" if there is none. */
static const char *finding(const char *part, const char *result)
{
	const struct ctl_result *out = stack_ctl("doctor", "--json", NULL);
	json_t *j = json_loads(out->out, 0, NULL), *all = json_object_get(j, "findings"), *f;
	static char text[1024];
	size_t i;

	*text = 0;
	json_array_foreach(all, i, f) {
		const char *t = json_string_value(json_object_get(f, "text"));

		if (strcmp(json_string_value(json_object_get(f, "check")), "gpu") == 0 && strstr(t, part)) {
			snprintf(text, sizeof(text), "%s", t);
			assert_string_equal(json_string_value(json_object_get(f, "result")), result);
		}
	}
	json_decref(j);
	return text;
}

TEST(the_vulkan_device_is_named_with_its_way_to_write_slots)
{
	char told[600];

	if (sim_readback_probe(SIM_READBACK_VULKAN) < 0)
		skip();
	assert_int_equal(sim_readback_describe(SIM_READBACK_VULKAN, told, sizeof(told)), 0);
	assert_non_null(strstr(finding("vulkan: ", "ok"), told));
	if (strstr(told, "llvmpipe"))
		assert_non_null(strstr(told, ": writes slots itself"));
}

TEST(the_opengl_es_renderer_is_named)
{
	if (sim_readback_probe(SIM_READBACK_GLES) < 0)
		skip();
	assert_non_null(strstr(finding("gles: ", "ok"), "reads into slots itself"));
}

TEST(without_drivers_the_report_says_what_to_install)
{
	setenv("VK_ICD_FILENAMES", "/nowhere/at/all.json", 1);
	setenv("__EGL_VENDOR_LIBRARY_FILENAMES", "/nowhere/at/all.json", 1);
	assert_non_null(strstr(finding("no GPU by vulkan", "ok"), "install"));
	assert_non_null(strstr(finding("no GPU by gles", "ok"), "install"));
	unsetenv("VK_ICD_FILENAMES");
	unsetenv("__EGL_VENDOR_LIBRARY_FILENAMES");
}

static void use_bad_driver(const char *how)
{
	char path[TEST_PATH_MAX], here[PATH_MAX];
	FILE *f;

	test_path(path, "bad_driver.json");
	f = fopen(path, "w");
	fprintf(f,
		"{\"file_format_version\":\"1.0.0\",\"ICD\":{\"library_path\":\"%s/" BAD_DRIVER
		"\",\"api_version\":\"1.3.0\"}}",
		getcwd(here, sizeof(here)));
	fclose(f);
	setenv("VK_ICD_FILENAMES", path, 1);
	setenv("BAD_DRIVER", how, 1);
}

static bool has_loader(void)
{
	return sim_readback_probe(SIM_READBACK_VULKAN) == 0 ||
	       !strstr(sim_readback_why(), "libvulkan.so.1: cannot open");
}

TEST(a_driver_that_crashes_does_not_end_the_program)
{
	if (!has_loader())
		skip();
	use_bad_driver("crashes");
	assert_non_null(strstr(finding("vulkan: ", "warning"), "crashed while it was looked at"));
	unsetenv("VK_ICD_FILENAMES");
}

TEST(a_driver_that_hangs_is_abandoned)
{
	if (!has_loader())
		skip();
	use_bad_driver("hangs");
	assert_non_null(strstr(finding("vulkan: ", "warning"), "did not answer"));
	unsetenv("VK_ICD_FILENAMES");
}
