#include "description.h"

#include "mul_int8.h"
#include "protocol.h"

namespace bench {
namespace {

Text& key(Text& json, const char* name) { return json.add_json(name).add(':'); }

void add_text(Text& json, const char* name, const char* value) {
  key(json, name).add_json(value).add(',');
}

void add_number(Text& json, const char* name, uint32_t value) {
  key(json, name).add_number(value).add(',');
}

void add_facts(Text& json, const Fact* facts, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    json.add(i == 0 ? "" : ",");
    key(json, facts[i].key).add_json(facts[i].value);
  }
}

void add_variants(Text& json) {
  size_t count = 0;
  const MulInt8Variant* variants = mul_int8_variants(&count);
  json.add("\"kernels\":{\"mul_int8\":[");
  for (size_t i = 0; i < count; ++i) {
    json.add(i == 0 ? "" : ",").add_json(variants[i].name);
  }
  json.add("]},");
}

void add_memories(Text& json, Port& port) {
  size_t count = 0;
  const Memory* memories = port.memories(&count);
  json.add("\"memories\":[");
  for (size_t i = 0; i < count; ++i) {
    json.add(i == 0 ? "{" : ",{");
    add_text(json, "name", memories[i].name);
    key(json, "size").add_number(memories[i].size);
    json.add(memories[i].read_only ? ",\"read_only\":true}" : "}");
  }
  json.add("],");
}

void add_programs(Text& json, Programs* programs) {
  key(json, "programs");
  if (programs == nullptr) {
    json.add("null,");
    return;
  }
  const ProgramRuntime runtime = programs->runtime();
  json.add('{');
  add_text(json, "runtime", runtime.name);
  add_number(json, "operators", runtime.operators);
  key(json, "traces").add(runtime.traces ? "true" : "false").add("},");
}

}  // namespace

void write_description(Text& json, Port& port, Programs* programs, uint32_t boot_id,
                       uint32_t chunk, uint32_t window) {
  const Identity identity = port.identity();
  json.add('{');
  add_number(json, "protocol", protocol::kVersion);
  add_text(json, "target", identity.target);
  key(json, "board").add('{');
  add_text(json, "id", identity.board_id);
  key(json, "description").add_json(identity.description);
  json.add(identity.board_facts > 0 ? "," : "");
  add_facts(json, identity.board, identity.board_facts);
  json.add("},");
  add_text(json, "firmware", identity.firmware);
  add_number(json, "boot_id", boot_id);
  add_text(json, "reset_reason", identity.reset_reason);
  add_variants(json);
  add_memories(json, port);
  add_number(json, "chunk", chunk);
  add_number(json, "window", window);
  add_programs(json, programs);
  key(json, "clock").add('{');
  add_text(json, "unit", identity.clock_unit);
  key(json, "hz").add_number(identity.clock_hz).add("},");
  key(json, "build").add('{');
  add_facts(json, identity.build, identity.build_facts);
  json.add("}}");
}

}  // namespace bench
