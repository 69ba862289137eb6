"use strict";
// Draws the report from the JSON in #data. No library, no request; works from a file on disk.
const D = JSON.parse(document.getElementById("data").textContent);
const VERDICTS = ["fail", "error", "not-run", "pass"];
const GLYPHS = ["✕", "!", "–", ""];
const colour = (i) => `var(--c${i % 6})`;

const $ = (id) => document.getElementById(id);
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
function mark(tag, attributes = {}, text = "", hint = "") {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== "") node.textContent = text;
  if (hint) node.append(mark("title", {}, hint));
  return node;
}
const svg = (width, height, label) =>
  mark("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": label });

const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const counted = (n, what) => `${whole.format(n)} ${what}${n === 1 ? "" : "s"}`;
const percent = (v) => (v === null ? "" : `${v > 0 ? "+" : ""}${(100 * v).toFixed(1)} %`);
const when = (seconds) => new Date(seconds * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
const day = (seconds) => new Date(seconds * 1000).toLocaleDateString([], { month: "short", day: "numeric", year: "2-digit" });
const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
// What tells the runs of this time apart: their days, or the time if all are of one day.
const momentOf = (first, last) => (day(first) === day(last) ? clock : day);
const boardLabel = (board) => board.name + (board.virtual ? " (virtual)" : "");
const parsed = new Map();
function paramsOf(i) {
  if (!parsed.has(i)) parsed.set(i, JSON.parse(D.cases[i][3]));
  return parsed.get(i);
}
// Where a kernel's buffers lie, and which of three kinds of case it is.
function placementOf(i) {
  const { placement, in_place: where, align } = paramsOf(i);
  const kind = where ? `in place on ${where}` : Array.isArray(align) && align.some((a) => a) ? "misaligned" : align ? "aligned" : "";
  return [placement || "", kind];
}
const caseLabel = (i) => D.cases[i][0] + (D.cases[i][2] ? ` [${D.cases[i][2]}]` : "");

function table(columns, rows, limit = 200) {
  const head = el("tr", {}, ...columns.map(([name, kind]) => el("th", { class: kind || "" }, name)));
  const line = (row) =>
    el("tr", {}, ...row.map((value, i) => el("td", { class: columns[i][1] || "", "data-name": columns[i][0] }, value === null ? "" : value)));
  const body = el("tbody", {}, ...rows.slice(0, limit).map(line));
  const box = el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), body));
  if (rows.length > limit) box.append(el("p", { class: "note" }, `${rows.length - limit} more rows are in the store`));
  return box;
}
const verdict = (name) => el("span", { class: name }, name);
const note = (text) => el("p", { class: "note" }, text);
function choice(label, options, chosen, changed) {
  const select = el("select", { "aria-label": label }, ...options.map(([value, text]) => el("option", { value }, text)));
  select.value = chosen;
  select.addEventListener("change", () => changed(select.value));
  return select;
}

// One part that cannot be drawn says so in its place and leaves the others.
function guarded(target, draw) {
  try { draw(); } catch (error) {
    console.error(error);
    target.append(el("p", { class: "error broken" }, `This part could not be drawn (${error.message}); its figures are in the store.`));
  }
}
// Sections that depend on their width or on a choice draw themselves again.
const redraws = [];
function drawn(id, draw) {
  const target = el("div");
  $(id).append(target);
  const again = () => { target.replaceChildren(); guarded(target, () => draw(target)); };
  redraws.push(again);
  again();
  return again;
}
let lastWidth = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === lastWidth) return;
  lastWidth = innerWidth;
  for (const again of redraws) again();
});
// A page that is not laid out yet (a tab in the background) has no width.
const widthOf = (target) => Math.max(260, target.clientWidth);
// What a chart in this grid gets: as many columns as fit, at least `least` wide.
function columnWidth(target, least) {
  const space = widthOf(target), gap = 18;
  const columns = Math.max(1, Math.floor((space + gap) / (Math.min(space, least) + gap)));
  return Math.floor((space - gap * (columns - 1)) / columns);
}

