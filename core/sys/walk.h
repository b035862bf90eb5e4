#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/sv.h"
#include "sys/cancel.h"
#include "sys/ignore_files.h"

/**
 * Visits everything below a folder: hidden files too, the inside of ".git" never. Links
 * are visited but not followed, so a tree has an end and nothing outside it is seen. The
 * order is by path, component by component, a folder before what is in it.
 */

enum walk_kind { WALK_FILE, WALK_FOLDER, WALK_LINK, WALK_OTHER };

/** Lives until the visit returns. */
struct walk_entry {
    const char *path; // below the root
    const char *name; // its last component; what openat(folder, ...) wants
    enum walk_kind kind;
    int folder; // descriptor of the folder that holds it
};

/** False ends the walk, which is no error. */
typedef bool (*walk_visit)(void *data, const struct walk_entry *entry);

struct walk_options {
    const char *root;           // real path of a folder
    struct ignore_places rules; // where the user's own rules are
    bool ignored;               // visit also what the rules leave out
    struct cancel *cancel;      // may be NULL
};

/** What was not visited. */
struct walk_report {
    size_t ignored;    // files and folders left out by rules
    size_t unreadable; // folders that could not be read, or lie too deep
};

/**
 * PI_OK also when parts of the tree cannot be read or vanish meanwhile. PI_NOT_FOUND,
 * PI_DENIED, PI_IO: the root itself. PI_ABORTED, PI_NOMEM.
 */
enum pi_status walk_tree(const struct walk_options *options, walk_visit visit, void *data,
                         struct walk_report *report, struct pi_error *err) NODISCARD;
