#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "random.h"
#include "scratch.h"
#include "syntax/command.h"
#include "syntax_fixture.h"

static void show_word(struct buf *out, const struct command_word *w)
{
    static const char flags[] = "vsagtb@";
    buf_addf(out, " %s", w->dynamic ? "?" : "<");
    for (int i = 0; i < 7; i++) {
        if (w->dynamic & (1U << i)) {
            buf_addc(out, flags[i]);
        }
    }
    buf_addf(out, "%s%s", w->dynamic ? ":" : "", w->text);
    if (!w->dynamic) {
        buf_addc(out, '>');
    }
}

static void show_scope(struct buf *out, const struct command_list *l, size_t scope)
{
    static const char *const names[] = {"", "group", "sub", "subst", "function"};
    if (l->scopes[scope].kind != COMMAND_TOP) {
        show_scope(out, l, l->scopes[scope].parent);
        buf_addf(out, "/%s", names[l->scopes[scope].kind]);
    }
}

static void show_redirects(struct buf *out, const struct command_list *l, size_t command)
{
    static const char *const signs[] = {"R", "W", "A", "RW", "D", "H", "S"};
    for (size_t i = 0; i < l->redirects_len; i++) {
        const struct command_redirect *r = &l->redirects[i];
        if (r->command == command) {
            buf_addf(out, " %s", signs[r->kind]);
            show_word(out, &r->target);
        }
    }
}

// One line for each command: scope, pipeline, assignments, words, redirections.
static void show(struct buf *out, const struct command_list *l)
{
    for (size_t i = 0; i < l->len; i++) {
        const struct command_simple *c = &l->commands[i];
        show_scope(out, l, c->scope);
        buf_addf(out, "%s%zu.%zu%s:", c->scope ? " " : "", c->pipeline, c->position,
                 c->background ? "&" : "");
        for (size_t a = 0; a < l->assignments_len; a++) {
            if (l->assignments[a].command == i) {
                buf_addf(out, " %s=", l->assignments[a].name);
                show_word(out, &l->assignments[a].value);
            }
        }
        for (size_t w = 0; w < c->words_len; w++) {
            show_word(out, &c->words[w]);
        }
        show_redirects(out, l, i);
        buf_addc(out, '\n');
    }
    show_redirects(out, l, SIZE_MAX);
}

