// Runs the script of a report (page given as argument) against a stub of the browser, plays a
// user's gestures and checks what they do. Exits with an error at the first claim that fails.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const vm = require("node:vm");

const page = fs.readFileSync(process.argv[2], "utf8");
const json = /<script type="application\/json" id="fluxline-data">([^]*?)<\/script>/.exec(page)[1];
const script = /<script>\n([^]*?)<\/script>/.exec(page)[1];

// ---- A browser, as far as the script can see --------------------------------------------------

function context() {
  const calls = { lineTo: [], fillText: [] };
  const methods = {
    calls,
    measureText: (text) => ({ width: 6.5 * text.length }),
    lineTo: (x, y) => calls.lineTo.push([x, y]),
    fillText: (text) => calls.fillText.push(text),
  };
  return new Proxy(methods, {
    get: (target, name) => target[name] ?? (() => {}),
    set: (target, name, value) => ((target[name] = value), true),
  });
}

class Element {
  constructor(tag) {
    Object.assign(this, { tag, children: [], style: {}, dataset: {}, handlers: {}, attributes: {} });
    this.clientWidth = 832;
    if (tag === "canvas") this.context = context();
  }
  appendChild(child) { this.children.push(child); }
  setAttribute(name, value) { this.attributes[name] = value; }
  addEventListener(type, handler) { (this.handlers[type] ??= []).push(handler); }
  getContext() { return this.context; }
  setPointerCapture() {}
  focus() {}
  fire(type, event = {}) {
    let prevented = false;
    const full = { button: 0, pointerId: 1, deltaX: 0, deltaY: 0, deltaMode: 0, timeStamp: 1e6, ...event };
    full.preventDefault = () => (prevented = true);
    for (const handler of this.handlers[type] ?? []) handler(full);
    flush();
    return prevented;
  }
}

let frames = [];
function flush() {
  for (const frame of frames.splice(0)) frame();
}
const figures = [...page.matchAll(/<figure class="plot" data-figure="(\d+)">/g)].map(([, number]) => {
  const element = new Element("figure");
  element.dataset.figure = number;
  return element;
});
const window = new Element("window");
window.devicePixelRatio = 2;
window.matchMedia = () => new Element("media");
const document = {
  getElementById: () => ({ textContent: json }),
  querySelectorAll: () => figures,
  createElement: (tag) => new Element(tag),
};
const style = { paddingLeft: "16px", paddingRight: "16px", fontFamily: "sans-serif", getPropertyValue: () => "" };
vm.runInNewContext(script, {
  window, document, atob, getComputedStyle: () => style, requestAnimationFrame: (f) => frames.push(f),
});
const { plots, ticks, readable } = window.fluxline;

// ---- Claims -------------------------------------------------------------------------------------

const near = (a, b, tolerance = 1e-9) => assert.ok(Math.abs(a - b) <= tolerance, `${a} is not ${b}`);
const [run, bode, loop, nothing, empty] = plots;
const [pressure, command] = run.panels;
const at = (panel, u) => panel.toX(u);

// Data arrive with at least seven digits.
near(run.panels[0].series[0].y[500], 100 + 60 * Math.sin(500e-5 * 40), 1e-5);
near(run.panels[0].series[1].y[500], 160 + 1e-4 * Math.sin(500e-5 * 300), 1e-12);
near(run.panels[0].series[0].x[99999], 0.99999, 1e-12);
assert.ok(Number.isNaN(pressure.series[0].y[30000]));

// The first view shows everything; canvases have the pixels of the screen.
near(run.x[0], 0); near(run.x[1], 1);
assert.equal(pressure.canvas.width, 1600);
assert.ok(pressure.shownY[1] > 400, "the peak of one sample in 100 000 is in view");
assert.ok(pressure.layer.context.calls.fillText.includes("pressure [bar]"));
assert.ok(command.layer.context.calls.fillText.includes("time [s]"));
assert.ok(!pressure.layer.context.calls.fillText.includes("time [s]"), "only the last panel has x labels");

// 100 000 points become a path of a few per pixel column, and the peak is in it.
pressure.layer.context.calls.lineTo.length = 0;
run.request(); flush();
const path = pressure.layer.context.calls.lineTo;
assert.ok(path.length < 2 * 4 * 1600 + 200, `${path.length} points`);
const peak = pressure.toY(400);
assert.ok(path.some(([, y]) => Math.abs(y - peak) < 0.01), "the peak is drawn");

// A flat drag zooms x on all panels.
function drag(panel, [x0, y0], [x1, y1], event = {}) {
  panel.canvas.fire("pointerdown", { offsetX: x0, offsetY: y0, ...event });
  panel.canvas.fire("pointermove", { offsetX: x1, offsetY: y1, ...event });
  panel.canvas.fire("pointerup", { offsetX: x1, offsetY: y1, ...event });
}
drag(pressure, [at(pressure, 0.2), 50], [at(pressure, 0.6), 52]);
near(run.x[0], 0.2, 1e-6); near(run.x[1], 0.6, 1e-6);
assert.equal(run.resetButton.style.visibility, "visible");
assert.ok(pressure.shownY[1] < 200, "y follows what is in view");
near(command.toX(0.2), command.margin.left, 1e-6);

// Between two samples of a held signal, its value is still in view.
assert.ok(command.shownY[0] < 1 && command.shownY[1] > 4);

// Shift-drag and the middle button pan, and stop at the ends.
drag(pressure, [400, 50], [300, 50], { shiftKey: true });
assert.ok(run.x[0] > 0.2); near(run.x[1] - run.x[0], 0.4, 1e-9);
drag(pressure, [100, 50], [9000, 50], { button: 1 });
near(run.x[0], 0); near(run.x[1], 0.4, 1e-9);

