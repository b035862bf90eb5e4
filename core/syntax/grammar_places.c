#include "syntax/grammar_places.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "sys/program.h"

// Below HOME, or below the variable, which has a default below HOME. Emacs calls its
// files libtree-sitter-LANGUAGE.so, Neovim LANGUAGE.so in folders called parser.
static const struct {
    const char *variable; // NULL = none
    const char *fallback; // of the variable, below HOME
    const char *folder;
} homes[] = {
    {NULL, "", ".emacs.d/tree-sitter"},
    {"XDG_CONFIG_HOME", ".config", "emacs/tree-sitter"},
    {"XDG_DATA_HOME", ".local/share", "nvim/site/parser"},
    {"XDG_DATA_HOME", ".local/share", "nvim/site/pack/*/*/*/parser"},
    {"XDG_DATA_HOME", ".local/share", "nvim/lazy/*/parser"},
    {"XDG_CONFIG_HOME", ".config", "nvim/parser"},
    {"XDG_CONFIG_HOME", ".config", "nvim/pack/*/*/*/parser"},
};

static const char *const systems[] = {
    "/usr/local/lib",
    "/usr/lib",
    "/usr/lib/*-linux-gnu",
    "/usr/lib64",
    "/usr/*/nvim/parser",
    "/usr/lib/*-linux-gnu/nvim/parser",
    "/usr/local/lib/nvim/parser",
    "/usr/share/nvim/*/parser",
};

struct search {
    const char *language;
    bool (*visit)(void *data, const char *path);
    void *data;
    bool stopped;
    bool failed;
};

static bool is_open(const struct search *s)
{
    return !s->stopped && !s->failed;
}

// What glob takes for more than itself.
static void add_literal(struct buf *pattern, struct sv text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (strchr("*?[]\\", text.p[i])) {
            buf_addc(pattern, '\\');
        }
        buf_addc(pattern, text.p[i]);
    }
}

static void try_pattern(struct search *s, struct buf *pattern)
{
    glob_t found = {0};
    if (!buf_ok(pattern)) {
        s->failed = true;
        return;
    }
    int rc = glob(buf_cstr(pattern), 0, NULL, &found);
    s->failed = rc == GLOB_NOSPACE;
    for (size_t i = 0; rc == 0 && is_open(s) && i < found.gl_pathc; i++) {
        s->stopped = !s->visit(s->data, found.gl_pathv[i]);
    }
    globfree(&found);
}

// The folder is a pattern already.
static void try_folder(struct search *s, struct sv folder, bool both_names)
{
    bool parser = sv_ends(folder, sv_of("/parser"));
    for (int i = 0; is_open(s) && i < 2; i++) {
        bool plain = i == 1;
        if (!both_names && plain != parser) {
            continue;
        }
        struct buf pattern = {0};
        buf_addsv(&pattern, folder);
        buf_addf(&pattern, "/%s%s.so", plain ? "" : "libtree-sitter-", s->language);
        try_pattern(s, &pattern);
        buf_finish(&pattern);
    }
}

static void try_list(struct search *s, struct sv list)
{
    while (is_open(s) && list.n > 0) {
        const char *colon = memchr(list.p, ':', list.n);
        size_t n = colon ? (size_t)(colon - list.p) : list.n;
        struct buf folder = {0};
        add_literal(&folder, sv_make(list.p, n));
        // A relative folder would depend on where somebody happens to be.
        if (n > 0 && list.p[0] == '/') {
            try_folder(s, buf_sv(&folder), true);
        }
        s->failed = s->failed || !buf_ok(&folder);
        buf_finish(&folder);
        list = sv_from(list, n + 1);
    }
}

static void try_own(struct search *s)
{
    static const char *const places[] = {"/grammars", "/../lib/pi/grammars",
                                         "/../" PI_LIBDIR "/pi/grammars"};
    char *own = program_folder();
    for (size_t i = 0; own && is_open(s) && i < sizeof places / sizeof *places; i++) {
        struct buf folder = {0};
        add_literal(&folder, sv_of(own));
        buf_adds(&folder, places[i]);
        try_folder(s, buf_sv(&folder), false);
        buf_finish(&folder);
    }
    free(own);
}

static void try_homes(struct search *s, const struct env *environment)
{
    const char *home = env_get(environment, "HOME");
    for (size_t i = 0; is_open(s) && i < sizeof homes / sizeof *homes; i++) {
        const char *base =
            homes[i].variable ? env_get(environment, homes[i].variable) : NULL;
        bool set = base && base[0] == '/';
        if (!set && (!home || home[0] != '/')) {
            continue;
        }
        struct buf folder = {0};
        add_literal(&folder, sv_of(set ? base : home));
        buf_addf(&folder, "/%s%s%s", set ? "" : homes[i].fallback,
                 set || !homes[i].fallback[0] ? "" : "/", homes[i].folder);
        try_folder(s, buf_sv(&folder), false);
        buf_finish(&folder);
    }
}

bool grammar_places(const struct env *environment, const char *language,
                    bool (*visit)(void *data, const char *path), void *data)
{
    struct search s = {.language = language, .visit = visit, .data = data};
    const char *path = env_get(environment, "PI_GRAMMAR_PATH");
    try_list(&s, sv_of(path));
    if (is_open(&s)) {
        try_own(&s);
    }
    if (is_open(&s)) {
        try_homes(&s, environment);
    }
    for (size_t i = 0; is_open(&s) && i < sizeof systems / sizeof *systems; i++) {
        try_folder(&s, sv_of(systems[i]), false);
    }
    return !s.failed;
}