function logTicks(low, high) {
  const ticks = [];
  // A logarithmic axis has neither 0 nor infinity: the loop would not end.
  if (!(low > 0 && high >= low && high < Infinity)) return ticks;
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++)
    for (const m of high / low > 300 ? [1] : [1, 2, 5]) {
      const v = m * 10 ** p;
      if (v >= low * 0.999 && v <= high * 1.001) ticks.push(v);
    }
  return ticks;
}
const logScale = (low, high, from, to) => (v) =>
  from + ((Math.log(Math.max(v, low)) - Math.log(low)) / (Math.log(high) - Math.log(low) || 1)) * (to - from);
const linear = (low, high, from, to) => (v) => from + ((v - low) / (high - low || 1)) * (to - from);

function head() {
  $("made").append(`${when(D.made)} · ${whole.format(D.run_count)} runs in ${D.store}`);
  if (D.rule) $("made").append(el("br"), `Verdicts computed again under the rule ${D.rule}`);
  const t = D.totals, all = Object.values(t).reduce((a, b) => a + b, 0);
  const bad = (t.fail || 0) + (t.error || 0) + (t["not-run"] || 0);
  const gate = {};
  for (const g of D.gate) gate[g[3]] = (gate[g[3]] || 0) + 1;
  const drifts = D.gate.filter((g) => g[7] !== null).length;
  const tile = (value, text, kind) =>
    $("tiles").append(el("div", { class: "tile" }, el("b", { class: kind }, whole.format(value)), el("span", {}, text)));
  const late = D.wrong_timings.length, of = [];
  if (all || !D.timed) of.push(`${whole.format(all)} comparisons`);
  if (D.timed) of.push(`${whole.format(D.timed)} timed outputs`);
  tile(bad + late, `of ${of.join(" and ")} not right`, bad + late ? "fail" : all + D.timed ? "pass" : "");
  const slower = D.gate.filter((g) => g[3] === "regression"), virtual = slower.filter((g) => g[1]).length;
  tile(slower.length, virtual ? `regressions tonight, ${whole.format(virtual)} of them on virtual boards, which fail nothing` : "regressions tonight", slower.length > virtual ? "fail" : slower.length ? "error" : "");
  tile(drifts, "slow drifts", drifts ? "error" : "");
  tile(gate.improved || 0, "improved", gate.improved ? "pass" : "");
  tile(gate["not-judged"] || 0, `of ${whole.format(D.gate.length)} timings not judged`, "");
  tile(D.flags.length, "timings to look at", D.flags.length ? "error" : "");
}

function status() {
  const by = new Map();
  for (const [board, one, v] of D.cells) {
    const groups = by.get(board) || by.set(board, new Map()).get(board);
    const group = D.cases[one][1];
    (groups.get(group) || groups.set(group, []).get(group)).push([one, v]);
  }
  if (!by.size) $("status").append(note("No correctness run yet."));
  for (const [board, groups] of by) {
    const b = D.boards[board];
    $("status").append(el("h3", {}, b.name, " ", el("span", { class: "badge" }, b.virtual ? `virtual ${b.target}` : b.target)));
    const row = el("div", { class: "groups" });
    for (const [group, cells] of groups) {
      const wrong = cells.filter(([, v]) => v !== 3).length;
      row.append(el("div", { class: "group" },
        el("span", {}, group + (wrong ? ` · ${wrong} of ${cells.length} not right` : ` · ${cells.length}`)),
        el("div", { class: "cells" }, ...cells.map(([one, v]) =>
          el("div", { class: `cell mark v${v}`, title: `${caseLabel(one)}: ${VERDICTS[v]}` }, GLYPHS[v])))));
    }
    $("status").append(row);
  }
  if (by.size) $("status").append(key([["var(--pass)", "right"], ["var(--fail)", "✕ wrong output"], ["var(--error)", "! ended without an output"], ["var(--none)", "– not run"]]));
}
function key(entries) {
  return el("div", { class: "key" }, ...entries.map(([c, text, hollow]) => el("span", {}, el("i", { style: hollow ? `box-shadow: inset 0 0 0 2px ${c}` : `background:${c}` }), text)));
}

