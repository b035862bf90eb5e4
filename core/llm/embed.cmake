# Writes the bytes of INPUT as a C array: models_builtin of llm/models_file.h.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n    " bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"llm/models_file.h\"

const unsigned char models_builtin[] = {
    ${bytes}
};
const size_t models_builtin_len = sizeof models_builtin;
")
