/* SPDX-License-Identifier: Apache-2.0 */
/* A driver of Vulkan that is broken in the way that BAD_DRIVER says. The loader asks for nothing else before it has this. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) int vk_icdNegotiateLoaderICDInterfaceVersion(unsigned *version);

int vk_icdNegotiateLoaderICDInterfaceVersion(unsigned *version)
{
	const char *how = getenv("BAD_DRIVER");

	(void)version;
	if (how && strcmp(how, "hangs") == 0)
		for (;;)
			pause();
	abort();
}