static void check(struct syntax_fixture *f, const char *text, const char *wanted)
{
    struct command_list list;
    struct pi_error err = {0};
    struct buf out = {0};
    if (command_parse(&list, f->grammars, sv_of(text), NULL, &err) != PI_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    show(&out, &list);
    if (strcmp(buf_cstr(&out), wanted) != 0) {
        fail_msg("%s: wanted\n%s, got\n%s", text, wanted, buf_cstr(&out));
    }
    buf_finish(&out);
    command_list_finish(&list);
}

static void refuse(struct syntax_fixture *f, const char *text)
{
    struct command_list list;
    struct buf out = {0};
    if (command_parse(&list, f->grammars, sv_of(text), NULL, NULL) == PI_OK) {
        show(&out, &list);
        fail_msg("%s is understood: %s", text, buf_cstr(&out));
    }
    assert_int_equal(list.len, 0);
    assert_null(list.commands);
}

static void test_words(void **state)
{
    check(*state, "ls -l  /tmp", "0.0: <ls> <-l> </tmp>\n");
    check(*state, "", "");
    check(*state, " \n\t", "");
    check(*state, "r'm' \"-r\"f 'a b' c\\ d", "0.0: <rm> <-rf> <a b> <c d>\n");
    check(*state, "echo \"a\\\"\\$\\\\\\n\" '\\' $'\\t\\x41\\101\\'' ''",
          "0.0: <echo> <a\"$\\\\n> <\\> <\tAA'> <>\n");
    check(*state, "a \\\n c \"d \\\ne\"", "0.0: <a> <c> <d e>\n");
    check(*state, "echo $ a$ \"$\" a=b a#b {} %x",
          "0.0: <echo> <$> <a$> <$> <a=b> <a#b> <{}> <%x>\n");
    check(*state, "echo $x \"a${b}c\" $((1+2)) *.c a? [x] ~ ~/x a~ x=~ {a,b} {1..3}",
          "0.0: <echo> ?v:$x ?v:\"a${b}c\" ?a:$((1+2)) ?g:*.c ?g:a? ?g:[x] ?t:~ ?t:~/x "
          "<a~> ?t:x=~ ?b:{a,b} ?b:{1..3}\n");
    check(*state, "'*' \"~\" \\$x '{a,b}'", "0.0: <*> <~> <$x> <{a,b}>\n");
    check(*state, "$x -l # rm y", "0.0: ?v:$x <-l>\n");
}

static void test_structure(void **state)
{
    check(*state, "a | b |& c; d && e || f",
          "0.0: <a>\n0.1: <b>\n0.2: <c>\n1.0: <d>\n2.0: <e>\n3.0: <f>\n");
    check(*state, "a & b\nc", "0.0&: <a>\n1.0: <b>\n2.0: <c>\n");
    check(*state, "! a", "0.0: <a>\n");
    check(*state, "( a; b ) && { c; }",
          "/sub 1.0: <a>\n/sub 2.0: <b>\n/group 4.0: <c>\n");
    check(*state, "time -p make", "0.0: <make>\n");
    check(*state, "time -- make", "0.0: <make>\n");
    check(*state, "a\\ #b; c", "0.0: <a #b>\n1.0: <c>\n");
    check(*state, "f() { rm x; }; f", "/function/group 1.0: <rm> <x>\n2.0: <f>\n");
}

static void test_compound(void **state)
{
    check(*state, "if a; then b; elif c; then d; else e; fi",
          "/group 1.0: <a>\n/group 2.0: <b>\n/group 3.0: <c>\n/group 4.0: <d>\n"
          "/group 5.0: <e>\n");
    check(*state, "for i in a $(b); do c $i; done",
          "/group/subst 1.0: <b>\n/group 2.0: <c> ?v:$i\n");
    check(*state, "while read l; do a; done < f",
          "/group/group 1.0: <read> <l>\n"
          "/group/group 2.0: <a>\n R <f>");
    check(*state, "case $x in a|b) c ;; *) d; e ;; esac",
          "/group 1.0: <c>\n/group 2.0: <d>\n/group 3.0: <e>\n");
    check(*state, "[ -f a ] && [[ b == c* ]] && (( i > 1 ))",
          "0.0: <[>\n1.0: <[[>\n2.0: <((>\n");
}

static void test_substitutions(void **state)
{
    check(*state, "echo \"$(rm \"a b\" $(c))\" `d`",
          "0.0: <echo> ?s:\"$(rm \"a b\" $(c))\" ?s:`d`\n/subst 1.0: <rm> <a b> ?s:$(c)\n"
          "/subst/subst 2.0: <c>\n/subst 3.0: <d>\n");
    check(*state, "diff <(a) <(b | c)",
          "0.0: <diff> ?s:<(a) ?s:<(b | c)\n/subst 1.0: <a>\n/subst 2.0: <b>\n"
          "/subst 2.1: <c>\n");
    check(
        *state, "echo ${x:-$(a)} $((1 + $(b)))",
        "0.0: <echo> ?v:${x:-$(a)} ?a:$((1 + $(b)))\n/subst 1.0: <a>\n/subst 2.0: <b>\n");
    check(*state, "[[ $(a) ]]", "0.0: <[[>\n/subst 1.0: <a>\n");
    check(*state, "x=$(< f)", "0.0: x= ?s:$(< f)\n R <f>");
}

static void test_redirects(void **state)
{
    check(*state, "a > b 2>&1 < c >> d &> e >| f 3>&- >& h",
          "0.0: <a> W <b> D <1> R <c> A <d> W <e> W <f> D <-> W <h>\n");
    check(*state, "> only", "0.0: W <only>\n");
    check(*state, "a >\"x y\"$z", "0.0: <a> W ?v:\"x y\"$z\n");
    check(*state, "{ a; b; } > c",
          "/group/group 1.0: <a>\n/group/group 2.0: <b>\n W <c>");
    check(*state, "cat <<< \"$(a)\"", "0.0: <cat> S ?s:\"$(a)\"\n/subst 1.0: <a>\n");
    check(*state, "cat <<E\n$x $(a)\nE\nb",
          "0.0: <cat> H <E>\n/subst 1.0: <a>\n2.0: <b>\n");
    check(*state, "cat <<'E'\n$(a) `b`\nE\nc", "0.0: <cat> H <'E'>\n1.0: <c>\n");
    check(*state, "cat << E\nhello $x you $(a)\nand $(b)d\nE\n",
          "0.0: <cat> H <E>\n/subst 1.0: <a>\n/subst 2.0: <b>\n");
    check(*state, "python3 -u - <<'E' > f\nprint('$(a)')\nE\n",
          "0.0: <python3> <-u> <-> W <f> H <'E'>\n");
    check(*state, "cat <<-E > f\n\ttext\n\tE\n", "0.0: <cat> W <f> H <E>\n");
    check(*state, "cat <<E | sh\nrm x\nE\n", "0.0: <cat> H <E>\n0.1: <sh>\n");
}

static void test_assignments(void **state)
{
    check(*state, "A=1 B='x y' cmd C=2", "0.0: A= <1> B= <x y> <cmd> <C=2>\n");
    check(*state, "A=$(rm x)", "0.0: A= ?s:$(rm x)\n/subst 1.0: <rm> <x>\n");
    check(*state, "A+=b", "0.0: A= <b>\n");
    check(*state, "A=(1 $(b))", "0.0: A= ?@:(1 $(b))\n/subst 1.0: <b>\n");
    check(*state, "A=", "0.0: A= <>\n");
    check(*state, "export A=1 B", "0.0: <export> <A=1> <B>\n");
    check(*state, "unset A", "0.0: <unset> <A>\n");
    check(*state, "LD_PRELOAD=./x.so ls", "0.0: LD_PRELOAD= <./x.so> <ls>\n");
}

static const char *const refused[] = {
    "if",
    "a (",
    "'a",
    "\"a",
    "a | ",
    "a && ",
    "$(a",
    "then a",
    "a\rb",
    "coproc a",
    // Where grammar and bash would differ.
    "\"$\\\n(rm)\"",
    "`a # b`; rm x\n`",
    "a\\ #b\\\n",
    "time ! a",
    "time -p A=1 b",
    "cat <<E; a \"b\nE\nc\"",
    "cat <<E\na\\\nE\nE\n",
    "{a; rm x; }",
    "a > b - <<E\nE\n",
    "{ a; } - <<E\nE\n",
    "cat <<E\nx `a` $x\nE\n",
    "cmd \\ x\v",
    "a\\\nb",
    "a <> b",
    "a;; b",
    "a\fb",
    "[ a > b ]",
    "((a); b)",
    "$((a); b)",
    "echo $((a) ; (b))",
    "echo ${ a; }",
    "echo `echo \\`a\\``",
    "echo $'a\\0b'",
    "echo $'\\u00e9'",
    "echo !(a)",
    "cat <<A <<B\na\nA\nb\nB\n",
    "cat <<E\nno end",
    "cat <<E\\\nx\nE\n",
    "echo \"${x:-'$(a)'}\"",
};

static void test_refused(void **state)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        refuse(*state, refused[i]);
    }
    struct command_list list;
    struct syntax_fixture *f = *state;
    assert_int_equal(
        command_parse(&list, f->grammars, (struct sv){"a\0b", 3}, NULL, NULL),
        PI_INVALID);
    assert_int_equal(command_parse(&list, NULL, sv_of("a"), NULL, NULL), PI_UNSUPPORTED);
    struct buf large = {0};
    for (int i = 0; i < 3000; i++) {
        buf_adds(&large, "a;");
    }
    refuse(*state, buf_cstr(&large));
    buf_clear(&large);
    for (int i = 0; i < 100; i++) {
        buf_adds(&large, "$(a ");
    }
    for (int i = 0; i < 100; i++) {
        buf_addc(&large, ')');
    }
    refuse(*state, buf_cstr(&large));
    while (large.len <= COMMAND_MAX_BYTES) {
        buf_adds(&large, "a ");
    }
    assert_int_equal(command_parse(&list, f->grammars, buf_sv(&large), NULL, NULL),
                     PI_LIMIT);
    buf_finish(&large);
}

