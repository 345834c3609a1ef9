#!/usr/bin/env python3
"""page.py BUILD: the page in a browser, headless Chromium, at 400, 800 and 1400 pixels, light and dark, with
all details open. Nothing is wider than the window but tables and listings that scroll; texts of figures are 12
pixels at least, lie inside their figure and never upon each other; each text has a contrast of 4.5 with what
it stands on. Each rule is also tried on planted faults. Exit 77: no Chromium is found."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
GPUFLOOR = os.path.join(sys.argv[1], "bin", "gpufloor")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell")
WIDTHS, SCHEMES = (400, 800, 1400), {"light": 1, "dark": 0}
BOARDS = (("nvidia-h200",), ("nvidia-h100-80gb-hbm3",), ("nvidia-h100-80gb-hbm3", "nvidia-h200"))
passed = failed = 0

PROBE = r"""<script>
addEventListener("load", () => {
  const found = {overflow: [], overlap: [], cut: [], small: [], contrast: []};
  const say = (kind, text) => { if (found[kind].length < 20) found[kind].push(String(text).slice(0, 120)); };
  document.querySelectorAll("details").forEach(each => each.open = true);
  const root = document.documentElement, wide = root.clientWidth;
  const canvas = getComputedStyle(document.body).backgroundColor;
  if (root.scrollWidth > wide) say("overflow", "the page is " + root.scrollWidth + " wide");
  const parse = text => { const n = (text.match(/[\d.]+/g) || []).map(Number);
                          return [n[0] || 0, n[1] || 0, n[2] || 0, n.length > 3 ? n[3] : 1]; };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = colour => [0, 1, 2].map(i => colour[i] / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => { const x = light(a), y = light(b);
                               return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const isShown = each => each.getClientRects().length > 0;
  for (const each of document.body.querySelectorAll("*")) {
    if (!isShown(each) || each.closest("svg")) continue;
    if (each.getBoundingClientRect().right > wide + 1 && !each.closest(".scroll, pre"))
      say("overflow", each.tagName + " " + each.textContent);
    if (each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX == "hidden")
      say("cut", each.tagName + " " + each.textContent);
    if (![...each.childNodes].some(node => node.nodeType == 3 && node.data.trim())) continue;
    let below = parse(canvas);
    for (let at = each; at; at = at.parentElement) {
      const own = parse(getComputedStyle(at).backgroundColor);
      if (own[3] > 0) { below = over(own, parse(canvas)); break; }
    }
    const ratio = contrast(parse(getComputedStyle(each).color), below);
    if (ratio < 4.5) say("contrast", ratio.toFixed(2) + " " + each.tagName + " " + each.textContent.trim());
  }
  let texts = 0;
  for (const svg of document.querySelectorAll("svg.chart")) {
    if (!isShown(svg)) continue;
    const frame = svg.getBoundingClientRect(), scale = frame.width / svg.viewBox.baseVal.width;
    const shapes = [...svg.querySelectorAll("rect, path")].map(shape => ({
      box: shape.getBoundingClientRect(), style: getComputedStyle(shape)}));
    const all = [...svg.querySelectorAll("text")].map(text => {
      const box = text.getBoundingClientRect(), style = getComputedStyle(text);
      const size = parseFloat(style.fontSize) * scale, name = text.textContent;
      let below = parse(canvas);
      if (text.classList.contains("on"))
        for (const {box: on, style: paint} of shapes)
          if (on.left <= box.left + 2 && on.right >= box.right - 2 && on.top <= box.top + 4 &&
              on.bottom >= box.bottom - 4 && paint.fill != "none") {
            const fill = parse(paint.fill);
            below = over([fill[0], fill[1], fill[2], fill[3] * parseFloat(paint.fillOpacity)], below);
          }
      const ratio = contrast(parse(style.fill), below);
      texts++;
      if (ratio < 4.5) say("contrast", ratio.toFixed(2) + " in a figure: " + name);
      if (size < 11.99) say("small", size.toFixed(1) + ": " + name);
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 3 ||
          box.bottom > frame.bottom + 3) say("cut", "in a figure: " + name);
      return {name, left: box.left + 1, right: box.right - 1, top: box.top + 0.2 * box.height,
              bottom: box.bottom - 0.22 * box.height};
    });
    all.forEach((a, i) => all.slice(i + 1).forEach(b => {
      if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
        say("overlap", svg.getAttribute("aria-label").slice(0, 30) + ": " + a.name + " | " + b.name);
    }));
  }
  parent.postMessage(JSON.stringify({found, texts, dark: light(parse(canvas)) < 0.1}), "*");
});
</script></head>"""

WRAPPER = """<!DOCTYPE html><body style="margin:0"><pre id="said"></pre>
<script>addEventListener("message", event => document.getElementById("said").textContent = event.data);</script>
<iframe src="%s" style="width:%dpx;height:2000px;border:0"></iframe>"""


def check(name, found):
    global passed, failed
    passed, failed = passed + (not found), failed + bool(found)
    if found:
        print("FAIL", name)
        for line in found[:8]:
            print("    " + line)


def look(browser, folder, page, width, scheme):
    """What the probe found, and of how many texts in figures."""
    with open(os.path.join(folder, "page.html"), "w", encoding="utf-8") as file:
        file.write(page.replace("</head>", PROBE, 1))
    with open(os.path.join(folder, "wrapper.html"), "w", encoding="utf-8") as file:
        file.write(WRAPPER % ("page.html", width))
    dom = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=20000",
         f"--user-data-dir={folder}/profile", f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
         f"--window-size={max(width, 600)},2000", "--dump-dom", f"file://{folder}/wrapper.html"],
        capture_output=True, text=True, timeout=300, check=False).stdout
    said = re.search(r'<pre id="said">(.+?)</pre>', dom, re.S)
    if not said:
        return {"the browser": ["it said nothing: " + dom[:200]]}, 0
    text = said[1].replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", " ").replace("&amp;", "&")
    answer = json.loads(text)
    if answer["dark"] != (scheme == "dark"):
        answer["found"]["the browser"] = [f"it does not show the {scheme} scheme"]
    return answer["found"], answer["texts"]


def planted(page, scheme):
    """The page with one fault of each kind."""
    text = re.search(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>[^<]{4,}</text>', page)
    page = page.replace("</svg>", text[0] + "</svg>").replace("<h1>", '<div style="width:3000px">wide</div><h1>', 1)
    page = page.replace("</svg>", '<text x="-60" y="40">outside</text>'
                        '<text x="200" y="-400" font-size="5">small</text></svg>')
    below = "#fdfdfb" if scheme == "light" else "#15171a"
    return page.replace("<h1>", f'<p style="color:#888;background:{below}"><span style="color:#777b">pale</span></p><h1>', 1)


def main():
    browser = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if not browser:
        print("no Chromium is found")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for boards in BOARDS:
            board, texts_least = " ".join(boards), 200 if len(boards) == 1 else 80
            out = os.path.join(folder, board + ".html")
            subprocess.run([GPUFLOOR, "report", f"--html={out}",
                            *(os.path.join(ROOT, "results", each) for each in boards)], check=True)
            with open(out, encoding="utf-8") as file:
                page = file.read()
            for width in WIDTHS:
                for scheme in SCHEMES:
                    found, texts = look(browser, folder, page, width, scheme)
                    for kind, lines in found.items():
                        check(f"{board}, {width}, {scheme}: {kind}", lines)
                    check(f"{board}, {width}, {scheme}: figures are shown", [] if texts > texts_least else [f"{texts} texts"])
        for scheme in SCHEMES:
            found, _ = look(browser, folder, planted(page, scheme), 1400, scheme)
            for kind, lines in found.items():
                check(f"a planted fault is seen, {scheme}: {kind}", [] if lines else ["it is not"])
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