function wrong() {
  if (!D.wrong.length && !D.wrong_timings.length) return $("wrong").remove();
  const rows = D.wrong.map(([b, c, ref, v, detail, bad, elements, most, attempt]) => [
    boardLabel(D.boards[b]), caseLabel(c), ref, verdict(v), detail + (attempt > 1 ? ` (attempt ${attempt})` : ""),
    whole.format(bad), whole.format(elements), whole.format(most)]);
  for (const [b, c, v, detail, attempt] of D.wrong_timings)
    rows.push([boardLabel(D.boards[b]), caseLabel(c), "its reference, timed", verdict(v), detail + (attempt > 1 ? ` (attempt ${attempt})` : ""), "", "", ""]);
  $("wrong").append(table([["board"], ["case", "t"], ["against"], ["verdict"], ["what", "t"], ["wrong", "n"], ["of", "n"], ["max LSB", "n"]], rows));
}

function lsb() {
  const different = D.histograms.filter(([, , , h]) => h.some(([d, n]) => d && n));
  const equal = D.histograms.filter((h) => !different.includes(h) && h[3].some(([, n]) => n));
  if (equal.length) {
    const text = ([b, kind, ref, h]) => `${boardLabel(D.boards[b])} ${kind} against ${ref}: ${short.format(h[0][1])} elements`;
    $("lsb").append(el("details", {}, el("summary", {}, `Exactly equal: ${equal.length} of ${D.histograms.length} comparisons`), el("p", { class: "note" }, equal.map(text).join(" · "))));
  }
  if (!different.length) return void $("lsb").append(note(D.histograms.length ? "No element differs." : "No correctness run yet."));
  $("lsb").append(note("Elements by difference from the reference; logarithmic."));
  drawn("lsb", (target) => {
    target.className = "charts";
    const width = columnWidth(target, 240), height = 120;
    for (const [b, kind, ref, counts] of different) {
      const bins = new Map();
      for (const [d, n] of counts) { const at = Math.max(-8, Math.min(8, d)); bins.set(at, (bins.get(at) || 0) + n); }
      const reach = Math.max(2, ...[...bins.keys()].map(Math.abs));
      const top = Math.max(...bins.values()), x = linear(-reach - 0.5, reach + 0.5, 4, width - 4), y = logScale(0.7, top, height - 18, 14);
      const chart = svg(width, height, `LSB differences of ${kind} against ${ref}`);
      const bar = Math.max(2, x(1) - x(0) - 2);
      for (let d = -reach; d <= reach; d++) {
        const n = bins.get(d) || 0, edge = reach === 8 && Math.abs(d) === 8;
        const name = edge ? (d < 0 ? "≤−8" : "≥8") : `${d > 0 ? "+" : d < 0 ? "−" : ""}${Math.abs(d)}`;
        if (n) chart.append(mark("rect", { class: "mark", x: x(d) - bar / 2, width: bar, y: y(n), height: height - 18 - y(n), fill: d ? "var(--error)" : "var(--c0)" }, "", `${name} LSB: ${whole.format(n)} elements`));
        if (n && bar > 22) chart.append(mark("text", { x: x(d), y: y(n) - 3, "text-anchor": "middle" }, short.format(n)));
        if (bar > 14 || d % 4 === 0) chart.append(mark("text", { x: x(d), y: height - 4, "text-anchor": "middle" }, name));
      }
      chart.append(mark("line", { class: "axis", x1: 0, x2: width, y1: height - 18, y2: height - 18 }));
      target.append(el("div", { class: "chart" }, el("h3", {}, `${kind} against ${ref} `, el("span", { class: "badge" }, boardLabel(D.boards[b]))), chart));
    }
  });
}

function firstBad() {
  if (!D.first_bad.length) return void $("first-bad").append(note("No bad index in the latest runs."));
  $("first-bad").append(note("Wrong cases by first bad index modulo 16: one lane only points at a vector register, the last lanes at a tail."));
  drawn("first-bad", (target) => {
    const width = widthOf(target), left = width < 500 ? 0 : 190, row = width < 500 ? 44 : 26;
    const cell = (width - left) / 16, top = 18;
    const chart = svg(width, top + row * D.first_bad.length, "First bad index modulo 16");
    const most = Math.max(...D.first_bad.flatMap(([, , n]) => n));
    for (let lane = 0; lane < 16; lane++)
      chart.append(mark("text", { x: left + cell * (lane + 0.5), y: 12, "text-anchor": "middle" }, lane));
    D.first_bad.forEach(([b, kind, lanes], i) => {
      const y = top + i * row + (left ? 0 : 16);
      chart.append(mark("text", { class: "label", x: 0, y: left ? y + 16 : y - 4 }, `${boardLabel(D.boards[b])} ${kind}`.slice(0, 34)));
      lanes.forEach((n, lane) => {
        const x = left + lane * cell + 1;
        chart.append(mark("rect", { class: n ? "mark" : "", x, y, width: cell - 2, height: 22, rx: 3, fill: n ? "var(--fail)" : "var(--line)", "fill-opacity": n ? 0.25 + (0.55 * n) / most : 0.45 }, "", `lane ${lane}: ${n}`));
        if (n) chart.append(mark("text", { class: "label", x: x + cell / 2 - 1, y: y + 15, "text-anchor": "middle" }, short.format(n)));
      });
    });
    target.append(chart);
  });
}

