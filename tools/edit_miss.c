#include "edit_miss.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/vec.h"
#include "text/utf8.h"

enum {
    SHOWN_BYTES = 160,    // of a line
    LINE_BYTES = 2048,    // of a line that are compared
    COMPARED_MAX = 20000, // lines around candidates
    WORD_MIN = 4,
    WORD_LINES = 1000,
    SIMILAR_MIN = 55, // per cent of pairs of letters in common
};

// Differences that a comparison may overlook.
enum ignore {
    IGNORE_SIGNS = 1,  // quotes, dashes, odd blanks, compatibility forms
    IGNORE_INDENT = 2, // white space at the front
    IGNORE_INNER = 4,  // amount and kind of white space inside
    IGNORE_CASE = 8,
    IGNORE_ALL = 15,
};

// Where a line of oldText stands in it decides how much of a line of the file it may be.
enum part { PART_WHOLE, PART_END, PART_START, PART_ANY };

// What was looked for, line by line.
struct wanted {
    struct sv *lines;  // of oldText, without line ends
    struct buf *loose; // the same with all differences overlooked
    size_t len, cap;
    bool whole_last; // oldText ends in a line end
};

struct pairs {
    uint64_t bits[16];
    unsigned count;
};

// The closest place so far.
struct closest {
    size_t line;    // 1-based, of the first line of oldText
    size_t at;      // where that line starts
    size_t matched; // lines that are alike
    size_t similar_line, similar_score;
    struct sv similar;
    size_t compared;
};

struct search {
    struct sv text;
    struct wanted wanted;
    size_t key[2]; // lines of oldText to look for: the first and the longest
    struct pairs key_pairs;
    struct closest best;
    struct buf loose; // scratch
};

// ---- lines as they look

static struct sv clip(struct sv line, size_t max)
{
    return line.n > max ? sv_make(line.p, utf8_floor(line, max)) : line;
}

static struct sv without_cr(struct sv line)
{
    return sv_ends(line, sv_of("\r")) ? sv_make(line.p, line.n - 1) : line;
}

static void put_unit(struct buf *out, uint32_t code, unsigned ignore)
{
    if ((ignore & IGNORE_CASE) && code >= 'A' && code <= 'Z') {
        code += 'a' - 'A';
    }
    utf8_put(out, code <= 0x10FFFF ? code : 0xFFFD);
}

static void relax(struct buf *out, struct sv line, unsigned ignore)
{
    buf_clear(out);
    line = clip(line, LINE_BYTES);
    struct edit_reader r = edit_reader_make(line, 0, line.n, EDIT_FUZZY);
    struct edit_unit u;
    bool blank = false;
    bool any = false;
    while (edit_reader_next(&r, &u)) {
        bool is_blank = fold_is_blank(u.code);
        bool skip = is_blank && (any ? ignore & IGNORE_INNER : ignore & IGNORE_INDENT);
        any = any || !is_blank;
        if (skip) {
            blank = any;
            continue;
        }
        if (blank) {
            buf_addc(out, ' ');
            blank = false;
        }
        if (ignore & IGNORE_SIGNS) {
            put_unit(out, u.code, ignore);
        } else if (u.last) {
            struct sv raw = sv_make(line.p + u.start, u.end - u.start);
            put_unit(out, utf8_next(&raw), ignore);
        }
    }
}

static enum part part_of(const struct wanted *w, size_t i)
{
    bool last = i + 1 == w->len && !w->whole_last;
    if (i == 0) {
        return last ? PART_ANY : PART_END;
    }
    return last ? PART_START : PART_WHOLE;
}

static bool holds(struct sv line, struct sv wanted, enum part part)
{
    switch (part) {
    case PART_END:
        return sv_ends(line, wanted);
    case PART_START:
        return sv_starts(line, wanted);
    case PART_ANY:
        return wanted.n == 0 ||
               (line.n > 0 && memmem(line.p, line.n, wanted.p, wanted.n));
    case PART_WHOLE:
        break;
    }
    return sv_eq(line, wanted);
}

// Whether the line holds line i of oldText when these differences are overlooked.
static bool alike(const struct search *s, struct sv line, size_t i, unsigned ignore)
{
    struct buf a = {0};
    struct buf b = {0};
    relax(&a, line, ignore);
    relax(&b, s->wanted.lines[i], ignore);
    bool yes = holds(buf_sv(&a), buf_sv(&b), part_of(&s->wanted, i));
    buf_finish(&a);
    buf_finish(&b);
    return yes;
}