static void test_truncated(void **state)
{
    struct syntax_fixture *f = *state;
    const char *text = "A=1 f \"$(g 'h' `i`)\" >j <<E && { k; } | l &\n$(m)\nE\n"
                       "for n in ${o:-p}; do case q in r) [[ s ]];; esac; done # t\n";
    for (size_t n = 0; n <= strlen(text); n++) {
        struct command_list list;
        enum pi_status st =
            command_parse(&list, f->grammars, sv_make(text, n), NULL, NULL);
        assert_true(st == PI_OK || st == PI_INVALID);
        command_list_finish(&list);
    }
}

// ---- bash itself is asked, about texts made at random. PI_TEST_SEED and PI_TEST_TEXTS
// ask about others and more.

static int number(const char *name, int fallback)
{
    const char *value = getenv(name);
    return value ? (int)strtol(value, NULL, 10) : fallback;
}

// Runs each text, which ends in NUL, in a bash in which argv prints its arguments.
static char *ask_bash(const char *dir, const struct buf *texts)
{
    scratch_write(dir, "texts", texts->data, texts->len);
    scratch_text(dir, "ask",
                 "argv() { printf '<%s>' \"$@\"; echo; }\n"
                 "PATH=\n"
                 "while IFS= read -r -d '' text; do\n"
                 "    ( eval \"$text\" ) 2>/dev/null\n"
                 "    printf '\\1'\n"
                 "done <texts >answers\n");
    char command[1000];
    snprintf(command, sizeof command, "cd '%s' && exec bash --norc ask </dev/null", dir);
    assert_int_equal(system(command), 0);
    return scratch_read(dir, "answers", NULL);
}