function gate() {
  const named = D.gate.filter((g) => g[3] === "regression" || g[3] === "improved" || g[7] !== null);
  named.sort((a, b) => (b[3] === "regression") - (a[3] === "regression") || (b[5] || 0) - (a[5] || 0));
  if (!D.gate.length) return $("gate").remove();
  if (named.length) {
    const say = { regression: "fail", improved: "pass" };
    $("gate").append(table(
      [["board"], ["case", "t"], ["verdict"], ["change", "n"], ["limit", "n"], ["drift", "l"]],
      named.map(([board, virtual, c, s, , change, threshold, drift, nights]) => [
        board + (virtual ? " (virtual)" : ""), caseLabel(c), el("span", { class: say[s] || "" }, s), percent(change), threshold === null ? "" : `${(100 * threshold).toFixed(1)} %`,
        drift === null ? "" : `${percent(drift)} in ${nights} nights`])));
  } else $("gate").append(note("Nothing is slower, faster or drifting."));
  const open = new Map();
  for (const g of D.gate) if (g[3] === "not-judged") open.set(g[4], (open.get(g[4]) || 0) + 1);
  if (open.size) $("gate").append(el("h3", {}, "Not judged (neither passed nor failed)"), table([["timings", "n"], ["why", "t"]], [...open].map(([why, n]) => [whole.format(n), why])));
}

