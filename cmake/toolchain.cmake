# Compiler-wide settings: warnings, sanitizers, and the tools that make builds faster where they are installed.

add_compile_options(-Wall -Wextra -Wno-missing-field-initializers -fno-omit-frame-pointer)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER "${CCACHE}")
  # Precompiled headers carry time stamps that ccache has to be told to look past.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;${CCACHE}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>")
  endif()
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

if(HEADRACE_SANITIZE)
  # g++ 12 sees uninitialised values in std::variant when sanitizers change its inlining.
  add_compile_options(-fsanitize=${HEADRACE_SANITIZE} -fno-sanitize-recover=undefined
                      -Wno-maybe-uninitialized)
  add_link_options(-fsanitize=${HEADRACE_SANITIZE})
endif()
