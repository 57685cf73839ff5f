// Updates the page once a second from /live.json. The page works without it.
(() => {
  "use strict";
  const SAMPLES = 300, MIN_PEAK = 1e4; // kB/s, as in charts.py
  const root = document.documentElement, drive = document.body.dataset.drive;
  const period = matchMedia("(prefers-reduced-motion: reduce)").matches ? 5000 : 1000;
  const one = (selector) => document.querySelector(selector);
  let paused = false, number = 0, minute = null, samples = {}, host = [], verdicts = [];
  let texts = new Map(), timer = 0, lastAnswer = Date.now(), running = false, over = [];
  let newest = 0, seconds = 1; // the time of the last sample in seconds of the day, and between two samples
  let cursor = null; // the drive and the sample that a reader points at: [key, samples before the newest]

  function remember() {
    texts = new Map();
    for (const node of document.querySelectorAll("[data-k]")) texts.set(node.dataset.k, node);
  }

  // The same shapes as charts.area and charts.strip.
  function area(id, heights, base, sign) {
    const path = document.getElementById(id);
    if (!path) return;
    let x = SAMPLES - heights.length, shape = "M" + x + " " + base, before = null, skipped = null;
    let glue = "L";
    for (const height of heights) {
      const y = +(base + sign * height).toFixed(1);
      if (y === before) skipped = x;
      else {
        if (skipped !== null) { shape += glue + skipped + " " + before; glue = " "; }
        shape += glue + x + " " + y;
        glue = " "; before = y; skipped = null;
      }
      x += 1;
    }
    if (skipped !== null) shape += glue + skipped + " " + before;
    path.setAttribute("d", shape + (heights.length ? " " : "L") + (SAMPLES - 1) + " " + base + "Z");
  }

  // The same as charts.top_rate, in kB/s.
  function topRate(...columns) {
    const wanted = Math.max(MIN_PEAK, ...columns.flat()), power = 10 ** Math.floor(Math.log10(wanted));
    return power * ([1, 2, 5].find((each) => wanted <= power * each) || 10);
  }
  const rates = (column, top, half) => column.map((v) => v * half / top);

  // The same shapes as charts.line and charts.cuts.
  function line(id, column, low, high) {
    const path = document.getElementById(id);
    if (!path) return;
    const digits = path.closest(".tb") ? 0 : 1;
    let x = SAMPLES - column.length, shape = "", before = null, skipped = null, length = 0;
    for (const value of [...column, 0]) {
      if (value <= 0) {
        if (skipped !== null) shape += " " + skipped + " " + before;
        if (length === 1) shape += "h.5";
        before = skipped = null;
        length = 0;
      } else {
        const share = (Math.log10(value) - 6 - low) / (high - low);
        const y = +(100 * (1 - Math.min(Math.max(share, 0), 1))).toFixed(digits);
        if (y === before) skipped = x;
        else {
          if (skipped !== null) shape += " " + skipped + " " + before;
          shape += (before === null ? "M" : " ") + x + " " + y;
          before = y; skipped = null;
        }
        length += 1;
      }
      x += 1;
    }
    path.setAttribute("d", shape || "M0 100");
  }

  function cuts(id, one, other, high) {
    const path = document.getElementById(id), top = 10 ** (high + 6);
    if (!path) return;
    let shape = "", begin = null;
    for (let i = 0; i <= one.length; i++) {
      const x = SAMPLES - one.length + i, isCut = i < one.length && Math.max(one[i], other[i]) > top;
      if (isCut && begin === null) begin = x;
      else if (!isCut && begin !== null) { shape += "M" + begin + " 0H" + x; begin = null; }
    }
    path.setAttribute("d", shape || "M0 0");
  }

  function strip(key, codes, seconds) {
    const svg = document.getElementById("s" + key);
    if (!svg) return;
    const rects = [], lasted = {};
    let begin = 0;
    for (let i = 1; i <= codes.length; i++) {
      if (i < codes.length && codes[i] === codes[begin]) continue;
      const rect = document.createElementNS(svg.namespaceURI, "rect");
      const name = verdicts[codes[begin]];
      rect.setAttribute("class", "k-" + name[0]);
      rect.setAttribute("x", SAMPLES - codes.length + begin);
      rect.setAttribute("width", i - begin);
      rect.setAttribute("height", 10);
      rects.push(rect);
      if (codes[begin] !== "0") lasted[codes[begin]] = (lasted[codes[begin]] || 0) + (i - begin) * seconds;
      begin = i;
    }
    svg.replaceChildren(...rects);
    const marks = Object.entries(lasted).sort((a, b) => b[1] - a[1]).map(([code, total]) => {
      const mark = document.createElement("span"), box = document.createElement("em");
      box.className = "k-" + verdicts[code][0];
      mark.append(box, verdicts[code][1] + " " + Math.round(total) + " s");
      return mark;
    });
    svg.setAttribute("aria-label", "Verdict: " + (marks.map((m) => m.textContent).join(", ") || "no bottleneck"));
    const key_ = document.getElementById("k" + key);
    if (key_) {
      if (!marks.length) { const none = document.createElement("span"); none.textContent = "no bottleneck"; marks.push(none); }
      if (key_.textContent !== marks.map((m) => m.textContent).join("")) key_.replaceChildren(...marks);
    }
  }

  function keep(old, added, window) {
    const all = typeof added === "string" ? (old || "") + added : (old || []).concat(added);
    return all.slice(-Math.min(window, SAMPLES));
  }

  function draw(data) {
    for (const [key, [low, high]] of Object.entries(data.l)) {
      const [read, written, reads, writes, codes] = samples[key];
      const chart = document.getElementById("a" + key);
      if (chart) {
        const top = topRate(read, written), ticks = chart.closest(".pt").querySelectorAll(":scope > text");
        ticks[0].textContent = ticks[2].textContent = top / 1000;
        area("a" + key, rates(read, top, 50), 50, -1);
        area("b" + key, rates(written, top, 50), 50, 1);
      }
      line("r" + key, reads, low, high);
      line("w" + key, writes, low, high);
      cuts("x" + key, reads, writes, high);
      strip(key, codes, data.i / 1000);
    }
    for (const [key, rows] of Object.entries(data.u)) {
      const body = document.getElementById("u" + key);
      rows.forEach(([name, read, written, share], i) => {
        const row = body && body.rows[i];
        if (!row) return;
        row.cells[0].textContent = name;
        row.cells[1].firstChild.textContent = read;
        row.cells[2].firstChild.textContent = written;
        row.querySelector(".f").setAttribute("width", share);
      });
    }
    if (host.length) {
      ["hsome", "hirq"].forEach((id, i) => area(id, host[i].map((v) => Math.min(v, 1000) * 0.028), 28, -1));
      area("hmb", rates(host[2], topRate(host[2]), 28), 28, -1);
    }
    if (data.c) {
      const cells = document.querySelectorAll(".cells a");
      data.c.forEach((height, i) => {
        const path = cells[i] && cells[i].querySelector("path");
        if (path) path.setAttribute("d", "M0 " + (24 - height) + "h24v" + height + "H0z");
      });
    }
  }

  // The same as page_texts.milliseconds and megabytes, of values in µs and kB/s.
  const ms = (v) => v ? (v < 995 ? (v / 1e3).toFixed(2) : v < 9950 ? (v / 1e3).toFixed(1) : (v / 1e3).toFixed(0)) + " ms" : "no request";
  const mb = (v) => (v / 1e3).toFixed(v < 99950 ? 1 : 0) + " MB/s";

  // Shows the values of the second that the reader points at, and a line through the charts.
  function pointOut() {
    for (const node of document.querySelectorAll(".cur")) node.remove();
    for (const node of document.querySelectorAll(".rd")) {
      const key = node.id.slice(1), isShown = cursor !== null && cursor[0] === key && samples[key];
      let text = node === one(".rd") ? "Point at a chart, or use the arrow keys here, to read a second." : "";
      if (isShown) {
        const columns = samples[key], length = columns[0].length;
        const i = length - 1 - Math.min(cursor[1], length - 1);
        if (i < 0) continue;
        const day = 86400, at = ((newest - Math.round(cursor[1] * seconds)) % day + day) % day;
        const clock = [at / 3600, at / 60 % 60, at % 60].map((v) => String(Math.floor(v)).padStart(2, "0")).join(":");
        text = clock + "  reads " + mb(columns[0][i]) + ", " + ms(columns[2][i]) + "  ·  writes " + mb(columns[1][i])
          + ", " + ms(columns[3][i]) + "  ·  " + verdicts[columns[4][i]][1];
        for (const box of node.closest(".drive").querySelectorAll(".pt .ch")) {
          const mark = document.createElementNS(box.namespaceURI, "path");
          mark.setAttribute("class", "cur");
          mark.setAttribute("d", "M" + (SAMPLES - length + i) + " 0V100");
          box.append(mark);
        }
        node.setAttribute("aria-valuenow", -cursor[1]);
      }
      if (node.textContent !== text) node.textContent = text;
      node.setAttribute("aria-valuetext", text || "now");
    }
  }

  function point(key, back) {
    const length = samples[key] ? samples[key][0].length : 0;
    if (length) cursor = [key, Math.min(Math.max(back, 0), length - 1)];
    pointOut();
  }

  // Makes the line of values a control that the keyboard reaches.
  function control() {
    for (const node of document.querySelectorAll(".rd")) {
      node.tabIndex = 0;
      for (const [name, value] of Object.entries({ role: "slider", "aria-label": "Second of the charts",
        "aria-valuemin": 1 - SAMPLES, "aria-valuemax": 0, "aria-valuenow": 0 })) node.setAttribute(name, value);
    }
    pointOut();
  }

  const drawn = (event) => event.target.closest && event.target.closest(".drive :is(.pt, .st)");
  document.addEventListener("pointermove", (event) => {
    const svg = drawn(event);
    if (!svg) {
      if (cursor && event.pointerType === "mouse" && !document.activeElement.matches(".rd")) { cursor = null; pointOut(); }
      return;
    }
    const box = svg.querySelector(".ch") || svg, place = box.getBoundingClientRect(), shown = box.viewBox.baseVal;
    const x = Math.round(shown.x + (event.clientX - place.left) / place.width * shown.width);
    point(svg.closest(".drive").id.slice(1), SAMPLES - 1 - x);
  });
  document.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: 1, ArrowRight: -1, PageUp: 10, PageDown: -10, Home: SAMPLES, End: -SAMPLES }[event.key];
    if (!step || !event.target.matches(".rd")) return;
    event.preventDefault();
    const key = event.target.id.slice(1);
    point(key, (cursor && cursor[0] === key ? cursor[1] : -1) + step);
  });

  function apply(data, since) {
    if (data.v) verdicts = data.v;
    for (const [key, columns] of Object.entries(data.s)) {
      const old = since ? samples[key] : null;
      samples[key] = columns.map((column, i) => keep(old && old[i], column, data.w));
    }
    if (data.h) host = data.h.map((column, i) => keep(since ? host[i] : null, column, data.w));
    for (const [key, text] of Object.entries(data.t)) {
      const node = texts.get(key);
      if (node && node.textContent !== text) node.textContent = text;
    }
    const cell = (key) => { const node = texts.get(key); return node && node.closest("td"); };
    for (const key of over) if (!data.o.includes(key) && cell(key)) cell(key).classList.remove("over");
    for (const key of data.o) if (cell(key)) cell(key).classList.add("over");
    over = data.o;
    draw(data);
    newest = data.at.split(":").reduce((sum, part) => sum * 60 + +part, 0);
    seconds = data.i / 1000;
    pointOut();
    one(".clk").textContent = data.at;
    one(".clk").dateTime = new Date(1000 * data.ut).toISOString().slice(0, 19) + "Z";
    number = data.n;
  }

  // The origin, because fetch refuses relative addresses if that of the page contains a password.
  const get = (address) => fetch(location.origin + address, { signal: AbortSignal.timeout(4000) }).then((answer) => {
    if (!answer.ok) throw new Error(answer.status);
    return answer;
  });

  // Returns a selector of the element with the focus, which also finds it in a newer page.
  function focused() {
    const node = document.activeElement, details = node.closest("#page details");
    if (node.matches("#page a")) return "#page a[href=\"" + CSS.escape(node.getAttribute("href")) + "\"]";
    if (node.matches(".rd")) return "#" + node.id;
    return node.matches("summary") && details ? "#" + details.id + " summary" : null;
  }

  // Replaces the content by that of the page as it is now. The focus stays where it is.
  async function reload() {
    const page = one("#page");
    const text = await (await get(location.pathname)).text();
    const fresh = new DOMParser().parseFromString(text, "text/html");
    if (!fresh.querySelector("#page")) throw new Error("no page");
    for (const details of page.querySelectorAll("details[open]")) {
      const same = fresh.getElementById(details.id);
      if (same) same.open = true;
    }
    const selector = focused();
    page.dataset.state = fresh.querySelector("#page").dataset.state;
    page.replaceChildren(...fresh.querySelector("#page").childNodes);
    control();
    if (selector && one(selector)) one(selector).focus({ preventScroll: true });
    one("#foot").replaceWith(fresh.querySelector("#foot"));
    const say = one(".say"), now = fresh.querySelector(".say").textContent;
    if (say.textContent !== now) say.textContent = now;
    document.title = fresh.title;
    remember();
    over = [...texts.entries()].filter(([, node]) => node.closest(".over")).map(([key]) => key);
  }

  async function poll() {
    const open = one("details#rest[open]") ? "&all=1" : "";
    const from = drive ? "&drive=" + encodeURIComponent(drive) : "";
    const ask = (since) => get("/live.json?since=" + since + from + open).then((answer) => answer.json());
    let since = number, data = await ask(since);
    // A new minute brings new SMART values. It must not destroy what the reader has selected.
    const isOld = minute !== null && data.m !== minute && !String(getSelection());
    if (data.n < since || String(data.st) !== one("#page").dataset.state || isOld) {
      await reload();
      since = 0;
      data = await ask(since);
    }
    minute = data.m;
    apply(data, since);
  }

  function show(words) {
    const dot = one(".dot");
    if (dot.textContent !== words) dot.textContent = words;
    root.classList.toggle("paused", words === "paused");
    root.classList.toggle("stale", words === "no answer");
  }

  async function step() {
    clearTimeout(timer);
    if (running || paused || document.hidden) return;
    running = true;
    const begun = Date.now();
    try {
      await poll();
      lastAnswer = Date.now();
      show("live");
    } catch (error) {
      if (Date.now() - lastAnswer >= 3000) show("no answer");
    }
    running = false;
    if (paused) show("paused");
    timer = setTimeout(step, Math.max(200, period - (Date.now() - begun)));
  }

  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Pause";
  button.addEventListener("click", () => {
    paused = !paused;
    button.textContent = paused ? "Resume" : "Pause";
    show(paused ? "paused" : "live");
    step();
  });
  one(".live").append(button);
  one(".dot").hidden = false;
  one(".ns").hidden = true;
  document.addEventListener("visibilitychange", step);
  remember();
  control();
  over = [...texts.entries()].filter(([, node]) => node.closest(".over")).map(([key]) => key);
  step();
})();