// What we expect of it: true when every command is an argv with known words.
static bool expect(struct syntax_fixture *f, const char *text, struct buf *out)
{
    struct command_list list;
    if (command_parse(&list, f->grammars, sv_of(text), NULL, NULL) != PI_OK) {
        return false;
    }
    bool known = list.assignments_len == 0 && list.redirects_len == 0;
    for (size_t i = 0; i < list.len && known; i++) {
        const struct command_simple *c = &list.commands[i];
        known = c->words_len > 1 && strcmp(c->words[0].text, "argv") == 0 &&
                c->words[0].dynamic == 0 && c->scope == 0 && c->position == 0;
        for (size_t w = 1; w < c->words_len && known; w++) {
            known = c->words[w].dynamic == 0;
            buf_addf(out, "<%s>", c->words[w].text);
        }
        buf_addc(out, '\n');
    }
    command_list_finish(&list);
    return known;
}

static void test_like_bash(void **state)
{
    static const char *const pieces[] = {
        "a",  "b",  " ", " ",     "'",   "'",        "\"",   "\"",  "\\", "$",
        "$'", "\n", ";", "#",     "~",   "=",        "{",    "}",   ",",  "\t",
        "!",  "-",  ":", "argv ", "\\'", "\\\"",     "\\\n", "\\n", "1",  "^",
        "%",  "@",  "+", "]",     ".",   "\xc3\xa4", "/",    "in",  "do", "time ",
    };
    struct random r = {.state = (uint64_t)number("PI_TEST_SEED", 7)};
    struct buf texts = {0}, wanted = {0};
    int some = number("PI_TEST_TEXTS", 200), known = 0;
    while (known < some) {
        struct buf text = {0}, expected = {0};
        buf_adds(&text, "argv ");
        for (uint32_t n = 1 + random_below(&r, 9); n > 0; n--) {
            buf_adds(&text, pieces[random_below(&r, sizeof pieces / sizeof *pieces)]);
        }
        if (expect(*state, buf_cstr(&text), &expected)) {
            known++;
            buf_add(&texts, buf_cstr(&text), text.len + 1);
            buf_addsv(&wanted, buf_sv(&expected));
            buf_addc(&wanted, '\1');
        }
        buf_finish(&text);
        buf_finish(&expected);
    }
    char *dir = scratch_make();
    char *got = ask_bash(dir, &texts);
    assert_non_null(got);
    const char *t = texts.data, *w = wanted.data, *g = got;
    for (int i = 0; i < known; i++, t += strlen(t) + 1) {
        size_t wn = strcspn(w, "\1"), gn = strcspn(g, "\1");
        if (wn != gn || memcmp(w, g, wn) != 0) {
            fail_msg("%s: bash says %.*s, we say %.*s", t, (int)gn, g, (int)wn, w);
        }
        w += wn + 1;
        g += gn + 1;
    }
    free(got);
    scratch_remove(dir);
    buf_finish(&texts);
    buf_finish(&wanted);
}

// Every command that bash runs must be in the list. Each call of a function or of a
// command that there is not is noted as "name\2argument...\3".
static char *watch_bash(const char *dir, const struct buf *texts)
{
    scratch_write(dir, "texts", texts->data, texts->len);
    scratch_text(dir, "watch",
                 "note() {\n"
                 "    local all\n"
                 "    printf -v all '%s\\2' \"$@\"\n"
                 "    printf '%s\\3' \"$all\" >&9\n" // in one piece
                 "}\n"
                 "a() { note a \"$@\"; }\n"
                 "b() { note b \"$@\"; false; }\n"
                 "command_not_found_handle() { note \"$@\"; }\n"
                 "PATH=\n"
                 "while IFS= read -r -d '' text; do\n"
                 // The pipe is at its end when all that was started has ended.
                 "    notes=$( ( cd empty; eval \"$text\" ) 9>&1 <&- >&- 2>&- )\n"
                 "    printf '%s\\1' \"$notes\" >&8\n"
                 "done <texts 8>answers\n");
    assert_int_equal(mkdir(scratch_path(dir, "empty"), 0755), 0);
    char command[1000];
    snprintf(command, sizeof command, "cd '%s' && exec bash --norc watch </dev/null",
             dir);
    assert_int_equal(system(command), 0);
    return scratch_read(dir, "answers", NULL);
}

