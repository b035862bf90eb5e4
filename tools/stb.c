// The image library, which is a header: compiled here once, without warnings (see
// CMakeLists.txt), with limits and with memory of our own.

#include "picture.h"
#include "picture_memory.h"

#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_MAX_DIMENSIONS PICTURE_SIDE_MAX
#define STBI_ASSERT(x) ((void)0)
#define STBI_MALLOC(n) picture_alloc(n)
#define STBI_REALLOC(p, n) picture_realloc(p, n)
#define STBI_FREE(p) picture_free(p)
#include <stb/stb_image.h>

#define STB_IMAGE_RESIZE_IMPLEMENTATION
#define STBIR_ASSERT(x) ((void)0)
#define STBIR_MALLOC(n, context) picture_alloc(n)
#define STBIR_FREE(p, context) picture_free(p)
#include <stb/stb_image_resize.h>

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_WRITE_NO_STDIO
#define STBIW_ASSERT(x) ((void)0)
#define STBIW_MALLOC(n) picture_arena_alloc(n)
#define STBIW_REALLOC_SIZED(p, old, n) picture_arena_realloc(p, old, n)
#define STBIW_REALLOC(p, n) error_the_old_size_is_needed
#define STBIW_FREE(p) ((void)(p))
#include <stb/stb_image_write.h>
