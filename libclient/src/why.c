/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of errors. Thread: any; no state of its own. Here and not in libintrospect: a program that links that archive too
 * would get the archive's, which know nothing of what failed in the library.
 */
#include <sim/client.h>

#include "err.h"

const char *sim_strerror(int err)
{
	return err_text(err);
}

const char *sim_why(void)
{
	return err_why();
}

const char *sim_version(void)
{
	return SIM_VERSION;
}
