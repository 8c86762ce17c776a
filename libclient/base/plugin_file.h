/* SPDX-License-Identifier: Apache-2.0 */
/* Which plug-ins of a kind there are: files KIND_NAME.so in folders. Any thread. */
#ifndef BASE_PLUGIN_FILE_H
#define BASE_PLUGIN_FILE_H

/*
 * Call fn for the NAME of each, which it borrows; folders in the order of dirs, which NULL ends, files in no order. Folders that cannot be
 * read have none.
 */
typedef void (*plugin_file_fn)(void *arg, const char *name);
void plugin_files(const char *const *dirs, const char *kind, plugin_file_fn fn, void *arg);

#endif
