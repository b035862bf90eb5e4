#include "text/myers.h"

#include <stdlib.h>

// E. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), the variant in
// linear space: from both ends of a box paths run towards each other, each as far as it
// gets with d differences; where they meet, the box is divided. A diagonal k holds the
// points with x - y = k.

struct box {
    ptrdiff_t x0, x1; // elements of a
    ptrdiff_t y0, y1; // elements of b
};

struct point {
    ptrdiff_t x, y;
};

// The furthest x on each diagonal so far; low to high are those that were reached.
struct front {
    ptrdiff_t *x;
    ptrdiff_t low, high;
};

struct search {
    const struct myers *m;
    ptrdiff_t *forward, *backward; // to be indexed by diagonal, also by negative ones
};

static bool same(const struct search *s, ptrdiff_t x, ptrdiff_t y)
{
    return s->m->a[x] == s->m->b[y];
}

static void trim(const struct search *s, struct box *b)
{
    while (b->x0 < b->x1 && b->y0 < b->y1 && same(s, b->x0, b->y0)) {
        b->x0++;
        b->y0++;
    }
    while (b->x0 < b->x1 && b->y0 < b->y1 && same(s, b->x1 - 1, b->y1 - 1)) {
        b->x1--;
        b->y1--;
    }
}

static void mark(const struct search *s, const struct box *b)
{
    for (ptrdiff_t x = b->x0; x < b->x1; x++) {
        s->m->a_changed[x] = true;
    }
    for (ptrdiff_t y = b->y0; y < b->y1; y++) {
        s->m->b_changed[y] = true;
    }
}

// One more difference: the front gets one diagonal wider on each side, or narrower where
// the box ends. `unreached` is worse than any x.
static void widen(struct front *f, const struct box *b, ptrdiff_t unreached)
{
    if (f->low > b->x0 - b->y1) {
        f->x[--f->low - 1] = unreached;
    } else {
        f->low++;
    }
    if (f->high < b->x1 - b->y0) {
        f->x[++f->high + 1] = unreached;
    } else {
        f->high--;
    }
}

static bool has(const struct front *f, ptrdiff_t k)
{
    return k >= f->low && k <= f->high;
}

static bool step_forward(const struct search *s, const struct box *b, struct front *f,
                         const struct front *other, struct point *met)
{
    bool odd = (b->x0 - b->y0 - b->x1 + b->y1) & 1;
    widen(f, b, -1);
    for (ptrdiff_t k = f->high; k >= f->low; k -= 2) {
        ptrdiff_t x = f->x[k - 1] < f->x[k + 1] ? f->x[k + 1] : f->x[k - 1] + 1;
        while (x < b->x1 && x - k < b->y1 && same(s, x, x - k)) {
            x++;
        }
        f->x[k] = x;
        if (odd && has(other, k) && other->x[k] <= x) {
            *met = (struct point){.x = x, .y = x - k};
            return true;
        }
    }
    return false;
}

static bool step_backward(const struct search *s, const struct box *b, struct front *f,
                          const struct front *other, struct point *met)
{
    bool odd = (b->x0 - b->y0 - b->x1 + b->y1) & 1;
    widen(f, b, PTRDIFF_MAX);
    for (ptrdiff_t k = f->high; k >= f->low; k -= 2) {
        ptrdiff_t x = f->x[k - 1] < f->x[k + 1] ? f->x[k - 1] : f->x[k + 1] - 1;
        while (x > b->x0 && x - k > b->y0 && same(s, x - 1, x - k - 1)) {
            x--;
        }
        f->x[k] = x;
        if (!odd && has(other, k) && x <= other->x[k]) {
            *met = (struct point){.x = x, .y = x - k};
            return true;
        }
    }
    return false;
}

// The point of a front that got furthest; a path may have left the box by a step.
static struct point furthest(const struct box *b, const struct front *f, bool forward)
{
    struct point best = {.x = forward ? b->x0 : b->x1, .y = forward ? b->y0 : b->y1};
    for (ptrdiff_t k = f->high; k >= f->low; k -= 2) {
        ptrdiff_t x = f->x[k];
        x = x < b->x0 ? b->x0 : x > b->x1 ? b->x1 : x;
        ptrdiff_t y = x - k;
        y = y < b->y0 ? b->y0 : y > b->y1 ? b->y1 : y;
        x = y + k;
        bool inside = x >= b->x0 && x <= b->x1;
        bool better = forward ? x + y > best.x + best.y : x + y < best.x + best.y;
        if (inside && better) {
            best = (struct point){.x = x, .y = y};
        }
    }
    return best;
}

// Too many differences: divide where one of the paths got furthest.
static struct point give_up(const struct box *b, const struct front *forward,
                            const struct front *backward)
{
    struct point f = furthest(b, forward, true);
    struct point r = furthest(b, backward, false);
    ptrdiff_t gained_f = f.x + f.y - b->x0 - b->y0;
    ptrdiff_t gained_r = b->x1 + b->y1 - r.x - r.y;
    return gained_f > gained_r ? f : r;
}

// Where to divide a trimmed box of which neither side is empty.
static struct point divide(const struct search *s, const struct box *b)
{
    ptrdiff_t first = b->x0 - b->y0;
    ptrdiff_t last = b->x1 - b->y1;
    struct front forward = {.x = s->forward, .low = first, .high = first};
    struct front backward = {.x = s->backward, .low = last, .high = last};
    struct point met;
    forward.x[first] = b->x0;
    backward.x[last] = b->x1;
    for (int cost = 0; cost < MYERS_COST_MAX; cost++) {
        if (step_forward(s, b, &forward, &backward, &met) ||
            step_backward(s, b, &backward, &forward, &met)) {
            return met;
        }
    }
    return give_up(b, &forward, &backward);
}

static ptrdiff_t size_of(const struct box *b)
{
    return b->x1 - b->x0 + b->y1 - b->y0;
}

// Recursion takes the smaller part only, so that its depth is logarithmic.
static void compare(const struct search *s, struct box b)
{
    for (;;) {
        trim(s, &b);
        if (b.x0 == b.x1 || b.y0 == b.y1) {
            mark(s, &b);
            return;
        }
        struct point p = divide(s, &b);
        struct box head = {.x0 = b.x0, .x1 = p.x, .y0 = b.y0, .y1 = p.y};
        struct box tail = {.x0 = p.x, .x1 = b.x1, .y0 = p.y, .y1 = b.y1};
        if (size_of(&head) == 0 || size_of(&tail) == 0) {
            mark(s, &b); // no progress; must not become an endless loop
            return;
        }
        bool head_first = size_of(&head) < size_of(&tail);
        compare(s, head_first ? head : tail);
        b = head_first ? tail : head;
    }
}

bool myers_compare(const struct myers *m)
{
    // Diagonals from -b_len to a_len, and one more on each side.
    size_t diagonals = m->a_len + m->b_len + 3;
    ptrdiff_t *memory = diagonals <= SIZE_MAX / 2 / sizeof *memory
                            ? malloc(2 * diagonals * sizeof *memory)
                            : NULL;
    if (!memory) {
        return false;
    }
    struct search s = {.m = m};
    s.forward = memory + m->b_len + 1;
    s.backward = s.forward + diagonals;
    compare(&s, (struct box){.x1 = (ptrdiff_t)m->a_len, .y1 = (ptrdiff_t)m->b_len});
    free(memory);
    return true;
}