// Whether the list has a command that may have been noted so.
static bool explains(const struct command_simple *c, const char *note, size_t n)
{
    bool known = true;
    const char *at = note;
    for (size_t i = 0; i < c->words_len; i++) {
        if (c->words[i].dynamic) {
            known = false;
            break;
        }
        size_t len = strlen(c->words[i].text);
        if ((size_t)(note + n - at) < len + 1 || memcmp(at, c->words[i].text, len) != 0 ||
            at[len] != '\2') {
            return false;
        }
        at += len + 1;
    }
    return c->words_len > 0 && (!known || at == note + n);
}

static void check_notes(struct syntax_fixture *f, const char *text, const char *notes,
                        size_t n)
{
    struct command_list list;
    assert_int_equal(command_parse(&list, f->grammars, sv_of(text), NULL, NULL), PI_OK);
    const char *end = notes + n;
    while (notes < end) {
        struct sv note = sv_make(notes, strcspn(notes, "\3"));
        notes += note.n + 1;
        bool found = false;
        for (size_t i = 0; i < list.len; i++) {
            found = found || explains(&list.commands[i], note.p, note.n);
        }
        if (!found) {
            struct buf out = {0};
            show(&out, &list);
            fail_msg("%s: bash runs %.*s, the list is\n%s", text, (int)note.n, note.p,
                     buf_cstr(&out));
        }
    }
    command_list_finish(&list);
}

static bool is_watched(struct syntax_fixture *f, const char *text)
{
    struct command_list list;
    // A function that calls itself would never end.
    if (strstr(text, "()") ||
        command_parse(&list, f->grammars, sv_of(text), NULL, NULL) != PI_OK) {
        return false;
    }
    bool functions = false;
    for (size_t i = 0; i < list.scopes_len; i++) {
        functions = functions || list.scopes[i].kind == COMMAND_FUNCTION;
    }
    bool any = list.len > 1 && !functions;
    command_list_finish(&list);
    return any;
}

static void test_misses_nothing(void **state)
{
    static const char *const pieces[] = {
        "a",       "b",     "a ",         "b ",    " ",  " ",   "'",     "\"",
        "\\",      "$",     "$(",         "$(",    ")",  ")",   "`",     "`",
        "(",       "((",    "))",         "\n",    ";",  "; ",  "&",     " && ",
        " || ",    "|",     " | ",        "#",     " #", "=",   "{",     "{ ",
        "; }",     "}",     "!",          " ! ",   "<",  "> ",  "<<E\n", "\nE\n",
        "<<'E'\n", "<<<",   "<(",         "${x:-", "${", "$((", "if ",   "; then ",
        "; fi",    "else ", "case a in ", "esac",  ";;", "[ ",  " ]",    "[[ ",
        " ]]",     "x=",    "\\\n",       "$'",    "1",  "-",   "*",     "time ",
        "\t",      "2>",    ">&",         "E",     "!(", "@(",  "~",     ":",
        ",",
    };
    struct random r = {.state = (uint64_t)number("PI_TEST_SEED", 7)};
    struct buf texts = {0};
    int wanted = number("PI_TEST_TEXTS", 80), watched = 0, notes = 0;
    while (watched < wanted) {
        struct buf text = {0};
        for (uint32_t n = 2 + random_below(&r, 12); n > 0; n--) {
            buf_adds(&text, pieces[random_below(&r, sizeof pieces / sizeof *pieces)]);
        }
        if (is_watched(*state, buf_cstr(&text))) {
            watched++;
            buf_add(&texts, buf_cstr(&text), text.len + 1);
        }
        buf_finish(&text);
    }
    char *dir = scratch_make();
    char *got = watch_bash(dir, &texts);
    assert_non_null(got);
    const char *t = texts.data, *g = got;
    for (int i = 0; i < watched; i++, t += strlen(t) + 1) {
        size_t n = strcspn(g, "\1");
        check_notes(*state, t, g, n);
        notes += n > 0;
        assert_int_equal(g[n], 1);
        g += n + 1;
    }
    assert_true(notes > 10);
    free(got);
    scratch_remove(dir);
    buf_finish(&texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),     cmocka_unit_test(test_structure),
        cmocka_unit_test(test_compound),  cmocka_unit_test(test_substitutions),
        cmocka_unit_test(test_redirects), cmocka_unit_test(test_assignments),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_like_bash), cmocka_unit_test(test_misses_nothing),
    };
    syntax_need_grammars();
    return cmocka_run_group_tests_name("syntax/command", tests, syntax_setup,
                                       syntax_teardown);
}
