"""The ESP-IDF project against what is known of ESP-IDF 5.5, ESP-NN and ExecuTorch."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from compiled_boards import FIRMWARE, HERE, KERNELS
from idf_project import (
    CMAKE,
    FLAGS,
    MAIN,
    PROJECT,
    Configured,
    configure,
    executorch_options,
)

from bench.lab.boards import board_type

REQUIRES = [
    "esp_driver_uart",
    "esp_driver_usb_serial_jtag",
    "esp_app_format",
    "esp_timer",
    "efuse",
    "esp_hw_support",
    "esp_rom",
    "heap",
    "esp_psram",
    "spi_flash",
]
SDKCONFIG = {
    "CONFIG_IDF_TARGET": '"esp32s3"',
    "CONFIG_ESPTOOLPY_FLASHSIZE_4MB": "y",
    "CONFIG_ESP_DEFAULT_CPU_FREQ_MHZ_240": "y",
    "CONFIG_COMPILER_OPTIMIZATION_PERF": "y",
    "CONFIG_ESP_MAIN_TASK_STACK_SIZE": "12288",
    "CONFIG_ESP_CONSOLE_UART_DEFAULT": "y",
    "CONFIG_ESP_CONSOLE_SECONDARY_NONE": "y",
    "CONFIG_BOOTLOADER_LOG_LEVEL_NONE": "y",
    "CONFIG_LOG_DEFAULT_LEVEL_NONE": "y",
    "CONFIG_LOG_MAXIMUM_LEVEL_INFO": "y",
    "CONFIG_ESP_SYSTEM_PANIC_PRINT_REBOOT": "y",
    "CONFIG_ESP_TASK_WDT_EN": "n",
    "CONFIG_FREERTOS_HZ": "1000",
    "CONFIG_ESP32S3_DATA_CACHE_64KB": "y",
    "CONFIG_ESP32S3_INSTRUCTION_CACHE_32KB": "y",
    "CONFIG_NN_OPTIMIZED": "y",
}
# Names that sdkconfig.h has and that the sources ask for; a misspelt one would just be undefined.
CONFIGURATION = {
    "CONFIG_COMPILER_OPTIMIZATION_PERF",
    "CONFIG_COMPILER_OPTIMIZATION_SIZE",
    "CONFIG_ESP32S3_DATA_CACHE_SIZE",
    "CONFIG_ESP32S3_INSTRUCTION_CACHE_SIZE",
    "CONFIG_IDF_TARGET_ESP32S3",
    "CONFIG_NN_OPTIMIZED",
    "CONFIG_NN_SKIP_NUDGE",
    "CONFIG_SPIRAM_MODE_OCT",
    "CONFIG_SPIRAM_MODE_QUAD",
}
# The native kernel of ports that have none of their own.
NOT_ON_THE_CHIP = {KERNELS / "mul_int8_native.cpp", KERNELS / "mul_int8_vector.cpp"}
# The chip has no memory to spare for ETDumps.
PROGRAMS = {*(FIRMWARE / "executorch").glob("*.cpp"), MAIN / "programs_executorch.cpp",
            MAIN / "executorch_pal.cpp"} - {FIRMWARE / "executorch/trace_etdump.cpp"}  # fmt: skip


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Configured:
    return configure(tmp_path_factory.mktemp("plain") / "build")


@pytest.fixture(scope="module")
def usb(tmp_path_factory: pytest.TempPathFactory) -> Configured:
    build = tmp_path_factory.mktemp("usb") / "build"
    return configure(build, "-DCONFIG_BENCH_LINK_USB_SERIAL_JTAG=y")


@pytest.fixture(scope="module")
def with_programs(tmp_path_factory: pytest.TempPathFactory) -> Configured:
    return configure(tmp_path_factory.mktemp("programs") / "build", *executorch_options())


def settings(name: str) -> dict[str, str]:
    lines = (PROJECT / name).read_text().splitlines()
    pairs = [line.split("=", 1) for line in lines if line and not line.startswith("#")]
    assert len({name for name, _ in pairs}) == len(pairs), "a setting is given twice"
    return {name: value for name, value in pairs}


def test_project_builds_main_and_what_it_requires_only() -> None:
    text = (PROJECT / "CMakeLists.txt").read_text()
    order = [
        "cmake_minimum_required(VERSION",
        "include($ENV{IDF_PATH}/tools/cmake/project.cmake)",
        "idf_build_set_property(MINIMAL_BUILD ON)",
        "project(",
    ]
    positions = [text.index(line) for line in order]
    assert positions == sorted(positions)


def test_component(plain: Configured, with_programs: Configured) -> None:
    assert plain.told["build MINIMAL_BUILD"] == "ON"
    for configured in (plain, with_programs):
        assert configured.told["component WHOLE_ARCHIVE"] == "TRUE"
        assert configured.list("component PRIV_REQUIRES") == REQUIRES
        assert configured.told["component REQUIRES"] == ""


def test_requirements_are_known_before_the_configuration_is() -> None:
    script = HERE / "fake_idf" / "early_expansion.cmake"
    said = subprocess.run(
        [CMAKE, f"-DMAIN={MAIN}", "-P", script], capture_output=True, text=True, check=True
    )
    assert said.stdout.split("requires ")[1].split() == [";".join(REQUIRES)]
    assert said.stderr == ""


def test_sources(plain: Configured, usb: Configured, with_programs: Configured) -> None:
    shared = {
        *(FIRMWARE / "runner").glob("*.cpp"),
        *KERNELS.glob("*.cpp"),
        *(KERNELS / "espnn").glob("*.cpp"),
    }
    port = set(MAIN.glob("*.cpp")) - PROGRAMS
    uart, jtag, none = (
        MAIN / f"{name}.cpp" for name in ("line_uart", "line_usb_serial_jtag", "programs_none")
    )
    expected = shared - NOT_ON_THE_CHIP | port
    assert set(plain.commands) == expected - {jtag}
    assert set(usb.commands) == expected - {uart}
    assert set(with_programs.commands) == (expected - {jtag, none}) | PROGRAMS


def test_nothing_of_executorch_without_a_prefix(plain: Configured) -> None:
    assert "executorch" not in plain.told["link libraries"]
    assert not [word for command in plain.commands.values() for word in command if "C10_" in word]


@pytest.mark.parametrize("package", ["complete", "without link options"])
def test_operators_are_linked_whole(package: str, tmp_path: Path) -> None:
    without = ["-DFAKE_WITHOUT_LINK_OPTIONS=ON"] if package != "complete" else []
    configured = configure(tmp_path / "build", *executorch_options(), *without)
    libraries = configured.list("link libraries")
    assert libraries == ["executorch", "executorch_selected_kernels", "quantized_ops_lib"]
    # Linked whole once: by the package's own options, else by the component's.
    options = configured.told["link options"]
    assert options.count("--whole-archive $<TARGET_FILE:") == (2 if without else 0)


def test_versions_enter_the_build(with_programs: Configured) -> None:
    for command in with_programs.commands.values():
        assert '-DBENCH_ESP_NN_VERSION="1.2.3"' in command
        assert '-DBENCH_EXECUTORCH_VERSION="1.5.1"' in command
        assert "-DC10_USING_CUSTOM_GENERATED_MACROS" in command


def test_kernels_are_not_contracted(plain: Configured) -> None:
    assert all("-ffp-contract=off" in command for command in plain.commands.values())


def test_manifest() -> None:
    manifest = yaml.safe_load((MAIN / "idf_component.yml").read_text())
    assert manifest == {
        "dependencies": {
            "idf": {"version": ">=5.5,<6.0"},
            "espressif/esp-nn": {"version": "==1.2.3"},
        }
    }


def test_sdkconfig() -> None:
    assert settings("sdkconfig.defaults") == SDKCONFIG


@pytest.mark.parametrize(("kind", "mode"), [("quad", "QUAD"), ("octal", "OCT")])
def test_psram(kind: str, mode: str) -> None:
    assert settings(f"sdkconfig.defaults.psram_{kind}") == {
        "CONFIG_SPIRAM": "y",
        f"CONFIG_SPIRAM_MODE_{mode}": "y",
        "CONFIG_SPIRAM_IGNORE_NOTFOUND": "y",
        "CONFIG_SPIRAM_USE_CAPS_ALLOC": "y",
    }


def test_usb() -> None:
    assert settings("sdkconfig.defaults.usb") == {
        "CONFIG_BENCH_LINK_USB_SERIAL_JTAG": "y",
        "CONFIG_ESP_CONSOLE_USB_SERIAL_JTAG": "y",
    }


def test_nothing_silences_a_panic() -> None:
    """Without a console a panic prints nothing."""
    for path in PROJECT.glob("sdkconfig.defaults*"):
        assert "CONFIG_ESP_CONSOLE_NONE" not in path.read_text()


def test_kconfig_defines_what_is_used() -> None:
    text = (MAIN / "Kconfig.projbuild").read_text()
    defined = {f"CONFIG_{name}" for name in re.findall(r"^ *config (\w+)$", text, re.M)}
    used = set()
    for path in (*MAIN.iterdir(), *PROJECT.glob("sdkconfig.defaults*"), *KERNELS.rglob("*.h")):
        used |= set(re.findall(r"\bCONFIG_\w+", path.read_text()))
    ours = {name for name in used if name.startswith("CONFIG_BENCH_")}
    assert ours <= defined
    assert defined - ours == {"CONFIG_BENCH_LINK_UART0"}
    given = set(SDKCONFIG) | {
        n for p in PROJECT.glob("sdkconfig.defaults.*") for n in settings(p.name)
    }
    assert used - ours - given <= CONFIGURATION


def test_baud_rate_is_the_one_the_bench_opens_the_port_with() -> None:
    text = (MAIN / "Kconfig.projbuild").read_text()
    entry = text.partition("config BENCH_LINK_BAUD_RATE")[2]
    default = re.search(r"^ *default (\d+)$", entry, re.M)
    assert default is not None and int(default[1]) == board_type("esp32s3").baudrate


def test_kconfig_blocks_are_closed() -> None:
    words = re.findall(
        r"^ *(menu|choice|endchoice|endmenu)\b", (MAIN / "Kconfig.projbuild").read_text(), re.M
    )
    assert words == ["menu", "choice", "endchoice", "endmenu"]


def test_linker_fragment(plain: Configured) -> None:
    """By the grammar of ESP-IDF's linker script generator."""
    text = re.sub(r"#.*", "", (MAIN / "linker.lf").read_text()).strip()
    entry = r" {4}[A-Za-z_][\w-]* \(noflash\)\n?"
    mapping = rf"\[mapping:(\w+)\]\narchive: ([\w.$+-]+)\nentries:\n((?:{entry})+)\n*"
    found = re.findall(mapping, text)
    assert "".join(re.sub(mapping, "", text).split()) == ""
    archives = {archive: re.findall(r"(\S+) \(", entries) for _, archive, entries in found}
    objects = {path.stem for path in plain.commands}
    assert set(archives["libmain.a"]) <= objects
    assert archives["libespressif__esp-nn.a"] == archives["libesp-nn.a"] == [
        "esp_nn_mul_ansi", "esp_nn_mul_s8_esp32s3",
    ]  # fmt: skip
    kernels = {path.stem for path in plain.commands if KERNELS in path.parents}
    assert set(archives["libmain.a"]) == kernels - {"mul_int8_variants"}


