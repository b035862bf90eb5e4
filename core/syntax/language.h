#pragma once

#include "base/sv.h"

/**
 * The language of a file by its name and, for names that tell nothing, by the "#!" line
 * that `start`, the file's first bytes or all of them, may hold; it also tells headers of
 * C++ from those of C. The result is static: the name of a
 * grammar ("c", "python", "tsx"), NULL when unknown. Kinds of files that look like a
 * language and are not (JSON with comments, templates) are unknown.
 */
const char *language_of(const char *path, struct sv start);
