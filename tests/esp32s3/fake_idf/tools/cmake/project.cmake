# As much of ESP-IDF 5.5's build as the project's own CMake files use, for a host compiler and
# declarations in place of components. It takes no argument that ESP-IDF would not, and writes down
# what it was told.
cmake_minimum_required(VERSION 3.16)

set(record ${CMAKE_BINARY_DIR}/told.txt)
file(WRITE ${record} "")

function(idf_build_set_property property value)
  file(APPEND ${record} "build ${property}=${value}\n")
endfunction()

function(idf_build_get_property variable property)
  if(NOT property STREQUAL BUILD_COMPONENTS)
    message(FATAL_ERROR "no build property ${property} here")
  endif()
  set(${variable} esp_driver_uart;espressif__esp-nn;main PARENT_SCOPE)
endfunction()

function(idf_component_get_property variable component property)
  if(NOT component STREQUAL espressif__esp-nn OR NOT property STREQUAL COMPONENT_DIR)
    message(FATAL_ERROR "no ${property} of ${component} here")
  endif()
  set(${variable} ${CMAKE_BINARY_DIR}/managed_components/espressif__esp-nn PARENT_SCOPE)
endfunction()

# The options of ESP-IDF 5.5's component.cmake.
function(idf_component_register)
  cmake_parse_arguments(
    told "WHOLE_ARCHIVE" "KCONFIG;KCONFIG_PROJBUILD"
    "SRCS;SRC_DIRS;EXCLUDE_SRCS;INCLUDE_DIRS;PRIV_INCLUDE_DIRS;LDFRAGMENTS;REQUIRES;PRIV_REQUIRES;REQUIRED_IDF_TARGETS;EMBED_FILES;EMBED_TXTFILES"
    ${ARGN})
  if(told_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "unknown arguments: ${told_UNPARSED_ARGUMENTS}")
  endif()
  foreach(name WHOLE_ARCHIVE PRIV_REQUIRES REQUIRES LDFRAGMENTS)
    file(APPEND ${record} "component ${name}=${told_${name}}\n")
  endforeach()
  add_library(__idf_main STATIC ${told_SRCS})
  target_include_directories(__idf_main PRIVATE ${told_PRIV_INCLUDE_DIRS})
  foreach(file ${told_LDFRAGMENTS})
    if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
      message(FATAL_ERROR "no linker fragment ${file}")
    endif()
  endforeach()
  set(COMPONENT_LIB __idf_main PARENT_SCOPE)
endfunction()

macro(project name)
  _project(${name} LANGUAGES CXX)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  add_subdirectory(main)
  write_link_interface()
endmacro()

# What the component hands on to whoever links it.
function(write_link_interface)
  get_target_property(libraries __idf_main INTERFACE_LINK_LIBRARIES)
  get_target_property(options __idf_main INTERFACE_LINK_OPTIONS)
  file(APPEND ${record} "link libraries=${libraries}\nlink options=${options}\n")
endfunction()