// The wheel zooms about the pointer, and leaves the page alone when there is nothing to zoom out of.
const fixed = run.toU(pressure, 300);
assert.ok(pressure.canvas.fire("wheel", { offsetX: 300, offsetY: 50, deltaY: -300 }));
near(pressure.toX(fixed), 300, 4); // px: longer tick labels may widen the margin
assert.ok(run.x[1] - run.x[0] < 0.3);
for (let i = 0; i < 200; i++) pressure.canvas.fire("wheel", { offsetX: 300, offsetY: 50, deltaY: -300 });
assert.ok(run.x[1] - run.x[0] >= 0.99e-6, "zooming in ends somewhere");
for (let i = 0; i < 200; i++) pressure.canvas.fire("wheel", { offsetX: 300, offsetY: 50, deltaY: 300 });
near(run.x[0], 0); near(run.x[1], 1);
assert.ok(!pressure.canvas.fire("wheel", { offsetX: 300, offsetY: 50, deltaY: 300 }), "the page may scroll");

// A page that is being scrolled goes on scrolling.
window.fire("scroll", { timeStamp: 2e6 });
assert.ok(!pressure.canvas.fire("wheel", { offsetX: 300, offsetY: 50, deltaY: -300, timeStamp: 2e6 + 50 }));
near(run.x[1], 1);

// A box zooms y as well, on its own panel; a double click resets all.
drag(pressure, [200, 40], [500, 150]);
assert.ok(pressure.y && !command.y && run.zoomed());
pressure.canvas.fire("dblclick");
assert.ok(!pressure.y && !run.zoomed());
assert.equal(run.resetButton.style.visibility, "hidden");

// The wheel over the y axis zooms y, and however long it turns the range stays usable.
for (const deltaY of [-300, 300]) {
  for (let i = 0; i < 2000; i++) pressure.canvas.fire("wheel", { offsetX: 5, offsetY: 50, deltaY });
  assert.ok(pressure.shownY[0] < pressure.shownY[1] && pressure.ticks.major.length >= 2);
}
run.reset(); flush();

// The cursor reads off all panels at once.
command.canvas.fire("pointermove", { offsetX: at(command, 0.7), offsetY: 30 });
const value = (panel, i) => panel.entries[i].value.textContent;
assert.equal(value(pressure, 0), "400");
assert.equal(value(command, 0), "2");
assert.match(run.readout.textContent, /^time = 0\.7\d* s$/);
command.canvas.fire("pointermove", { offsetX: at(command, 0.3), offsetY: 30 });
assert.equal(value(pressure, 0), "–", "a gap reads as a gap");
command.canvas.fire("pointerleave");
assert.equal(value(pressure, 0) + run.readout.textContent, "");

// A click on a name hides the curve and the axis follows; alt-click shows one alone.
pressure.entries[0].entry.fire("click");
assert.ok(pressure.series[0].hidden && pressure.shownY[1] < 200);
assert.equal(pressure.entries[0].entry.attributes["aria-pressed"], "false");
pressure.entries[0].entry.fire("click", { altKey: true });
assert.deepEqual([...pressure.series.map((s) => s.hidden)], [false, true]);
pressure.entries[0].entry.fire("click", { altKey: true });
assert.deepEqual([...pressure.series.map((s) => s.hidden)], [false, false]);

// Keys do what the pointer does.
pressure.canvas.fire("keydown", { key: "+" });
assert.ok(run.zoomed());
pressure.canvas.fire("keydown", { key: "0" });
assert.ok(!run.zoomed());

// Logarithmic axes work in decades.
near(bode.x[0], -1); near(bode.x[1], 3);
bode.panels[0].canvas.fire("pointermove", { offsetX: at(bode.panels[0], 1), offsetY: 50 });
assert.equal(value(bode.panels[0], 0), "0.5");
assert.match(bode.readout.textContent, /^frequency = 10\d?(\.\d+)? Hz$/);

// A curve that turns back is read off at the nearest point, not by x.
const [loopPanel] = loop.panels;
loopPanel.canvas.fire("pointermove", { offsetX: loopPanel.toX(1), offsetY: loopPanel.toY(1) });
assert.equal(value(loopPanel, 0), "1");
loopPanel.canvas.fire("pointermove", { offsetX: loopPanel.toX(1), offsetY: loopPanel.toY(2) });
assert.equal(value(loopPanel, 0), "2");

// Nothing to draw is no reason to fail.
for (const plot of [nothing, empty]) plot.reset();
flush();
assert.ok(empty.panels[0].layer.context.calls.fillText.includes("no data"));

// Printing and resizing redraw at once.
window.fire("beforeprint");
assert.equal(pressure.canvas.width, 2400);
window.fire("afterprint");
figures[0].clientWidth = 432;
window.fire("resize");
assert.equal(pressure.canvas.width, 800);

// Ticks are round and inside; numbers read well.
for (const [low, high] of [[0, 1], [-3e-7, 8e-7], [1e6, 1.0001e6], [99.9, 100.1], [-1e300, 1e300]]) {
  const { major } = ticks([low, high], false, 5);
  assert.ok(major.length >= 2 && major.length <= 7, `${major.length} ticks in ${low} … ${high}`);
  for (const t of major) assert.ok(t.at >= low - 1e-9 * (high - low) && t.at <= high + 1e-9 * (high - low));
  assert.equal(new Set(major.map((t) => t.label)).size, major.length);
}
assert.equal(readable(-12.5), "−12.5");
assert.equal(readable(1.5e-7), "1.5e−7");
assert.equal(readable(0), "0");

console.log("all claims hold");
