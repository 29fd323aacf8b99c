# headrace_module(NAME name SOURCES a.cc … DEPENDS base … LIBRARIES fmt::fmt … TESTS a_test.cc … TEST_LIBRARIES …)
#
# One static library `headrace_<name>` for a folder of src/, and one test program `<name>_test` for the
# tests beside its sources. DEPENDS names other modules: these are the link edges that the layering test
# compares with the #includes. LIBRARIES are third-party. Third-party libraries stay private to the
# module unless its headers show them; LIBRARIES PUBLIC is spelled PUBLIC_LIBRARIES.
function(headrace_module)
  cmake_parse_arguments(M "" "NAME" "SOURCES;DEPENDS;LIBRARIES;PUBLIC_LIBRARIES;TESTS;TEST_LIBRARIES;TEST_DEPENDS" ${ARGN})
  set(target headrace_${M_NAME})
  if(M_NAME STREQUAL testing)  # tests register themselves when linked; an archive would drop them
    add_library(${target} OBJECT ${M_SOURCES})
  else()
    add_library(${target} STATIC ${M_SOURCES})
  endif()
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  foreach(dep ${M_DEPENDS})
    target_link_libraries(${target} PUBLIC headrace_${dep})
  endforeach()
  target_link_libraries(${target} PUBLIC ${M_PUBLIC_LIBRARIES} PRIVATE ${M_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY HEADRACE_MODULES ${M_NAME})
  set_property(GLOBAL PROPERTY HEADRACE_DEPENDS_${M_NAME} "${M_DEPENDS}")

  if(HEADRACE_TESTS AND M_TESTS)
    add_executable(${M_NAME}_test ${M_TESTS})
    target_link_libraries(${M_NAME}_test PRIVATE ${target} ${M_TEST_LIBRARIES} GTest::gmock GTest::gtest_main)
    foreach(dep ${M_TEST_DEPENDS})
      target_link_libraries(${M_NAME}_test PRIVATE headrace_${dep})
    endforeach()
    target_compile_definitions(${M_NAME}_test PRIVATE HEADRACE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_precompile_headers(${M_NAME}_test PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
    add_test(NAME ${M_NAME} COMMAND ${M_NAME}_test)
    set_tests_properties(${M_NAME} PROPERTIES LABELS unit TIMEOUT 300)
  endif()
endfunction()

# The link edges as data, for tests/layering.py.
function(headrace_write_layering path)
  get_property(modules GLOBAL PROPERTY HEADRACE_MODULES)
  set(rows "")
  foreach(module ${modules})
    get_property(depends GLOBAL PROPERTY HEADRACE_DEPENDS_${module})
    list(TRANSFORM depends REPLACE "(.+)" "\"\\1\"")
    list(JOIN depends ", " joined)
    list(APPEND rows "  \"${module}\": [${joined}]")
  endforeach()
  list(JOIN rows ",\n" body)
  file(WRITE "${path}" "{\n${body}\n}\n")
endfunction()
