#include "syntax/language.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

// Separated by blanks: what starts with a dot is an ending, the rest are whole names.
// Interpreters may be followed by a version.
static const struct {
    const char *language;
    const char *names;
    const char *interpreters;
} table[] = {
    {"bash",
     ".sh .bash .ksh .bashrc .bash_profile .bash_aliases .profile PKGBUILD APKBUILD",
     "sh bash dash ksh ash"},
    {"c", ".c .h", ""},
    {"cpp", ".cc .cpp .cxx .c++ .hpp .hh .hxx .h++ .ipp .tpp .inl .ixx .cppm", ""},
    {"css", ".css", ""},
    {"go", ".go", ""},
    {"html", ".html .htm .xhtml", ""},
    {"java", ".java", ""},
    {"javascript", ".js .mjs .cjs .jsx", "node nodejs bun"},
    {"json", ".json .webmanifest .geojson .ipynb", ""},
    {"lua", ".lua .rockspec", "lua luajit"},
    {"markdown", ".md .markdown .mkd", ""},
    {"php", ".php .phtml", "php"},
    {"python", ".py .pyi .pyw SConstruct SConscript", "python pypy"},
    {"ruby", ".rb .rake .gemspec .ru Rakefile Gemfile Vagrantfile Podfile", "ruby"},
    {"rust", ".rs", ""},
    {"toml", ".toml Cargo.lock poetry.lock", ""},
    {"tsx", ".tsx", ""},
    {"typescript", ".ts .mts .cts", "ts-node tsx deno"},
    {"yaml", ".yaml .yml .clang-format .clang-tidy", ""},
};

// JSON with comments and trailing commas.
static bool is_relaxed_json(struct sv name)
{
    return sv_starts(name, sv_of("tsconfig")) || sv_starts(name, sv_of("jsconfig")) ||
           sv_eqs(name, "settings.json") || sv_eqs(name, "launch.json") ||
           sv_eqs(name, "tasks.json") || sv_eqs(name, "extensions.json") ||
           sv_eqs(name, "devcontainer.json");
}

static bool next_word(const char **list, struct sv *word)
{
    while (**list == ' ') {
        (*list)++;
    }
    *word = sv_make(*list, strcspn(*list, " "));
    *list += word->n;
    return word->n > 0;
}

static bool has_ending(struct sv name, struct sv ending)
{
    return name.n >= ending.n &&
           strncasecmp(name.p + name.n - ending.n, ending.p, ending.n) == 0;
}

static bool fits_name(const char *names, struct sv name)
{
    struct sv word;
    while (next_word(&names, &word)) {
        if (word.p[0] == '.' ? has_ending(name, word) : sv_eq(name, word)) {
            return true;
        }
    }
    return false;
}

static struct sv word_of(struct sv *line)
{
    while (line->n > 0 && (line->p[0] == ' ' || line->p[0] == '\t')) {
        *line = sv_from(*line, 1);
    }
    size_t n = 0;
    while (n < line->n && line->p[n] != ' ' && line->p[n] != '\t' && line->p[n] != '\r') {
        n++;
    }
    struct sv word = sv_make(line->p, n);
    *line = sv_from(*line, n);
    return word;
}

static struct sv base_of(struct sv path)
{
    const char *slash = path.n > 0 ? memrchr(path.p, '/', path.n) : NULL;
    return slash ? sv_from(path, (size_t)(slash - path.p) + 1) : path;
}

// "#!/usr/bin/env -S VAR=x python3 -u" gives "python3".
static struct sv interpreter_of(struct sv start)
{
    struct sv line;
    if (!sv_starts(start, sv_of("#!")) || !sv_next_line(&start, &line)) {
        return sv_make(NULL, 0);
    }
    line = sv_from(line, 2);
    struct sv word = base_of(word_of(&line));
    if (sv_eqs(word, "env")) {
        do {
            word = word_of(&line);
        } while (word.n > 0 && (word.p[0] == '-' || memchr(word.p, '=', word.n)));
        word = base_of(word);
    }
    return word;
}

static bool fits_interpreter(const char *interpreters, struct sv name)
{
    while (name.n > 0 && strchr("0123456789.", name.p[name.n - 1])) {
        name.n--;
    }
    struct sv word;
    while (next_word(&interpreters, &word)) {
        if (sv_eq(word, name)) {
            return true;
        }
    }
    return false;
}

// Headers of C++ are often called .h, too.
static bool is_cpp(struct sv text)
{
    static const char *const signs[] = {"\nclass ", "\nnamespace ", "\ntemplate", "::"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (text.n > 0 && memmem(text.p, text.n, signs[i], strlen(signs[i]))) {
            return true;
        }
    }
    return false;
}

// JSON with a comment at its start, or behind its first bracket, is for lenient readers.
static bool begins_with_comment(struct sv text)
{
    while (text.n > 0 && strchr(" \t\r\n{[", text.p[0]) && text.p[0]) {
        text = sv_from(text, 1);
    }
    return sv_starts(text, sv_of("//")) || sv_starts(text, sv_of("/*"));
}

const char *language_of(const char *path, struct sv start)
{
    struct sv name = base_of(sv_of(path));
    if (is_relaxed_json(name)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (fits_name(table[i].names, name)) {
            if (strcmp(table[i].language, "json") == 0 && begins_with_comment(start)) {
                return NULL;
            }
            bool header = has_ending(name, sv_of(".h"));
            return header && is_cpp(start) ? "cpp" : table[i].language;
        }
    }
    struct sv interpreter = interpreter_of(start);
    for (size_t i = 0; interpreter.n > 0 && i < sizeof table / sizeof *table; i++) {
        if (fits_interpreter(table[i].interpreters, interpreter)) {
            return table[i].language;
        }
    }
    return NULL;
}
