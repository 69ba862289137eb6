# Reads what main requires as ESP-IDF does before it knows the configuration: its CMakeLists.txt
# in script mode, up to idf_component_register.
#
#   MAIN   the folder of main
macro(idf_component_register)
  cmake_parse_arguments(
    told "" "KCONFIG;KCONFIG_PROJBUILD"
    "SRCS;SRC_DIRS;EXCLUDE_SRCS;INCLUDE_DIRS;PRIV_INCLUDE_DIRS;LDFRAGMENTS;REQUIRES;PRIV_REQUIRES;REQUIRED_IDF_TARGETS;EMBED_FILES;EMBED_TXTFILES"
    "${ARGN}")
  message(STATUS "requires ${told_PRIV_REQUIRES}")
  return()
endmacro()

function(expand)
  include(${MAIN}/CMakeLists.txt)
endfunction()

set(CMAKE_BUILD_EARLY_EXPANSION 1)
expand()