def test_the_guide_says_what_a_user_needs() -> None:
    text = (PROJECT / "README.md").read_text()
    for word in (
        "idf.py set-target esp32s3", "idf.py build", "-DEXECUTORCH_PREFIX=", "v1.5.1",
        "esp-baremetal", "sdkconfig.defaults.psram_quad", "sdkconfig.defaults.psram_octal",
        "sdkconfig.defaults.usb", "-DSDKCONFIG_DEFAULTS=",
    ):  # fmt: skip
        assert word in text


SOURCES = sorted(
    {
        *MAIN.glob("*.cpp"),
        *(FIRMWARE / "runner").glob("*.cpp"),
        *(FIRMWARE / "executorch").glob("*.cpp"),
        *KERNELS.rglob("*.cpp"),
    }
)


@pytest.mark.usefixtures("can_make_32_bits")
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_compiles_by_the_rules_of_the_chip(
    source: Path, plain: Configured, usb: Configured, with_programs: Configured
) -> None:
    """What is not in this project, other ports of the same processor family compile."""
    commands = plain.commands | usb.commands | with_programs.commands
    words = commands.get(source, commands[KERNELS / "mul_int8_portable.cpp"])
    # Of what CMake says: the compiler, definitions, include folders and options.
    output = words.index("-o")
    options = [*words[1:output], *words[output + 2 : words.index("-c")]]
    result = subprocess.run(
        # Optimized: some warnings need what the compiler learns then.
        [words[0], *FLAGS, "-O2", *options, "-c", source, "-o", os.devnull],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