// The differences without which the lines would not be alike.
static unsigned differences(const struct search *s, struct sv line, size_t i)
{
    unsigned found = 0;
    for (unsigned bit = 1; bit < IGNORE_ALL; bit <<= 1) {
        found |= alike(s, line, i, IGNORE_ALL & ~bit) ? 0 : bit;
    }
    return found;
}

// ---- similarity of lines that are not alike: pairs of letters in common

static struct pairs pairs_of(struct sv loose)
{
    struct pairs p = {0};
    for (size_t i = 0; i + 1 < loose.n; i++) {
        unsigned a = (unsigned char)loose.p[i];
        unsigned b = (unsigned char)loose.p[i + 1];
        unsigned hash = (a * 31 + b) * 2654435761U >> 22;
        p.bits[hash / 64] |= (uint64_t)1 << hash % 64;
    }
    for (size_t i = 0; i < 16; i++) {
        p.count += (unsigned)__builtin_popcountll(p.bits[i]);
    }
    return p;
}

static size_t similarity(const struct pairs *a, const struct pairs *b)
{
    unsigned common = 0;
    for (size_t i = 0; i < 16; i++) {
        common += (unsigned)__builtin_popcountll(a->bits[i] & b->bits[i]);
    }
    unsigned all = a->count + b->count;
    return all ? 200 * common / all : 0;
}

// ---- looking

static bool add_wanted(struct wanted *w, struct sv line)
{
    size_t cap = w->cap;
    struct sv *lines = vec_grow(w->lines, &cap, w->len + 1, sizeof(*lines));
    if (!lines) {
        return false;
    }
    w->lines = lines;
    cap = w->cap;
    struct buf *loose = vec_grow(w->loose, &cap, w->len + 1, sizeof(*loose));
    if (!loose) {
        return false;
    }
    w->loose = loose;
    w->cap = cap;
    w->lines[w->len] = without_cr(line);
    w->loose[w->len] = (struct buf){0};
    relax(&w->loose[w->len], w->lines[w->len], IGNORE_ALL);
    return buf_ok(&w->loose[w->len++]);
}

static bool search_init(struct search *s, struct sv text, struct sv old)
{
    *s = (struct search){.text = text};
    s->wanted.whole_last = sv_ends(old, sv_of("\n"));
    struct sv line;
    while (sv_next_line(&old, &line)) {
        if (!add_wanted(&s->wanted, line)) {
            return false;
        }
    }
    const struct wanted *w = &s->wanted;
    size_t first = 0;
    while (first + 1 < w->len && w->loose[first].len == 0) {
        first++;
    }
    size_t longest = first;
    for (size_t i = first; i < w->len; i++) {
        longest = w->loose[i].len > w->loose[longest].len ? i : longest;
    }
    s->key[0] = first;
    s->key[1] = longest;
    s->key_pairs = pairs_of(buf_sv(&w->loose[longest]));
    return w->len > 0 && w->loose[longest].len > 0;
}

static void search_finish(struct search *s)
{
    for (size_t i = 0; i < s->wanted.len; i++) {
        buf_finish(&s->wanted.loose[i]);
    }
    free(s->wanted.loose);
    free(s->wanted.lines);
    buf_finish(&s->loose);
}

// Line i of oldText is like the line at `at`: how many of the others are?
static void compare_around(struct search *s, size_t at, size_t number, size_t i)
{
    struct closest *best = &s->best;
    for (; i > 0 && at > 0; i--) {
        const char *lf = memrchr(s->text.p, '\n', at - 1);
        at = lf ? (size_t)(lf - s->text.p) + 1 : 0;
        number--;
    }
    if (i > 0) {
        return;
    }
    struct sv rest = sv_from(s->text, at);
    struct sv line;
    size_t matched = 0;
    for (; i < s->wanted.len && sv_next_line(&rest, &line); i++) {
        relax(&s->loose, without_cr(line), IGNORE_ALL);
        matched +=
            holds(buf_sv(&s->loose), buf_sv(&s->wanted.loose[i]), part_of(&s->wanted, i));
        best->compared++;
    }
    if (matched > best->matched) {
        best->matched = matched;
        best->line = number;
        best->at = at;
    }
}

