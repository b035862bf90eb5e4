#pragma once

#include "base/buf.h"
#include "sys/ignore.h"

/**
 * Where ignore rules come from: the files of a folder, those of the repository and those
 * of the user. A file that cannot be read has no rules; a link is not followed.
 */
struct ignore_places {
    const char *home;        // NULL: no rules of the user
    const char *config_home; // XDG_CONFIG_HOME, or NULL
};

/**
 * The rules that hold in a folder because of where it lies. When the folder itself is
 * ignored there are none: who names it wants to see inside.
 */
struct ignore_base {
    struct ignore_level *levels; // the user's, then from the repository's top down
    size_t len;
    char *prefix; // the folder's path below the top, "" at the top
};

/** root: real path of a folder. PI_NOMEM. */
enum pi_status ignore_base_load(struct ignore_base *b, const char *root,
                                const struct ignore_places *places,
                                struct pi_error *err) NODISCARD;

void ignore_base_finish(struct ignore_base *b);

/** Adds the folder's own rules: .git/info/exclude, .gitignore, .ignore. PI_NOMEM. */
enum pi_status ignore_add_folder(struct ignore_level *l, int folder,
                                 struct pi_error *err) NODISCARD;
