/* A component in plain C, without an SDK, a libc or generated bindings: the exports follow the canonical ABI by hand.
 *
 * A string or a list comes in as a pointer and a length, in memory that this file handed out through cabi_realloc. A
 * result that is more than one value goes out through a pointer to its fields. Memory is handed out from one block that
 * starts again at each call, because each call has an instance of its own. */

#include <stddef.h>
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(name)))

enum { HEAP_BYTES = 1 << 20 };
static unsigned char heap[HEAP_BYTES] __attribute__((aligned(16)));
static size_t used;

EXPORT("cabi_realloc")
void *cabi_realloc(void *old, size_t old_size, size_t align, size_t new_size) {
    size_t at = (used + align - 1) / align * align;
    if (at > HEAP_BYTES || new_size > HEAP_BYTES - at) __builtin_trap();
    used = at + new_size;
    for (size_t i = 0; i < old_size && i < new_size; i++) heap[at + i] = ((unsigned char *)old)[i];
    return &heap[at];
}

/* result<summary, string>: a tag, then the larger of both. */
struct described {
    uint8_t is_error;
    union {
        struct { uint32_t count; double mean, least, most; } summary;
        struct { const char *text; size_t length; } error;
    } value;
};
static struct described described;
static const char empty[] = "there are no numbers";

EXPORT("example:stats/series@0.1.0#describe-numbers")
struct described *describe_numbers(const double *numbers, size_t length) {
    if (length == 0) {
        described.is_error = 1;
        described.value.error.text = empty;
        described.value.error.length = sizeof empty - 1;
        return &described;
    }
    double sum = 0, least = numbers[0], most = numbers[0];
    for (size_t i = 0; i < length; i++) {
        sum += numbers[i];
        if (numbers[i] < least) least = numbers[i];
        if (numbers[i] > most) most = numbers[i];
    }
    described.is_error = 0;
    described.value.summary.count = (uint32_t)length;
    described.value.summary.mean = sum / (double)length;
    described.value.summary.least = least;
    described.value.summary.most = most;
    return &described;
}

EXPORT("example:stats/series@0.1.0#count-words")
uint32_t count_words(const char *text, size_t length) {
    uint32_t words = 0;
    int inside = 0;
    for (size_t i = 0; i < length; i++) {
        int space = text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r';
        if (!space && !inside) words++;
        inside = !space;
    }
    return words;
}

static struct { char *text; size_t length; } reversed_text;

EXPORT("example:stats/series@0.1.0#reversed")
void *reversed(const char *text, size_t length) {
    char *out = cabi_realloc(0, 0, 1, length);
    for (size_t i = 0; i < length; i++) out[i] = text[length - 1 - i];
    reversed_text.text = out;
    reversed_text.length = length;
    return &reversed_text;
}
