/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the plug-ins of a kind: files KIND_NAME.so in directories. Any thread. */
#ifndef BASE_PLUGIN_FILE_H
#define BASE_PLUGIN_FILE_H

/*
 * Calls fn with the NAME of each plug-in, borrowed. dirs ends with NULL; directories are read in this order, the files
 * of one in any order; an unreadable directory counts as empty.
 */
typedef void (*plugin_file_fn)(void *arg, const char *name);
void plugin_files(const char *const *dirs, const char *kind, plugin_file_fn fn, void *arg);

#endif