let packed = null;
function medians(index) {
  // Two bytes a night, little-endian; 65535: no value that night.
  if (packed === null) packed = Uint8Array.from(atob(D.medians), (c) => c.charCodeAt(0));
  let offset = 0;
  for (let i = 0; i < index; i++) offset += D.series[i][3];
  const [, , , count, scale] = D.series[index], values = [];
  for (let i = 0; i < count; i++) {
    const at = 2 * (offset + i), v = packed[at] + 256 * packed[at + 1];
    values.push(v === 65535 ? null : (v / 65534) * scale);
  }
  return values;
}
function trend() {
  if (!D.series.length) return void $("trend").append(note("No latency run yet."));
  const flagged = new Map();
  for (const g of D.gate) {
    const rank = g[3] === "regression" ? 2 : g[7] !== null ? 1 : 0;
    flagged.set(g[2], Math.max(flagged.get(g[2]) || 0, rank));
  }
  const cases = [...new Set(D.series.map((s) => s[1]))].sort((a, b) => (flagged.get(b) || 0) - (flagged.get(a) || 0));
  const labels = new Map();
  for (const c of cases) labels.set(caseLabel(c), (labels.get(caseLabel(c)) || 0) + 1);
  const text = (c) => ["", "drift: ", "regression: "][flagged.get(c) || 0] + caseLabel(c) + (labels.get(caseLabel(c)) > 1 ? ` ${D.cases[c][3]}` : "");
  // First something that says much: what is flagged, else the largest native kernel.
  const weight = new Map();
  for (const [, c, , , scale] of D.series) weight.set(c, Math.max(weight.get(c) || 0, scale));
  const native = (c) => D.cases[c][2] === "native" && paramsOf(c).size !== undefined;
  const better = (a, b) => (flagged.get(b) || 0) - (flagged.get(a) || 0) || native(b) - native(a) || (paramsOf(b).size || 0) - (paramsOf(a).size || 0) || weight.get(b) - weight.get(a);
  let chosen = String(cases.reduce((best, c) => (better(best, c) > 0 ? c : best)));
  $("trend").append(el("div", { class: "controls" }, choice("Case", cases.map((c) => [c, text(c)]), chosen, (v) => { chosen = v; again(); })));
  const again = drawn("trend", (target) => {
    const several = D.series.filter((s) => String(s[1]) === chosen).length > 1;
    target.className = several ? "wide" : "";
    const width = several ? columnWidth(target, 440) : widthOf(target), height = 170, left = 54;
    D.series.forEach(([board, c, first, count, , marks, drift], index) => {
      if (String(c) !== chosen) return;
      const nights = D.nights[board], moment = momentOf(nights.at[first], nights.at[Math.min(first + count, nights.at.length) - 1]);
      const values = medians(index), known = values.filter((v) => v !== null);
      const pad = Math.max((Math.max(...known) - Math.min(...known)) * 0.12, Math.max(...known) * 0.01);
      const low = Math.min(...known) - pad, high = Math.max(...known) + pad;
      const x = linear(nights.at[first], nights.at[first + values.length - 1], left + 4, width - 8), y = linear(low, high, height - 20, 10);
      const chart = svg(width, height, `Trend on ${nights.board}`);
      for (let i = 0; i <= 3; i++) {
        const v = low + ((high - low) * (i + 0.5)) / 4;
        chart.append(mark("line", { class: "axis", x1: left, x2: width, y1: y(v), y2: y(v) }), mark("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, short.format(v)));
      }
      let path = "", pen = "M";
      values.forEach((v, i) => {
        if (v === null) { pen = "M"; return; }
        path += `${pen}${x(nights.at[first + i]).toFixed(1)} ${y(v).toFixed(1)}`;
        pen = "L";
      });
      chart.append(mark("path", { class: "mark", d: path, fill: "none", stroke: colour(board), "stroke-width": 1.5, "stroke-linejoin": "round" }));
      if (known.length < 60) values.forEach((v, i) => {
        if (v !== null) chart.append(mark("circle", { class: "mark", cx: x(nights.at[first + i]), cy: y(v), r: 2.5, fill: colour(board) }, "", `${moment(nights.at[first + i])}: ${number.format(v)} ${nights.unit}`));
      });
      for (let i = 0; i < marks.length; i += 2) {
        const at = nights.at[marks[i]], v = values[marks[i] - first];
        if (v === null || v === undefined) continue;
        const px = x(at), py = y(v), hint = `${moment(at)}: ${number.format(v)} ${nights.unit}, ${["", "regression", "improved", "not judged"][marks[i + 1]]}`;
        if (marks[i + 1] === 1) chart.append(mark("path", { class: "mark regression", d: `M${px - 5} ${py - 4}h10l-5 -9z`, fill: "var(--fail)" }, "", hint));
        else if (marks[i + 1] === 2) chart.append(mark("path", { class: "mark improved", d: `M${px - 5} ${py + 4}h10l-5 9z`, fill: "var(--pass)" }, "", hint));
        else chart.append(mark("circle", { class: "mark", cx: px, cy: py, r: 4, fill: "none", stroke: "var(--none)" }, "", hint));
      }
      chart.append(mark("text", { class: "first", x: left, y: height - 4 }, moment === clock ? `${day(nights.at[first])}, ${clock(nights.at[first])}` : day(nights.at[first])));
      if (values.length > 1) chart.append(mark("text", { x: width - 8, y: height - 4, "text-anchor": "end" }, moment(nights.at[first + values.length - 1])));
      target.append(el("div", { class: "chart" }, el("h3", {}, `${nights.board}, ${nights.unit} `,
        el("span", { class: "badge" }, nights.virtual ? "virtual" : "board"), drift === null ? "" : el("span", { class: "error" }, ` drifts ${percent(drift)}`)), chart));
    });
  });
  $("trend").append(key([["var(--fail)", "▲ regression"], ["var(--pass)", "▼ improved"], ["var(--none)", "○ not judged"]]));
}

function latency() {
  if (!D.timings.length) return void $("latency").append(note("No latency run yet."));
  const boards = [...new Set(D.timings.map((t) => t[0]))];
  let board = String(boards[0]), group = "";
  const groupsOf = () => [...new Set(D.timings.filter((t) => String(t[0]) === board).map((t) => D.cases[t[1]][1]))];
  group = groupsOf()[0];
  const controls = el("div", { class: "controls" });
  const choose = () => controls.replaceChildren(
    choice("Board", boards.map((b) => [b, boardLabel(D.boards[b])]), board, (v) => { board = v; if (!groupsOf().includes(group)) group = groupsOf()[0]; choose(); again(); }),
    choice("Kernel or model", groupsOf().map((g) => [g, g]), group, (v) => { group = v; again(); }));
  $("latency").append(note("Box: median and its median absolute deviation; whisker: minimum to 95th percentile; dot: maximum; circle: cold first call."), controls);
  choose();
  const again = drawn("latency", (target) => {
    const rows = D.timings.filter((t) => String(t[0]) === board && D.cases[t[1]][1] === group);
    rows.sort((a, b) => a[3] - b[3] || (paramsOf(a[1]).align || []).join().localeCompare((paramsOf(b[1]).align || []).join(), [], { numeric: true }) || caseLabel(a[1]).localeCompare(caseLabel(b[1])));
    const kinds = [...new Set(rows.map((t) => D.cases[t[1]][2]))].sort();
    target.append(key(kinds.map((k, i) => [colour(i), k || "all"])));
    const blocks = new Map();
    for (const t of rows) {
      const at = placementOf(t[1]).filter(Boolean).join(", ");
      (blocks.get(at) || blocks.set(at, []).get(at)).push(t);
    }
    // Aligned buffers first and open, all the others a tap away; so is what makes a block long.
    const open = (name) => !/misaligned|in place/.test(name) || blocks.size === 1;
    for (const [name, block] of [...blocks].sort(([a], [b]) => open(b) - open(a) || a.localeCompare(b))) {
      const draw = (part) => latencyChart(widthOf(target), part, kinds);
      if (open(name)) {
        target.append(el("h3", {}, name), draw(block.slice(0, 60)));
        if (block.length > 60) target.append(el("details", {}, el("summary", {}, `${name ? `${name}: ` : ""}${block.length - 60} more`), draw(block.slice(60))));
      } else target.append(el("details", {}, el("summary", {}, `${name}: ${counted(block.length, "timing")}`), draw(block)));
    }
  });
}
function latencyChart(width, shown, kinds) {
  const narrow = width < 600, left = narrow ? 4 : 300, right = 104, row = narrow ? 40 : 22, top = 20;
  const low = Math.max(1, Math.min(...shown.map((t) => t[4]))) * 0.8, high = Math.max(2 * low, ...shown.map((t) => Math.max(t[8], t[10]) * 1.2));
  const x = logScale(low, high, left + 6, width - right);
  const chart = svg(width, top + row * shown.length + 4, "Latency boxes");
  const ticks = logTicks(low, high);
  for (const v of ticks.length > (narrow ? 4 : 9) ? ticks.filter((_, i) => i % 3 === 0) : ticks)
    chart.append(mark("line", { class: "axis", x1: x(v), x2: x(v), y1: 16, y2: top + row * shown.length }), mark("text", { x: x(v), y: 11, "text-anchor": "middle" }, short.format(v)));
  chart.append(mark("text", { x: width, y: 11, "text-anchor": "end" }, `${shown[0][2]}/call`));
  shown.forEach(([, c, unit, elements, min, median, mad, p95, max, count, cold, v], i) => {
    const middle = top + row * i + (narrow ? 27 : row / 2), ink = colour(kinds.indexOf(D.cases[c][2]));
    const hint = `${caseLabel(c)} ${D.cases[c][3]}\nmin ${number.format(min)}, median ${number.format(median)}, MAD ${number.format(mad)}, p95 ${number.format(p95)}, max ${number.format(max)} ${unit}; ${count} samples; ${number.format(median / elements)} ${unit} an element`;
    const fits = narrow ? Math.floor(width / 6.2) : 48;
    const tail = (D.cases[c][2] ? ` [${D.cases[c][2]}]` : "") + (v === "pass" ? "" : v === "fail" ? " (output wrong)" : ` (${v})`);
    const start = D.cases[c][0].length + tail.length > fits ? D.cases[c][0].slice(0, Math.max(8, fits - tail.length - 1)) + "…" : D.cases[c][0];
    chart.append(
      mark("text", { class: "label", x: narrow ? 0 : left - 6, y: narrow ? middle - 13 : middle + 4, "text-anchor": narrow ? "start" : "end" }, start + tail, hint),
      mark("line", { x1: x(min), x2: x(p95), y1: middle, y2: middle, stroke: ink, "stroke-width": 1.5 }),
      mark("rect", { class: "mark", x: x(median - mad), width: Math.max(3, x(median + mad) - x(median - mad)), y: middle - 6, height: 12, rx: 2, fill: ink }, "", hint),
      mark("circle", { class: "mark", cx: x(max), cy: middle, r: 2, fill: ink }, "", hint),
      mark("circle", { cx: x(cold), cy: middle, r: 3, fill: "none", stroke: "var(--none)" }, "", `cold first call: ${number.format(cold)} ${unit}`),
      mark("text", { x: width, y: middle + 4, "text-anchor": "end" }, `${short.format(median)} · ${number.format(Number((median / elements).toPrecision(3)))}/el`));
  });
  return chart;
}

function ratio() {
  if (D.unresolved) $("ratio").append(note(`${counted(D.unresolved, "pair")} not drawn: the clock does not resolve one of the times, so the ratio is 0 or unknown.`));
  if (!D.pairs.length) return void $("ratio").append(note("No pair of a native and a portable timing yet."));
  $("ratio").append(note("Ratio of medians with its 95 % bootstrap interval; below 1 is faster than portable. One line a placement and alignment."));
  drawn("ratio", (target) => {
    const width = widthOf(target), height = width < 600 ? 240 : 300, left = 44;
    for (const board of new Set(D.pairs.map((p) => p[0]))) {
      const mine = D.pairs.filter((p) => p[0] === board), sizes = mine.map((p) => p[3]);
      // An interval may reach down to 0; it is drawn as far as the axis goes.
      const low = Math.min(0.8, ...mine.map((p) => (p[5] > p[4] / 10 ? p[5] : p[4]))) * 0.9, high = Math.max(1.25, ...mine.map((p) => Math.min(p[6], p[4] * 10))) * 1.1;
      const x = logScale(Math.max(1, Math.min(...sizes)), Math.max(2, ...sizes), left + 8, width - 12), scale = logScale(low, high, height - 22, 8);
      const y = (v) => scale(Math.min(v, high));
      const chart = svg(width, height, `Ratio on ${D.boards[board].name}`);
      for (const v of logTicks(low, high)) chart.append(mark("line", { class: "axis", x1: left, x2: width, y1: y(v), y2: y(v) }), mark("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, number.format(v)));
      chart.append(mark("line", { class: "one", x1: left, x2: width, y1: y(1), y2: y(1) }));
      let last = -99;
      for (const v of [...new Set(sizes)].sort((a, b) => a - b)) if (x(v) - last > 44) { last = x(v); chart.append(mark("text", { x: x(v), y: height - 5, "text-anchor": "middle" }, short.format(v))); }
      const lines = new Map();
      for (const p of mine) (lines.get(p[2]) || lines.set(p[2], []).get(p[2])).push(p);
      const kindOf = (c) => [D.cases[c][2], ...placementOf(c)].filter(Boolean).join(", ");
      const kinds = [...new Set(mine.map((p) => kindOf(p[1])))].sort();
      // More kinds than colours: the further ones have hollow points.
      const hollow = (i) => i % 12 > 5;
      for (const points of lines.values()) {
        points.sort((a, b) => a[3] - b[3]);
        const kind = kinds.indexOf(kindOf(points[0][1])), ink = colour(kind);
        chart.append(mark("path", { d: points.map((p, i) => `${i ? "L" : "M"}${x(p[3]).toFixed(1)} ${y(p[4]).toFixed(1)}`).join(""), fill: "none", stroke: ink, "stroke-opacity": 0.55, "stroke-width": 1.3 }));
        for (const p of points) {
          chart.append(mark("line", { x1: x(p[3]), x2: x(p[3]), y1: y(p[5]), y2: y(p[6]), stroke: ink, "stroke-width": 1.5 }),
            mark("circle", { class: "mark", cx: x(p[3]), cy: y(p[4]), r: 3, fill: hollow(kind) ? "var(--card)" : ink, stroke: ink }, "", `${caseLabel(p[1])} ${D.cases[p[1]][3]}\n${whole.format(p[3])} elements: ${p[4]} (${p[5]} to ${p[6]})`));
        }
      }
      target.append(el("div", { class: "chart" }, el("h3", {}, D.boards[board].name, " ", el("span", { class: "badge" }, D.boards[board].virtual ? "virtual" : "board")), chart, key(kinds.map((k, i) => [colour(i), k, hollow(i)]))));
    }
  });
}

function routes() {
  if (!D.routes.length) return $("routes").remove();
  const size = (v) => (v === undefined ? "" : whole.format(v)), figure = (v) => (v === undefined ? "" : number.format(v));
  const rows = D.routes.map(({ model, route, board, verdict: v, max_abs_diff: most, facts, unit, timing }) => {
    const timed = timing || { median: facts.median_ticks, operators: [] }, ratio = timed.ratio;
    return [model, route, board, verdict(v), most === null ? "" : whole.format(most), String(facts.lowered_text ?? ""), size(facts.pte_bytes), size(facts.planned_bytes),
      figure(timed.first), timed.median === undefined ? "" : `${figure(timed.median)} ${unit}`, figure(timed.mad),
      ratio ? `${short.format(ratio[0])} (${short.format(ratio[1])}–${short.format(ratio[2])})` : "",
      // Nearly all are ".out" variants: that says nothing.
      timed.operators.map(([name, ticks]) => `${name.replace(/\.out$/, "")} ${short.format(ticks)}`).join(", ")];
  });
  rows.sort((a, b) => a[0].localeCompare(b[0]) || a[2].localeCompare(b[2]) || a[1].localeCompare(b[1]));
  $("routes").append(note("Times of one call, the operators' of a call that was profiled: the three that cost most, by name over all their instructions. To portable: ratio of the medians with its 95 % interval."));
  $("routes").append(table([["model"], ["route"], ["board"], ["verdict"], ["max LSB", "n"], ["multiplies lowered", "l"], [".pte bytes", "n"], ["planned bytes", "n"], ["first call", "n"], ["median", "n"], ["MAD", "n"], ["to portable", "l"], ["most expensive operators", "l o"]], rows));
}

function flags() {
  if (!D.flags.length) $("flags").remove();
  else $("flags").append(table([["board"], ["case", "t"], ["what to look at", "t"]], D.flags.map(([b, c, why]) => [boardLabel(D.boards[b]), caseLabel(c), why])));
}
function again() {
  if (!D.again.length) $("again").remove();
  else $("again").append(table([["board"], ["case", "t"], ["attempt", "n"], ["what happened", "t"]], D.again.map(([b, c, n, why]) => [boardLabel(D.boards[b]), caseLabel(c), n, why])));
}

function provenance() {
  const fact = (object) => Object.entries(object || {}).map(([k, v]) => `${k}: ${typeof v === "object" ? JSON.stringify(v) : v}`).join("\n");
  $("provenance").append(table([["board"], ["target"], ["id"], ["shown"], ["run", "n"], ["firmware", "l"], ["port", "t"]],
    D.sources.map((s) => [boardLabel(D.boards[s.board]), D.boards[s.board].target, D.boards[s.board].id, s.what.join(", "), String(s.run), el("code", {}, s.firmware.slice(0, 12)), s.url])));
  for (const n of D.nights) $("provenance").append(note(`Trends and the gate of ${n.board} in ${n.unit}: runs ${n.runs}`));
  for (const s of D.sources) $("provenance").append(el("details", {}, el("summary", {}, `${boardLabel(D.boards[s.board])} in run ${s.run}: chip and build configuration`), el("pre", {}, `firmware: ${s.firmware}\n${fact(s.about)}\n${fact(s.config.build)}\nclock: ${JSON.stringify(s.config.clock)}`)));
  for (const h of D.hosts) $("provenance").append(el("details", {}, el("summary", {}, `Host of run ${h.runs}`), el("pre", {}, fact(h.host))));
  $("provenance").append(el("details", {}, el("summary", {}, `Latest ${D.runs.length} of ${whole.format(D.run_count)} runs`),
      table([["run", "n"], ["kind"], ["started"], ["seconds", "n"], ["verdict"], ["command", "t"]],
        D.runs.map(([id, kind, start, end, v, argv]) => [String(id), kind, when(start), end === null ? "" : (end - start).toFixed(1), v === null ? "cut short" : v, argv]))));
}

for (const [id, draw] of Object.entries({ tiles: head, status, wrong, lsb, "first-bad": firstBad, gate, trend, latency, ratio, routes, flags, again, provenance }))
  guarded($(id), draw);
document.documentElement.dataset.ready = "yes";
