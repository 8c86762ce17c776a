/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the web page, embedded in the plug-in, so that none can be missing from an installation. */
#include <string.h>

#include "foxglove.h"

#define PAGE(file, id, path) \
	__asm__(".pushsection .rodata\n.balign 16\npage_" #id "_begin:\n.incbin \"" path "\"\npage_" #id \
		"_end:\n.byte 0\n.popsection\n"); \
	extern const uint8_t page_##id##_begin[], page_##id##_end[];
#include "foxglove_page.inc"
#undef PAGE

static const struct page_file files[] = {
#define PAGE(file, id, path) { file, NULL, page_##id##_begin, page_##id##_end },
#include "foxglove_page.inc"
#undef PAGE
	{ NULL, NULL, NULL, NULL },
};

static const char *type_of(const char *name)
{
	static const char *const types[][2] = {
		{ ".html", "text/html; charset=utf-8" },
		{ ".js", "text/javascript; charset=utf-8" },
		{ ".css", "text/css; charset=utf-8" },
		{ ".svg", "image/svg+xml" },
	};
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(dot, types[i][0]) == 0)
			return types[i][1];
	return "application/octet-stream";
}

bool page_find(const char *name, struct page_file *ret)
{
	for (const struct page_file *f = files; f->name; f++)
		if (strcmp(f->name, *name ? name : "index.html") == 0) {
			*ret = *f;
			ret->type = type_of(f->name);
			return true;
		}
	return false;
}
