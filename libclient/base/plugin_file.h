/* SPDX-License-Identifier: Apache-2.0 */
/* Find the plug-ins of a kind: files KIND_NAME.so in folders. Any thread. */
#ifndef BASE_PLUGIN_FILE_H
#define BASE_PLUGIN_FILE_H

/*
 * Call fn with the NAME of each plug-in, which it borrows. dirs ends with NULL; folders are read in its order, the files of one in any
 * order, and an unreadable folder counts as empty.
 */
typedef void (*plugin_file_fn)(void *arg, const char *name);
void plugin_files(const char *const *dirs, const char *kind, plugin_file_fn fn, void *arg);

#endif
