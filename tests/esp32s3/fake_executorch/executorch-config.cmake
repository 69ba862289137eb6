# What an ExecuTorch built for the chip offers its users, without its code.
#
#   FAKE_WITHOUT_LINK_OPTIONS   as if the package did not say how to link its operators
set(executorch_VERSION 1.5.1)
foreach(library executorch executorch_selected_kernels quantized_ops_lib)
  add_library(${library} STATIC IMPORTED)
  set_target_properties(${library} PROPERTIES IMPORTED_LOCATION ${CMAKE_CURRENT_LIST_DIR}/lib${library}.a)
endforeach()
if(NOT FAKE_WITHOUT_LINK_OPTIONS)
  foreach(library executorch_selected_kernels quantized_ops_lib)
    set_target_properties(${library} PROPERTIES INTERFACE_LINK_OPTIONS
      "SHELL:LINKER:--whole-archive $<TARGET_FILE:${library}> LINKER:--no-whole-archive")
  endforeach()
endif()
set_target_properties(executorch PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
  "${FAKE_EXECUTORCH_INCLUDE};${FAKE_EXECUTORCH_INCLUDE}/executorch/runtime/core/portable_type/c10")
