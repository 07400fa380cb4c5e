// Interactive plots of a Fluxline report. Plain script, no libraries, no network.
//
// One Plot per <figure>; each of its panels has a canvas, and all share one x range and cursor.
// Positions (u along x, v along y) are values on a linear axis and log10(value) on a logarithmic
// one, so zooming and drawing never ask which it is. Ranges are [low, high] in positions.
(() => {
  "use strict";

  const data = JSON.parse(document.getElementById("fluxline-data").textContent);
  const arrays = data.arrays.map(decode);
  const DEEPEST_ZOOM = 1e-6; // of the full range; beyond it canvas coordinates lose digits
  const HINT = "drag: zoom · wheel: zoom · shift-drag: pan · double-click: reset · click a name: hide or show";

  function decode(array) {
    if (array.even) {
      const [first, step, count] = array.even;
      const values = new Float64Array(count);
      for (let i = 0; i < count; i++) values[i] = first + i * step;
      return values;
    }
    const text = atob(array.f32 ?? array.f64);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return array.f32 !== undefined ? new Float32Array(bytes.buffer) : new Float64Array(bytes.buffer);
  }

  // ---- Axes ---------------------------------------------------------------------------------

  const position = (value, log) => (log ? (value > 0 ? Math.log10(value) : NaN) : value);
  const valueAt = (at, log) => (log ? 10 ** at : at);

  /** Widens a range by a share of its span; gives a single value room on both sides. */
  function widen([low, high], margin, log) {
    if (!(low <= high)) [low, high] = [0, 1];
    const size = Math.max(Math.abs(low), Math.abs(high));
    if (high - low <= size * 1e-9) {
      const half = log ? 0.5 : size < 1e-300 ? 1 : 0.1 * size;
      return [low - half, high + half];
    }
    const room = margin * (high - low);
    return [low - room, high + room];
  }

  function roundStep(raw) {
    const magnitude = 10 ** Math.floor(Math.log10(raw));
    const factor = [1, 2, 5].find((f) => raw / magnitude <= 1.25 * f) ?? 10;
    return factor * magnitude;
  }

  const superscript = (n) => String(n).replace(/./g, (c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻");

  /** Round ticks in a range: {major: [{at, label}], minor: [at], exponent}. */
  function ticks([low, high], log, wanted) {
    if (log) {
      const first = Math.ceil(low - 1e-9), last = Math.floor(high + 1e-9);
      const stride = Math.max(1, Math.ceil((last - first + 1) / Math.max(2, wanted)));
      const major = [], minor = [];
      for (let d = first - 1; d <= last; d++) {
        if (d >= first && d % stride === 0) {
          const plain = first >= -3 && last <= 4;
          const label = plain ? (10 ** d).toFixed(Math.max(0, -d)) : "10" + superscript(d);
          major.push({ at: d, label });
        }
        for (let m = 2; m < 10 && stride === 1; m++) {
          const at = d + Math.log10(m);
          if (at >= low && at <= high) minor.push(at);
        }
      }
      if (major.length > 1) return { major, minor, exponent: 0 };
    }
    const [a, b] = log ? [10 ** low, 10 ** high] : [low, high];
    let values = [], step = 1;
    for (let parts = wanted; values.length < 2 && parts < 1e3; parts *= 1.5) {
      step = roundStep((b - a) / parts);
      values = [];
      const first = Math.ceil(a / step - 1e-9), last = Math.floor(b / step + 1e-9);
      // Counted from zero: far out, `first + 1` may be no larger than `first`.
      for (let i = 0; i <= Math.min(100, last - first); i++) values.push((first + i) * step);
    }
    const largest = values.reduce((m, v) => Math.max(m, Math.abs(v)), 0);
    const exponent = largest >= 1e-2 && largest < 1e5 ? 0 : Math.floor((Math.log10(largest) + 1e-9) / 3) * 3;
    const scale = 10 ** exponent;
    const digits = Math.min(15, Math.max(0, -Math.floor(Math.log10(step / scale) + 1e-6)));
    const label = (v) => (v / scale).toFixed(digits).replace(/^-(?=0?[.0]*$)/, "").replace("-", "−");
    return { major: values.map((v) => ({ at: position(v, log), label: label(v) })), minor: [], exponent };
  }

  /** A value for reading off: seven digits, without a tail of zeros. */
  function readable(value) {
    if (!Number.isFinite(value)) return "–";
    const size = Math.abs(value);
    const text = size !== 0 && (size >= 1e6 || size < 1e-4)
      ? value.toExponential(5).replace(/\.?0+e/, "e")
      : String(Number(value.toPrecision(7)));
    return text.replaceAll("-", "−");
  }

  // ---- Series -------------------------------------------------------------------------------

  class Series {
    constructor(spec, index, xLog, yLog) {
      this.name = spec.name;
      this.style = spec.style;
      this.colour = index % data.light.length;
      this.dash = data.dashes[Math.floor(index / data.light.length) % data.dashes.length];
      this.hidden = false;
      this.x = arrays[spec.x];
      this.y = arrays[spec.y];
      this.u = xLog ? Float64Array.from(this.x, (v) => position(v, true)) : this.x;
      this.v = yLog ? Float64Array.from(this.y, (v) => position(v, true)) : this.y;
      this.length = Math.min(this.u.length, this.v.length);
      this.sorted = true;
      for (let i = 0; i < this.length && this.sorted; i++) {
        this.sorted = Number.isFinite(this.u[i]) && !(i > 0 && this.u[i] < this.u[i - 1]);
      }
    }

    /** First index whose u is not below `at`. */
    lowerBound(at) {
      let low = 0, high = this.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.u[middle] < at) low = middle + 1;
        else high = middle;
      }
      return low;
    }

    /** Indices [from, to) to draw for a range: all of it and one sample on either side. */
    within([low, high]) {
      if (!this.sorted) return [0, this.length];
      let to = this.lowerBound(high);
      while (to < this.length && this.u[to] === high) to++;
      return [Math.max(0, this.lowerBound(low) - 1), Math.min(this.length, to + 1)];
    }

    /** Lowest and highest v over a range of u, joints across its ends included. */
    extent([low, high]) {
      const [from, to] = this.within([low, high]);
      let least = Infinity, most = -Infinity;
      const take = (v) => {
        if (v < least) least = v;
        if (v > most && v < Infinity) most = v;
      };
      for (let i = from; i < to; i++) {
        const u = this.u[i];
        if (u >= low && u <= high) {
          take(this.v[i]);
        } else if (this.sorted && this.style !== "points") {
          const edge = u < low ? low : high, j = u < low ? i + 1 : i - 1;
          if (j < from || j >= to) continue;
          if (this.style === "steps") {
            if (u < low) take(this.v[i]);
          } else if (this.u[j] !== u) {
            take(this.v[i] + ((this.v[j] - this.v[i]) * (edge - u)) / (this.u[j] - u));
          }
        }
      }
      return [least, most];
    }

    /** Index of the sample to read off at u; -1 if there is none nearby. */
    sampleAt(u, slack) {
      if (!this.sorted || this.length === 0) return -1;
      if (u < this.u[0] - slack || u > this.u[this.length - 1] + slack) return -1;
      const i = this.lowerBound(u);
      if (i === 0) return 0;
      if (i === this.length) return i - 1;
      if (this.style === "steps") return this.u[i] === u ? i : i - 1;
      return u - this.u[i - 1] < this.u[i] - u ? i - 1 : i;
    }

    /** Index of the sample nearest to a point on the canvas, for curves that turn back. */
    nearest(x, y, toX, toY) {
      let best = -1, least = 40 ** 2;
      for (let i = 0; i < this.length; i++) {
        const d = (toX(this.u[i]) - x) ** 2 + (toY(this.v[i]) - y) ** 2;
        if (d < least) [best, least] = [i, d];
      }
      return best;
    }

    /**
     * Draws the curve. Of all points of one pixel column only the first, lowest, highest and last
     * become part of the path: peaks stay, and the path stays short however many points there are.
     * Tells whether there was anything to draw.
     */
    draw(ctx, range, toX, toY, colour, column) {
      const [from, to] = this.within(range);
      const clamp = (p) => Math.max(-1e5, Math.min(1e5, p));
      ctx.strokeStyle = ctx.fillStyle = colour;
      let any = false;
      if (this.style === "points") {
        let lastX = NaN, lastY = NaN;
        for (let i = from; i < to; i++) {
          const x = Math.round(toX(this.u[i]) * 2) / 2, y = Math.round(toY(this.v[i]) * 2) / 2;
          if (x === lastX && y === lastY) continue;
          if (Number.isFinite(x) && Number.isFinite(y)) {
            dot(ctx, x, y, 2.2);
            any = true;
          }
          [lastX, lastY] = [x, y];
        }
        return any;
      }
      const steps = this.style === "steps";
      const lone = [];
      let down = false, joints = 0, penX = 0, penY = 0; // the pen
      let cell = NaN, count = 0, low = 0, high = 0, lowAt = 0, highAt = 0, endX = 0, endY = 0; // the column
      const lineTo = (x, y) => {
        if (steps) ctx.lineTo(x, penY);
        ctx.lineTo(x, y);
        [penX, penY] = [x, y];
        joints++;
      };
      const flush = () => {
        if (count > 0) {
          const x = penX;
          if (lowAt < highAt) { lineTo(x, low); lineTo(x, high); }
          else { lineTo(x, high); lineTo(x, low); }
          lineTo(endX, endY);
        }
        count = 0;
      };
      const lift = () => {
        flush();
        if (down && joints === 0) lone.push(penX, penY);
        down = false;
      };
      ctx.beginPath();
      for (let i = from; i < to; i++) {
        const x = toX(this.u[i]), v = toY(this.v[i]);
        if (!(Number.isFinite(x) && Number.isFinite(v))) { lift(); continue; }
        const y = clamp(v);
        const here = Math.floor(x / column);
        if (down && here === cell) {
          if (y < low) { low = y; lowAt = i; }
          if (y > high) { high = y; highAt = i; }
          [endX, endY] = [x, y];
          count++;
          continue;
        }
        flush();
        if (down) {
          lineTo(x, y);
        } else {
          ctx.moveTo(x, y);
          [penX, penY, joints, down, any] = [x, y, 0, true, true];
        }
        [cell, low, high, lowAt, highAt] = [here, y, y, i, i];
      }
      lift();
      ctx.setLineDash(this.dash);
      ctx.lineWidth = 1.5;
      ctx.lineJoin = "round";
      ctx.stroke();
      ctx.setLineDash([]);
      for (let i = 0; i < lone.length; i += 2) dot(ctx, lone[i], lone[i + 1], 2.2);
      return any;
    }
  }

  /** Cuts a label to fit into `room` px, but keeps its unit. */
  function shorten(ctx, label, room) {
    if (ctx.measureText(label).width <= room) return label;
    const [, name, unit] = /^(.*?)(\s*\[[^\]]*\])?$/.exec(label) ?? [null, label, ""];
    const end = "…" + (unit ?? "");
    let length = name.length;
    while (length > 0 && ctx.measureText(name.slice(0, length) + end).width > room) length--;
    return name.slice(0, length) + end;
  }

  function dot(ctx, x, y, radius) {
    ctx.beginPath();
    ctx.arc(x, y, radius, 0, 2 * Math.PI);
    ctx.fill();
  }

  // ---- Plots --------------------------------------------------------------------------------

  const make = (tag, className, parent, text) => {
    const element = document.createElement(tag);
    element.className = className;
    if (text !== undefined) element.textContent = text;
    parent.appendChild(element);
    return element;
  };

  let paper = false; // printing: light colours, fine pixels
  let lastScroll = -Infinity;

  class Plot {
    constructor(element, spec) {
      this.element = element;
      this.spec = spec;
      const [, name, unit] = /^(.*?)\s*\[(.*)\]\s*$/.exec(spec.label) ?? [null, spec.label, ""];
      this.xName = name || "x";
      this.xUnit = unit === "" || unit === "-" ? "" : " " + unit;
      this.cursor = null; // {u, panel, y}
      this.drag = null;
      this.left = 0;

      const caption = make("figcaption", "", element);
      make("span", "title", caption, spec.title);
      this.readout = make("span", "readout", caption, "");
      this.resetButton = make("button", "reset", caption, "reset zoom");
      this.resetButton.type = "button";
      this.resetButton.addEventListener("click", () => this.reset());
      this.panels = spec.panels.map((panel, i) => this.buildPanel(panel, i === spec.panels.length - 1));
      const note = spec.reduced ? ` · reduced from ${spec.reduced} samples, extremes kept` : "";
      make("p", "hint", element, HINT + note);

      this.fullX = this.fitX();
      this.x = this.fullX;
      this.resized();
    }

    buildPanel(spec, isLast) {
      const count = this.spec.panels.length;
      const plotHeight = count === 1 ? 300 : count === 2 ? 210 : 165;
      const panel = {
        spec, isLast, y: null, // a y range chosen by the user; null follows the visible data
        series: spec.series.map((s, i) => new Series(s, i, this.spec.log, spec.log)),
        margin: { left: 0, right: 14, top: 8, bottom: isLast ? 42 : 8 },
      };
      const bar = (panel.bar = make("div", "legend", this.element));
      if (spec.title) make("span", "panel-title", bar, spec.title);
      panel.entries = panel.series.map((series) => {
        const entry = make("button", "entry", bar);
        entry.type = "button";
        entry.title = "click: hide or show · alt-click: show only this";
        const swatch = make("i", "swatch " + series.style, entry);
        make("span", "name", entry, series.name);
        const value = make("span", "value", entry, "");
        entry.setAttribute("aria-pressed", "true");
        entry.addEventListener("click", (event) => this.toggle(panel, series, event.altKey));
        return { entry, swatch, value };
      });
      const canvas = make("canvas", "", this.element);
      canvas.tabIndex = 0;
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", [this.spec.title, spec.title, spec.label].filter(Boolean).join(", "));
      panel.canvas = canvas;
      panel.height = plotHeight + panel.margin.top + panel.margin.bottom;
      canvas.style.height = panel.height + "px";
      panel.layer = document.createElement("canvas"); // all but the cursor, to redraw that alone
      const on = (type, handler, options) => canvas.addEventListener(type, (e) => handler.call(this, e, panel), options);
      on("pointerdown", this.pointerDown);
      on("pointermove", this.pointerMove);
      on("pointerup", this.pointerUp);
      on("pointercancel", this.cancelDrag);
      on("pointerleave", this.pointerLeave);
      on("wheel", this.wheel, { passive: false });
      on("dblclick", this.reset);
      on("keydown", this.key);
      return panel;
    }

    // -- ranges

    fitX() {
      const log = this.spec.log;
      const limits = this.spec.limits?.map((v) => position(v, log)).sort((a, b) => a - b);
      if (limits?.every(Number.isFinite)) return widen(limits, 0, log);
      let low = Infinity, high = -Infinity;
      const take = (u) => {
        if (u < low) low = u;
        if (u > high) high = u;
      };
      for (const panel of this.panels) for (const s of panel.series) for (let i = 0; i < s.length; i++) take(s.u[i]);
      for (const line of this.spec.lines) take(position(line.value, log));
      return widen([low, high], 0, log);
    }

    fitY(panel) {
      if (panel.y) return panel.y;
      const log = panel.spec.log;
      const limits = panel.spec.limits?.map((v) => position(v, log)).sort((a, b) => a - b);
      if (limits?.every(Number.isFinite)) return widen(limits, 0, log);
      let low = Infinity, high = -Infinity;
      const take = ([a, b]) => {
        low = Math.min(low, a);
        high = Math.max(high, b);
      };
      for (const s of panel.series) if (!s.hidden) take(s.extent(this.x));
      // Reference lines count while the whole run is in view; zoomed in, the data has the room.
      if (!this.zoomed()) {
        for (const line of panel.spec.lines) {
          const v = position(line.value, log);
          if (Number.isFinite(v)) take([v, v]);
        }
      }
      const range = widen([low, high], 0.06, log);
      if (panel === this.panels[0]) { // it carries the markers' labels: room above the data
        const rows = Math.min(3, this.spec.lines.length);
        range[1] += ((rows * 12) / panel.height) * (range[1] - range[0]);
      }
      return range;
    }

    zoomed() {
      return this.x[0] !== this.fullX[0] || this.x[1] !== this.fullX[1];
    }

    /** Shows a range of x positions, kept within the full range. */
    setX(low, high) {
      const [first, last] = this.fullX;
      const full = last - first;
      const least = Math.max(full * DEEPEST_ZOOM, 1e-12 * Math.max(Math.abs(first), Math.abs(last)));
      const span = Math.min(full, Math.max(high - low, least));
      const middle = (low + high) / 2;
      low = Math.max(first, Math.min(last - span, middle - span / 2));
      this.x = span >= full * (1 - 1e-12) ? this.fullX : [low, low + span];
      this.request();
    }

    zoomX(at, factor) {
      this.setX(at + (this.x[0] - at) * factor, at + (this.x[1] - at) * factor);
    }

    /** Shows a range of y positions on one panel, unless numbers have no room for it. */
    setY(panel, [low, high]) {
      const size = Math.max(Math.abs(low), Math.abs(high));
      if (high - low > 1e-12 * size && size < 1e300) panel.y = [low, high];
      this.request();
    }

    reset() {
      this.drag = null;
      for (const panel of this.panels) panel.y = null;
      this.x = this.fullX;
      this.request();
    }

    toggle(panel, series, only) {
      if (only) {
        const alone = panel.series.every((s) => s.hidden === (s !== series));
        for (const s of panel.series) s.hidden = !alone && s !== series;
      } else {
        series.hidden = !series.hidden;
      }
      this.request();
    }

    // -- pointer and keys

    /** Whether a point of the canvas lies in the plot area, as far as x is concerned. */
    inside(panel, x) {
      return x >= panel.margin.left && x <= this.width - panel.margin.right;
    }

    toU(panel, x) {
      const { left, right } = panel.margin;
      return this.x[0] + ((x - left) / (this.width - left - right)) * (this.x[1] - this.x[0]);
    }

    toV(panel, y) {
      const { top, bottom } = panel.margin;
      const [low, high] = panel.shownY;
      return high - ((y - top) / (panel.height - top - bottom)) * (high - low);
    }

    pointerDown(event, panel) {
      const pan = event.button === 1 || (event.button === 0 && event.shiftKey);
      if (!pan && event.button !== 0) return;
      event.preventDefault();
      panel.canvas.focus({ preventScroll: true });
      panel.canvas.setPointerCapture(event.pointerId);
      const [x, y] = [event.offsetX, event.offsetY];
      this.drag = { pan, panel, x0: x, y0: y, x, y, startX: this.x, startY: panel.shownY };
    }

    pointerMove(event, panel) {
      const drag = this.drag;
      const [x, y] = [event.offsetX, event.offsetY];
      if (drag) {
        [drag.x, drag.y] = [x, y];
        if (drag.pan) {
          const { left, right, top, bottom } = panel.margin;
          const du = ((drag.x0 - x) / (this.width - left - right)) * (drag.startX[1] - drag.startX[0]);
          if (panel.y) {
            const dv = ((y - drag.y0) / (panel.height - top - bottom)) * (drag.startY[1] - drag.startY[0]);
            this.setY(panel, drag.startY.map((v) => v + dv));
          }
          this.setX(drag.startX[0] + du, drag.startX[1] + du);
        }
      }
      this.cursor = this.inside(panel, x) || drag ? { u: this.toU(panel, x), panel, x, y } : null;
      this.request(true);
    }

    pointerUp(event, panel) {
      const drag = this.drag;
      this.drag = null;
      if (drag && !drag.pan) {
        const box = this.box(drag);
        if (box.y) this.setY(panel, [this.toV(panel, box.y[1]), this.toV(panel, box.y[0])]);
        if (box.x) this.setX(this.toU(panel, box.x[0]), this.toU(panel, box.x[1]));
      }
      this.request();
    }

    cancelDrag() {
      this.drag = null;
      this.request();
    }

    pointerLeave() {
      if (this.drag) return;
      this.cursor = null;
      this.request(true);
    }

    /** What a drag selects: a flat one a range of x, an upright one a range of y, else a box. */
    box({ panel, x0, y0, x, y }) {
      const { left, right, top, bottom } = panel.margin;
      const within = (a, low, high) => Math.max(low, Math.min(high, a));
      const span = (a, b, low, high) => [within(Math.min(a, b), low, high), within(Math.max(a, b), low, high)];
      const wide = Math.abs(x - x0), tall = Math.abs(y - y0);
      return {
        x: wide > 5 && wide * 6 > tall ? span(x0, x, left, this.width - right) : null,
        y: tall > 16 && tall * 6 > wide ? span(y0, y, top, panel.height - bottom) : null,
      };
    }

    wheel(event, panel) {
      // A wheel that is scrolling the page goes on doing so when a plot comes under the pointer.
      if (event.timeStamp - lastScroll < 250 && !event.ctrlKey) return;
      const pixels = event.deltaY * (event.deltaMode === 1 ? 30 : event.deltaMode === 2 ? 300 : 1);
      const factor = Math.exp(Math.max(-1, Math.min(1, pixels * 0.002)));
      if (!this.inside(panel, event.offsetX)) {
        // Over the y axis: zoom that.
        const at = this.toV(panel, event.offsetY);
        event.preventDefault();
        this.setY(panel, panel.shownY.map((v) => at + (v - at) * factor));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const shift = ((event.deltaX || event.deltaY) / this.width) * (this.x[1] - this.x[0]);
        event.preventDefault();
        this.setX(this.x[0] + shift, this.x[1] + shift);
      } else if (factor < 1 || this.zoomed()) {
        event.preventDefault();
        this.zoomX(this.toU(panel, event.offsetX), factor);
      } // else nothing to zoom out of: the page may scroll
    }

    key(event) {
      const [low, high] = this.x;
      const step = (high - low) / 10;
      const at = this.cursor ? this.cursor.u : (low + high) / 2;
      const actions = {
        "+": () => this.zoomX(at, 0.7), "=": () => this.zoomX(at, 0.7), "-": () => this.zoomX(at, 1 / 0.7),
        ArrowLeft: () => this.setX(low - step, high - step), ArrowRight: () => this.setX(low + step, high + step),
        0: () => this.reset(), Home: () => this.reset(), Escape: () => this.cancelDrag(),
      };
      if (event.ctrlKey || event.metaKey || !Object.hasOwn(actions, event.key)) return;
      event.preventDefault();
      actions[event.key]();
    }

    // -- drawing

    /** Redraws before the next frame; `cursorOnly` if curves and axes are still right. */
    request(cursorOnly = false) {
      this.stale ||= !cursorOnly;
      if (this.pending) return;
      this.pending = true;
      requestAnimationFrame(() => {
        this.pending = false;
        this.draw();
      });
    }

    resized() {
      this.width = this.room();
      this.stale = true;
      this.draw();
    }

    /** Width of the element's inside. */
    room() {
      const style = getComputedStyle(this.element);
      const padding = (parseFloat(style.paddingLeft) || 0) + (parseFloat(style.paddingRight) || 0);
      return Math.max(200, this.element.clientWidth - padding);
    }

    draw() {
      const style = getComputedStyle(this.element);
      const colour = (name, light) => (paper ? light : style.getPropertyValue(name).trim() || light);
      this.theme = {
        ink: colour("--ink", "#1f2328"), faint: colour("--faint", "#57606a"), frame: colour("--frame", "#8c959f"),
        grid: colour("--grid", "#e4e7eb"), minor: colour("--minor", "#f1f3f5"), ground: colour("--ground", "#ffffff"),
        zero: colour("--zero", "#b1b8c0"), select: colour("--select", "#0072b2"),
        series: !paper && style.getPropertyValue("--is-dark").trim() === "1" ? data.dark : data.light,
        font: style.fontFamily || "sans-serif",
      };
      if (this.stale) this.drawLayers();
      this.stale = false;
      for (const panel of this.panels) this.drawCursor(panel);
      this.showReadout();
    }

    drawLayers() {
      const measure = this.panels[0]?.layer.getContext("2d");
      if (!measure) return;
      measure.font = `11px ${this.theme.font}`;
      let widest = 24;
      for (const panel of this.panels) {
        panel.shownY = this.fitY(panel);
        const plotHeight = panel.height - panel.margin.top - panel.margin.bottom;
        panel.ticks = ticks(panel.shownY, panel.spec.log, Math.max(2, Math.floor(plotHeight / 28)));
        panel.margin.top = panel.ticks.exponent ? 18 : 8;
        for (const t of panel.ticks.major) widest = Math.max(widest, measure.measureText(t.label).width);
      }
      // While the user zooms the margin only grows: the plot must not twitch under the pointer.
      const need = widest + 10 + (this.panels.some((p) => p.spec.label) ? 20 : 0);
      const left = (this.left = Math.min(this.width / 2, this.zoomed() ? Math.max(this.left, need) : need));
      const plotWidth = this.width - left - 14;
      let wanted = Math.max(2, Math.min(12, Math.floor(plotWidth / 70)));
      const crowded = (t) => t.major.some((tick, i) => i > 0 &&
        ((tick.at - t.major[i - 1].at) / (this.x[1] - this.x[0])) * plotWidth < measure.measureText(tick.label).width + 8);
      this.xTicks = ticks(this.x, this.spec.log, wanted);
      while (wanted > 2 && crowded(this.xTicks)) this.xTicks = ticks(this.x, this.spec.log, --wanted);
      this.resetButton.style.visibility = this.zoomed() || this.panels.some((p) => p.y) ? "visible" : "hidden";
      for (const panel of this.panels) {
        panel.margin.left = left;
        panel.bar.style.paddingLeft = Math.max(0, left - 7) + "px"; // 7: the padding of an entry
        this.drawLayer(panel);
      }
    }

    drawLayer(panel) {
      const { theme, width } = this;
      const { height, canvas, layer, margin } = panel;
      const ratio = Math.max(window.devicePixelRatio || 1, paper ? 3 : 1);
      for (const c of [canvas, layer]) {
        c.width = Math.round(width * ratio);
        c.height = Math.round(height * ratio);
      }
      panel.ratio = ratio;
      const ctx = layer.getContext("2d");
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      ctx.clearRect(0, 0, width, height);
      const { left, top } = margin;
      const w = width - left - margin.right, h = height - top - margin.bottom;
      const [u0, u1] = this.x, [v0, v1] = panel.shownY;
      const kx = w / (u1 - u0), ky = h / (v1 - v0);
      const toX = (panel.toX = (u) => left + (u - u0) * kx);
      const toY = (panel.toY = (v) => top + h - (v - v0) * ky);
      const sharp = (p) => (Math.floor(p * ratio) + 0.5) / ratio; // middle of a device pixel
      const line = (x1, y1, x2, y2) => {
        ctx.beginPath();
        ctx.moveTo(sharp(x1), sharp(y1));
        ctx.lineTo(sharp(x2), sharp(y2));
        ctx.stroke();
      };
      ctx.lineWidth = Math.max(1, Math.round(ratio)) / ratio;
      const grid = (colour, us, vs) => {
        ctx.strokeStyle = colour;
        for (const u of us) line(toX(u), top, toX(u), top + h);
        for (const v of vs) line(left, toY(v), left + w, toY(v));
      };
      grid(theme.minor, this.xTicks.minor, panel.ticks.minor);
      grid(theme.grid, this.xTicks.major.map((t) => t.at), panel.ticks.major.map((t) => t.at));
      if (!panel.spec.log && v0 < 0 && v1 > 0) grid(theme.zero, [], [0]);

      ctx.save();
      ctx.beginPath();
      ctx.rect(left, top, w, h);
      ctx.clip();
      let shown = false;
      panel.series.forEach((series, i) => {
        const { entry, swatch } = panel.entries[i];
        swatch.style.color = theme.series[series.colour];
        swatch.style.borderTopStyle = series.dash.length === 0 ? "solid" : series.dash[0] > 4 ? "dashed" : "dotted";
        entry.setAttribute("aria-pressed", String(!series.hidden));
        if (series.hidden) return;
        shown = series.draw(ctx, this.x, toX, toY, theme.series[series.colour], 1 / ratio) || shown;
      });
      this.drawLines(ctx, panel, toX, toY, line);
      ctx.restore();

      ctx.strokeStyle = theme.frame;
      line(left, top, left + w, top);
      line(left, top + h, left + w, top + h);
      line(left, top, left, top + h);
      line(left + w, top, left + w, top + h);
      const text = (string, x, y, align, colour, size = 11) => {
        ctx.font = `${size}px ${theme.font}`;
        ctx.textAlign = align;
        ctx.fillStyle = colour;
        ctx.fillText(string, x, y);
      };
      if (!shown) text("no data", left + w / 2, top + h / 2 + 4, "center", theme.faint, 12);
      for (const t of panel.ticks.major) text(t.label, left - 6, toY(t.at) + 4, "right", theme.ink);
      if (panel.ticks.exponent) text("×10" + superscript(panel.ticks.exponent), left - 6, top - 8, "right", theme.ink, 10);
      if (panel.spec.label) {
        ctx.save();
        ctx.translate(13, top + h / 2);
        ctx.rotate(-Math.PI / 2);
        ctx.font = `12px ${theme.font}`;
        const size = Math.max(9, Math.min(12, (12 * (h + 14)) / ctx.measureText(panel.spec.label).width));
        ctx.font = `${size}px ${theme.font}`;
        text(shorten(ctx, panel.spec.label, h + 14), 0, 0, "center", theme.ink, size);
        ctx.restore();
      }
      if (panel.isLast) {
        for (const t of this.xTicks.major) text(t.label, toX(t.at), top + h + 16, "center", theme.ink);
        ctx.font = `12px ${theme.font}`;
        text(shorten(ctx, this.spec.label, w), left + w / 2, top + h + 34, "center", theme.ink, 12);
        if (this.xTicks.exponent) text("×10" + superscript(this.xTicks.exponent), left + w, top + h + 32, "right", theme.ink, 10);
      }
    }

    /** Reference lines and markers, with labels on a halo. */
    drawLines(ctx, panel, toX, toY, line) {
      const { theme, width } = this;
      const { top, right, left } = panel.margin;
      ctx.font = `10px ${theme.font}`;
      const note = (string, x, y, align) => {
        ctx.textAlign = align;
        ctx.strokeStyle = theme.ground;
        ctx.lineWidth = 3;
        ctx.lineJoin = "round";
        ctx.strokeText(string, x, y);
        ctx.fillStyle = theme.faint;
        ctx.fillText(string, x, y);
      };
      const dashed = (x1, y1, x2, y2) => {
        ctx.strokeStyle = theme.faint;
        ctx.lineWidth = 1;
        ctx.setLineDash([5, 3]);
        line(x1, y1, x2, y2);
        ctx.setLineDash([]);
      };
      this.spec.lines.forEach(({ label, value }, i) => {
        const x = toX(position(value, this.spec.log));
        if (!(x >= left && x <= width - right)) return;
        dashed(x, top, x, panel.height - panel.margin.bottom);
        if (panel !== this.panels[0]) return;
        const flips = x + 5 + ctx.measureText(label).width > width - right;
        note(label, flips ? x - 5 : x + 5, top + 12 + 12 * (i % 3), flips ? "right" : "left");
      });
      for (const { label, value } of panel.spec.lines) {
        const y = toY(position(value, panel.spec.log));
        if (!(y >= top - 1 && y <= panel.height)) continue;
        dashed(left, y, width - right, y);
        note(label, width - right - 5, y < top + 16 ? y + 12 : y - 4, "right");
      }
    }

    drawCursor(panel) {
      const ctx = panel.canvas.getContext("2d");
      ctx.setTransform(1, 0, 0, 1, 0, 0);
      ctx.clearRect(0, 0, panel.canvas.width, panel.canvas.height);
      ctx.drawImage(panel.layer, 0, 0);
      ctx.setTransform(panel.ratio, 0, 0, panel.ratio, 0, 0);
      const { theme, cursor, drag } = this;
      const { left, right, top, bottom } = panel.margin;
      const h = panel.height - top - bottom;
      if (drag && !drag.pan) {
        const box = this.box(drag);
        const [a, b] = box.x ?? [left, this.width - right];
        const [c, d] = (drag.panel === panel && box.y) || [top, top + h];
        if (box.x || (box.y && drag.panel === panel)) {
          ctx.globalAlpha = 0.15;
          ctx.fillStyle = theme.select;
          ctx.fillRect(a, c, b - a, d - c);
          ctx.globalAlpha = 1;
          ctx.strokeStyle = theme.select;
          ctx.lineWidth = 1;
          ctx.strokeRect(a, c, b - a, d - c);
        }
      }
      const x = cursor ? panel.toX(cursor.u) : NaN;
      const shows = cursor && this.inside(panel, x);
      if (shows) {
        ctx.strokeStyle = theme.faint;
        ctx.lineWidth = 1;
        ctx.beginPath();
        ctx.moveTo(x, top);
        ctx.lineTo(x, top + h);
        ctx.stroke();
      }
      panel.series.forEach((series, i) => {
        let sample = -1;
        if (shows && !series.hidden) {
          const slack = (5 / this.width) * (this.x[1] - this.x[0]);
          if (series.sorted) sample = series.sampleAt(cursor.u, slack);
          else if (cursor.panel === panel) sample = series.nearest(cursor.x, cursor.y, panel.toX, panel.toY);
        }
        panel.entries[i].value.textContent = sample < 0 ? "" : readable(series.y[sample]);
        if (sample < 0) return;
        const [px, py] = [panel.toX(series.u[sample]), panel.toY(series.v[sample])];
        if (!this.inside(panel, px) || !(py >= top - 1 && py <= top + h + 1)) return;
        ctx.fillStyle = theme.ground;
        dot(ctx, px, py, 4.5);
        ctx.fillStyle = theme.series[series.colour];
        dot(ctx, px, py, 3);
      });
    }

    showReadout() {
      const { cursor, drag } = this;
      let text = "";
      if (cursor) {
        const log = this.spec.log;
        const value = valueAt(cursor.u, log);
        // As many digits as one pixel is worth.
        const pixel = Math.abs(valueAt(cursor.u + (this.x[1] - this.x[0]) / this.width, log) - value);
        const digits = Math.max(1, Math.min(12, Math.ceil(Math.log10(Math.abs(value) / pixel)) + 1)) || 1;
        const short = (v) => readable(Number(v.toPrecision(digits)));
        text = `${this.xName} = ${short(value)}${this.xUnit}`;
        if (drag && !drag.pan && this.box(drag).x) {
          const delta = Math.abs(value - valueAt(this.toU(drag.panel, drag.x0), log));
          text += `, Δ = ${readable(Number(delta.toPrecision(4)))}${this.xUnit}`;
        }
      }
      this.readout.textContent = text;
    }
  }

  // ---- Start --------------------------------------------------------------------------------

  const plots = [...document.querySelectorAll("figure.plot")].map(
    (element) => new Plot(element, data.figures[Number(element.dataset.figure)]),
  );
  const redraw = () => plots.forEach((plot) => plot.resized());
  const print = (on) => () => {
    paper = on;
    redraw();
  };
  if (window.ResizeObserver) {
    const observer = new ResizeObserver(() => {
      for (const plot of plots) if (plot.room() !== plot.width) plot.resized();
    });
    plots.forEach((plot) => observer.observe(plot.element));
  }
  window.addEventListener("resize", redraw); // also fires when the page zoom changes the pixel ratio
  window.addEventListener("scroll", (event) => (lastScroll = event.timeStamp), { passive: true });
  window.addEventListener("beforeprint", print(true));
  window.addEventListener("afterprint", print(false));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  window.fluxline = { plots, ticks, readable };
})();