static void look_at(struct search *s, struct sv line, size_t number)
{
    struct closest *best = &s->best;
    struct sv shown = without_cr(line);
    relax(&s->loose, shown, IGNORE_ALL);
    struct pairs pairs = pairs_of(buf_sv(&s->loose));
    size_t score = similarity(&pairs, &s->key_pairs);
    if (score > best->similar_score) {
        best->similar_score = score;
        best->similar_line = number;
        best->similar = shown;
    }
    for (size_t k = 0; k < 2; k++) {
        size_t i = s->key[k];
        bool hit =
            s->wanted.loose[i].len > 0 &&
            holds(buf_sv(&s->loose), buf_sv(&s->wanted.loose[i]), part_of(&s->wanted, i));
        if (hit && best->compared < COMPARED_MAX) {
            compare_around(s, (size_t)(line.p - s->text.p), number, i);
            relax(&s->loose, shown, IGNORE_ALL);
        }
    }
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

static struct sv longest_word(struct sv line)
{
    struct sv best = {0};
    for (size_t at = 0; at < line.n;) {
        size_t end = at;
        while (end < line.n && in_word(line.p[end])) {
            end++;
        }
        if (end - at > best.n) {
            best = sv_make(line.p + at, end - at);
        }
        at = end + 1;
    }
    return best;
}

// Of the rest of a large text only the lines that hold the longest word.
static void look_for_word(struct search *s, struct sv rest, size_t number)
{
    struct sv word = longest_word(s->wanted.lines[s->key[1]]);
    if (word.n < WORD_MIN) {
        return;
    }
    for (int i = 0; i < WORD_LINES; i++) {
        const char *hit = memmem(rest.p, rest.n, word.p, word.n);
        if (!hit) {
            return;
        }
        size_t skip = (size_t)(hit - rest.p);
        const char *lf = memrchr(rest.p, '\n', skip);
        size_t start = lf ? (size_t)(lf - rest.p) + 1 : 0;
        number += edit_line_number(rest, start) - 1;
        rest = sv_from(rest, start);
        struct sv line;
        if (!sv_next_line(&rest, &line)) {
            return;
        }
        look_at(s, line, number++);
    }
}

static void look(struct search *s)
{
    struct sv rest = s->text;
    struct sv line;
    size_t number = 1;
    size_t n = s->text.n < EDIT_MISS_BYTES ? s->text.n : EDIT_MISS_BYTES;
    const char *stop = s->text.p + n;
    while (sv_next_line(&rest, &line)) {
        look_at(s, line, number++);
        if (line.p + line.n >= stop) {
            look_for_word(s, rest, number);
            return;
        }
    }
}

// ---- telling

void edit_miss_quote(struct buf *out, struct sv line)
{
    struct sv shown = clip(line, SHOWN_BYTES);
    json_write_string(out, shown);
    if (shown.n < line.n) {
        buf_adds(out, "...");
    }
}

static void add_indent(struct buf *out, struct sv line)
{
    size_t tabs = 0, spaces = 0;
    size_t n = edit_blanks(line, 0, NULL);
    for (size_t i = 0; i < n; i++) {
        tabs += line.p[i] == '\t';
        spaces += line.p[i] == ' ';
    }
    if (tabs == 0 || spaces > 0) {
        buf_addf(out, "%zu space%s", spaces, spaces == 1 ? "" : "s");
    }
    if (tabs > 0) {
        buf_addf(out, "%s%zu tab%s", spaces > 0 ? " and " : "", tabs,
                 tabs == 1 ? "" : "s");
    }
}

static void add_differences(struct buf *out, unsigned found, struct sv line,
                            struct sv old)
{
    static const char *const words[] = {
        "typographic quotes, dashes or blanks",
        "indentation",
        "white space inside the line",
        "upper and lower case",
    };
    size_t said = 0;
    for (size_t i = 0; i < 4; i++) {
        if (found & 1U << i) {
            buf_addf(out, "%s%s", said++ ? ", " : " in ", words[i]);
        }
    }
    if (found & IGNORE_INDENT) {
        buf_adds(out, " (the file has ");
        add_indent(out, line);
        buf_adds(out, ", oldText ");
        add_indent(out, old);
        buf_adds(out, ")");
    }
}

static void add_both(struct buf *out, struct sv line, struct sv old)
{
    buf_adds(out, ":\n  file:    ");
    edit_miss_quote(out, line);
    buf_adds(out, "\n  oldText: ");
    edit_miss_quote(out, old);
    buf_adds(out, "\n");
}

// The closest place has lines like those of oldText: the first line that differs.
static void tell_alike(struct buf *out, const struct search *s)
{
    const struct closest *best = &s->best;
    struct sv rest = sv_from(s->text, best->at);
    struct sv line = {0};
    for (size_t i = 0; i < s->wanted.len; i++) {
        struct sv old = s->wanted.lines[i];
        bool there = sv_next_line(&rest, &line);
        line = without_cr(line);
        if (!there) {
            buf_addf(out,
                     " From line %zu on the file agrees, but it ends before line %zu "
                     "of oldText.",
                     best->line, i + 1);
            return;
        }
        bool same = alike(s, line, i, IGNORE_ALL);
        unsigned found = same ? differences(s, line, i) : 0;
        if (same && !(found & ~(unsigned)IGNORE_SIGNS)) {
            continue; // this would have been overlooked
        }
        buf_addf(out, " The closest place begins at line %zu; ", best->line);
        buf_addf(out, "line %zu differs", best->line + i);
        add_differences(out, found, line, old);
        add_both(out, line, old);
        return;
    }
    // All lines are alike one by one; only their joints can differ.
    buf_addf(out, " The lines from %zu on are the closest.", best->line);
    if (rest.n == 0 && s->wanted.whole_last && !sv_ends(s->text, sv_of("\n"))) {
        buf_adds(out,
                 " oldText ends in a line end, which the last line of the file lacks.");
    }
}

static bool is_ascii(struct sv text)
{
    size_t i = 0;
    while (i < text.n && (unsigned char)text.p[i] < 0x80) {
        i++;
    }
    return i == text.n;
}

void edit_miss_explain(struct buf *out, struct sv text, struct sv old)
{
    if (text.n == 0) {
        buf_adds(out, " The file is empty; use write to give it content.");
        return;
    }
    static const struct sv bad = {"\xEF\xBF\xBD", 3};
    if (memmem(old.p, old.n, bad.p, bad.n) && !memmem(text.p, text.n, bad.p, bad.n)) {
        buf_adds(out,
                 " oldText holds U+FFFD, which read shows in place of bytes that are not "
                 "UTF-8 and which the file does not hold; choose text without it.");
        return;
    }
    if (!is_ascii(old) && !utf8_valid(text)) {
        buf_adds(out,
                 " The file is not UTF-8, perhaps in an 8-bit encoding, and oldText "
                 "holds characters beyond ASCII, which cannot be found in it; choose "
                 "text without them.");
        return;
    }
    struct search s;
    if (!search_init(&s, text, old)) {
        search_finish(&s);
        return;
    }
    look(&s);
    if (s.best.matched > 0) {
        tell_alike(out, &s);
    } else if (s.best.similar_score >= SIMILAR_MIN) {
        buf_addf(out, " The most similar line is line %zu", s.best.similar_line);
        add_both(out, s.best.similar, s.wanted.lines[s.key[1]]);
    } else {
        buf_addf(out, " No line of the file%s is like it.",
                 text.n > EDIT_MISS_BYTES ? "'s first 4 MB" : "");
    }
    search_finish(&s);
}

static void add_sign(struct buf *out, struct sv bytes)
{
    struct sv rest = bytes;
    uint32_t code = utf8_next(&rest);
    if (code < 0x80) {
        buf_addc(out, (char)code);
    } else {
        buf_addf(out, "U+%04X", (unsigned)code);
    }
}

void edit_miss_approximate(struct buf *out, struct sv text,
                           const struct edit_match *match, struct sv old)
{
    struct sv place = sv_make(text.p, match->end);
    struct edit_reader a = edit_reader_make(place, match->start, match->end, EDIT_FUZZY);
    struct edit_reader b = edit_reader_make(old, 0, old.n, EDIT_FUZZY);
    struct edit_unit ua, ub;
    while (edit_reader_next(&a, &ua) && edit_reader_next(&b, &ub)) {
        struct sv in_file = sv_make(text.p + ua.start, ua.end - ua.start);
        struct sv in_old = sv_make(old.p + ub.start, ub.end - ub.start);
        if (ua.code != '\n' && !sv_eq(in_file, in_old)) {
            buf_addf(out, "line %zu has ", edit_line_number(text, ua.start));
            add_sign(out, in_file);
            buf_adds(out, " where oldText has ");
            add_sign(out, in_old);
            return;
        }
    }
    buf_adds(out, "white space at line ends differs");
}
