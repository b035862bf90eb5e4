#include "syntax/grammar.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tree_sitter/api.h>
#include <unistd.h>

#include "base/map.h"
#include "syntax/grammar_places.h"
#include "sys/path.h"

struct grammars {
    const struct env *environment;
    struct log *log;
    pthread_mutex_t lock; // of known
    struct map known;     // language -> grammar, or &absent
};

static char absent;

enum pi_status grammars_create(struct grammars **out, const struct env *environment,
                               struct log *log, struct pi_error *err)
{
    struct grammars *g = calloc(1, sizeof *g);
    if (!g) {
        return error_nomem(err);
    }
    g->environment = environment;
    g->log = log;
    pthread_mutex_init(&g->lock, NULL);
    *out = g;
    return PI_OK;
}

void grammars_destroy(struct grammars *g)
{
    if (!g) {
        return;
    }
    pthread_mutex_destroy(&g->lock);
    map_finish(&g->known);
    free(g);
}

// NULL when only root and the user decide about this file or folder, else why not.
static const char *distrust(const char *path, bool folder)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        return "it cannot be looked at";
    }
    if (!folder && !S_ISREG(st.st_mode)) {
        return "it is no regular file";
    }
    if (st.st_uid != 0 && st.st_uid != geteuid()) {
        return folder ? "its folder belongs to somebody else"
                      : "it belongs to somebody else";
    }
    if (st.st_mode & (S_IWGRP | S_IWOTH)) {
        return folder ? "others may write to its folder" : "others may write to it";
    }
    return NULL;
}

static const char *distrust_folder_of(const char *path)
{
    char *folder = path_dir(path);
    const char *why = folder ? distrust(folder, true) : "there is no memory";
    free(folder);
    return why;
}

// The file may be a link: then both folders count.
static const char *distrust_file(const char *path, const char *real)
{
    const char *why = distrust_folder_of(path);
    if (!why) {
        why = distrust(real, false);
    }
    return why ? why : distrust_folder_of(real);
}

static const TSLanguage *grammar_in(void *library, const char *language, const char **why)
{
    char symbol[64] = "tree_sitter_";
    size_t at = strlen(symbol);
    for (const char *p = language; *p && at + 1 < sizeof symbol; p++) {
        symbol[at++] = *p == '-' ? '_' : *p;
    }
    symbol[at] = '\0';
    const TSLanguage *(*function)(void);
    // ISO C has no way from an object's address to a function's.
    *(void **)&function = dlsym(library, symbol);
    if (!function) {
        *why = "it does not hold this language";
        return NULL;
    }
    const TSLanguage *grammar = function();
    uint32_t version = grammar ? ts_language_version(grammar) : 0;
    if (version < TREE_SITTER_MIN_COMPATIBLE_LANGUAGE_VERSION ||
        version > TREE_SITTER_LANGUAGE_VERSION) {
        *why = "it was made for another version of tree-sitter";
        return NULL;
    }
    return grammar;
}

struct loading {
    struct grammars *grammars;
    const char *language;
    const TSLanguage *found;
};

static bool load(void *data, const char *path)
{
    struct loading *l = data;
    char *real = realpath(path, NULL);
    const char *why = real ? distrust_file(path, real) : "it cannot be looked at";
    if (!why) {
        // Now, since a symbol that is missing later would end the process.
        void *library = dlopen(real, RTLD_NOW | RTLD_LOCAL);
        if (library) {
            l->found = grammar_in(library, l->language, &why);
        } else {
            why = "it cannot be loaded";
        }
    }
    if (!l->found) {
        log_line(l->grammars->log, "grammar %s is not used: %s", path, why);
    }
    free(real);
    return !l->found;
}

static void *recall(struct grammars *g, const char *language)
{
    pthread_mutex_lock(&g->lock);
    void *known = map_get(&g->known, sv_of(language));
    pthread_mutex_unlock(&g->lock);
    return known;
}

static void remember(struct grammars *g, const char *language, const TSLanguage *found)
{
    union {
        const TSLanguage *grammar;
        void *value;
    } known = {.grammar = found};
    pthread_mutex_lock(&g->lock);
    // Without memory the next one looks again.
    (void)!map_set(&g->known, sv_of(language), found ? known.value : &absent);
    pthread_mutex_unlock(&g->lock);
}

const TSLanguage *grammars_get(struct grammars *g, const char *language)
{
    if (!g || !language) {
        return NULL;
    }
    void *known = recall(g, language);
    if (known) {
        return known == &absent ? NULL : known;
    }
    // Two threads may both load it; the loader then gives them the same.
    struct loading l = {.grammars = g, .language = language};
    bool searched = grammar_places(g->environment, language, load, &l);
    if (l.found) {
        log_line(g->log, "grammar %s is loaded", language);
    }
    if (searched || l.found) {
        remember(g, language, l.found);
    }
    return l.found;
}
